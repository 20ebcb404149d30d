import json

import pytest
from rich.cells import cell_len

from monitor.cli.terminal import Terminal, replace_control_characters


def test_a_title_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().write_line("通知\x1b[2J\x07\u202e end")
    assert capsys.readouterr().out == "通知 [2J   end\n"


def test_columns_stand_in_line_under_chinese_text(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal("en").write_table(("name", "url"), [("国家能源局", "https://a/"), ("x\ny", None)])
    lines = capsys.readouterr().out.splitlines()
    assert [cell_len(line[: line.index(word)]) for line, word in zip(lines, ("url", "https", "-"), strict=True)] == [
        12
    ] * 3


def test_a_document_is_json_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.write_json({"title": "\x1b通知"})
    assert json.loads(capsys.readouterr().out) == {"title": "\x1b通知"}
    assert terminal.has_written_json


def test_line_breaks_and_tabs_are_left_alone() -> None:
    assert replace_control_characters("a\n\tb") == "a\n\tb"
