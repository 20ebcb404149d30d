"""Finds dates in texts, whole or in part, by the forms of `monitor.dates.forms`."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import urlsplit

from monitor.dates.forms import ABOVE_YEAR, COMPACT, DAY_NUMBER, YEAR_LAST, Context, Form, select_forms
from monitor.dates.names import fold_digits
from monitor.dates.numerals import parse_date_numeral
from monitor.dates.partial import DateOrder, SpanSet, WrittenDate

_MAX_RANGE_CHARS = 16
MAY_HOLD_DATE = re.compile(r"\d|[年月년월]")
# The other end of a range within one month: 2月3日至5日, 3–5 February, February 3–5, 2026.
_LAST_DAY = re.compile(rf"\s?(?:[-–—~～〜至到]|から|부터)\s?{DAY_NUMBER}\s?[日号號일]")
_LAST_DAY_BEHIND = re.compile(
    r"(?:(?P<dash>[-–—])|\s(?:to|[-–—])\s)(?P<d>\d{1,2})(?:st|nd|rd|th)?(?![\d%]|[.,]\d{1,3}(?!\d))"
    r"(?:,?\s?(?P<y>(?:19|20|21)\d\d)(?!\d))?"
)
_FIRST_DAY = re.compile(r"(?<![\d.,:/-])(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?(?:[-–—]|\s(?:to|bis|al?|au|до|по)\s)\Z")
# Between two days of which the first one takes the year of the second.
_NAMED_WITHOUT_YEAR = ("name_day", "day_name")
_UNTIL = re.compile(r"\s?(?:[-–—~～]|to|until|bis|al?|au|до|по)\s?")
# Names that only the United States hand out.
_MONTH_FIRST = frozenset({"gov", "mil", "edu", "us"})
# Countries of one custom: Canada and others write both ways, and .co, .io or .tv are sold to everybody.
_DAY_FIRST = frozenset(
    {"ar", "at", "au", "be", "bg", "br", "ch", "cl", "cz", "de", "es", "fi", "fr", "gr", "hr", "id", "ie", "il", "in"}
    | {"it", "ke", "lu", "mx", "my", "ng", "nl", "no", "nz", "pe", "pl", "pt", "ro", "rs", "ru", "sg", "sk", "th", "tr"}
    | {"ua", "uk", "uy", "vn", "za"}
)
_YEAR_FIRST_COUNTRIES = frozenset({"cn", "jp", "kr", "tw"})
_YEAR_FIRST_LANGUAGES = frozenset({"ja", "ko", "zh"})
# Languages whose countries all write the day first; with some, as Swedish, the year comes first as often.
_DAY_FIRST_LANGUAGES = frozenset(
    {"bg", "cs", "da", "de", "el", "es", "fi", "it", "nb", "nl", "no", "pl", "pt", "ro", "ru", "sk", "tr", "uk", "vi"}
)
# Private characters that neither pages nor icon fonts use.
_FIRST, _LAST = 0x100000, 0x10FFFD
DATE_SIGN = f"[{chr(_FIRST)}-{chr(_LAST)}]"
"""A pattern for one date of a masked text."""
YEAR_FIRST = frozenset({"chinese", "year_first"})


def find_dates(text: str, *, order: DateOrder | None = None) -> list[WrittenDate]:
    """Return the dates of a running text, whole or partial, in order and without overlaps.

    `order` settles 03/02/2026, which is no date without it, see `detect_order`. A range within a month (2月3日至5日)
    gives both days.
    """
    folded = fold_digits(text)
    dates = scan(folded, Context(order))
    if not dates:
        return []
    ranged = _complete_ranges(folded, _extend_ranges(folded, dates))
    return ranged if folded is text else [replace(date, written=text[date.start : date.end]) for date in ranged]


def find_compact_dates(text: str) -> list[WrittenDate]:
    """Return the numbers of eight digits that may be dates, 20260203; they may as well be numbers."""
    context = Context()
    return [date for found in COMPACT.pattern.finditer(text) if (date := _read(COMPACT, found, context)) is not None]


def carry_years(dates: Sequence[WrittenDate]) -> Iterator[tuple[int, WrittenDate]]:
    """Yield the dates of a page with their indexes; one without a year also with the year of the date before it."""
    year: int | None = None
    for place, date in enumerate(dates):
        yield place, date
        if date.year is not None:
            year = date.year
        elif year is not None:
            yield place, replace(date, value=replace(date.value, year=year))


def scan(text: str, context: Context) -> list[WrittenDate]:
    """Return the dates in a text with folded digits; in a list only those with a day, doubtful ones too."""
    return sorted(iter_dates(text, context), key=lambda date: date.start)


def iter_dates(text: str, context: Context) -> Iterator[WrittenDate]:
    """Yield what `scan` returns as it is found, form by form."""
    if not MAY_HOLD_DATE.search(text):
        return
    spans = SpanSet(len(text))
    for form in select_forms(text, is_list=context.is_list):
        start = 0
        while match := form.pattern.search(text, start):
            date = _read(form, match, context) if spans.is_free(*match.span()) else None
            if date:
                spans.take(*match.span())
                yield date
            # A date may begin within what is none: `Nr. 25 vom 20. Oktober 2021`.
            start = match.end() if date else match.start() + 1


def _read(form: Form, match: re.Match[str], context: Context) -> WrittenDate | None:
    if not context.is_list and form.doubt(match):
        return None
    value = form.read(match, context)
    if value is None or not value.is_real or (context.is_list and value.day is None):
        return None
    return WrittenDate(match[0], match.start(), match.end(), form.name, value)


def _extend_ranges(text: str, dates: Sequence[WrittenDate]) -> list[WrittenDate]:
    """Return the dates with the other days of their ranges."""
    extended: list[WrittenDate] = []
    for date, following in zip(dates, [*dates[1:], None], strict=True):
        start = extended[-1].end if extended else 0
        end = following.start if following else len(text)
        extended.extend(_days_of_range(text, date, start, end) if date.day else [date])
    return extended


def _days_of_range(text: str, date: WrittenDate, start: int, end: int) -> list[WrittenDate]:
    """Return the date and the day beside it, between `start` and `end`, that takes its month from it."""
    if date.form.startswith("day_name"):
        found = _FIRST_DAY.search(text, max(start, date.start - _MAX_RANGE_CHARS), date.start)
        first = _on_day(text, date, found) if found else None
        return [first, date] if first and first.day and date.day and first.day < date.day else [date]
    found = (_LAST_DAY_BEHIND if date.form == "name_day" else _LAST_DAY).match(text, date.end, end)
    last = _on_day(text, date, found) if found else None
    if not found or not last or not last.day or not date.day or last.day <= date.day:
        return [date]
    if date.form == "name_day":
        if not found["dash"] and not found["y"]:
            return [date]
        year = int(found["y"]) if found["y"] else date.year
        return [replace(end, value=replace(end.value, year=year)) for end in (date, last)]
    return [date, last]


def _on_day(text: str, date: WrittenDate, found: re.Match[str]) -> WrittenDate | None:
    value = replace(date.value, day=parse_date_numeral(found["d"]) or 0)
    start, end = found.start("d"), found.end("d") if found.end() <= date.start else found.end()
    return WrittenDate(text[start:end], start, end, date.form, value) if value.is_real else None


def _complete_ranges(text: str, dates: Sequence[WrittenDate]) -> list[WrittenDate]:
    """Return the dates, the first of 3 February to 5 March 2026 in the year of the second."""
    completed = list(dates)
    for place, (first, last) in enumerate(pairwise(dates)):
        if first.form not in _NAMED_WITHOUT_YEAR or not last.year or not last.month or not last.day:
            continue
        if _UNTIL.fullmatch(text, first.end, last.start):
            is_over_new_year = (first.month, first.day) > (last.month, last.day)
            completed[place] = replace(first, value=replace(first.value, year=last.year - is_over_new_year))
    return completed


def detect_order(text: str) -> DateOrder | None:
    """Return the order of a page's numeric dates; None unless a number above 12 settles it and none contradicts."""
    days_first = months_first = 0
    # 13-11-29 may begin with its year.
    pairs = [
        (match["a"], match["b"])
        for match in YEAR_LAST.pattern.finditer(text)
        if len(match["y"]) > 2 or match["sep"] != "-"
    ]
    pairs += [(match["m"], match["d"]) for match in ABOVE_YEAR.pattern.finditer(text)]
    for first, second in ((int(left), int(right)) for left, right in pairs):
        days_first += 31 >= first > 12 >= second > 0
        months_first += 31 >= second > 12 >= first > 0
    if bool(days_first) == bool(months_first):
        return None
    return "dmy" if days_first else "mdy"


def infer_order(url: str, language: str = "") -> DateOrder | None:
    """Return the order in which the country of a host writes its dates; None where name and language do not tell it.

    `language` is what the page declares (`de-AT`); it counts where the host's name tells no country.
    """
    country = (urlsplit(url).hostname or "").rpartition(".")[2]
    if country in _MONTH_FIRST:
        return "mdy"
    spoken = language.lower().replace("_", "-").partition("-")[0]
    if country in _DAY_FIRST or spoken in _DAY_FIRST_LANGUAGES:
        return "dmy"
    return "ymd" if country in _YEAR_FIRST_COUNTRIES or spoken in _YEAR_FIRST_LANGUAGES else None


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text with a sign for each of its whole dates."""

    text: str
    dates: tuple[WrittenDate, ...]

    def date_of(self, sign: str) -> WrittenDate:
        """Return the date that a sign stands for."""
        return self.dates[ord(sign) - _FIRST]

    def restore(self, text: str) -> str:
        """Return what a pattern left of the masked text, with its dates as they were written."""
        return text.translate({_FIRST + place: date.written for place, date in enumerate(self.dates)})


def mask_dates(text: str, forms: Container[str] | None = None) -> MaskedText:
    """Replace each whole date of a text, or each that is in one of the forms, by a sign.

    Of 03/02/2026 it is certain that it is a date, not which: it counts as the 3rd of February.
    """
    whole = (date for date in find_dates(text, order="dmy") if date.value.to_date())
    dates = tuple(date for date in whole if forms is None or date.form in forms)[: _LAST - _FIRST]
    pieces, last = [], 0
    for place, date in enumerate(dates):
        pieces += [text[last : date.start], chr(_FIRST + place)]
        last = date.end
    return MaskedText("".join([*pieces, text[last:]]), dates)
