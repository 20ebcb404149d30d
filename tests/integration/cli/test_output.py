"""What commands print fits the terminal, and is JSON where that is asked for."""

import datetime as dt
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rich.cells import cell_len

from monitor.cli.main import build_cli
from monitor.cli.terminal import Terminal

_FAILURES = [
    ["items", "show", "9"],
    ["runs", "show", "nothing"],
    ["runs", "cancel", "nothing"],
    ["sources", "remove", "nothing"],
    ["sources", "import", "missing.yaml"],
    ["topics", "remove", "nothing"],
    ["policies", "separate", "9", "9"],
    ["evidence", "export", "9"],
    ["users", "token", "program", "--scope", "everything"],
    ["brief", "--format", "pdf"],
]


def _walk(command: Any, name: str, parent: Any, language: str) -> Iterator[tuple[Any, Any]]:
    """Yield the command and those below it, each with its context."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True, obj=Terminal(language))
    yield command, context
    for child in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _walk(command.get_command(context, child), child, context, language)


def _list_leaves() -> list[tuple[Any, list[str]]]:
    return [
        (command, context.command_path.split()[1:])
        for command, context in _walk(build_cli(), "monitor", None, "en")
        if not hasattr(command, "list_commands")
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_fits_80_columns_and_nothing_of_it_is_cut(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command, context in _walk(build_cli(language), "monitor", None, language):
        text = command.get_help(context)
        assert [line for line in text.splitlines() if cell_len(line) > 80] == [], context.command_path
        children = [
            command.get_command(context, name) for name in getattr(command, "list_commands", lambda _: ())(context)
        ]
        for described in [command, *command.params, *children]:
            assert "".join((described.help or "").split()) in "".join(text.split()), context.command_path


def test_every_command_has_json() -> None:
    leaves = _list_leaves()
    assert len(leaves) > 50
    assert [path for command, path in leaves if not any("--json" in param.opts for param in command.params)] == []


def test_wrong_usage_of_any_command_is_one_document(typed: Callable[[list[str]], Any]) -> None:
    for _, path in _list_leaves():
        said = typed([*path, "--json", "--no-such-option"])
        assert (said.code, said.document["error"]["exit_code"]) == (2, 2), path


def test_a_command_that_fails_prints_one_document(typed: Callable[[list[str]], Any]) -> None:
    assert typed(["init"]).code == 0
    for words in _FAILURES:
        said = typed([*words, "--json"])
        error = said.document["error"]
        assert said.code == error["exit_code"] != 0, words
        assert error["message"] == said.complaint


def test_a_line_that_cannot_be_read_stands_in_the_one_document(
    typed: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert typed(["init"]).code == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"id": "a", "title": "notice"}\nnonsense\n')))
    said = typed(["rank", "--json"])
    assert said.code == 1
    assert len(said.document) == 1


def test_what_was_done_is_printed_as_a_document(typed: Callable[[list[str]], Any]) -> None:
    assert typed(["init", "--json"]).code == 0
    assert typed(["sources", "add", "https://a.example/", "--name", "a", "--json"]).document["name"] == "a"
    assert typed(["sources", "disable", "a", "--json"]).document["enabled"] is False
    assert typed(["users", "add", "anna", "--json"]).document["password"]
    assert typed(["sources", "remove", "a", "--json"]).document == {"source": "a"}


def test_times_are_those_of_the_configured_zone(
    typed: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_TIMEZONE", "Pacific/Kiritimati")
    assert typed(["init"]).code == 0
    assert typed(["sources", "add", "https://a.example/", "--name", "a"]).code == 0
    [line] = [line for line in typed(["sources", "show", "a"]).out.splitlines() if line.startswith("created_at")]
    shown = dt.datetime.strptime(line.split(maxsplit=1)[1], "%Y-%m-%d %H:%M").replace(
        tzinfo=ZoneInfo("Pacific/Kiritimati")
    )
    assert abs(dt.datetime.now(dt.UTC) - shown) < dt.timedelta(minutes=30)


def test_addresses_stay_whole_in_tables_of_80_columns(
    typed: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    url = f"https://www.example.gov/{'notices/' * 12}index.html"
    assert typed(["init"]).code == 0
    for number, name in enumerate(["国家能源局市场监管司的通知公告和政策解读", "b"]):
        assert typed(["sources", "add", f"{url}?{number}", "--name", name]).code == 0
    lines = typed(["sources", "list"]).out.splitlines()
    for number in range(2):
        assert any(line.strip() == f"{url}?{number}" for line in lines)
    assert [line for line in lines if cell_len(line) > 80 and url not in line] == []
    assert json.loads(typed(["sources", "list", "--json"]).out)["sources"][0]["url"].startswith(url)
