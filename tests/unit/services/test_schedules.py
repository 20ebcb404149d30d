"""Schedules as people choose, write and read them."""

import pytest

from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.services.schedules import (
    DEFAULT_SCHEDULE,
    SchedulePattern,
    check_schedule,
    describe_schedule,
    parse_written_schedule,
)
from monitor.web.ui.schedules import parse_schedule_fields

WRITTEN = {
    "daily 06:30": ("30 6 * * *", "daily at 06:30", "每天 06:30"),
    "Weekdays at 7:05": ("5 7 * * 1-5", "weekdays at 07:05", "工作日 07:05"),
    "monday 08:00": ("0 8 * * 1", "Mondays at 08:00", "每周一 08:00"),
    "Sundays at 23:59": ("59 23 * * 7", "Sundays at 23:59", "每周日 23:59"),
    "every 6 hours": ("0 */6 * * *", "every 6 hours", "每 6 小时"),
    "hourly": ("0 * * * *", "every hour", "每小时"),
    "off": (None, "by hand only", "仅手动"),
    "": (None, "by hand only", "仅手动"),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_schedule_in_words_becomes_cron_and_reads_as_words_again(text: str) -> None:
    cron, english, chinese = WRITTEN[text]
    assert parse_written_schedule(text) == cron
    assert render(describe_schedule(cron), "en") == english
    assert render(describe_schedule(cron), "zh") == chinese
    assert SchedulePattern.parse(cron).format_cron() == cron


@pytest.mark.parametrize("text", ["daily 24:00", "every 5 hours", "someday 08:00", "daily", "daily 6.30"])
def test_words_that_are_no_schedule_are_refused_as_cron(text: str) -> None:
    with pytest.raises(UsageError):
        check_schedule(parse_written_schedule(text) or "", "UTC")


def test_several_times_a_day_are_said_and_picked_as_cron() -> None:
    pattern = SchedulePattern.parse("0 7,13,18 * * *")
    assert render(pattern.describe(), "en") == "daily at 07:00, 13:00, 18:00"
    assert (pattern.picked_kind, pattern.cron) == ("cron", "0 7,13,18 * * *")


@pytest.mark.parametrize(
    "cron", ["*/10 * * * *", "0 7 1 * *", "5 */3 * * *", "0 7 * 1 *", "0 7-9 * * *", "0 */5 * * *"]
)
def test_any_other_cron_stays_what_it_is(cron: str) -> None:
    pattern = SchedulePattern.parse(cron)
    assert (pattern.kind, pattern.format_cron()) == ("cron", cron)
    assert render(describe_schedule(cron, "Asia/Shanghai"), "en") == f"cron {cron} (Asia/Shanghai)"


def test_the_zone_stands_with_the_words() -> None:
    assert render(describe_schedule(DEFAULT_SCHEDULE, "Europe/Berlin"), "en") == "daily at 06:30 (Europe/Berlin)"
    assert render(describe_schedule(None, "Europe/Berlin"), "en") == "by hand only"


PICKED = [
    ({"schedule_kind": "daily", "schedule_time": "07:15"}, "15 7 * * *"),
    ({"schedule_kind": "daily", "schedule_time": ""}, DEFAULT_SCHEDULE),
    ({"schedule_kind": "weekdays", "schedule_time": "07:15:00"}, "15 7 * * 1-5"),
    ({"schedule_kind": "weekly", "schedule_time": "9:00", "schedule_day": "5"}, "0 9 * * 5"),
    ({"schedule_kind": "hourly", "schedule_hours": "4", "schedule_time": "07:15"}, "0 */4 * * *"),
    ({"schedule_kind": "off", "schedule": "0 7 * * *"}, ""),
    ({"schedule_kind": "cron", "schedule": " 0 7,9 * * * "}, "0 7,9 * * *"),
    ({"schedule": "0 7 * * 1-5"}, "0 7 * * 1-5"),
    ({"schedule_kind": "nonsense"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("form", "cron"), PICKED)
def test_a_picker_gives_the_schedule_of_its_kind(form: dict[str, str], cron: str | None) -> None:
    assert parse_schedule_fields(form) == cron
