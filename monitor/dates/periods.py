"""Finds periods in texts, and says when they begin and end.

A date says when something happened; a period says what a figure counts. 前三季度, 1—9月 and "the first nine months" are
one value, its first and its last day.
"""

import calendar
import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from monitor.dates.forms import CHINESE_YEAR
from monitor.dates.grammar import find_dates
from monitor.dates.names import fold_digits, parse_month
from monitor.dates.numerals import ENGLISH_WORDS, parse_date_numeral
from monitor.dates.partial import PartialDate, SpanSet, WrittenDate
from monitor.dates.period_forms import (
    FROM_PUBLICATION,
    FROM_TEXT,
    MONTH_END,
    MONTH_NAME,
    PERIOD_FORMS,
    YEAR_BEFORE,
    YEAR_END,
    YEAR_START,
    MonthDay,
    PeriodForm,
    PeriodKind,
    Shape,
)

_MAX_PAST_DAYS = 330  # 10月 on a page of November is that of this year, 12月 on one of January that of the last
_MAX_AHEAD_DAYS = 180
_MAX_YEAR_CHARS = 14
_LEAP_YEAR = 2024
_YEAR = re.compile(
    r"(?<![\d.,])(?:19|20|21)\d\d(?![\d%]|[.,]\d)(?=\s?[年财]|\s?[-/.—–~]|[\s,;:()）。，；、：’'\"”]|[至到]|$)"
    rf"|{CHINESE_YEAR}(?=年)"
)
_STOP = re.compile(r"[。！？；\n]|[.!?]\s")
_UNTIL = re.compile(r"\s?(?:起?至|到|[-—–~～〜]|to|through|until|till|bis|al?|and)\s?")
_ENDED = re.compile(
    r"\b(?:(?P<n>two|three|six|nine|twelve|\d{1,2})[- ]months?|(?P<unit>quarter|half[- ]year|year))(?:\speriod)?"
    r"\s(?:ended|ending|to)\s(?:on\s)?\Z",
    re.IGNORECASE,
)
_MONTHS_OF = {"quarter": 3, "half-year": 6, "half year": 6, "year": 12}
_MAX_ENDED_CHARS = 40
_MONTH_OR_QUARTER = re.compile(r"(?P<m>\d{1,2}|[一二三四五六七八九十]{1,2})\s?月|第?(?P<q>[一二三四1-4])季度")
_MAX_BACK_CHARS = 60
_ENGLISH_MONTH = re.compile(
    rf"\b(?:in|for|of|since|during|by|until|from|last)\s(?P<name>{MONTH_NAME})(?!\s?(?:\d|[-–—]))", re.IGNORECASE
)
_MONTH = re.compile(
    r"(?<![\d.第])(?P<m>\d{1,2}|[一二三四五六七八九十]{1,2})\s?月份?(?!\s?(?:\d|[一二三四五六七八九十]{1,3}[日号]))"
)


@dataclass(frozen=True, slots=True)
class CalendarPeriod:
    """A period of a text by the calendar, with its words and their span."""

    start: dt.date
    end: dt.date
    written: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class WrittenPeriod:
    """A period as it is written: month and day of both ends, where the day 31 is the last one of any month.

    `years` are those that its beginning may lie in, the likeliest first; none where nothing tells. `has_year` says
    whether the words themselves name it, be it by 去年. The period ends `more_years` later than it begins.
    """

    written: str
    start: int
    end: int
    kind: PeriodKind
    first: MonthDay = YEAR_START
    last: MonthDay = YEAR_END
    years: tuple[int, ...] = ()
    more_years: int = 0
    has_year: bool = False
    is_range: bool = False
    is_word: bool = False
    has_days: bool = False

    @property
    def is_of_months(self) -> bool:
        """Whether it is a range of two months, 3月至8月, without their days."""
        return self.is_range and self.kind == "span" and not self.has_days

    @property
    def is_whole(self) -> bool:
        """Whether it has whole months, or is a third of one or a day: 3月5日至8日 are two dates."""
        return self.kind != "span" or (self.first[1] in (1, 11, 21) and self.last[1] in (10, 20, MONTH_END))

    def covers(self, claim: "WrittenPeriod") -> bool:
        """Whether a claim may name this very period; a claim without a year says less, not something else."""
        if (self.first, self.last, self.more_years) != (claim.first, claim.last, claim.more_years):
            return False
        return not claim.has_year or not claim.years or not set(claim.years).isdisjoint(self.years)

    def list_ends(self) -> list[tuple[PartialDate, PartialDate]]:
        """Return the first and the last day in each possible year; without a year where none is known."""
        return [
            (_partial(year, self.first), _partial(None if year is None else year + self.more_years, self.last))
            for year in self.years or (None,)
        ]


def _partial(year: int | None, month_day: MonthDay) -> PartialDate:
    month, day = month_day
    return PartialDate(year, month, min(day, calendar.monthrange(year or _LEAP_YEAR, month)[1]))


def _to_day(year: int, month_day: MonthDay) -> dt.date:
    return _partial(year, month_day).to_date() or dt.date(year, month_day[0], 1)


def find_periods(text: str, published_on: dt.date | None) -> list[CalendarPeriod]:
    """Return the periods of a text in order, those whose year the text or the day of publication tells.

    Years, halves, quarters, months, ranges, plans, parts of a month, ends and beginnings (one day), words such as 去年
    or last month, and 同期, which has the months of the period before it and the year before, unless a year is written.
    Single days are dates, see `find_dates`.
    """
    folded = fold_digits(text)
    dates = find_dates(folded)
    scan = PeriodScan(folded, dates, published_on=published_on)
    found = [*scan.periods, *scan.list_months()]
    spans = SpanSet(len(text))
    for period in found:
        spans.take(period.start, period.end)
    for date in dates:
        if date.month:
            spans.take(date.start, date.end)
    for year in _YEAR.finditer(folded):
        if spans.is_free(*year.span()):
            end = year.end() + (folded[year.end() : year.end() + 1] == "年")
            found.append(
                WrittenPeriod(
                    folded[year.start() : end], year.start(), end, "year", years=(parse_date_numeral(year[0]) or 0,)
                )
            )
    return [*_by_calendar(text, sorted(found, key=lambda period: period.start))]


def _by_calendar(text: str, found: Sequence[WrittenPeriod]) -> Iterator[CalendarPeriod]:
    before: WrittenPeriod | None = None
    for written in found:
        period = written
        if period.kind == "same":
            if before is None or not before.years:
                continue
            is_month = "月" in period.written or "month" in period.written
            year = period.years[0] if period.years else before.years[0] - (not is_month)
            period = replace(period, first=before.first, last=before.last, more_years=before.more_years, years=(year,))
        elif period.kind in ("span", "month", "plan", "years"):
            before = period
        if period.years and period.years[0] >= 1 and period.years[0] + period.more_years <= dt.MAXYEAR:
            start = _to_day(period.years[0], period.first)
            end = _to_day(period.years[0] + period.more_years, period.last)
            yield CalendarPeriod(start, end, text[period.start : period.end], (period.start, period.end))


_SIGNS = frozenset(sign for form in PERIOD_FORMS for sign in form.signs)


class PeriodScan:
    """The periods of a text with folded digits, apart from years in digits.

    `dates` are those of the text: two with a dash between them are a period too. `year` is the last one before it.
    """

    def __init__(
        self, text: str, dates: Sequence[WrittenDate], *, published_on: dt.date | None = None, year: int | None = None
    ) -> None:
        self._text = text
        self._dates = dates
        self._years = _Years(text, dates, published_on, year)
        self.published_on = published_on
        self.last_year = self._years.last
        self.periods = self._find_periods()

    def _find_periods(self) -> list[WrittenPeriod]:
        spans = SpanSet(len(self._text))
        found: list[WrittenPeriod] = []
        present = {sign for sign in _SIGNS if sign in self._text}
        for form in PERIOD_FORMS if present else ():
            if present.isdisjoint(form.signs):
                continue
            for match in form.pattern.finditer(self._text):
                period = _read(form, match, self._years) if spans.is_free(*match.span()) else None
                if period is not None:
                    spans.take(period.start, period.end)
                    found.append(period)
        ranges = [*_list_ended(self._text, self._dates), *_list_date_ranges(self._text, self._dates, self._years)]
        found += (period for period in ranges if spans.is_free(period.start, period.end))
        return sorted(found, key=lambda period: period.start)

    def list_months(self) -> list[WrittenPeriod]:
        """Return the single months outside of the periods: 10月份, March 2026, "in March"."""
        spans = SpanSet(len(self._text))
        for period in self.periods:
            if period.kind != "year":  # of 今年3月 it is a part
                spans.take(period.start, period.end)
        free = [date for date in self._dates if spans.is_free(date.start, date.end)]
        for date in free:
            spans.take(date.start, date.end)
        months = [month for month in self._list_named_months() if spans.is_free(month.start, month.end)]
        for date in free:
            if date.month and date.day is None:
                ends = (date.month, 1), (date.month, MONTH_END)
                years = (date.year,) if date.year else self._years.guess(date.start, *ends)
                months.append(
                    WrittenPeriod(date.written, date.start, date.end, "month", *ends, years, has_year=bool(date.year))
                )
        return months

    def list_years(self, date: WrittenDate) -> tuple[int, ...]:
        """Return the years that a day without a year may be of: by a word before it, its sentence, the publication."""
        if before := self._years.before(date.start):
            return before[1]
        return self._years.guess_of_day(date)

    def _list_named_months(self) -> Iterator[WrittenPeriod]:
        for pattern, group in ((_MONTH, "m"), (_ENGLISH_MONTH, "name")):
            for found in pattern.finditer(self._text):
                month = parse_month(found[group].rstrip(".")) or parse_date_numeral(found[group]) or 0
                if not 1 <= month <= 12 or (group == "name" and not found[group][0].isupper()):
                    continue
                first, last, start = (month, 1), (month, MONTH_END), found.start(group)
                before = self._years.before(start)
                start, years = before or (start, self._years.guess(start, first, last))
                written = self._text[start : found.end()]
                yield WrittenPeriod(
                    written, start, found.end(), "month", first, last, years, has_year=before is not None
                )


def _read(form: PeriodForm, match: re.Match[str], years: "_Years") -> WrittenPeriod | None:
    parts = {
        name.rstrip("_23") if name[-2:-1] == "_" else name: said for name, said in match.groupdict().items() if said
    }
    shape = form.read(parts)
    if shape is None:
        return None
    start, has_year = match.start(), True
    known: tuple[int, ...] = ()
    if shape.back is not None:
        shape, known = years.count_back(form, shape, start)
    elif shape.year is not None:
        known = (shape.year,)
    elif parts.get("rel"):
        known = years.resolve(parts["rel"], start)
    elif before := years.before(start):
        start, known = before
    else:
        has_year = False
        known = years.guess(start, shape.first, shape.last) if form.kind in ("span", "edge") else ()
    return WrittenPeriod(
        match.string[start : match.end()],
        start,
        match.end(),
        form.kind,
        shape.first,
        shape.last,
        known,
        shape.more_years,
        has_year,
        form.is_range,
        form.is_word,
    )


def _list_ended(text: str, dates: Sequence[WrittenDate]) -> Iterator[WrittenPeriod]:
    """Yield the periods that are written with their last day: nine months ended 30 September 2026."""
    for date in dates:
        found = _ENDED.search(text, max(date.start - _MAX_ENDED_CHARS, 0), date.start) if date.month else None
        if found is None or not date.month or _fold_month_end(date) != MONTH_END:
            continue
        unit = (found["unit"] or "").lower()
        number = _MONTHS_OF.get(unit) or ENGLISH_WORDS.get((found["n"] or "").lower()) or int(found["n"] or 0)
        if not 1 <= number <= 12:
            continue
        more = int(number > date.month)
        first = (date.month - number + 12 * more + 1, 1)
        if number == 12 and date.month == 12:
            more, first = 0, YEAR_START
        years = () if date.year is None else (date.year - more,)
        kind: PeriodKind = "year" if number == 12 and not more else "span"
        last = (date.month, MONTH_END)
        written = text[found.start() : date.end]
        yield WrittenPeriod(written, found.start(), date.end, kind, first, last, years, more, has_year=bool(years))


def _list_date_ranges(text: str, dates: Sequence[WrittenDate], years: "_Years") -> Iterator[WrittenPeriod]:
    """Yield the periods from a day to a day, or from a month to a month, that are written as two dates."""
    for first, last in pairwise(dates):
        if not first.month or not last.month or (first.day is None) != (last.day is None):
            continue
        if last.start - first.end > 4 or not _UNTIL.fullmatch(text, first.end, last.start):
            continue
        begin, end = (first.month, first.day or 1), (last.month, _fold_month_end(last))
        begin_year = first.year if first.year is not None else last.year
        if first.year is None and last.year is not None and begin > end:
            begin_year = last.year - 1
        end_year = last.year if last.year is not None else begin_year
        more = 0 if begin_year is None or end_year is None else end_year - begin_year
        if last.year is None and begin > end:
            more = 1
        if more < 0 or (more == 0 and begin > end):
            continue
        known = (begin_year,) if begin_year is not None else years.guess(first.start, begin, end)
        written = text[first.start : last.end]
        yield WrittenPeriod(
            written,
            first.start,
            last.end,
            "span",
            begin,
            end,
            known,
            more,
            begin_year is not None,
            is_range=True,
            has_days=first.day is not None,
        )


def _fold_month_end(date: WrittenDate) -> int:
    month_end = calendar.monthrange(date.year or _LEAP_YEAR, date.month or 1)[1]
    return MONTH_END if date.day is None or date.day == month_end else date.day


class _Years:
    """The years that a text names, for the periods in it that name none."""

    def __init__(
        self, text: str, dates: Sequence[WrittenDate], published_on: dt.date | None, carried: int | None
    ) -> None:
        self._text = text
        self.published_on = published_on
        self._carried = carried
        places = {found.start(): parse_date_numeral(found[0]) or 0 for found in _YEAR.finditer(text)}
        places |= {date.start: date.year for date in dates if date.year is not None}
        self._places = sorted(places.items())
        self._stops = [found.start() for found in _STOP.finditer(text)]
        self._era_ends = {date.end: date for date in dates if date.month is None and date.year is not None}

    @property
    def last(self) -> int | None:
        return self._places[-1][1] if self._places else self._carried

    def before(self, start: int) -> tuple[int, tuple[int, ...]] | None:
        """Return where the year right before a place begins, and which ones it may be."""
        found = YEAR_BEFORE.search(self._text, max(start - _MAX_YEAR_CHARS, 0), start)
        if found is not None and found["y"]:
            return found.start(), (parse_date_numeral(found["y"]) or 0,)
        if found is not None:
            return found.start(), self.resolve(found["rel"], found.start())
        date = self._era_ends.get(start) or self._era_ends.get(start - 1)
        return (date.start, (date.year,)) if date is not None and date.year is not None else None

    def resolve(self, words: str, start: int) -> tuple[int, ...]:
        """Return the years that 今年 or "the previous year" may be at this place."""
        word = words.lower()
        published = self.published_on.year if self.published_on else None
        near, far = self._near(start)
        if (step := FROM_PUBLICATION.get(word)) is not None:
            base = near if published is None and step == 0 else published
            return () if base is None else (base + step,)
        if (step := FROM_TEXT.get(word)) is None:
            return ()
        possible = [year + step for year in (near, published, far) if year is not None]
        return tuple(dict.fromkeys(possible))

    def count_back(self, form: PeriodForm, shape: Shape, start: int) -> tuple[Shape, tuple[int, ...]]:
        """Return the month, quarter or day that 上月 or "yesterday" is, counted from the publication.

        Behind 9月 in the same sentence 上月 is August, whenever that was published.
        """
        back = shape.back or 0
        if form.kind == "day" and shape.day is None:
            if self.published_on is None:
                return shape, ()
            day = self.published_on + dt.timedelta(days=back)
            return replace(shape, first=(day.month, day.day), last=(day.month, day.day)), (day.year,)
        base = self._find_base(form, start)
        if base is None:
            return shape, ()
        year, month = divmod(12 * base[0] + base[1] - 1 + back, 12)
        if form.kind == "span":
            month -= month % 3
            return replace(shape, first=(month + 1, 1), last=(month + 3, MONTH_END)), (year,)
        first, last = (shape.day, shape.day) if shape.day else (1, MONTH_END)
        return replace(shape, first=(month + 1, first), last=(month + 1, last)), (year,)

    def _find_base(self, form: PeriodForm, start: int) -> tuple[int, int] | None:
        """Return the year and the month that a word counts from."""
        stop = bisect_left(self._stops, start)
        begin = max(self._stops[stop - 1] if stop else 0, start - _MAX_BACK_CHARS)
        wanted = "q" if form.kind == "span" else "m"
        named = [found[wanted] for found in _MONTH_OR_QUARTER.finditer(self._text, begin, start) if found[wanted]]
        month = (parse_date_numeral(named[-1]) or 0) * (3 if wanted == "q" else 1) if named else 0
        if 1 <= month <= 12:
            years = self.guess(start, (month, 1), (month, MONTH_END))
            if years:
                return years[0], month
        return None if self.published_on is None else (self.published_on.year, self.published_on.month)

    def guess(self, start: int, first: MonthDay, last: MonthDay) -> tuple[int, ...]:
        """Return the years that a period without a year may begin in."""
        near, far = self._near(start)
        likely = [] if near is None else [near]
        if self.published_on is not None:
            today = self.published_on
            is_over = (today - _to_day(today.year - 1 + int(last < first), last)).days <= _MAX_PAST_DAYS
            guessed = [today.year, today.year - 1] if is_over else [today.year]
            if (_to_day(today.year, first) - today).days > _MAX_AHEAD_DAYS:
                guessed.reverse()
            # What has not ended is rather that of the year before, where the text spoke of it.
            if _to_day(today.year, last) > today and far is not None:
                likely.append(far)
            likely += guessed
        if far is not None:
            likely.append(far)
        return tuple(dict.fromkeys(likely))

    def guess_of_day(self, date: WrittenDate) -> tuple[int, ...]:
        near, far = self._near(date.start)
        if self.published_on is None or not date.month:
            # 5 January and 27 February 2027: a year before it is carried on, see `carry_years`.
            return () if near is None or far is not None else (near,)
        day = (date.month, date.day or 1)
        likely = (self.published_on.year - 1, self.published_on.year, near if far is None else None)
        return tuple(year for year in self.guess(date.start, day, day) if year in likely)

    def _near(self, start: int) -> tuple[int | None, int | None]:
        """Return the nearest year of the same sentence, rather the one before, and the last one before it."""
        place = bisect_left(self._places, (start, 0))
        stop = bisect_left(self._stops, start)
        begin = self._stops[stop - 1] if stop else -1
        end = self._stops[stop] if stop < len(self._stops) else len(self._text)
        before = self._places[place - 1] if place else None
        behind = self._places[place] if place < len(self._places) else None
        if before is not None and before[0] > begin:
            return before[1], before[1]
        near = behind[1] if behind is not None and behind[0] < end else None
        return near, before[1] if before is not None else self._carried
