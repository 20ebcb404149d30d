"""Deadlines as typed: a list, one with its history, and calendars."""

import asyncio
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from icalendar import Calendar

from monitor.db.database import Store
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Deadline, DeadlineMove
from monitor.vocabulary import DeadlineKind

BEFORE, DAY = dt.date(2099, 12, 18), dt.date(2100, 1, 15)
SEEN = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


@pytest.fixture
def program(typed: Callable[[list[str]], Any], tmp_path: Path) -> Callable[..., Any]:
    """The program, with an archive of one consultation whose end was moved."""
    assert typed(["init"]).code == 0

    async def gather() -> None:
        async with Store.open(f"sqlite:///{tmp_path / 'data' / 'monitor.db'}") as store:
            url = "https://a.example/1"
            item = Item(source="部", run_id="r", section="s", url=url, url_key=url, title="征求意见稿", first_seen=SEEN)
            saved, _ = await store.items.save(item)
            deadline = Deadline(item_id=saved.id or 0, kind=DeadlineKind.COMMENTS_UNTIL, day=DAY, seen_at=SEEN)
            move = DeadlineMove(deadline_id=0, before=BEFORE, after=DAY, run_id="r", seen_at=SEEN)
            await store.deadlines.save([(deadline, move)])

    asyncio.run(gather())
    return lambda *words: typed(list(words))


def test_deadlines_are_listed_with_the_day_that_they_had_before(program: Callable[..., Any]) -> None:
    (entry,) = program("deadlines", "list", "--json").document["deadlines"]
    assert (entry["day"], entry["moved_from"], entry["title"]) == ("2100-01-15", "2099-12-18", "征求意见稿")
    shown = program("deadlines", "list", "--kind", "comments_until").out
    assert "2100-01-15" in shown
    assert "2099-12-18" in shown
    assert program("deadlines", "list", "--kind", "in_force", "--json").document == {"deadlines": []}


def test_one_is_shown_with_its_history(program: Callable[..., Any]) -> None:
    assert program("deadlines", "show", "1", "--json").document["history"][0]["before"] == "2099-12-18"
    assert "2099-12-18 → 2100-01-15" in program("deadlines", "show", "1").out
    assert program("deadlines", "show", "7").code == 2


def test_they_are_a_calendar_too(program: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "days.ics"
    assert program("deadlines", "list", "--ics", "--out", str(file)).code == 0
    (event,) = Calendar.from_ical(file.read_bytes()).walk("VEVENT")
    assert event.decoded("DTSTART") == DAY
    assert "BEGIN:VEVENT" in program("deadlines", "--ics").out
    assert program("deadlines").code == 2
