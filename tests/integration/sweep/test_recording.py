"""What a run leaves behind as evidence, whatever happens to it, and that it can be done again from that."""

import asyncio
import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import pytest

from monitor.db.tables.collection import Run, Source
from monitor.db.tables.evidence import ClaimKind
from monitor.errors import UsageError
from monitor.evidence.storage import FileStorage
from monitor.i18n.catalogue import render
from monitor.services.replay import ReplayResult, ReplayService
from monitor.steps import InProcessSteps
from monitor.vocabulary import DateSource, RunStatus, SourceKind

OLD = (400, 410, 420, 430, 440, 450)


async def replayed(bureau: Any, folder: Path, run_id: str) -> ReplayResult:
    """The run again, with a loader that has neither client nor browser."""
    replays = ReplayService(
        store=bureau.store,
        storage=FileStorage(str(folder)),
        settings=bureau.settings,
        saved_search=bureau.saved_search,
        workers=bureau.sweeps.dependency_factory.workers,
    )
    return await replays.replay(run_id)


def files(folder: Path) -> int:
    return sum(path.is_file() for path in (folder / "evidence").rglob("*"))


async def test_an_item_rests_on_its_list_and_its_page(bureau: Any) -> None:
    rows = bureau.rows(0, 1, None, *OLD)
    bureau.show(rows)
    run = await bureau.sweep()
    for item in run.items:
        assert item.id is not None
        of_list, of_page = item.evidence
        pages = {record.id: record.url for record in await bureau.store.evidence.list_records(run.run_id)}
        assert (pages[of_list], pages[of_page]) == (bureau.site.url("/news/"), item.url)
        claims = {(claim.kind, claim.claim): claim for claim in await bureau.store.evidence.list_claims(item.id)}
        row = claims[ClaimKind.LIST, item.title].passage
        assert item.title in row
        day = claims[ClaimKind.DATE, str(item.date)]
        assert day.record_id in (of_list, of_page)
        assert str(item.date) in day.passage
        assert (item.date_source is DateSource.LISTED) == (str(item.date) in row)


async def test_a_trial_keeps_nothing(bureau: Any, tmp_path: Path) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    section = {"name": "通知公告", "url": bureau.site.url("/news/")}
    source = Source(name="new", url=bureau.site.url("/"), sections=[section], created_at=bureau.clock.now())
    trial = await bureau.sweeps.run_trial(source)
    assert trial.would_save == 2
    assert files(tmp_path) == 0
    assert await bureau.store.runs.list() == []


async def test_a_run_whose_records_cannot_be_kept_goes_on_and_says_so(bureau: Any, tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("in the way")
    bureau.show(bureau.rows(0, 1, *OLD))
    run = await bureau.sweep()
    assert (run.status, len(run.items)) == (RunStatus.DEGRADED, 2)
    assert any("not kept as evidence" in render(fallback.reason, "en") for fallback in run.fallbacks)
    assert [item.evidence for item in run.items] == [[], []]


async def test_later_runs_are_replayed_from_what_was_known_when_they_began(bureau: Any, tmp_path: Path) -> None:
    rows = bureau.rows(*range(25), *OLD)
    bureau.show(rows)
    bureau.options = {"max_items": 5, "window_days": 30}
    runs = []
    for day in range(4):
        bureau.clock.today += dt.timedelta(days=1)
        bureau.show([*bureau.rows(0, first=500 + day), *rows])
        runs.append(await bureau.sweep())
    assert [len(run.items) for run in runs] == [5, 5, 5, 5], "what there was no room for comes first in the next run"
    for run in runs:
        replay = await replayed(bureau, tmp_path, run.run_id)
        assert replay.differences == []
        assert [item.id for item in replay.replayed.items] == [item.id for item in run.items]


async def test_a_page_that_failed_fails_again(bureau: Any, tmp_path: Path, reply: Any) -> None:
    rows = bureau.rows(0, 1, 2, *OLD)
    bureau.show(rows, bureau.rows(*OLD, first=300))
    bureau.site.on(rows[1].path, reply("gone", 404))
    bureau.site.on("/robots.txt", reply("broken", 500))
    run = await bureau.sweep()
    replay = await replayed(bureau, tmp_path, run.run_id)
    assert replay.is_identical
    assert {render(fallback.reason, "en") for fallback in replay.replayed.fallbacks} == {
        render(entry.reason, "en") for entry in run.fallbacks
    }
    assert len(run.fallbacks) == 2


async def test_a_feed_is_recorded_and_replayed_like_a_list(bureau: Any, tmp_path: Path, reply: Any) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    inner = "".join(f"<url><loc>{bureau.site.url(row.path)}</loc><lastmod>{row.day}</lastmod></url>" for row in rows)
    packed = gzip.compress(f"<urlset>{inner}</urlset>".encode())
    xml = {"content-type": "application/xml"}
    bureau.site.on("/map.xml.gz", reply(packed, headers=xml))
    index = f"<sitemapindex><sitemap><loc>{bureau.site.url('/map.xml.gz')}</loc></sitemap></sitemapindex>"
    bureau.site.on("/sitemap.xml", reply(index, headers=xml))
    bureau.options = {"kind": SourceKind.FEED, "url": bureau.site.url("/sitemap.xml"), "sections": []}
    run = await bureau.sweep()
    assert len(run.items) == 2
    for item in run.items:
        claims = await bureau.store.evidence.list_claims(item.id or 0)
        row = next(claim for claim in claims if claim.kind is ClaimKind.LIST)
        record = await bureau.store.evidence.get_record(row.record_id)
        assert record.url == bureau.site.url("/map.xml.gz")
        assert row.passage == f"{item.url} {item.date}"
    assert (await replayed(bureau, tmp_path, run.run_id)).differences == []


async def test_a_run_that_was_killed_and_went_on_is_replayed_as_one(bureau: Any, tmp_path: Path, model: Any) -> None:
    rows = bureau.rows(0, 1, 2, 3, None, *OLD)
    bureau.show(rows)
    section = {"name": "通知公告", "url": bureau.site.url("/news/")}
    source = await bureau.store.sources.add(
        Source(name="bureau", url=bureau.site.url("/"), sections=[section], created_at=bureau.clock.now())
    )
    run = Run(id="s1-killed", source_id=source.id, source="bureau", planned_at=bureau.clock.now())
    await bureau.store.runs.create(run)
    reached = asyncio.Event()
    whole = bureau.site._replies[rows[2].path]

    def killed(asked: Any) -> Any:
        reached.set()
        return whole

    bureau.site.on(rows[2].path, killed)
    first = asyncio.create_task(bureau.sweeps.execute(run.id, executor="one", steps=InProcessSteps()))
    await reached.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    kept = await bureau.store.evidence.list_records(run.id)
    assert kept
    with pytest.raises(UsageError, match="has not ended"):
        await replayed(bureau, tmp_path, run.id)
    before = files(tmp_path)
    status = await bureau.sweeps.execute(run.id, executor="two", steps=InProcessSteps())
    assert status.is_final
    records = await bureau.store.evidence.list_records(run.id)
    assert {record.attempt for record in records} == {1, 2}
    assert files(tmp_path) - before <= len(rows)
    replay = await replayed(bureau, tmp_path, run.id)
    assert replay.differences == []
    assert len(replay.replayed.items) == 4
