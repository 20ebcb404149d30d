"""The language of a page, and its sentences: English stands in the code, Chinese in `locale/zh/*.po`."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from babel.core import Locale, UnknownLocaleError, negotiate_locale
from babel.messages.pofile import read_po
from fastapi import Request

LANGUAGES = ("zh", "en")
LANGUAGE_COOKIE = "monitor_language"


def language_of(request: Request, chosen: str | None) -> str:
    """What the person chose, else the browser, else Chinese."""
    if chosen in LANGUAGES:
        return str(chosen)
    cookie = request.cookies.get(LANGUAGE_COOKIE)
    if cookie in LANGUAGES:
        return str(cookie)
    wanted = [tag for part in request.headers.get("accept-language", "").split(",") if (tag := _tag(part))]
    return negotiate_locale(wanted, LANGUAGES, sep="-") or LANGUAGES[0]


def _tag(part: str) -> str | None:
    """The language of one entry of Accept-Language, without its region."""
    tag = part.partition(";")[0].strip()
    try:
        return Locale.parse(tag, sep="-").language
    except (ValueError, UnknownLocaleError, TypeError):
        return None


@cache
def chinese() -> dict[str, str]:
    """The Chinese of every English sentence; those of several numbers stand under their singular."""
    return dict(_messages())


def _messages() -> Iterator[tuple[str, str]]:
    folder = files("monitor.web").joinpath("locale/zh")
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if not file.name.endswith(".po"):
            continue
        with file.open("rb") as opened:
            for message in read_po(opened, locale="zh"):
                if message.id and message.string:
                    singular = message.id if isinstance(message.id, str) else message.id[0]
                    yield singular, message.string if isinstance(message.string, str) else message.string[0]


def text(language: str, english: str) -> str:
    """The sentence in the language; the English one where nobody translated it."""
    return chinese().get(english, english) if language == "zh" else english


def text_of_number(language: str, singular: str, plural: str, number: int) -> str:
    """The sentence that fits the number."""
    if language == "zh":
        return chinese().get(singular, plural)
    return singular if number == 1 else plural
