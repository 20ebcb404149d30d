"""The month's table and the words of a topic's form."""

import datetime as dt

import pytest

from monitor.policies.calendar import DeadlineEntry
from monitor.vocabulary import DeadlineKind, Verdict
from monitor.web.ui.deadlines import add_months, build_weeks, group_by_day, parse_month
from monitor.web.ui.topics import split_words

TODAY = dt.date(2026, 11, 23)


def build_entry(day: dt.date) -> DeadlineEntry:
    seen = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    return DeadlineEntry(
        id=day.day,
        kind=DeadlineKind.APPLY_BY,
        day=day,
        subject="",
        passage="",
        verdict=Verdict.SUPPORTED,
        item_id=1,
        title="t",
        url="https://a.example/",
        source="s",
        policy_id=None,
        policy=None,
        moved_from=None,
        moved_at=None,
        moves=0,
        seen_at=seen,
        known_since=seen,
        items=[1],
    )


@pytest.mark.parametrize(
    ("text", "first"),
    [("2027-02", dt.date(2027, 2, 1)), ("", dt.date(2026, 11, 1)), ("2026-13", dt.date(2026, 11, 1)), ("x" * 90, None)],
)
def test_a_month_is_read_and_anything_else_is_the_present_one(text: str, first: dt.date | None) -> None:
    assert parse_month(text, TODAY) == (first or TODAY.replace(day=1))


def test_months_go_on_over_the_end_of_a_year() -> None:
    assert add_months(dt.date(2026, 12, 1), 1) == dt.date(2027, 1, 1)
    assert add_months(dt.date(2026, 1, 1), -1) == dt.date(2025, 12, 1)


def test_a_month_is_whole_weeks_from_monday_with_each_entry_on_its_day() -> None:
    weeks = build_weeks(dt.date(2026, 11, 1), [build_entry(dt.date(2026, 11, 28)), build_entry(dt.date(2026, 12, 1))])
    days = [cell for week in weeks for cell in week]
    assert days[0].day == dt.date(2026, 10, 26)
    assert not days[0].is_inside
    assert {len(week) for week in weeks} == {7}
    assert [cell.day.day for cell in days if cell.entries] == [28, 1]


def test_entries_are_listed_day_by_day() -> None:
    entries = [build_entry(dt.date(2026, 11, day)) for day in (3, 3, 4)]
    assert [(day.day, len(group)) for day, group in group_by_day(entries)] == [(3, 2), (4, 1)]


def test_words_are_parted_by_lines_and_commas_of_either_script() -> None:
    assert split_words("储能，容量 电价\r\ngrid fee, ;、\n") == ["储能", "容量 电价", "grid fee"]
