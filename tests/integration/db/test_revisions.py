"""Looks at items' pages and their revisions, on both databases."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.db.tables.policies import Deadline
from monitor.page import ChangeKind, EditOperation, PageEdit, PagePart, PageSnapshot
from monitor.urls import url_key
from monitor.vocabulary import DeadlineKind

AT = datetime(2026, 11, 20, 4, tzinfo=UTC)
DAYS = (1, 3, 7)


async def saved(store: Store, source: Source, run: Run, number: int, *, first_seen: datetime = AT) -> int:
    url = f"https://example.gov/news/{number}.html"
    item, _ = await store.items.save(
        Item(
            source_id=source.id,
            run_id=run.id,
            source=source.name,
            section="新闻",
            url=url,
            url_key=url_key(url),
            title=f"第{number}号通知",
            first_seen=first_seen,
        )
    )
    return item.id or 0


def snapshot_of(item_id: int, at: datetime, **more: Any) -> ItemSnapshot:
    snapshot = ItemSnapshot.from_page(item_id, "run-1", PageSnapshot(url="https://example.gov/", seen_at=at))
    return ItemSnapshot(**snapshot.model_dump() | more)


async def due(store: Store, source: Source, days_later: float, limit: int = 10) -> list[int]:
    return await store.revisions.list_due(source.id or 0, at=AT + timedelta(days=days_later), days=DAYS, limit=limit)


async def test_an_item_is_due_once_for_each_day_that_came(store: Store, source: Source, run: Run) -> None:
    item_id = await saved(store, source, run, 1)
    assert await due(store, source, 0.5) == []
    assert await due(store, source, 1) == [item_id], "no look is on record: the first one is due"
    await store.revisions.save(snapshot_of(item_id, AT))
    assert await due(store, source, 0.5) == []
    assert await due(store, source, 1) == [item_id]
    await store.revisions.save(snapshot_of(item_id, AT + timedelta(days=1)))
    assert await due(store, source, 2) == []
    assert await due(store, source, 20) == [item_id], "the service was down for days: one look makes up for all"
    await store.revisions.save(snapshot_of(item_id, AT + timedelta(days=20)))
    assert await due(store, source, 36) == []


async def test_the_doubtful_come_first_and_then_the_longest_unseen(store: Store, source: Source, run: Run) -> None:
    ids = [await saved(store, source, run, number) for number in range(4)]
    looks = [AT + timedelta(hours=3), AT + timedelta(hours=1), AT + timedelta(hours=2), AT + timedelta(days=1)]
    for item_id, at in zip(ids, looks, strict=True):
        doubt = ChangeKind.WITHDRAWN if at == looks[3] else None
        await store.revisions.save(snapshot_of(item_id, at, doubt=doubt))
    assert await due(store, source, 1) == [ids[3], ids[1], ids[2], ids[0]]
    assert await due(store, source, 1, limit=2) == [ids[3], ids[1]]
    without = await saved(store, source, run, 9, first_seen=AT - timedelta(days=2))
    assert await due(store, source, 1) == [ids[3], ids[1], ids[2], ids[0], without], "none takes the place of others"
    assert await due(store, source, 60) == [], "a doubt does not last for ever"
    assert await store.revisions.list_due(source.id or 0, at=AT + timedelta(days=1), days=(), limit=9) == []


async def test_an_item_whose_deadline_is_near_is_due_each_day_beside_the_others(
    store: Store, source: Source, run: Run
) -> None:
    days = {"near": 20, "just over": -3, "past": -30, "far": 400, "dropped": 20}
    ids = {name: await saved(store, source, run, number) for number, name in enumerate([*days, "none"])}
    for name, left in days.items():
        day = AT.date() + timedelta(days=left)
        dropped_at = AT if name == "dropped" else None
        row = Deadline(item_id=ids[name], kind=DeadlineKind.APPLY_BY, day=day, seen_at=AT, dropped_at=dropped_at)
        await store.deadlines.save([(row, None)])
    for item_id in ids.values():
        await store.revisions.save(snapshot_of(item_id, AT + timedelta(days=1)))

    async def list_due(days_later: float, deadline_limit: int = 9) -> list[int]:
        at = AT + timedelta(days=days_later)
        return await store.revisions.list_due(source.id or 0, at=at, days=DAYS, limit=2, deadline_limit=deadline_limit)

    assert await list_due(1.5) == []
    assert await list_due(2) == [ids["near"], ids["just over"]]
    assert await list_due(2, deadline_limit=1) == [ids["near"]]
    assert await list_due(3) == [ids["near"], ids["just over"], ids["past"], ids["far"]], "two others beside them"
    late = await store.revisions.list_due(
        source.id or 0, at=AT + timedelta(days=310), days=DAYS, limit=2, deadline_limit=9
    )
    assert late == [ids["far"]], "its deadline has come near"


async def test_a_look_is_kept_whole(store: Store, source: Source, run: Run) -> None:
    item_id = await saved(store, source, run, 1)
    edit = PageEdit(op=EditOperation.CHANGED, part=PagePart.ARTICLE, article="第七条", before="一万元", after="二万元")
    revision = Revision(
        item_id=item_id,
        run_id="run-1",
        seen_at=AT,
        kind=ChangeKind.CHANGED,
        before_text="旧",
        edits=[edit.model_dump(mode="json")],
    )
    seen = PageSnapshot(url="https://example.gov/", seen_at=AT, title="通知", text="新", links=["更多"])
    await store.revisions.save(
        ItemSnapshot.from_page(item_id, "run-2", seen), revision=revision, text="新", changes={"issuer": "局"}
    )
    snapshot = await store.revisions.get_snapshot(item_id)
    assert snapshot is not None
    assert snapshot.build_page_snapshot("新") == seen
    (kept,) = await store.revisions.list_for_item(item_id)
    assert (kept.change.edits, kept.before_text) == ([edit], "旧")
    item = await store.items.get(item_id)
    assert item is not None
    assert (item.issuer, await store.items.get_text(item_id)) == ("局", "新")


@pytest.mark.parametrize(("begin", "end", "found"), [(0, 1, True), (-1, 0, False), (1, 2, False)])
async def test_revisions_of_a_period(
    store: Store, source: Source, run: Run, begin: int, end: int, *, found: bool
) -> None:
    item_id = await saved(store, source, run, 1)
    revision = Revision(item_id=item_id, run_id="run-1", seen_at=AT, kind=ChangeKind.MOVED)
    await store.revisions.save(snapshot_of(item_id, AT), revision=revision)
    rows = await store.revisions.list_between(
        AT + timedelta(days=begin), AT + timedelta(days=end), sources=[source.name]
    )
    assert [(item.id, entry.kind) for item, entry in rows] == ([(item_id, ChangeKind.MOVED)] if found else [])


async def test_what_a_database_refuses_is_left_out(store: Store, source: Source, run: Run) -> None:
    item_id = await saved(store, source, run, 1)
    edit = PageEdit(op=EditOperation.ADDED, part=PagePart.PARAGRAPH, after="甲\x00乙\ud800")
    revision = Revision(
        item_id=item_id, run_id="run-1", seen_at=AT, kind=ChangeKind.CHANGED, edits=[edit.model_dump(mode="json")]
    )
    seen = PageSnapshot(url="https://example.gov/", seen_at=AT, title="通知\x00")
    await store.revisions.save(ItemSnapshot.from_page(item_id, "run-1", seen), revision=revision, text="新\x00")
    (kept,) = await store.revisions.list_for_item(item_id)
    assert kept.change.edits[0].after == "甲乙?"
