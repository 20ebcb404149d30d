"""Days as services tell them."""

import datetime as dt

import pytest

from monitor.search.responses import parse_published_day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-02-03", dt.date(2026, 2, 3)),
        ("2026-02-03T23:59:59Z", dt.date(2026, 2, 3)),
        ("2026-02-03T00:10:00+08:00", dt.date(2026, 2, 3)),
        ("2026-02-03T18:13:19", dt.date(2026, 2, 3)),
        ("2026-02-03T00:00:00.0000000", dt.date(2026, 2, 3)),
        ("Tue, 03 Feb 2026 08:00:00 GMT", dt.date(2026, 2, 3)),
        ("2026-02-30", None),
        ("3 days ago", None),
        ("February", None),
        ("", None),
        ("\x00" * 9, None),
    ],
)
def test_a_day_is_told_or_it_is_not(text: str, day: dt.date | None) -> None:
    assert parse_published_day(text) == day
