"""How often something comes, and when silence is out of the ordinary."""

import datetime as dt
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.services.alarms import LEARNING_WINDOW_DAYS, MIN_SILENCE_DAYS, learn_cadence

END = dt.date(2026, 11, 20)


def every(days: int, times: int) -> list[dt.date]:
    return [END - dt.timedelta(days=days * number) for number in range(times)]


def weekdays(times: int) -> list[dt.date]:
    days = (END - dt.timedelta(days=back) for back in range(2 * times))
    return [day for day in days if day.weekday() < 5][:times]


@pytest.mark.parametrize(
    ("arrivals", "usual", "silent_after"),
    [
        (every(1, 40), 1, 10),
        (weekdays(40), 1, 10),
        (every(7, 20), 7, 21),
        ([dt.date(2026, month, 3) for month in range(1, 12)], 31, 93),
    ],
    ids=["daily", "on working days", "weekly", "monthly"],
)
def test_each_section_has_a_silence_of_its_own(arrivals: list[dt.date], usual: float, silent_after: int) -> None:
    cadence = learn_cadence(arrivals)
    assert cadence is not None
    assert (cadence.usual_days, cadence.silent_after_days) == (usual, silent_after)


def test_nothing_is_learned_from_a_handful_of_days() -> None:
    assert learn_cadence([]) is None
    assert learn_cadence(every(3, 5)) is None
    assert learn_cadence(every(3, 6)) is not None


def test_many_items_of_one_day_are_one_arrival() -> None:
    assert learn_cadence(every(1, 1) * 100) is None


def test_a_silence_as_long_as_one_of_last_year_is_ordinary() -> None:
    summer = [END - dt.timedelta(days=days) for days in (*range(0, 120, 7), *range(170, 300, 7))]
    cadence = learn_cadence(summer)
    assert cadence is not None
    assert cadence.silent_after_days > 51


def test_an_old_row_that_is_pinned_to_the_list_teaches_nothing() -> None:
    pinned = END - dt.timedelta(days=LEARNING_WINDOW_DAYS + 900)
    assert learn_cadence([pinned, *every(2, 20)]) == learn_cadence(every(2, 20))


def test_arrivals_at_random_are_hardly_ever_called_silent() -> None:
    chance = random.Random(4)  # noqa: S311 -- the same numbers at every run
    false_alarms = gaps = 0
    for _ in range(100):
        day, arrivals = END, [END]
        for _ in range(60):
            day += dt.timedelta(days=1 + int(chance.expovariate(1 / 6)))
            cadence = learn_cadence(arrivals[-60:])
            gaps += 1
            false_alarms += cadence is not None and cadence.count_silent_days(day) > cadence.silent_after_days
            arrivals.append(day)
    assert gaps == 6000
    assert false_alarms / gaps < 0.005


@given(st.lists(st.dates(min_value=dt.date(2024, 1, 1), max_value=END), max_size=60))
@settings(deadline=None)
def test_what_was_learned_never_calls_its_own_year_silent(arrivals: list[dt.date]) -> None:
    cadence = learn_cadence(arrivals)
    if cadence is None:
        return
    learned = sorted({day for day in arrivals if (max(arrivals) - day).days <= LEARNING_WINDOW_DAYS})
    longest = max((b - a).days for a, b in pairwise(learned))
    assert cadence.silent_after_days >= max(longest, MIN_SILENCE_DAYS)
    assert cadence.last_on == max(arrivals)
