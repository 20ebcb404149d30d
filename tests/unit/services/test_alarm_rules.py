"""What is out of the ordinary after a run, and what is not."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.collection import Fallback, Run, RunSection, Source, SourceSection
from monitor.db.tables.delivery import AlarmKind
from monitor.i18n.message import Message
from monitor.services.alarms import MIN_FAILURES, SectionHistory, evaluate_alarms
from monitor.vocabulary import Phase, RunStatus, SectionEnd

NOW = dt.datetime(2026, 11, 20, 8, tzinfo=dt.UTC)
TODAY = NOW.date()
URL = "https://example.gov/news/"
WALL = Message.of("cause.page_blocked", detail="http_403", error=Message.of("page.refused", status=403))
UNREAD = Message.of("cause.page_error", kind="Timeout", error=Message("page.no_answer"))


def row(listed: int | None = 20, dated: int | None = None, **values: Any) -> RunSection:
    return RunSection(
        run_id="r",
        ordinal=0,
        name="news",
        url=URL,
        listed=listed,
        listed_dated=(listed or 0) if dated is None else dated,
        pages=1,
        **{"ended": SectionEnd.KNOWN, **values},
    )


def unread(reason: Message = UNREAD) -> RunSection:
    return row(None, ended=SectionEnd.ERROR, error=reason)


def no_list() -> RunSection:
    return row(0, ended=SectionEnd.ERROR, error=Message("cause.no_list"))


def memory(*days_ago: int) -> SourceSection:
    days = sorted((TODAY - dt.timedelta(days=days)).isoformat() for days in days_ago)
    return SourceSection(source_id=1, name="news", url=URL, url_key="example.gov/news", arrivals=days)


def alarms(
    now: RunSection,
    *earlier: RunSection,
    arrivals: SourceSection | None = None,
    fallbacks: tuple[Fallback, ...] = (),
    failures: int = 0,
    status: RunStatus = RunStatus.SUCCEEDED,
) -> set[AlarmKind]:
    source = Source(id=1, name="s", url="https://example.gov/", created_at=NOW, consecutive_failures=failures)
    run = Run(id="r", source_id=1, source="s", status=status, planned_at=NOW)
    state = SectionHistory(row=now, earlier=earlier, memory=arrivals)
    return {finding.kind for finding in evaluate_alarms(source, run, [state], fallbacks, today=TODAY).due}


def blocked(phase: Phase, number: int = 1) -> tuple[Fallback, ...]:
    return tuple(Fallback(run_id="r", phase=phase, where=f"p{n}", reason=WALL, at=NOW) for n in range(number))


def test_a_section_as_always_raises_nothing() -> None:
    assert alarms(row(), row(), row(18), arrivals=memory(*range(1, 30))) == set()


@pytest.mark.parametrize(
    ("now", "earlier", "due"),
    [
        (no_list(), [row()], {AlarmKind.STRUCTURE}),
        (row(0, ended=SectionEnd.END), [row(3)], {AlarmKind.STRUCTURE}),
        (row(5), [row(20), row(20)], {AlarmKind.STRUCTURE}),
        (row(6), [row(20), row(20)], set()),
        (row(1), [row(4)], set()),
        (no_list(), [], set()),
        (no_list(), [no_list()], set()),
        (no_list(), [no_list(), no_list(), row()], {AlarmKind.STRUCTURE}),
        (unread(), [row(), row()], set()),
    ],
    ids=[
        "no list any more",
        "no row any more",
        "a quarter is left",
        "nearly a third is left",
        "a short list",
        "never read before",
        "never had a list",
        "still gone",
        "not read at all",
    ],
)
def test_a_list_that_falls_to_nothing_is_a_change_of_structure(
    now: RunSection, earlier: list[RunSection], due: set[AlarmKind]
) -> None:
    assert alarms(now, *earlier) == due


@pytest.mark.parametrize(
    ("now", "earlier", "is_due"),
    [
        (row(20, 0), [row(20, 20)], True),
        (row(20, 6), [row(20, 19), row(20, 20)], True),
        (row(20, 7), [row(20, 20)], False),
        (row(20, 0), [row(20, 0)], False),
        (row(20, 0), [row(20, 10)], False),
        (row(20, 0), [], False),
    ],
)
def test_a_list_that_loses_its_dates_is_an_alarm(now: RunSection, earlier: list[RunSection], is_due: bool) -> None:
    assert (AlarmKind.DATES_LOST in alarms(now, *earlier)) == is_due


@pytest.mark.parametrize(
    ("days_ago", "is_due"),
    [
        (range(3, 40), False),
        (range(12, 40), True),
        (range(31, 400, 30), False),
        (range(62, 400, 30), False),
        (range(100, 400, 30), True),
        ((200, 230), False),
    ],
    ids=["daily", "daily, then silent", "monthly", "monthly, one left out", "monthly, then silent", "not learned yet"],
)
def test_silence_is_measured_by_the_sections_own_cadence(days_ago: Any, is_due: bool) -> None:
    assert (alarms(row(), row(), arrivals=memory(*days_ago)) == {AlarmKind.SILENCE}) == is_due


def test_a_section_that_was_not_read_is_not_called_silent() -> None:
    assert alarms(unread(), row(), arrivals=memory(*range(60, 90))) == set()


def test_a_gap_is_told() -> None:
    assert alarms(row(is_gap=True), row()) == {AlarmKind.GAP}


@pytest.mark.parametrize(
    ("fallbacks", "is_due"),
    [
        (blocked(Phase.NAVIGATE), True),
        (blocked(Phase.CRAWL), True),
        (blocked(Phase.SUMMARISE), False),
        (blocked(Phase.SUMMARISE, 3), True),
        ((), False),
    ],
    ids=["home page", "list", "one article", "several articles", "nothing"],
)
def test_a_site_that_begins_to_keep_us_out_is_an_alarm(fallbacks: tuple[Fallback, ...], is_due: bool) -> None:
    assert (alarms(row(), row(), fallbacks=fallbacks) == {AlarmKind.BLOCKED}) == is_due


@pytest.mark.parametrize(
    ("failures", "is_due"), [(MIN_FAILURES - 1, False), (MIN_FAILURES, True), (MIN_FAILURES + 9, True)]
)
def test_failures_that_repeat_are_one_alarm_of_the_source(failures: int, is_due: bool) -> None:
    due = alarms(unread(), unread(), unread(), row(), failures=failures, status=RunStatus.FAILED)
    assert due == ({AlarmKind.FAILING} if is_due else set())


@pytest.mark.parametrize(("before", "is_due"), [(1, False), (2, True), (20, True)])
def test_a_section_that_fails_while_others_are_read_is_an_alarm_of_its_own(before: int, is_due: bool) -> None:
    due = alarms(unread(), *[unread()] * before, row(), status=RunStatus.DEGRADED)
    assert due == ({AlarmKind.FAILING} if is_due else set())


def test_what_could_not_be_judged_is_said() -> None:
    source = Source(id=1, name="s", url="https://example.gov/", created_at=NOW, consecutive_failures=1)
    run = Run(id="r", source_id=1, source="s", status=RunStatus.FAILED, planned_at=NOW)
    states = [SectionHistory(row=unread(), earlier=[row()], memory=None)]
    judged = evaluate_alarms(source, run, states, (), today=TODAY).evaluated
    assert judged == {"": frozenset({AlarmKind.FAILING}), "example.gov/news": frozenset()}
