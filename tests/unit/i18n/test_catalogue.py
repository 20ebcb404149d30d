"""The catalogue says every message in both languages, and never more than its template."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from monitor.i18n.catalogue import get_system_language, load_catalogue, render
from monitor.i18n.message import Message

HOME = Path(__file__).parents[3]
CODE = re.compile(r"[a-z][a-z0-9_]*\.[a-z0-9_.]+")

FIELD_VOCABULARIES = {"choice", "model_phase", "switch"}
"""What the fields of the Settings page choose from."""

TECHNICAL = {"kind", "detail", "outcome", "tool", "error"}
"""Codes of errors, and errors in a server's words: Chinese may say what they mean instead."""


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)[^}]*\}", text))


def test_every_code_has_words_with_the_same_arguments_in_both_languages() -> None:
    english, chinese = load_catalogue("en"), load_catalogue("zh")
    codes = {code for code in {*english, *chinese} if CODE.fullmatch(code)}
    assert {code for code in codes if code not in english or code not in chinese} == set()
    differing = {
        code
        for code in codes
        if placeholders(english[code][0]) - TECHNICAL != placeholders(chinese[code][0]) - TECHNICAL
        or not placeholders(chinese[code][0]) <= placeholders(english[code][0])
    }
    assert differing == set()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_entry_has_one_meaning(language: str) -> None:
    meanings: dict[tuple[str | None, object], set[object]] = {}
    for file in (HOME / "monitor/i18n/locale" / language).glob("*.po"):
        with file.open("rb") as stream:
            for entry in read_po(stream):
                if entry.id:
                    key = entry.id if isinstance(entry.id, str) else entry.id[0]
                    text = entry.string if isinstance(entry.string, str) else entry.string[0]
                    meanings.setdefault((entry.context, key), set()).add(text)
    assert {key: texts for key, texts in meanings.items() if len(texts) > 1} == {}


@cache
def read_sources() -> str:
    """All that can name an entry: code, templates, scripts, and the migrations, which stored codes in databases."""
    files = [*(HOME / "monitor").rglob("*.*"), *(HOME / "migrations").rglob("*.py")]
    return "\n".join(file.read_text("utf-8") for file in files if file.suffix in (".py", ".html", ".js"))


def test_every_code_is_named_somewhere_or_built_from_a_value() -> None:
    sources = read_sources()
    literal = set(re.findall(r"[\"'`]([a-z_]+(?:\.[\w.]+)+)[\"'`]", sources))
    built = set(re.findall(r"f[\"']([a-z_]+\.[a-z_.]*)\{", sources)) - {"word."}
    built |= set(re.findall(r"[\"']([a-z_]+\.[a-z_.]*)[\"'] ?~", sources))
    words = set(re.findall(r"\bwords?\([\"'](\w+)[\"']", sources))
    words |= set(re.findall(r"_words?\([^()\"']*[\"'](\w+)[\"']", sources))
    words |= set(re.findall(r"\b\w*words(?:: ClassVar\[str\])? = [\"'](\w+)[\"']", sources, re.IGNORECASE))
    words |= set(re.findall(r"vocabulary(?:: str)? ?= ?[\"'](\w+)[\"']", sources))
    built |= {f"word.{kind}." for kind in words | FIELD_VOCABULARIES}
    codes = {code for code in load_catalogue("en") if CODE.match(code)}
    assert {code for code in codes - literal if not code.startswith(tuple(built))} == set()


def test_every_sentence_that_is_translated_is_said_somewhere() -> None:
    sources = " ".join(re.sub(r"\\(.)", r"\1", read_sources()).split())
    sentences = set(load_catalogue("zh")) - set(load_catalogue("en"))
    assert {sentence for sentence in sentences if " ".join(sentence.split()) not in sources} == set()


def test_an_argument_that_looks_like_a_template_stays_text() -> None:
    assert render(Message.other("{0.__class__}"), "en") == "{0.__class__}"


def test_a_code_without_words_is_shown_with_its_arguments() -> None:
    assert render(Message.of("no.such_code", name="x"), "zh") == "no.such_code name=x"


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({}, "en"),
        ({"LANG": "de_DE"}, "en"),
    ],
)
def test_the_command_line_speaks_the_language_of_the_locale(environment: Mapping[str, str], language: str) -> None:
    assert get_system_language(environment) == language
