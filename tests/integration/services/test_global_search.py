"""The search box over both databases: what is found by type, what a reader may not see, what a person searched for."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.queries.global_search import MAX_RECENT_QUERIES
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.people import ItemNote, SavedBriefing
from monitor.db.tables.policies import Policy, PolicyDocument, PolicyNote, Topic
from monitor.db.tables.research import Research
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.search.backends.archive import ArchiveSearch
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.global_search import FoundGroup, FoundType, GlobalSearchService
from monitor.vocabulary import JoinedBy, MarkAction, Role, RunStatus, Visibility

NOW = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)
ANNA, BEN = Actor("anna", Role.READER), Actor("ben", Role.EDITOR)


@pytest.fixture
def box(either_store: Store, turned_clock: Any) -> GlobalSearchService:
    archive = ArchiveSearch(fulltext=either_store.fulltext, score_item=lambda relevance, _day, _url: relevance)
    return GlobalSearchService(store=either_store, clock=turned_clock, archive_search=archive)


async def add_items(store: Store, *items: tuple[str, str]) -> list[int]:
    """Items of one source with these titles and texts, each a day older than the one before."""
    source = await store.sources.get("能源局")
    if source is None:
        source = await store.sources.add(
            Source(name="能源局", url="https://nea.example/", created_at=NOW, tags=["储能"])
        )
        run = Run(id="r", source_id=source.id, source=source.name, status=RunStatus.SUCCEEDED, planned_at=NOW)
        await store.runs.create(run)
    rows = [
        Item(
            source_id=source.id,
            source=source.name,
            run_id="r",
            url=f"https://nea.example/{title}-{place}",
            url_key=f"{title}-{place}",
            title=title,
            date=NOW.date() - dt.timedelta(days=place),
            first_seen=NOW,
            section="通知",
        )
        for place, (title, _) in enumerate(items)
    ]
    ids = [item.id or 0 for item, _ in await store.items.save_all(rows)]
    for item_id, (_, text) in zip(ids, items, strict=True):
        await store.items.update(item_id, text=text)
    return ids


async def add_one_of_each(store: Store) -> int:
    """One thing of every type whose name has 储能 and 办法; return the number of the item."""
    [item_id] = await add_items(store, ("新型储能管理办法", "为规范新型储能项目，制定本办法。"))
    policy_id = await store.policies.add(
        Policy(name="新型储能管理办法", key="新型储能管理办法", created_at=NOW, updated_at=NOW)
    )
    joined = PolicyDocument(
        policy_id=policy_id, item_id=item_id, joined_by=JoinedBy.HAND, reason=Message("policy.own"), joined_at=NOW
    )
    await store.policies.save_document(joined)
    await store.policies.add_note(PolicyNote(policy_id=policy_id, text="储能办法何时修订？", person="ben", at=NOW))
    await store.topics.add(Topic(name="新能源", sentence="", words=["储能", "办法"], created_at=NOW))
    await store.briefings.add(
        SavedBriefing(
            title="储能办法周报",
            briefing={},
            edit={},
            language="zh",
            since=NOW.date(),
            until=NOW.date(),
            query={},
            created_by="ben",
            created_at=NOW,
        )
    )
    await store.research.create(
        Research(
            id="r-1",
            query="储能办法影响几何？",
            language="zh",
            asked_by="ben",
            visibility=Visibility.OPEN,
            created_at=NOW,
        )
    )
    await store.marks.add_note(ItemNote(item_id=item_id, person="ben", text="储能办法要点", at=NOW))
    await store.sources.add(Source(name="储能协会", url="https://cnesa.example/办法", created_at=NOW))
    return item_id


def list_paths(groups: list[FoundGroup]) -> dict[FoundType, list[str]]:
    return {group.type: [entry.path for entry in group.entries] for group in groups}


async def test_one_query_finds_things_of_every_type_with_their_counts(
    either_store: Store, box: GlobalSearchService
) -> None:
    item_id = await add_one_of_each(either_store)
    groups = await box.find("储能 办法", by=ANNA)
    assert [group.type for group in groups] == list(FoundType)
    assert {group.type: group.total for group in groups} == dict.fromkeys(FoundType, 1) | {FoundType.NOTES: 2}
    paths = list_paths(groups)
    assert paths[FoundType.ITEMS] == [f"/items/{item_id}"]
    assert paths[FoundType.RESEARCH] == ["/research/r-1"]
    assert f"/items/{item_id}#notes" in paths[FoundType.NOTES]
    assert any(path.startswith("/policies/") for path in paths[FoundType.NOTES])
    assert list_paths(await box.suggest("储能 办法", by=ANNA)) == paths


async def test_all_words_have_to_occur_and_quoted_ones_side_by_side(
    either_store: Store, box: GlobalSearchService
) -> None:
    apart, together = await add_items(
        either_store,
        ("Price of gas", "Electricity is dear; its price rose."),
        ("Tariffs", "The electricity price fell by 3%."),
    )
    both = list_paths(await box.find("electricity price", by=ANNA))[FoundType.ITEMS]
    assert sorted(both) == sorted([f"/items/{apart}", f"/items/{together}"])
    phrase = await box.find('"electricity price"', by=ANNA)
    assert list_paths(phrase) == {FoundType.ITEMS: [f"/items/{together}"]}
    assert "electricity price fell" in phrase[0].entries[0].snippet
    assert await box.find("electricity zebra", by=ANNA) == []


async def test_a_begun_word_already_suggests_items_with_it_in_their_titles(
    either_store: Store, box: GlobalSearchService
) -> None:
    [regulation] = await add_items(either_store, ("Energy regulation adopted", "Text."))
    assert list_paths(await box.suggest("energy regul", by=ANNA))[FoundType.ITEMS] == [f"/items/{regulation}"]
    assert await box.find("energy regul", by=ANNA) == []


async def test_private_notes_and_researches_of_others_hidden_items_and_archived_briefings_are_not_found(
    either_store: Store, box: GlobalSearchService
) -> None:
    item_id = await add_one_of_each(either_store)
    store = either_store
    secret = ItemNote(item_id=item_id, person="ben", text="储能机密", visibility=Visibility.PRIVATE, at=NOW)
    await store.marks.add_note(secret)
    await store.research.create(Research(id="r-2", query="储能机密问题", language="zh", asked_by="ben", created_at=NOW))
    for find in (box.find, box.suggest):
        assert await find("储能机密", by=ANNA) == []
        assert list(list_paths(await find("储能机密", by=BEN))) == [FoundType.NOTES, FoundType.RESEARCH]
    assert FoundType.RESEARCH in list_paths(await box.find("储能机密", by=COMMAND_LINE))
    await store.briefings.set_archived(1, NOW)
    await store.marks.mark(MarkAction.HIDE, [item_id], person="ben", at=NOW)
    for find in (box.find, box.suggest):
        assert not {FoundType.ITEMS, FoundType.BRIEFINGS} & set(list_paths(await find("储能 办法", by=ANNA)))


async def test_only_the_types_asked_for_are_answered_and_the_total_tells_of_more(
    either_store: Store, box: GlobalSearchService
) -> None:
    await add_items(either_store, *[(f"电价通知{number}", "电价") for number in range(7)])
    [group] = await box.find("电价", by=ANNA, types=[FoundType.ITEMS, FoundType.TOPICS], limit=3)
    assert (group.type, group.total, len(group.entries)) == (FoundType.ITEMS, 7, 3)


async def test_a_query_without_a_word_or_with_signs_of_patterns_finds_nothing_else(
    either_store: Store, box: GlobalSearchService
) -> None:
    await add_one_of_each(either_store)
    with pytest.raises(UsageError):
        await box.find("，。!?", by=ANNA)
    assert await box.find("100%_x", by=ANNA) == []


async def test_recent_queries_are_a_persons_own_newest_first_bounded_and_removable(
    either_store: Store, box: GlobalSearchService, turned_clock: Any
) -> None:
    for text in ("储能", "电价", " 储能 "):
        turned_clock.turn(seconds=1)
        await box.remember(text, by=ANNA)
    await box.remember("x" * 201, by=ANNA)
    await box.remember("碳市场", by=BEN)
    assert [query.text for query in await box.list_recent(by=ANNA)] == ["储能", "电价"]
    await box.forget("电价", by=ANNA)
    assert [query.text for query in await box.list_recent(by=ANNA)] == ["储能"]
    for number in range(MAX_RECENT_QUERIES + 5):
        turned_clock.turn(seconds=1)
        await box.remember(f"词{number}", by=ANNA)
    kept = [query.text for query in await box.list_recent(by=ANNA)]
    assert (len(kept), kept[0]) == (MAX_RECENT_QUERIES, f"词{MAX_RECENT_QUERIES + 4}")
    await box.forget(by=ANNA)
    assert await box.list_recent(by=ANNA) == []
    assert [query.text for query in await box.list_recent(by=BEN)] == ["碳市场"]
