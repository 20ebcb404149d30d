import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import UsageError
from monitor.jobs.schedules import Blackout, DueTimes, ScheduleOptions, find_due_times
from monitor.services.schedules import build_next_fire_time

SHANGHAI = "Asia/Shanghai"
HOURLY = build_next_fire_time("0 * * * *", SHANGHAI)
HOUR = dt.timedelta(hours=1)
START = dt.datetime(2026, 3, 2, 0, 0, tzinfo=dt.UTC)


def days_of(cron: str, timezone: str, *, first: dt.date, days: int = 30) -> list[dt.datetime]:
    """The times at which a scheduler that looks every minute starts the runs of a month, in the zone's own clock."""
    zone, fires, manner = ZoneInfo(timezone), build_next_fire_time(cron, timezone), ScheduleOptions(grace=HOUR)
    now = dt.datetime.combine(first, dt.time.min, zone).astimezone(dt.UTC) - dt.timedelta(seconds=30)
    dealt_until, started = now, []
    next_start = fires(now)
    for _ in range(days * 24 * 60):
        now += dt.timedelta(minutes=1)
        if next_start is None or next_start > now:
            continue
        what = find_due_times(fires, manner, 1, dealt_until=dealt_until, now=now)
        assert what.run is not None
        assert what.missed == []
        assert dt.timedelta(0) <= now - what.run < dt.timedelta(minutes=1)
        started.append(what.run.astimezone(zone))
        dealt_until, next_start = what.run, what.next_start
    return started


@pytest.mark.parametrize("first", [dt.date(2026, 3, 14), dt.date(2026, 10, 10)], ids=["spring", "autumn"])
@pytest.mark.parametrize("timezone", ["Europe/Berlin", SHANGHAI])
def test_thirty_days_across_a_change_of_the_clock_start_at_eight_on_the_wall(timezone: str, first: dt.date) -> None:
    started = days_of("0 8 * * *", timezone, first=first)
    assert [moment.time() for moment in started] == [dt.time(8)] * 30
    assert [entry.date() for entry in started] == [first + dt.timedelta(days=n) for n in range(30)]


@pytest.mark.parametrize("timezone", ["Europe/Berlin", SHANGHAI])
def test_weekday_one_is_monday_for_thirty_days(timezone: str) -> None:
    started = days_of("0 8 * * 1", timezone, first=dt.date(2026, 3, 14))
    assert [moment.date() for moment in started] == [dt.date(2026, 3, day) for day in (16, 23, 30)] + [
        dt.date(2026, 4, 6)
    ]
    assert {entry.strftime("%a") for entry in started} == {"Mon"}


def test_an_hour_that_the_clock_skips_or_repeats_runs_once_a_day() -> None:
    spring = days_of("30 2 * * *", "Europe/Berlin", first=dt.date(2026, 3, 28), days=3)
    autumn = days_of("30 2 * * *", "Europe/Berlin", first=dt.date(2026, 10, 24), days=3)
    assert [(moment.day, moment.hour) for moment in spring] == [(28, 2), (29, 3), (30, 2)]
    assert [(entry.day, entry.hour) for entry in autumn] == [(24, 2), (25, 2), (26, 2)]


@pytest.mark.parametrize(("first", "hours"), [(dt.date(2026, 3, 29), 23), (dt.date(2026, 10, 25), 25)])
def test_an_hourly_schedule_goes_by_the_time_that_passes(first: dt.date, hours: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    fires = build_next_fire_time("0 * * * *", "Europe/Berlin")
    start = dt.datetime.combine(first, dt.time.min, zone).astimezone(dt.UTC)
    seen = [start]
    while (fire := fires(seen[-1])) and fire.astimezone(zone).date() == first:
        seen.append(fire)
    assert seen == [start + n * HOUR for n in range(hours)]


def test_a_service_that_was_down_runs_the_last_planned_time_and_tells_the_others() -> None:
    what = find_due_times(
        HOURLY, ScheduleOptions(grace=HOUR), 1, dealt_until=START, now=START + 5 * HOUR + dt.timedelta(minutes=20)
    )
    assert what.run == START + 5 * HOUR
    assert what.missed == [START + n * HOUR for n in range(1, 5)]
    assert what.until == what.run
    assert what.next_start == START + 6 * HOUR


def test_what_is_later_than_the_grace_does_not_run_and_is_told() -> None:
    daily = build_next_fire_time("0 8 * * *", SHANGHAI)
    what = find_due_times(daily, ScheduleOptions(grace=HOUR), 1, dealt_until=START, now=START + 3 * HOUR)
    assert what.run is None or what.missed == []
    late = find_due_times(daily, ScheduleOptions(grace=HOUR), 1, dealt_until=START - HOUR, now=START + 2 * HOUR)
    assert late.run is None
    assert late.missed == [START]
    assert late.until == START


def test_nothing_is_due_before_its_time() -> None:
    what = find_due_times(
        HOURLY, ScheduleOptions(grace=HOUR), 1, dealt_until=START, now=START + HOUR - dt.timedelta(seconds=1)
    )
    assert what == DueTimes(next_start=START + HOUR)


@pytest.mark.parametrize(
    ("text", "planned", "start"),
    [
        ("01:00-05:00", "2026-03-02T03:00", "2026-03-02T05:00"),
        ("01:00-05:00", "2026-03-02T05:00", "2026-03-02T05:00"),
        ("23:00-06:00", "2026-03-02T23:30", "2026-03-03T06:00"),
        ("23:00-06:00", "2026-03-03T05:59", "2026-03-03T06:00"),
        ("23:00-06:00", "2026-03-03T12:00", "2026-03-03T12:00"),
    ],
)
def test_runs_that_are_planned_in_hours_of_blackout_start_at_their_end(text: str, planned: str, start: str) -> None:
    zone = ZoneInfo(SHANGHAI)
    blackout = Blackout.parse(text, SHANGHAI)
    instants = [dt.datetime.fromisoformat(entry).replace(tzinfo=zone) for entry in (planned, start)]
    assert blackout.defer(instants[0]) == instants[1]


def test_planned_times_that_wait_for_the_same_end_of_blackout_are_one_run_and_no_miss() -> None:
    manner = ScheduleOptions(grace=HOUR, blackout=Blackout.parse("01:00-05:00", SHANGHAI))
    zone = ZoneInfo(SHANGHAI)
    before = dt.datetime(2026, 3, 2, 0, 30, tzinfo=zone)
    during = find_due_times(HOURLY, manner, 1, dealt_until=before, now=before + 3 * HOUR)
    assert (during.run, during.missed, during.next_start) == (None, [], dt.datetime(2026, 3, 2, 5, tzinfo=zone))
    after = find_due_times(HOURLY, manner, 1, dealt_until=before, now=dt.datetime(2026, 3, 2, 5, 0, 1, tzinfo=zone))
    assert after.run == dt.datetime(2026, 3, 2, 5, tzinfo=zone)
    assert after.missed == []


@pytest.mark.parametrize("text", ["", "23:00", "25:00-06:00", "06:00-06:00", "nachts"])
def test_hours_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="blackout"):
        Blackout.parse(text, SHANGHAI)


@given(st.integers(1, 10_000), st.integers(1, 3600))
def test_jitter_delays_by_less_than_it_may_and_always_the_same(source_id: int, jitter_s: int) -> None:
    manner = ScheduleOptions(grace=HOUR, jitter_s=jitter_s)
    start = manner.compute_start(source_id, START)
    assert START <= start < START + dt.timedelta(seconds=jitter_s)
    assert start == manner.compute_start(source_id, START)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(1, 300))
def test_every_planned_time_is_dealt_with_exactly_once(pauses_min: list[int], grace_min: int) -> None:
    manner = ScheduleOptions(grace=dt.timedelta(minutes=grace_min))
    now = dealt_until = START
    dealt: list[dt.datetime] = []
    for pause in pauses_min:
        now += dt.timedelta(minutes=pause)
        what = find_due_times(HOURLY, manner, 1, dealt_until=dealt_until, now=now)
        dealt += [*what.missed, *([what.run] if what.run else [])]
        dealt_until = what.until or dealt_until
    hours = int((now - START) / HOUR)
    assert dealt == [START + n * HOUR for n in range(1, hours + 1)]
