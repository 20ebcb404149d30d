"""Under a Chinese locale the command line speaks Chinese, else English; names, urls and JSON keys are what they are."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from monitor.cli.main import build_cli
from monitor.exports.registry import FORMATS
from monitor.i18n.catalogue import load_catalogue
from monitor.vocabulary import ItemType

_COMMAND = re.compile(
    r"`[^`]*`|“[^”]*”|'[^']*'|https?://\S+|--?[a-z][\w-]*|[\w.-]*[/_.=][\w./=-]*|\b[A-Z][A-Z_]*\b|<[^>]*>"
)
_FORMAT = re.compile(rf"\b({'|'.join(FORMATS)})\b")
_ENGLISH = re.compile(r"[A-Za-z]{2,}(?:[ ,]+[A-Za-z]{2,}){2,}")  # three words in a row: a sentence
_ITEM_TYPE = re.compile("|".join(ItemType))  # stored as these words, in either language
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def _list_paths(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if hasattr(command, "list_commands"):
        context = command.make_context("monitor", ["--version"], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from _list_paths(command.get_command(context, name), (*path, name))


PATHS = list(_list_paths(build_cli()))

PLAIN_COMMANDS = [
    ["init"],
    ["init"],
    ["sources", "list"],
    ["sources", "add", "https://a.example/", "--name", "甲"],
    ["sources", "list"],
    ["sources", "edit", "甲", "--tag", "能源"],
    ["sources", "disable", "甲"],
    ["items", "list"],
    ["items", "search", "能源"],
    ["runs", "list"],
    ["deliver", "list"],
    ["health"],
    ["costs"],
    ["users", "list"],
    ["users", "add", "anna"],
    ["users", "list"],
    ["db", "upgrade"],
    ["db", "backup", "backup.db"],
    ["db", "prune"],
    ["sources", "export", "--out", "sources.yaml"],
    ["sources", "remove", "甲"],
]
MISTAKES = [
    ["swep"],
    ["sources", "lst"],
    ["sources"],
    ["search"],
    ["items", "list", "--limit", "0"],
    ["items", "list", "--limit", "many"],
    ["runs", "list", "--nothing"],
    ["runs", "cancel", "a", "b"],
    ["brief", "--lang"],
    ["sweep"],
    ["sweep", "a", "--all"],
    ["sweep", "--since", "yesterday"],
    ["page"],
    ["page", "missing.html"],
    ["page", "--batch", "x.html"],
    ["research"],
    ["sources", "add", "https://b.example/", "--section", "nameonly"],
    ["sources", "edit", "甲", "--clear", "url"],
]


def _find_english(text: str) -> list[str]:
    """Return the lines with an English sentence; the names of commands, options and formats are no sentence."""
    lines = [line for line in text.splitlines() if not line.startswith("用法: ")]
    return [line for line in lines if _ENGLISH.search(_FORMAT.sub("·", _COMMAND.sub("·", line)))]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: " ".join(path) or "monitor")
def test_help_is_in_the_language_of_the_locale(typed: Any, monkeypatch: pytest.MonkeyPatch, path: list[str]) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert _find_english(typed([*path, "--help"]).out) == []
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert not _CHINESE.search(_ITEM_TYPE.sub("·", typed([*path, "--help"]).out))


@pytest.mark.parametrize(("locale", "language"), [("zh_CN.UTF-8", "zh"), ("C.UTF-8", "en")])
def test_results_and_mistakes_are_in_the_language_of_the_locale(
    typed: Any, monkeypatch: pytest.MonkeyPatch, locale: str, language: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    for words in [*PLAIN_COMMANDS, *MISTAKES]:
        said = typed(words)
        text = (said.out + said.err).replace("甲", "").replace("能源", "")
        if language == "zh":
            assert _find_english(text) == [], words
        else:
            assert not _CHINESE.search(text), words


def test_an_error_has_its_code_in_the_document_and_its_words_in_the_language(
    typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    error = typed(["items", "list", "--limit", "0", "--json"]).document["error"]
    assert (error["code"], error["exit_code"]) == ("usage.bad_value", 2)
    assert error["args"]["reason"]["code"] == "validation.greater_than_equal"
    assert error["message"].startswith("'--limit' 的值无效")


def test_both_languages_have_the_same_messages() -> None:
    codes = {code for code in load_catalogue("en") if re.fullmatch(r"[a-z_]+\.[\w.]+", code)}
    assert {code for code in codes if code not in load_catalogue("zh")} == set()
