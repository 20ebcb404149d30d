"""The archive: saving once, finding again, in an order that does not change."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from monitor.db.database import Store
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.people import RankPlacement
from monitor.errors import UsageError, WorkFailed
from monitor.urls import url_key
from monitor.vocabulary import DateSource, ItemType, MarkAction, RankDirection, SavedBy, SummaryBy

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


def an_item(source: Source, path: str, **fields: object) -> Item:
    url = f"https://example.gov/{path}"
    usual = {
        "source_id": source.id,
        "run_id": "run-1",
        "source": source.name,
        "section": "通知公告",
        "title": path,
        "first_seen": NOON,
    }
    return Item(url=url, url_key=url_key(url), **{**usual, **fields})


async def test_an_item_comes_back_as_it_was_saved(store: Store, source: Source) -> None:
    wanted = an_item(
        source,
        "t20260203_1.html",
        title="关于印发《能源规划》的通知",
        date=date(2026, 2, 3),
        date_source=DateSource.LISTED,
        type=ItemType.NOTICE,
        by=SavedBy.AGENT,
        attachments=[{"title": "附件", "url": "https://example.gov/a.pdf", "type": "pdf"}],
    )
    saved, is_new = await store.items.save(wanted)
    assert is_new
    assert saved.model_dump(exclude={"id"}) == wanted.model_dump(exclude={"id"})
    found = await store.items.get(saved.id or 0)
    assert found == saved
    assert found.type is ItemType.NOTICE
    assert await store.items.get(10_000) is None


async def test_an_item_is_saved_once_for_its_source(store: Store, source: Source) -> None:
    first, _ = await store.items.save(an_item(source, "1.html", title="first"))
    again, is_new = await store.items.save(an_item(source, "1.html", title="second", run_id="run-2"))
    assert not is_new
    assert again == first
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON))
    _, is_new_there = await store.items.save(an_item(other, "1.html"))
    assert is_new_there


async def test_a_saved_url_is_known_with_the_run_and_section_that_saved_it(store: Store, source: Source) -> None:
    saved, _ = await store.items.save(an_item(source, "1.html"))
    known = await store.sections.find_known(
        source.id or 0, ["http://www.example.gov/1.html/", "https://example.gov/2.html"]
    )
    assert {key: value.model_dump() for key, value in known.items()} == {
        saved.url_key: {
            "run_id": "run-1",
            "section": "通知公告",
            "item_id": saved.id,
            "date": saved.date,
            "date_source": saved.date_source,
        }
    }


async def test_a_source_that_was_removed_meanwhile_stops_its_run_with_a_clear_word(
    store: Store, source: Source
) -> None:
    await store.sources.remove(source.name)
    with pytest.raises(WorkFailed, match="removed while"):
        await store.items.save(an_item(source, "1.html"))
    assert await store.items.list(ItemFilter()) == []


async def test_a_text_is_kept_apart_and_may_be_replaced(store: Store, source: Source) -> None:
    saved, _ = await store.items.save(an_item(source, "1.html"))
    assert saved.id is not None
    assert await store.items.get_text(saved.id) is None
    await store.items.update(saved.id, text="旧文")
    await store.items.update(saved.id, text="新\x00文\ud83d")
    assert await store.items.get_text(saved.id) == "新文?"


async def test_fields_of_an_item_are_changed(store: Store, source: Source) -> None:
    saved, _ = await store.items.save(an_item(source, "1.html"))
    await store.items.update(saved.id or 0, summary="要点", summary_by=SummaryBy.MODEL)
    found = await store.items.get(saved.id or 0)
    assert found is not None
    assert (found.summary, found.summary_by) == ("要点", SummaryBy.MODEL)
    with pytest.raises(UsageError, match="no item 10000"):
        await store.items.update(10_000, summary="")
    with pytest.raises(TypeError, match="no field 'colour'"):
        await store.items.update(saved.id or 0, colour="red")


async def test_the_items_of_a_run_stand_in_order_of_rank_and_the_unranked_last_by_date(
    store: Store, source: Source
) -> None:
    dates = {"a": date(2026, 2, 1), "b": None, "c": date(2026, 2, 2), "d": date(2026, 1, 1), "e": date(2026, 2, 1)}
    numbers: dict[str, int] = {}
    for name, day in dates.items():
        saved, _ = await store.items.save(an_item(source, name, date=day))
        numbers[name] = saved.id or 0
    await store.items.save(an_item(source, "elsewhere", run_id="run-2"))
    assert [item.title for item in await store.items.list_for_run("run-1")] == ["c", "a", "e", "d", "b"]
    await store.items.set_ranks(
        {numbers["b"]: RankPlacement(2, 3), numbers["d"]: RankPlacement(1, 1, RankDirection.HIGHER)}
    )
    ranked = await store.items.list_for_run("run-1")
    places = [(item.title, item.rank, item.tier, item.moved) for item in ranked]
    assert places[:3] == [("d", 1, 1, RankDirection.HIGHER), ("b", 2, 3, None), ("c", None, None, None)]


async def test_items_that_no_model_has_summarised_are_handed_out_for_it(store: Store, source: Source) -> None:
    await store.items.save(an_item(source, "1"))
    await store.items.save(an_item(source, "2", summary="有", summary_by=SummaryBy.MODEL))
    await store.items.save(an_item(source, "3", run_id="run-2"))
    await store.items.save(an_item(source, "4", summary="摘", summary_by=SummaryBy.EXTRACT))
    assert [item.title for item in await store.items.list_unsummarised("run-1")] == ["1", "4"]


async def test_items_are_listed_newest_first_and_the_undated_by_the_day_they_were_seen(
    store: Store, source: Source
) -> None:
    await store.items.save(an_item(source, "old", date=date(2026, 1, 2)))
    await store.items.save(an_item(source, "undated", first_seen=NOON))
    await store.items.save(an_item(source, "new", date=date(2026, 2, 4)))
    await store.items.save(an_item(source, "same day", date=date(2026, 2, 3)))
    assert [item.title for item in await store.items.list(ItemFilter())] == ["new", "same day", "undated", "old"]
    assert [item.title for item in await store.items.list(ItemFilter(), limit=1)] == ["new"]
    assert len(await store.items.list(ItemFilter(), limit=None)) == 4


async def test_every_filter_narrows_the_list(store: Store, source: Source) -> None:
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON, tags=["energy"]))
    late = NOON + timedelta(days=1)
    await store.items.save(an_item(source, "a", date=date(2026, 2, 1), type=ItemType.NOTICE))
    await store.items.save(an_item(other, "b", date=date(2026, 2, 2), type=ItemType.LAW, first_seen=late))
    await store.items.save(an_item(other, "c", first_seen=late, run_id="run-2"))

    async def titles(**wanted: object) -> str:
        return "".join(item.title for item in await store.items.list(ItemFilter.model_validate(wanted)))

    assert await titles() == "cba"
    assert await titles(sources=["other"]) == "cb"
    assert await titles(sources=["nobody"]) == ""
    assert await titles(tags=["energy", "nothing"]) == "cb"
    assert await titles(tags=["ener"]) == ""
    assert await titles(types=["通知", "法规"]) == "ba"
    assert await titles(since=date(2026, 2, 2)) == "cb"
    assert await titles(until=date(2026, 2, 2)) == "ba"
    assert await titles(since=date(2026, 2, 4), until=date(2026, 2, 4)) == "c"
    assert await titles(first_seen_since=late) == "cb"
    assert await titles(first_seen_until=late) == "a"
    assert await titles(run_id="run-2") == "c"
    first = (await store.items.list(ItemFilter()))[0]
    assert await titles(ids=[first.id]) == first.title
    assert await titles(ids=[]) == ""


async def test_the_day_of_an_item_follows_its_date_and_its_first_sight(store: Store, source: Source) -> None:
    item = an_item(source, "a", first_seen=datetime(2026, 2, 4, 7, tzinfo=timezone(timedelta(hours=8))))
    assert item.day == date(2026, 2, 3)
    saved, _ = await store.items.save(item)
    await store.items.update(saved.id or 0, date=date(2025, 1, 1))
    assert [entry.day for entry in await store.items.list(ItemFilter(until=date(2025, 1, 1)))] == [date(2025, 1, 1)]
    await store.items.update(saved.id or 0, date=None)
    assert [item.day for item in await store.items.list(ItemFilter(since=date(2026, 2, 3)))] == [date(2026, 2, 3)]


async def test_pages_of_a_list_follow_each_other_without_a_gap(store: Store, source: Source) -> None:
    others = [
        await store.sources.add(Source(name=name, url="https://o.gov/", created_at=NOON, tags=["energy"]))
        for name in ("other", "third")
    ]
    for number in range(14):
        of = [source, *others][number % 3]
        await store.items.save(an_item(of, str(number), date=date(2026, 2, 1) + timedelta(days=number % 4)))
    everything: dict[str, object]
    for everything in ({}, {"sources": ["other", "third"]}, {"tags": ["energy"]}, {"sources": ["other"]}):
        whole = await store.items.list(ItemFilter.model_validate(everything), limit=None)
        assert whole == sorted(whole, key=lambda item: (item.day, item.id or 0), reverse=True)
        read: list[Item] = []
        after = None
        while page := await store.items.list(ItemFilter.model_validate({**everything, "after": after}), limit=3):
            read += page
            after = (page[-1].day, page[-1].id)
        assert read == whole
        assert len(whole) in (14, 9, 5)


async def test_sections_numbers_languages_and_marks_narrow_the_list(store: Store, source: Source) -> None:
    await store.items.save(
        an_item(source, "a", section="政策法规", document_number="国发〔2026〕3号", language="zh-CN")
    )
    await store.items.save(an_item(source, "b", section="Policy News", language="en", late=True))
    await store.items.save(an_item(source, "c", section="要闻", language="zh"))
    ids = {item.title: item.id or 0 for item in await store.items.list(ItemFilter())}
    await store.marks.mark(MarkAction.STAR, [ids["a"]], person="ann", at=NOON)
    await store.marks.mark(MarkAction.STAR, [ids["b"]], person="bob", at=NOON)
    await store.marks.mark(MarkAction.HIDE, [ids["c"]], person="bob", at=NOON, reason="twice")

    async def titles(**wanted: object) -> str:
        found = ItemFilter.model_validate(wanted)
        items = await store.items.list(found)
        assert await store.items.count(found) == len(items)
        return "".join(sorted(item.title for item in items))

    assert await titles() == "ab"
    assert await titles(is_hidden=None) == "abc"
    assert await titles(is_hidden=True) == "c"
    assert await titles(section="policy") == "b"
    assert await titles(section="法规") == "a"
    assert await titles(section="%") == ""
    assert await titles(document_number=" 国发[2026]3号") == "a"
    assert await titles(document_number="国发〔2026〕4号") == ""
    assert await titles(language="zh-TW", is_hidden=None) == "ac"
    assert await titles(language="z") == ""
    assert await titles(late=True) == "b"
    assert await titles(late=False) == "a"
    assert await titles(starred_by="ann") == "a"
    assert await store.items.count(ItemFilter(), cap=1) == 1
    assert await store.items.list_values("language") == ["en", "zh", "zh-CN"]
    assert await store.items.list_values("section") == ["Policy News", "政策法规", "要闻"]


async def test_one_of_the_keywords_has_to_stand_in_title_summary_or_text(store: Store, source: Source) -> None:
    await store.items.save(an_item(source, "a", title="储能 100%"))
    await store.items.save(an_item(source, "b", title="氢能", summary="About BMS"))
    texted, _ = await store.items.save(an_item(source, "c", title="其他"))
    await store.items.update(texted.id or 0, text="正文说到储能。")

    async def titles(*keywords: str) -> set[str]:
        return {item.title for item in await store.items.list(ItemFilter(keywords=keywords))}

    assert await titles("储能") == {"储能 100%", "其他"}
    assert await titles("bms", "nothing") == {"氢能"}
    assert await titles("0%") == {"储能 100%"}
    assert await titles("_") == set()
    assert len(await titles(" ")) == 3


async def test_the_texts_of_many_items_come_at_once(store: Store, source: Source) -> None:
    ids = [(await store.items.save(an_item(source, str(n))))[0].id or 0 for n in range(3)]
    for item_id in ids[:2]:
        await store.items.update(item_id, text=f"text {item_id}")
    assert await store.items.load_texts([*ids, 999]) == {item_id: f"text {item_id}" for item_id in ids[:2]}
    assert await store.items.load_texts([]) == {}


async def test_the_latest_items_of_a_source_come_first(store: Store, source: Source, run: Run) -> None:
    for hour, path in enumerate(("1", "2", "3")):
        await store.items.save(an_item(source, path, first_seen=NOON + timedelta(hours=hour)))
    urls = await store.sections.list_recent_item_urls(source.id or 0, 2)
    assert urls == ["https://example.gov/3", "https://example.gov/2"]


async def test_the_item_of_a_document_is_found_whichever_source_has_it_and_after_it_was_removed(
    store: Store, source: Source
) -> None:
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON))
    old, _ = await store.items.save(an_item(source, "1.html"))
    new, _ = await store.items.save(an_item(other, "1.html", first_seen=NOON + timedelta(days=1)))
    key = url_key("https://www.example.gov/1.html/")
    assert await store.items.find_by_key(key) == new
    await store.sources.remove("other")
    found = await store.items.find_by_key(key)
    assert found is not None
    assert (found.id, found.source_id) == (new.id, None)
    await store.items.save(an_item(source, "2.html", first_seen=NOON + timedelta(days=2)))
    assert old.id != found.id
    assert await store.items.find_by_key(url_key("https://example.gov/3.html")) is None
