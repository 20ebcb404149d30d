"""A standing search: what a search service on loopback finds goes the way of every other candidate."""

import datetime as dt
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from monitor.db.tables.collection import Item, Source
from monitor.errors import RecordLost
from monitor.evidence.storage import FileStorage
from monitor.i18n.catalogue import render
from monitor.services.replay import ReplayResult, ReplayService
from monitor.vocabulary import RunStatus, SectionEnd, SourceKind

QUERY = "储能 项目"


def bundles(folder: Path) -> list[Path]:
    return sorted(folder.glob("bundles/*/*.json"))


@pytest.fixture
def search(site: Any) -> dict[str, Any]:
    return {"backend": "searxng", "backends": {"searxng": {"base_url": f"http://{site.host}"}}}


@pytest.fixture
def finds(bureau: Any, reply: Any) -> Callable[..., None]:
    """Have the search service find these rows, in this order; their articles are served too."""
    bureau.options = {"kind": SourceKind.QUERY, "url": QUERY, "sections": []}

    def find(*rows: Any, status: int = 200) -> None:
        results = []
        for row in rows:
            bureau.show([row])
            shown = {"publishedDate": str(row.day)} if row.day and row.shown else {}
            results.append({"url": bureau.site.url(row.path), "title": row.text, "content": "摘要", **shown})
        body = json.dumps({"results": results, "unresponsive_engines": []})
        headers = {"content-type": "application/json"}
        empty = json.dumps({"results": [], "unresponsive_engines": []})
        bureau.site.on(
            "/search", lambda asked: reply(body if "pageno=1" in asked.path else empty, status=status, headers=headers)
        )

    return find


async def test_every_result_is_a_candidate_and_what_is_in_range_an_item(
    bureau: Any, finds: Callable[..., None]
) -> None:
    shown, hidden = bureau.rows(1, 2)
    hidden.shown = False
    finds(shown, hidden, *bureau.rows(None, first=300))
    run = await bureau.sweep()
    assert run.status == "succeeded"
    assert [(section.name, section.url, section.ended, section.candidates) for section in run.sections] == [
        (QUERY, "query:储能%20项目", "end", 3)
    ]
    ledger = await bureau.ledger(run)
    assert {number: (row.disposition, row.date_source) for number, row in ledger.items()} == {
        100: ("saved", "listed"),
        101: ("saved", "page"),
        300: ("left", "unknown"),
    }
    assert {item.title: item.date for item in run.items} == {shown.text: shown.day, hidden.text: hidden.day}
    assert all(item.summary and item.rank for item in run.items)


async def test_what_is_known_is_not_saved_again_and_an_empty_search_is_no_failure(
    bureau: Any, finds: Callable[..., None]
) -> None:
    finds(*bureau.rows(1))
    await bureau.sweep()
    finds(*bureau.rows(0, first=200), *bureau.rows(1))
    second = await bureau.sweep()
    assert [item.url.rpartition("/")[2] for item in second.items] == ["200.html"]
    assert (second.coverage.saved, second.coverage.known) == (1, 1)
    finds()
    third = await bureau.sweep()
    assert (third.status, third.sections[0].ended, third.coverage.unseen) == ("succeeded", SectionEnd.KNOWN, [])
    source = await bureau.store.sources.get(bureau.name)
    assert (source.consecutive_failures, source.last_error) == (0, None)
    assert bureau.notices.received == []


async def test_after_an_outage_the_search_reaches_back_to_the_last_run(bureau: Any, finds: Callable[..., None]) -> None:
    finds(*bureau.rows(1))
    await bureau.sweep()
    bureau.clock.today += dt.timedelta(days=40)
    finds(*bureau.rows(30, first=500))
    assert (await bureau.sweep()).coverage.saved == 1


async def test_a_search_that_fails_is_a_section_that_was_not_read(bureau: Any, finds: Callable[..., None]) -> None:
    finds(status=500)
    run = await bureau.sweep()
    assert (run.status, run.sections[0].ended) == ("failed", SectionEnd.ERROR)
    assert render(run.coverage.unseen[0].reason, "en").startswith("BadGateway")
    assert [fallback.where for fallback in run.fallbacks] == [QUERY]
    source = await bureau.store.sources.get(bureau.name)
    assert source.consecutive_failures == 1
    finds(*bureau.rows(1))
    assert (await bureau.sweep()).coverage.saved == 1


async def test_each_focus_area_is_a_query_of_its_own_and_one_that_fails_does_not_stop_the_others(
    bureau: Any, finds: Callable[..., None], reply: Any
) -> None:
    finds(*bureau.rows(1))
    found = bureau.site._replies["/search"]
    bureau.site.on("/search", lambda asked: reply("", status=429) if "broken" in asked.path else found(asked))
    bureau.options = {
        "kind": SourceKind.QUERY,
        "url": "",
        "focus_areas": ["broken", " 储能  项目", QUERY],
        "sections": [],
    }
    run = await bureau.sweep()
    assert [(section.name, section.ended) for section in run.sections] == [("broken", "error"), (QUERY, "end")]
    assert (run.status, run.coverage.saved) == ("degraded", 1)


async def test_a_site_narrows_the_search_to_its_pages(bureau: Any, finds: Callable[..., None]) -> None:
    finds(*bureau.rows(1))
    bureau.options = {
        "kind": SourceKind.QUERY,
        "url": "https://elsewhere.gov/",
        "focus_areas": ["储能"],
        "sections": [],
    }
    run = await bureau.sweep()
    assert run.coverage.saved == 0
    assert any("site%3Aelsewhere.gov" in path for path in bureau.site.paths())


async def test_a_run_that_is_carried_on_reads_the_results_that_it_had(bureau: Any, finds: Callable[..., None]) -> None:
    finds(*bureau.rows(1, 2))
    run = await bureau.sweep()
    asked = bureau.site.paths().count("/search")
    searches = [path for path in bureau.site.paths() if path.startswith("/search")]
    await bureau.store.runs.update(run.run_id, status=RunStatus.RUNNING, ended_at=None)
    stored = await bureau.store.runs.get(run.run_id)
    finds(*bureau.rows(0, first=500))
    await bureau.sweeps._execute_in_process(bureau.store, stored, None, None)
    assert [path for path in bureau.site.paths() if path.startswith("/search")] == searches
    assert asked == bureau.site.paths().count("/search")
    assert (await bureau.sweeps.runs.get_full_report(run.run_id)).coverage.saved == 2


async def test_a_dry_run_leaves_no_bundle(bureau: Any, finds: Callable[..., None], tmp_path: Path) -> None:
    finds(*bureau.rows(1))
    source = Source(name="new", url=QUERY, kind=SourceKind.QUERY, created_at=bureau.clock.now())
    trial = await bureau.sweeps.run_trial(source)
    assert trial.would_save == 1
    assert bundles(tmp_path) == []


async def test_without_a_backend_for_the_web_the_archive_is_searched_and_that_is_said(
    bureau: Any, finds: Callable[..., None]
) -> None:
    finds(*bureau.rows(1))
    bureau.settings.search.backend = "stub"
    bureau.show(bureau.rows(1, 2))
    other = await bureau.store.sources.add(Source(name="other", url="https://o.gov/", created_at=bureau.clock.now()))
    for row in bureau.rows(1, 2):
        item = Item(
            source_id=other.id,
            source="other",
            run_id="r",
            section="s",
            url=bureau.site.url(row.path),
            url_key="",
            title=f"{row.text} 储能 项目",
            date=row.day,
            first_seen=bureau.clock.now(),
        )
        await bureau.store.items.save(item)
    run = await bureau.sweep()
    assert run.coverage.saved == 2
    assert not [path for path in bureau.site.paths() if path.startswith("/search")]
    assert run.status == "degraded"
    assert ["only what was collected" in render(fallback.reason, "en") for fallback in run.fallbacks] == [True]
    assert not any("example.com/sample" in item.url for item in run.items)


@pytest.fixture
def replayed(bureau: Any, tmp_path: Path) -> Callable[[str], Awaitable[ReplayResult]]:
    replays = ReplayService(
        store=bureau.store,
        storage=FileStorage(str(tmp_path)),
        settings=bureau.settings,
        saved_search=bureau.saved_search,
        workers=bureau.sweeps.dependency_factory.workers,
    )
    return replays.replay


async def test_a_backend_that_fails_beside_one_that_answers_is_said_and_said_again_in_a_replay(
    bureau: Any, finds: Callable[..., None], replayed: Callable[[str], Awaitable[ReplayResult]]
) -> None:
    finds(*bureau.rows(1))
    bureau.settings.search.backend = ["searxng", "brave"]
    run = await bureau.sweep()
    assert (run.status, run.coverage.saved) == ("degraded", 1)
    ((where, reason),) = [(fallback.where, render(fallback.reason, "en")) for fallback in run.fallbacks]
    assert where == "query:储能%20项目"
    assert reason.startswith("AuthError: ")
    assert (await replayed(run.run_id)).differences == []


async def test_a_run_is_done_again_from_its_bundle_and_its_pages(
    bureau: Any, finds: Callable[..., None], replayed: Callable[[str], Awaitable[ReplayResult]], tmp_path: Path
) -> None:
    rows = bureau.rows(1, 2, 400)
    rows[1].shown = False
    finds(*rows)
    run = await bureau.sweep()
    bureau.site.forget()
    replay = await replayed(run.run_id)
    assert replay.differences == []
    assert bureau.site.paths() == []
    for bundle in bundles(tmp_path):
        bundle.unlink()
    with pytest.raises(RecordLost, match="cannot be repeated"):
        await replayed(run.run_id)
