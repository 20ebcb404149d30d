"""The sources and their health."""

from datetime import UTC, datetime, timedelta

import pytest

from monitor.db.database import Store
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Run, Source
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.vocabulary import Render, RunStatus, SourceKind

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


def a_source(name: str, *, days: int = 0, **fields: object) -> Source:
    return Source(name=name, url=f"https://{name}.gov/", created_at=NOON + timedelta(days=days), **fields)


async def test_a_source_comes_back_as_it_was_added(store: Store) -> None:
    wanted = a_source(
        "能源局",
        kind=SourceKind.FEED,
        focus_areas=["规划", "通知"],
        sections=[{"name": "通知", "url": "https://a.gov/tz/"}],
        render=Render.ALWAYS,
        schedule="0 8 * * 1",
    )
    added = await store.sources.add(wanted)
    found = await store.sources.get("能源局")
    assert found is not None
    assert found.id == added.id
    assert found.model_dump(exclude={"id"}) == wanted.model_dump(exclude={"id"})
    assert await store.sources.get_by_id(found.id or 0) == found
    assert await store.sources.get("nobody") is None


async def test_a_name_is_taken_once(store: Store, source: Source) -> None:
    with pytest.raises(UsageError, match="already a source named '示例部'"):
        await store.sources.add(a_source(source.name))


async def test_sources_are_listed_newest_first_by_state_and_by_tag(store: Store) -> None:
    await store.sources.add(a_source("old", days=1, tags=["energy", "china"]))
    await store.sources.add(a_source("new", days=3, tags=["ener"]))
    await store.sources.add(a_source("off", days=2, tags=["energy"], enabled=False))
    assert [source.name for source in await store.sources.list()] == ["new", "off", "old"]
    assert [source.name for source in await store.sources.list(only_enabled=True)] == ["new", "old"]
    assert [source.name for source in await store.sources.list(tag="energy")] == ["off", "old"]


async def test_a_source_is_changed_field_by_field(store: Store, source: Source) -> None:
    changed = await store.sources.update(source.name, focus_areas=["标准"], enabled=False)
    assert (changed.focus_areas, changed.enabled) == (["标准"], False)
    assert await store.sources.get(source.name) == changed
    with pytest.raises(UsageError, match="no source named 'nobody'"):
        await store.sources.update("nobody", enabled=True)
    with pytest.raises(UsageError, match="no field 'colour'"):
        await store.sources.update(source.name, colour="red")


async def test_runs_and_items_follow_a_new_name(store: Store, source: Source, run: Run) -> None:
    item = Item(
        source_id=source.id,
        run_id=run.id,
        source=source.name,
        section="通知",
        url="https://example.gov/1",
        url_key="example.gov/1",
        title="一",
        first_seen=NOON,
    )
    await store.items.save(item)
    await store.sources.update(source.name, name="新名")
    assert len(await store.runs.list(source="新名")) == 1
    assert len(await store.items.list(ItemFilter(sources=["新名"]))) == 1
    await store.sources.add(a_source("other"))
    with pytest.raises(UsageError, match="already a source named 'other'"):
        await store.sources.update("新名", name="other")


async def test_what_a_removed_source_brought_stays(store: Store, source: Source, run: Run) -> None:
    assert await store.sources.remove(source.name)
    assert not await store.sources.remove(source.name)
    kept = await store.runs.get(run.id)
    assert kept is not None
    assert (kept.source, kept.source_id) == (source.name, None)


async def test_a_source_of_the_configuration_is_created_once_and_does_not_come_back(
    store: Store, source: Source
) -> None:
    wanted = [a_source("甲"), a_source("乙"), a_source(source.name), a_source("甲")]
    assert await store.sources.seed(wanted) == ["甲", "乙"]
    await store.sources.remove("甲")
    await store.sources.remove(source.name)
    assert await store.sources.seed([*wanted, a_source("丙")]) == ["丙"]
    assert {found.name for found in await store.sources.list()} == {"乙", "丙"}


async def test_runs_are_written_into_the_health_of_their_source(store: Store, source: Source) -> None:
    assert source.id is not None

    async def after(status: RunStatus, hours: int, *, has_new: bool = False, error: str | None = None) -> Source:
        at = NOON + timedelta(hours=hours)
        await store.runs.end("no run", source.id, at=at, status=status, has_new=has_new, error=error)
        found = await store.sources.get(source.name)
        assert found is not None
        assert found.last_run_at == at
        return found

    await after(RunStatus.FAILED, 1, error=Message.other("HTTP 412"))
    failed = await after(RunStatus.FAILED, 2, error=Message.other("HTTP 412"))
    assert (failed.consecutive_failures, failed.last_error, failed.last_success_at) == (
        2,
        Message.other("HTTP 412"),
        None,
    )
    cancelled = await after(RunStatus.CANCELLED, 3, has_new=True)
    assert (cancelled.consecutive_failures, cancelled.last_new_item_at) == (2, None)
    degraded = await after(RunStatus.DEGRADED, 4, has_new=True)
    assert (degraded.consecutive_failures, degraded.last_error) == (0, None)
    assert degraded.last_success_at == degraded.last_new_item_at == NOON + timedelta(hours=4)
    quiet = await after(RunStatus.SUCCEEDED, 5)
    assert quiet.last_new_item_at == NOON + timedelta(hours=4)


async def test_several_are_added_together_or_not_at_all(store: Store, source: Source) -> None:
    with pytest.raises(UsageError, match="already a source named '示例部'"):
        await store.sources.add_all([a_source("a"), a_source(source.name)])
    assert [entry.name for entry in await store.sources.list()] == [source.name]
    added = await store.sources.add_all([a_source("a"), a_source("b")])
    assert [source.name for source in added] == ["a", "b"]
    assert all(source.id for source in added)


async def test_several_are_changed_and_only_those_that_differ_are_told(store: Store) -> None:
    a, b, c = await store.sources.add_all([a_source("a", tags=["x"]), a_source("b"), a_source("c", tags=["x"])])
    changed = await store.sources.update_many([a.id or 0, b.id or 0, 4711], lambda _: {"tags": ["x"]})
    assert [entry.name for entry in changed] == ["b"]
    assert {source.name: source.tags for source in await store.sources.list()} == {"a": ["x"], "b": ["x"], "c": ["x"]}
    assert (await store.sources.get_by_id(c.id or 0)) == c
