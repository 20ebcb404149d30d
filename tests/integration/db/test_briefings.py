"""The saved briefings in both databases."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.queries.briefings import BriefingRow
from monitor.db.tables.delivery import BriefingRecord, Delivery, DeliveryKind
from monitor.db.tables.people import SavedBriefing

NOW = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC)
DAY = dt.date(2026, 3, 2)


def saved(title: str = "官方动态简报", **fields: Any) -> SavedBriefing:
    values = {
        "title": title,
        "briefing": {"items": [{"title": "甲"}]},
        "edit": {"title": title},
        "size": 1,
        "language": "zh",
        "since": DAY,
        "until": DAY,
        "query": {"days": 1},
        "created_by": "王敏",
        "created_at": NOW,
    }
    return SavedBriefing(**{**values, **fields})


async def test_a_list_has_no_bodies_and_goes_on_where_it_stopped(store: Store) -> None:
    ids = [(await store.briefings.add(saved(str(number)))).id for number in range(5)]
    first = await store.briefings.list_rows(limit=3)
    assert [briefing.title for briefing in first] == ["4", "3", "2"]
    assert "briefing" not in BriefingRow.model_fields
    rest = await store.briefings.list_rows(limit=3, before_id=first[-1].id)
    assert [entry.id for entry in rest] == [ids[1], ids[0]]


async def test_of_two_edits_of_one_version_the_second_is_refused(store: Store) -> None:
    number = (await store.briefings.add(saved())).id or 0
    assert await store.briefings.edit(number, version=1, changes={"title": "甲", "edited_by": "李雷", "edited_at": NOW})
    assert not await store.briefings.edit(number, version=1, changes={"title": "乙"})
    kept = await store.briefings.get(number)
    assert kept is not None
    assert (kept.title, kept.version, kept.edited_by) == ("甲", 2, "李雷")


async def test_what_is_archived_leaves_the_list_and_comes_back(store: Store) -> None:
    number = (await store.briefings.add(saved())).id or 0
    assert await store.briefings.set_archived(number, NOW)
    assert not await store.briefings.set_archived(number, NOW)
    assert await store.briefings.list_rows() == []
    assert [row.id for row in await store.briefings.list_rows(is_archived=True)] == [number]
    assert await store.briefings.set_archived(number, None)
    assert [briefing.id for briefing in await store.briefings.list_rows()] == [number]


async def test_what_no_database_holds_is_left_out_of_a_briefing(store: Store) -> None:
    kept = await store.briefings.add(saved("a\x00b", edit={"note": {"text": "c\x00\ud800d"}}))
    found = await store.briefings.get(kept.id or 0)
    assert found is not None
    assert (found.title, found.edit["note"]["text"]) == ("ab", "c?d")


def delivery(number: int, at: dt.datetime, **fields: Any) -> Delivery:
    values = {"target": "weekly", "kind": DeliveryKind.TYPED, "key": f"key-{number}", "message_id": "<m@x>"}
    return Delivery(id=f"weekly-{number}", planned_at=at, **{**values, **fields})


async def test_a_delivery_and_the_briefing_that_it_sends_are_put_on_record_together(store: Store) -> None:
    record = BriefingRecord(delivery_id="weekly-1", composed_at=NOW, briefing={"title": "甲"})
    assert await store.deliveries.create(delivery(1, NOW, saved_id=7), record)
    assert not await store.deliveries.create(delivery(1, NOW), record)
    kept = await store.deliveries.get_briefing("weekly-1")
    assert kept is not None
    assert kept.briefing == {"title": "甲"}
    assert [entry.id for entry in await store.deliveries.list(saved_id=7)] == ["weekly-1"]
    assert await store.deliveries.list(saved_id=8) == []


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_the_log_goes_on_behind_the_last_one_seen_also_among_those_of_one_instant(
    store: Store, limit: int
) -> None:
    for number in range(4):
        await store.deliveries.create(delivery(number, NOW + dt.timedelta(hours=number // 2)))
    seen: list[str] = []
    before = None
    while page := await store.deliveries.list(before=before, limit=limit):
        seen += [entry.id for entry in page]
        before = page[-1].planned_at, page[-1].id
    assert seen == ["weekly-3", "weekly-2", "weekly-1", "weekly-0"]
