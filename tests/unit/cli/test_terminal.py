import ast
import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from monitor.cli.layout import lay_out_table
from monitor.cli.terminal import Terminal, replace_control_characters
from monitor.i18n.catalogue import has_message

COMMANDS = Path(__file__).parents[3] / "monitor/cli"


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


def test_a_table_fits_the_terminal_and_keeps_words_and_addresses_whole() -> None:
    rows = [
        ("id", "title", "url"),
        (
            "01KXYZ",
            "国家能源局关于印发新型储能项目管理规范（暂行）的通知，自发布之日起施行",
            "https://a.example/" + "x" * 70,
        ),
        ("2", "Rules " * 20, "https://b.example/"),
    ]
    lines = list(lay_out_table(rows, 60))
    assert [line for line in lines if cell_len(line) > 60 and "https://" not in line] == []
    text = "\n".join(lines)
    assert all(whole in text for whole in ("01KXYZ", rows[1][2], rows[2][2]))
    assert text.count("Rules") == 20
    assert not any(line.lstrip().startswith("，") for line in lines)


def test_a_table_in_a_file_has_each_row_on_a_line() -> None:
    assert list(lay_out_table([("a", "b"), ("甲 " * 99, "x")], None))[1].endswith("x")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_column_of_a_list_has_a_heading(language: str) -> None:
    calls = [
        node
        for file in COMMANDS.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "write_list"
    ]
    rows = [node for call in calls for node in ast.walk(call) if isinstance(node, ast.Dict)]
    columns = {key.value for row in rows for key in row.keys if isinstance(key, ast.Constant)}
    assert len(columns) > 40
    assert [name for name in sorted(columns) if not has_message(language, f"column.{name}")] == []
