"""The one catalogue of words, in gettext: `locale/<language>/*.po`.

Two kinds of entries stand in it. A template or form writes its sentence in English, and `zh` translates it. A message
(`monitor.i18n.message`) is a code; both `en` and `zh` have its words, with `{name}` where an argument stands.
"""

import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any

from monitor.i18n.message import OTHER, Message

LANGUAGES = ("zh", "en")


@cache
def load_catalogue(language: str) -> Mapping[str, tuple[str, ...]]:
    """Return every entry of a language: its forms by msgid, the singular's for an entry with a plural."""
    from babel.messages.pofile import read_po

    entries: dict[str, tuple[str, ...]] = {}
    folder = files("monitor.i18n").joinpath("locale", language)
    for file in sorted(folder.iterdir(), key=lambda path: path.name):
        if not file.name.endswith(".po"):
            continue
        with file.open("rb") as opened:
            for entry in read_po(opened, locale=language):
                if not entry.id or not entry.string:
                    continue
                msgid = entry.id if isinstance(entry.id, str) else entry.id[0]
                forms = (entry.string,) if isinstance(entry.string, str) else tuple(entry.string)
                entries[msgid] = forms
    return entries


def translate(language: str, english: str) -> str:
    """Return the sentence in the language; the English one where the catalogue does not have it."""
    return english if language == "en" else load_catalogue(language).get(english, (english,))[0]


def translate_plural(language: str, singular: str, plural: str, number: int) -> str:
    if language == "en":
        return singular if number == 1 else plural
    return load_catalogue(language).get(singular, (plural,))[0]


def render(message: Message, language: str) -> str:
    """Return the message as a sentence. A code that the catalogue lacks is shown as it is, with its arguments."""
    if message.code == OTHER:
        return str(message.args.get("text", ""))
    forms = load_catalogue(language).get(message.code)
    if forms is None:
        return str(message)
    number = message.args.get("count")
    template = forms[-1] if len(forms) > 1 and number != 1 else forms[0]
    if "{" not in template and "}" not in template:
        return template
    return _FORMATTER.vformat(template, (), {name: _to_words(value, language) for name, value in message.args.items()})


def get_word(language: str, kind: str, value: object) -> str:
    """Return the word for a value of a vocabulary, `word.<kind>.<value>`; the value itself where there is none."""
    return get_words(language, kind).get(str(value), "" if value is None else str(value))


@cache
def get_words(language: str, kind: str) -> Mapping[str, str]:
    start = f"word.{kind}."
    entries = load_catalogue(language).items()
    return {msgid.removeprefix(start): forms[0] for msgid, forms in entries if msgid.startswith(start)}


def has_message(language: str, code: str) -> bool:
    return code == OTHER or code in load_catalogue(language)


def get_system_language(environment: Mapping[str, str] = os.environ) -> str:
    """Return the language of the command line: `zh` under a Chinese locale, else `en`."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(variable):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


class _SafeFormatter(Formatter):
    """Formats `{name}` and `{name:,}` alone: an argument's attributes and entries are out of a template's reach.

    An argument that is missing stands as its name in braces.
    """

    def parse(self, format_string: Any) -> Any:
        return _parse_template(str(format_string))

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:  # noqa: ARG002
        return kwargs.get(field_name, f"{{{field_name}}}"), field_name


@cache
def _parse_template(template: str) -> tuple[Any, ...]:
    """The pieces of a template; there are as many as the catalogue has sentences, and the formats in them."""
    return tuple(Formatter().parse(template))


_FORMATTER = _SafeFormatter()


def _to_words(value: Any, language: str) -> Any:
    if isinstance(value, Message):
        return render(value, language)
    if isinstance(value, list | tuple | set | frozenset):
        return ("、" if language == "zh" else ", ").join(str(_to_words(entry, language)) for entry in value)
    return "" if value is None else value
