"""How far a run came: from what it told last, or from what it kept where it told nothing."""

import datetime as dt

import pytest

from monitor.db.tables.collection import Item, Run, RunSection
from monitor.db.tables.research import RunEvent
from monitor.services.runs import build_phase_views
from monitor.vocabulary import RunStatus, SectionEnd

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)


def a_run(status: RunStatus) -> Run:
    return Run(id="r", source="部门", planned_at=NOON, status=status)


def make_event(phase: str, **data: int) -> RunEvent:
    return RunEvent(run_id="r", at=NOON, kind="phase", data={"phase": phase, **data})


def section(ordinal: int, ended: SectionEnd | None) -> RunSection:
    return RunSection(run_id="r", ordinal=ordinal, name="通知", url="https://o.gov/", ended=ended)


@pytest.mark.parametrize(
    ("status", "last", "expected"),
    [
        (RunStatus.QUEUED, None, "waiting waiting waiting waiting waiting"),
        (RunStatus.QUEUED, make_event("rank"), "waiting waiting waiting waiting waiting"),
        (RunStatus.RUNNING, None, "now waiting waiting waiting waiting"),
        (RunStatus.RUNNING, make_event("summarise"), "done done now waiting waiting"),
        (RunStatus.RUNNING, make_event("revisit"), "done done done done now"),
        (RunStatus.SUCCEEDED, make_event("rank"), "done done done done done"),
        (RunStatus.DEGRADED, None, "done done done done done"),
        (RunStatus.CANCELLED, make_event("crawl"), "done stopped not_reached not_reached not_reached"),
        (RunStatus.FAILED, make_event("rank"), "done done done done done"),
        (RunStatus.FAILED, None, "stopped not_reached not_reached not_reached not_reached"),
        (RunStatus.RUNNING, make_event("a phase of another version"), "now waiting waiting waiting waiting"),
    ],
)
def test_phases_before_the_latest_are_done_and_those_after_it_wait(
    status: RunStatus, last: RunEvent | None, expected: str
) -> None:
    views = build_phase_views(a_run(status), last=last, sections=[], items=[])
    assert " ".join(view.state for view in views) == expected


def test_a_run_that_told_nothing_is_where_its_sections_are() -> None:
    half = [section(0, SectionEnd.END), section(1, None)]
    views = build_phase_views(a_run(RunStatus.RUNNING), last=None, sections=half, items=[])
    assert [(view.state, view.done, view.total) for view in views[:3]] == [
        ("done", 2, 2),
        ("now", 1, 2),
        ("waiting", None, None),
    ]


def test_what_a_phase_told_last_is_how_far_it_is() -> None:
    item = Item(run_id="r", source="部门", section="通知", url="u", url_key="u", title="t", first_seen=NOON)
    last = make_event("summarise", done=3, total=9)
    views = build_phase_views(a_run(RunStatus.RUNNING), last=last, sections=[section(0, SectionEnd.END)], items=[item])
    assert (views[2].done, views[2].total) == (3, 9)
