"""What people say of items, on both databases."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.db.database import Store
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.people import ItemNote
from monitor.errors import NotFound
from monitor.urls import url_key
from monitor.vocabulary import ItemType, MarkAction, RankDirection

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


async def saved(store: Store, source: Source | None, name: str) -> Item:
    url = f"https://example.gov/{name}"
    item = Item(
        source_id=source.id if source else None,
        run_id="run-1",
        source=source.name if source else "gone",
        section="通知",
        url=url,
        url_key=url_key(url),
        title=name,
        type=ItemType.NOTICE,
        first_seen=NOON,
    )
    return (await store.items.save(item))[0]


@pytest.fixture
async def item(store: Store, source: Source) -> Item:
    return await saved(store, source, "一")


async def test_a_star_is_of_one_person(store: Store, item: Item, source: Source) -> None:
    number = item.id or 0
    other = (await saved(store, source, "二")).id or 0
    await store.marks.mark(MarkAction.STAR, [number], person="wang", at=NOON)
    await store.marks.mark(MarkAction.STAR, [number], person="wang", at=NOON)
    assert (await store.marks.load_marks("wang", [number, other, 999])).starred == {number}
    assert (await store.marks.load_marks("li", [number])).starred == set()
    assert [entry.id for entry in await store.items.list(ItemFilter(starred_by="wang"))] == [number]
    assert await store.items.list(ItemFilter(starred_by="li")) == []
    await store.marks.mark(MarkAction.UNSTAR, [number], person="wang", at=NOON)
    await store.marks.mark(MarkAction.UNSTAR, [number], person="wang", at=NOON)
    assert (await store.marks.load_marks("wang", [number])).starred == set()


async def test_notes_stand_in_their_order(store: Store, item: Item) -> None:
    number = item.id or 0
    first = await store.marks.add_note(ItemNote(item_id=number, person="wang", text="看\x00第三条", at=NOON))
    await store.marks.add_note(ItemNote(item_id=number, person="li", text="已核实", at=NOON))
    assert [(note.person, note.text) for note in await store.marks.list_notes("", number)] == [
        ("wang", "看第三条"),
        ("li", "已核实"),
    ]
    await store.marks.mark(MarkAction.STAR, [number], person="wang", at=NOON)
    on_items = await store.marks.load_marks("wang", [number, 999])
    assert (on_items.starred, on_items.hidden, on_items.notes) == ({number}, set(), {number: 2})
    await store.marks.remove_note(999, first.id or 0)
    assert len(await store.marks.list_notes("", number)) == 2
    await store.marks.remove_note(number, first.id or 0)
    assert [entry.person for entry in await store.marks.list_notes("", number)] == ["li"]


async def test_a_hidden_item_leaves_the_lists_and_is_not_forgotten(store: Store, item: Item, source: Source) -> None:
    number = item.id or 0
    other = (await saved(store, source, "二")).id or 0
    await store.marks.mark(MarkAction.HIDE, [number], person="wang", at=NOON, reason="重复")
    await store.marks.mark(MarkAction.HIDE, [number], person="li", at=NOON, reason="与业务无关")
    assert [entry.id for entry in await store.items.list(ItemFilter())] == [other]
    assert [item.id for item in await store.items.list(ItemFilter(is_hidden=True))] == [number]
    assert len(await store.items.list(ItemFilter(is_hidden=None))) == 2
    assert len(await store.items.list_for_run("run-1")) == 2
    assert (await store.marks.load_marks("wang", [number, other])).hidden == {number}
    assert (await store.marks.load_hidden([number, other]))[number].reason == "与业务无关"
    assert (await saved(store, source, "一")).id == number
    await store.marks.mark(MarkAction.UNHIDE, [number], person="wang", at=NOON)
    assert len(await store.items.list(ItemFilter())) == 2


async def test_wishes_are_those_on_the_items_of_the_same_sources(store: Store, item: Item, source: Source) -> None:
    like = await saved(store, source, "二")
    elsewhere = await store.sources.add(Source(name="乙", url="https://b.example/", created_at=NOON))
    other = await saved(store, elsewhere, "三")
    await store.marks.save_feedback("wang", item.id or 0, RankDirection.HIGHER, at=NOON)
    await store.marks.save_feedback("wang", item.id or 0, RankDirection.LOWER, at=NOON + timedelta(hours=2))
    await store.marks.save_feedback("li", item.id or 0, RankDirection.HIGHER, at=NOON + timedelta(hours=1))
    await store.marks.save_feedback("wang", other.id or 0, RankDirection.HIGHER, at=NOON)
    wishes = await store.marks.list_feedback([like])
    assert [(wish.item_id, wish.person, wish.wish) for wish in wishes] == [
        (item.id, "li", RankDirection.HIGHER),
        (item.id, "wang", RankDirection.LOWER),
    ]
    assert (wishes[0].source_id, wishes[0].section, wishes[0].type) == (source.id, "通知", ItemType.NOTICE)
    assert [entry.item_id for entry in await store.marks.list_feedback([other])] == [other.id]
    await store.marks.delete_feedback("wang", item.id or 0)
    assert [entry.person for entry in await store.marks.list_feedback([item])] == ["li"]


async def test_what_is_said_of_an_item_without_a_source_is_kept(store: Store, source: Source) -> None:
    orphan = await saved(store, None, "四")
    await store.marks.save_feedback("wang", orphan.id or 0, RankDirection.HIGHER, at=NOON)
    assert [wish.item_id for wish in await store.marks.list_feedback([orphan])] == [orphan.id]


async def test_marks_on_an_item_that_is_not_there_are_refused(store: Store) -> None:
    for action in MarkAction:
        assert await store.marks.mark(action, [7], person="wang", at=NOON) == []
    with pytest.raises(NotFound):
        await store.marks.add_note(ItemNote(item_id=7, person="wang", text="?", at=NOON))
    with pytest.raises(NotFound):
        await store.marks.save_feedback("wang", 7, RankDirection.HIGHER, at=NOON)
