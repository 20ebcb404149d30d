"""What belongs to a team is there for its members alone, whatever the query, on both databases."""

import datetime as dt
import pkgutil
from importlib import import_module

import pytest
from sqlalchemy import func, select, union_all
from sqlalchemy.orm import aliased
from sqlmodel import SQLModel, col

from monitor.db import tables
from monitor.db.database import Store
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, ItemPageText, Run, Source
from monitor.db.tables.policies import Topic, TopicFit
from monitor.db.terms import TextQuery
from monitor.db.visibility import BOUND_TABLES, EVERYBODY, see_as
from monitor.i18n.message import Message
from monitor.vocabulary import ItemOrder

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
OWNED_TABLES = {"source", "item", "run", "topic", "saved_briefing", "research", "delivery", "policy", "deadline"}
NOT_BOUND = {
    # what runs and the service keep for themselves, and no face shows
    "known_url",
    "over_limit",
    "site_memory",
    "schedule",
    "document_key",
    "topic_judgement",
    "item_terms",
    "item_vector",
    "evidence_incident",
    # what an export wrote, which administrators alone see
    "exported_version",
    "export_batch",
    # read by the id of a run or research that was found before
    "candidate",
    "research_paragraph",
    "research_remark",
}


async def fill(store: Store) -> tuple[int, list[int]]:
    """Two sources of one item each, the second a team's; answers that team and the items."""
    team = await store.teams.add("Energy", NOON)
    assert team is not None
    items = []
    for name, team_id in (("open", None), ("secret", team.id)):
        source = await store.sources.add(Source(name=name, url="https://a.gov/", team_id=team_id, created_at=NOON))
        await store.runs.create(
            Run(id=f"run-{name}", source_id=source.id, source=name, team_id=team_id, planned_at=NOON)
        )
        item = Item(
            source_id=source.id,
            source=name,
            run_id=f"run-{name}",
            section=name,
            language="zh",
            url=f"https://a.gov/{name}.html",
            url_key="",
            title=f"关于绿电交易的通知 {name}",
            first_seen=NOON,
        )
        saved, _ = await store.items.save(item)
        await store.items.update(saved.id or 0, text="绿电交易")
        items.append(saved.id or 0)
    return team.id or 0, items


async def test_an_item_belongs_to_the_team_of_its_source(store: Store) -> None:
    team_id, (open_item, secret) = await fill(store)
    found = {item.id: item.team_id for item in await store.items.list(ItemFilter())}
    assert found == {open_item: None, secret: team_id}
    source = await store.sources.get("secret")
    assert source is not None
    await store.teams.assign(Source, source.id or 0, None)
    assert {item.team_id for item in await store.items.list(ItemFilter())} == {None}
    assert [run.team_id for run in await store.runs.list_open()] == [None, None]


async def test_no_form_of_query_shows_what_belongs_to_another_team(store: Store) -> None:
    team_id, (open_item, secret) = await fill(store)
    other = aliased(Item)
    both = union_all(select(col(Item.id)), select(col(other.id))).subquery()
    statements = [
        select(col(Item.id)),
        select(col(other.id)),
        select(func.max(col(Item.id))),
        select(both.c.id).distinct(),
        select(col(ItemPageText.item_id)),
        select(col(Item.id)).where(col(Item.id).in_(select(col(Item.id)))),
        select(col(Item.id)).join(Source, col(Source.id) == col(Item.source_id)),
        select(col(ItemPageText.item_id)).outerjoin(Item, col(Item.id) == col(ItemPageText.item_id)),
    ]
    everything = {open_item, secret}
    for eyes, expected in ((EVERYBODY, {open_item}), (frozenset({team_id}), everything), (None, everything)):
        with see_as(eyes):
            for statement in statements:
                async with store.sessions.begin_read() as session:
                    found = set(await session.scalars(statement))
                assert found == expected or found == {max(expected)}  # of one the highest alone is asked
            assert (await store.items.get(secret) is None) is (eyes == EVERYBODY)
            assert (await store.sources.get("secret") is None) is (eyes == EVERYBODY)


@pytest.mark.parametrize("order", list(ItemOrder))
async def test_lists_counts_searches_and_choices_of_filters_leave_it_out(store: Store, order: ItemOrder) -> None:
    team_id, (open_item, secret) = await fill(store)
    query, scope = TextQuery.parse("绿电"), FullTextScope(items=ItemFilter())
    for eyes, ids in ((EVERYBODY, [open_item]), (frozenset({team_id}), [open_item, secret])):
        with see_as(eyes):
            listed = await store.items.list(ItemFilter(order=order))
            assert sorted(item.id or 0 for item in listed) == ids
            named = await store.items.list(ItemFilter(sources=["open", "secret"], order=order))
            assert sorted(item.id or 0 for item in named) == ids
            assert await store.items.count(ItemFilter()) == len(ids)
            assert len(await store.fulltext.find(query, scope, limit=10)) == len(ids)
            assert await store.fulltext.count(query, scope) == len(ids)
            assert len(await store.items.list_source_names()) == len(ids)
            assert len(await store.items.list_values("section")) == len(ids)


async def test_a_topic_counts_the_items_that_are_seen_and_names_the_day_of_the_last(store: Store) -> None:
    team_id, ids = await fill(store)
    topic = await store.topics.add(Topic(name="Power", created_at=NOON))
    assert topic is not None
    fit = {"score": 1.0, "is_match": True, "reason": Message.other("words"), "judged_at": NOON}
    async with store.sessions.begin_write() as session:
        session.add_all([TopicFit(topic_id=topic.id, item_id=item_id, **fit) for item_id in ids])
    for eyes, count in ((EVERYBODY, 1), (frozenset({team_id}), 2), (frozenset({team_id, 99}), 2), (None, 2)):
        with see_as(eyes):
            (counted,) = (await store.topics.count_matches([topic.id or 0])).values()
            assert (counted.matches, counted.newest) == (count, NOON.date())
    await store.items.update(ids[0], team_id=team_id)
    with see_as(EVERYBODY):
        assert await store.topics.count_matches([topic.id or 0]) == {}


async def test_a_team_that_owns_something_cannot_vanish_and_its_id_is_never_given_again(store: Store) -> None:
    team_id, (_, secret) = await fill(store)
    assert await store.teams.count_owned(team_id) == {"source": 1, "item": 1, "run": 1}
    heir = await store.teams.add("Water", NOON)
    assert heir is not None
    await store.teams.remove(team_id, heir=heir.id)
    item = await store.items.get(secret)
    assert item is not None
    assert item.team_id == heir.id
    await store.teams.remove(heir.id or 0, heir=None)
    again = await store.teams.add("Energy", NOON)
    assert again is not None
    assert (again.id or 0) > (heir.id or 0)


def test_every_table_of_what_may_be_a_teams_is_bound_or_says_why_not() -> None:
    for module in pkgutil.iter_modules(tables.__path__, f"{tables.__name__}."):
        import_module(module.name)
    assert BOUND_TABLES.keys() <= SQLModel.metadata.tables.keys()
    silent = set()
    for table in SQLModel.metadata.sorted_tables:
        owners = {key.column.table.name for key in table.foreign_keys}
        if (owners & OWNED_TABLES or "team_id" in table.c) and table.name not in BOUND_TABLES.keys() | NOT_BOUND:
            silent.add(table.name)
    assert not silent - {"team_member", "team_token", "webhook_endpoint", "webhook_event", "scheduled_export"}
