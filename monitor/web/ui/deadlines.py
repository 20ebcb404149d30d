"""The calendar: a month of deadlines as a table and as a list, and the addresses of calendars to subscribe to."""

import calendar
import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from babel.dates import format_date, format_skeleton, get_day_names
from fastapi import APIRouter, Response

from monitor.bootstrap import App
from monitor.errors import NotFound
from monitor.policies.calendar import DeadlineEntry
from monitor.services.deadlines import DeadlineDays, DeadlineQuery
from monitor.vocabulary import DeadlineKind
from monitor.web.auth import AppDep, Principal, Reader
from monitor.web.ui.rendering import FilterText, PageRenderer, Renderer

_MONTH = re.compile(r"(19[7-9]\d|20\d\d)-(0[1-9]|1[0-2])")
_LIST_AHEAD = dt.timedelta(days=31)
_MAX_SHOWN = 200
"""So many deadlines a month shows at about; of a day that has more than its share, its own page has them all."""
_MAX_POLICY_ID = 2**31 - 1

router = APIRouter()


@dataclass(frozen=True)
class CalendarDay:
    """A cell of the month's table; days of the months beside it are there to fill the weeks."""

    day: dt.date
    is_inside: bool
    entries: Sequence[DeadlineEntry]


@dataclass(frozen=True)
class CalendarFilter:
    """What narrows the calendar, as it stands in the address; what is not given is empty."""

    topic: str = ""
    kind: DeadlineKind | None = None
    policy: int | None = None
    source: str = ""

    @property
    def parameters(self) -> dict[str, Any]:
        given = {"topic": self.topic, "kind": self.kind, "policy": self.policy, "source": self.source}
        return {name: str(value) for name, value in given.items() if value}

    def to_query(self, since: dt.date, until: dt.date) -> DeadlineQuery:
        return DeadlineQuery(
            since=since,
            until=until,
            kinds=[self.kind] if self.kind else [],
            topic=self.topic or None,
            policy=self.policy,
            sources=[self.source] if self.source else [],
        )


def parse_month(text: str, today: dt.date) -> dt.date:
    """Return the first day of a month that is given as 2026-11; of the present one for anything else."""
    found = _MONTH.fullmatch(text)
    return dt.date(int(found[1]), int(found[2]), 1) if found else today.replace(day=1)


def add_months(first: dt.date, count: int) -> dt.date:
    months = first.year * 12 + first.month - 1 + count
    return dt.date(months // 12, months % 12 + 1, 1)


def build_weeks(first: dt.date, entries: Iterable[DeadlineEntry]) -> list[list[CalendarDay]]:
    """Return the weeks of a month, Monday first, with the entries of each day."""
    by_day: dict[dt.date, list[DeadlineEntry]] = {}
    for entry in entries:
        by_day.setdefault(entry.day, []).append(entry)
    weeks = calendar.Calendar().monthdatescalendar(first.year, first.month)
    return [[CalendarDay(day, day.month == first.month, by_day.get(day, [])) for day in week] for week in weeks]


def group_by_day(entries: Iterable[DeadlineEntry]) -> list[tuple[dt.date, list[DeadlineEntry]]]:
    """Return entries that are in the order of their days, day by day."""
    return [(day, list(group)) for day, group in groupby(entries, key=lambda entry: entry.day)]


@router.get("/calendar")
async def show_calendar(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    month: FilterText = "",
    topic: FilterText = "",
    kind: FilterText = "",
    policy: FilterText = "",
    source: FilterText = "",
    day: FilterText = "",
) -> Response:
    """Show a month; what lies ahead is listed for a month at least, and what is past of the present month apart.

    With a `day`, all of that day is listed.
    """
    today = renderer.get_today()
    kind_wanted = DeadlineKind(kind) if kind in set(DeadlineKind) else None
    wanted = CalendarFilter(topic.strip(), kind_wanted, _parse_policy(policy), source.strip())
    whole_day = _parse_day(day)
    first = whole_day.replace(day=1) if whole_day else parse_month(month, today)
    weeks = build_weeks(first, ())
    begin, end, last = weeks[0][0].day, weeks[-1][-1].day, add_months(first, 1) - dt.timedelta(days=1)
    is_present = first == today.replace(day=1)
    until = max(last, today + _LIST_AHEAD) if is_present else last
    trouble, found, of_day = None, DeadlineDays(), []
    try:
        found = await app.deadlines.list_days(wanted.to_query(begin, max(end, until)), limit=_MAX_SHOWN)
        of_day = await app.deadlines.list(wanted.to_query(whole_day, whole_day)) if whole_day else []
    except NotFound as error:
        trouble = error.message
    entries = found.entries
    listed = of_day if whole_day else [entry for entry in entries if first <= entry.day <= until]
    split_at = today if is_present and not whole_day else first
    return renderer.render(
        "deadlines/calendar.html",
        wanted=wanted,
        trouble=trouble,
        weeks=build_weeks(first, entries),
        cut=found.cut,
        whole_day=whole_day,
        address=lambda **more: f"/calendar?{urlencode(more | wanted.parameters)}",
        first=first,
        until=until,
        is_present=is_present,
        title=_format_month(renderer, first),
        steps=_list_steps(renderer, first, wanted),
        weekdays=_list_weekdays(renderer.language),
        day_name=lambda day: format_date(day, "full", locale=renderer.language),
        ahead=group_by_day(entry for entry in listed if entry.day >= split_at),
        past=group_by_day(entry for entry in listed if entry.day < split_at),
        fits=await app.topics.list_fits([entry.item_id for entry in listed]),
        kinds=list(DeadlineKind),
        topics=[topic.name for topic in await app.store.topics.list()],
        policies=await _list_policies(app, entries, wanted.policy),
        sources=await app.store.items.list_source_names(),
        feeds=await _list_calendars(app, renderer, principal),
        file=f"/feeds/deadlines.ics?{urlencode(wanted.parameters | {'lang': renderer.language})}",
    )


async def _list_calendars(app: App, renderer: PageRenderer, principal: Principal) -> list[tuple[str, str]]:
    """Return the topics that the reader follows, by name, each with the address of its private calendar."""
    followed = await app.topics.list_followed(by=principal)
    return [(topic.name, build_calendar_url(renderer, topic.calendar_key)) for topic in followed]


def build_calendar_url(renderer: PageRenderer, key: str) -> str:
    """Return the whole address of the private calendar of a topic that the reader follows."""
    return renderer.build_url(f"/feeds/deadlines/{key}.ics?lang={renderer.language}")


async def _list_policies(app: App, entries: Iterable[DeadlineEntry], chosen: int | None) -> list[tuple[int, str]]:
    """Return the policies to choose from: those of the deadlines shown, and the one that is chosen."""
    policies = {entry.policy_id: entry.policy for entry in entries if entry.policy_id and entry.policy}
    if chosen and chosen not in policies and (policy := await app.store.policies.get(chosen)):
        policies[chosen] = policy.name
    return sorted(policies.items())


def _parse_day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text) if _MONTH.fullmatch(text[:7]) else None
    except ValueError:
        return None


def _parse_policy(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) < 11
    return int(text) if is_number and 0 < int(text) <= _MAX_POLICY_ID else None


def _format_month(renderer: PageRenderer, first: dt.date) -> str:
    return str(format_skeleton("yMMMM", first, locale=renderer.language))


def _list_steps(renderer: PageRenderer, first: dt.date, wanted: CalendarFilter) -> list[tuple[str, str, str]]:
    """Return the months before and after: how a link stands to this one, its name and its address."""
    return [
        (
            relation,
            _format_month(renderer, month),
            "/calendar?" + urlencode({"month": f"{month:%Y-%m}", **wanted.parameters}),
        )
        for relation, month in (("prev", add_months(first, -1)), ("next", add_months(first, 1)))
    ]


def _list_weekdays(language: str) -> list[tuple[str, str]]:
    """Return the short and the long names of the days of a week, Monday first."""
    short, long = (get_day_names(width, locale=language) for width in ("abbreviated", "wide"))
    return [(short[day], long[day]) for day in range(7)]
