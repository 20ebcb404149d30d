"""A source that keeps failing is left alone for longer and longer, and comes back by itself."""

import datetime as dt

import pytest

from monitor.db.tables.collection import Source
from monitor.services.sources.service import MAX_BACKOFF, get_backoff_end

AT = dt.datetime(2026, 11, 20, 8, tzinfo=dt.UTC)


def source(failures: int) -> Source:
    return Source(name="s", url="https://example.gov/", created_at=AT, last_run_at=AT, consecutive_failures=failures)


@pytest.mark.parametrize(("failures", "hours"), [(2, 1), (3, 2), (4, 4), (5, 8), (6, 16), (7, 20), (400, 20)])
def test_the_rest_doubles_up_to_its_longest(failures: int, hours: int) -> None:
    assert get_backoff_end(source(failures)) == AT + dt.timedelta(hours=hours)


@pytest.mark.parametrize("failures", [0, 1])
def test_one_failure_is_chance(failures: int) -> None:
    assert get_backoff_end(source(failures)) is None


def test_a_source_that_is_planned_daily_is_tried_every_day_however_long_it_fails() -> None:
    assert dt.timedelta(hours=23) > MAX_BACKOFF
