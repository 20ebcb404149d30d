"""Days of the calendar, as they are found in texts: what is no day, or cannot be a day of publication, is none."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

Order = Literal["dmy", "mdy", "ymd"]
"""Whether the day or the month comes first in 03/02/2026; or the year, in 26-02-03, where that is the custom."""

SPACE = r"[\s\u00a0\u3000]"

_FIRST_YEAR = 1990


@dataclass(frozen=True, slots=True)
class DateMatch:
    """A date read in a text: where it stands, and whether its year was written there or taken from the context."""

    date: dt.date
    start: int
    end: int
    has_year: bool = True
    is_compact: bool = False


def real_date(year: int, month: int, day: int, today: dt.date) -> dt.date | None:
    """The calendar date, or None for what is no date, lies before 1990 or after tomorrow."""
    try:
        date = dt.date(year, month, day)
    except (ValueError, OverflowError):
        return None
    return date if dt.date(_FIRST_YEAR, 1, 1) <= date <= today + dt.timedelta(days=1) else None


def match_of(
    found: re.Match[str], date: dt.date | None, *, has_year: bool = True, is_compact: bool = False
) -> list[DateMatch]:
    """The match at that place; empty where it is no date."""
    return [DateMatch(date, found.start(), found.end(), has_year, is_compact)] if date else []


# Names that only the United States hand out.
_MONTH_FIRST = frozenset({"gov", "mil", "edu", "us"})

# Countries of one custom: Canada and others write both ways, and .co, .io or .tv are sold to everybody.
_DAY_FIRST = frozenset(
    {"ar", "at", "au", "be", "bg", "br", "ch", "cl", "cz", "de", "es", "fi", "fr", "gr", "hr", "id", "ie", "il", "in"}
    | {"it", "ke", "lu", "mx", "my", "ng", "nl", "no", "nz", "pe", "pl", "pt", "ro", "rs", "ru", "sg", "sk", "th", "tr"}
    | {"ua", "uk", "uy", "vn", "za"}
)


# Languages whose countries all write the day first; with some, as Swedish, the year comes first as often.
_DAY_FIRST_LANGUAGES = frozenset(
    {"bg", "cs", "da", "de", "el", "es", "fi", "it", "nb", "nl", "no", "pl", "pt", "ro", "ru", "sk", "tr", "uk", "vi"}
)


def customary_order(url: str, language: str = "") -> Order | None:
    """The order in which the country of a host writes its dates; None where neither name nor language tells it.

    `language` is what the page declares (`de-AT`); it counts where the host's name tells no country.
    """
    country = (urlsplit(url).hostname or "").rpartition(".")[2]
    if country in _MONTH_FIRST:
        return "mdy"
    spoken = language.lower().replace("_", "-").partition("-")[0]
    return "dmy" if country in _DAY_FIRST or spoken in _DAY_FIRST_LANGUAGES else None
