"""Items and briefings from a real database."""

import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from monitor.app.archive import Archive, ItemQuery
from monitor.domain.tables import Item, Run, Source
from monitor.domain.words import ItemType, Phase, RunStatus
from monitor.errors import UsageError
from monitor.settings import Settings
from monitor.store import Store

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 21)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path / 'monitor.db'}") as store:
        await store.check()
        yield store


@pytest.fixture
def archive(store: Store, clock: Any) -> Archive:
    return Archive(store=store, clock=clock, settings=Settings())


async def _source(store: Store, name: str, **fields: Any) -> Source:
    return await store.sources.add(Source(name=name, url=f"https://{name}.example/", created_at=NOW, **fields))


async def _run(store: Store, source: Source, status: RunStatus, *, at: dt.datetime = NOW, **fields: Any) -> str:
    run = Run(
        id=f"{source.name}-{at:%d%H}", source_id=source.id, source=source.name, status=status, planned_at=at, **fields
    )
    await store.runs.create(run)
    return run.id


async def _item(store: Store, source: Source, run_id: str, title: str, **fields: Any) -> Item:
    values = {"type": ItemType.NOTICE, "date": TODAY, "first_seen": NOW, "section": "s", **fields}
    url = f"https://{source.name}.example/{title}"
    item = Item(source_id=source.id, source=source.name, run_id=run_id, url=url, url_key=url, title=title, **values)
    return (await store.items.save(item))[0]


async def test_items_of_one_run_keep_the_order_that_the_run_gave_them(store: Store, archive: Archive) -> None:
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    await _item(store, source, run_id, "关于培训班的通知", rank=1, tier=5)
    await _item(store, source, run_id, "中华人民共和国能源法", type=ItemType.LAW, rank=2, tier=1)
    briefing = await archive.briefing()
    assert [(one.title, one.rank) for one in briefing.items] == [("关于培训班的通知", 1), ("中华人民共和国能源法", 2)]


async def test_items_of_several_runs_are_ranked_together_by_the_rules(store: Store, archive: Archive) -> None:
    one, other = await _source(store, "a"), await _source(store, "b")
    first, second = await _run(store, one, RunStatus.SUCCEEDED), await _run(store, other, RunStatus.SUCCEEDED)
    await _item(store, one, first, "局长会见来访客人", type=ItemType.NEWS, rank=1, tier=5)
    await _item(store, one, first, "中华人民共和国能源法", type=ItemType.LAW, rank=2, tier=1, date=dt.date(2026, 11, 1))
    await _item(store, other, second, "国家能源发展规划", type=ItemType.PLAN, rank=9, tier=1)
    briefing = await archive.briefing(top=2)
    assert [(item.title, item.rank) for item in briefing.items] == [
        ("国家能源发展规划", 1),
        ("中华人民共和国能源法", 2),
    ]
    assert [item.title for item in briefing.more] == ["局长会见来访客人"]


async def test_the_period_is_counted_in_the_time_zone_of_the_service(store: Store, archive: Archive) -> None:
    source = await _source(store, "a")
    run_id = await _run(store, source, RunStatus.SUCCEEDED)
    midnight = dt.datetime(2026, 11, 20, 16, tzinfo=dt.UTC)  # in Shanghai
    await _item(store, source, run_id, "今天", first_seen=midnight)
    await _item(store, source, run_id, "昨天", first_seen=midnight - dt.timedelta(seconds=1))
    assert [item.title for item in (await archive.briefing()).items] == ["今天"]
    assert len((await archive.briefing(days=2)).items) == 2
    yesterday = await archive.briefing(day=dt.date(2026, 11, 20))
    assert [item.title for item in yesterday.items] == ["昨天"]


async def test_a_briefing_names_sources_that_failed_fell_back_or_never_ran(store: Store, archive: Archive) -> None:
    failed, degraded = await _source(store, "failed"), await _source(store, "degraded", tags=["x"])
    await _source(store, "idle")
    await _source(store, "off", enabled=False)
    await _run(store, failed, RunStatus.FAILED, error="No section could be read.", is_baseline=True)
    run_id = await _run(store, degraded, RunStatus.DEGRADED)
    await store.runs.add_fallback(run_id, Phase.RANK, "degraded", "the answer holds no numbers", NOW)
    briefing = await archive.briefing()
    states = {state.name: state.status for state in briefing.sources}
    assert states == {"degraded": RunStatus.DEGRADED, "failed": RunStatus.FAILED, "idle": None}
    assert briefing.baselines == ["failed"]
    kinds = {(gap.source, gap.kind) for gap in briefing.gaps}
    assert {("failed", "failed"), ("degraded", "degraded"), ("idle", "never_run")} <= kinds
    tagged = await archive.briefing(tags=["x"])
    assert [state.name for state in tagged.sources] == ["degraded"]
    named = await archive.briefing(sources=["off"])
    assert [state.name for state in named.sources] == ["off"]


async def test_a_source_that_never_was_is_no_empty_answer(store: Store, archive: Archive) -> None:
    gone = await _source(store, "gone")
    await _run(store, gone, RunStatus.SUCCEEDED)
    await store.sources.remove("gone")
    assert await archive.items(ItemQuery(sources=["gone"])) == []
    with pytest.raises(UsageError, match="no source 'never'"):
        await archive.items(ItemQuery(sources=["never"]))
    with pytest.raises(UsageError, match="no source 'never'"):
        await archive.briefing(sources=["never"])


async def test_days_the_wrong_way_round_are_refused(archive: Archive) -> None:
    with pytest.raises(UsageError, match="wrong way round"):
        await archive.items(ItemQuery(since=TODAY, until=dt.date(2026, 11, 1)))
