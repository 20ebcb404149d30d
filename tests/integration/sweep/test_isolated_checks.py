"""What becomes of an item whose page cannot be read or checked within the limits of a worker process."""

from typing import Any

from monitor.fetch.result import Recorder
from monitor.isolation.pool import WorkerPool
from monitor.page import Page
from monitor.pages.loader import PageLoader
from monitor.vocabulary import Phase, RunStatus, SummaryBy


def refuse_checks(bureau: Any, workers: WorkerPool) -> None:
    """As if no worker ended what it was to read from a page besides parsing it."""
    factory = bureau.sweeps.dependency_factory
    factory.workers = workers
    open_loader = factory.new_loader

    def open_without_tasks(recorder: Recorder | None, log_in: None) -> PageLoader:
        loader = open_loader(recorder, log_in)
        load = loader.load

        async def load_alone(url: str, *, task: object = None, **options: Any) -> Page:
            return await load(url, **options)

        loader.load = load_alone
        return loader

    factory.new_loader = open_without_tasks


async def test_an_item_whose_page_cannot_be_checked_is_kept_without_a_summary_and_the_run_says_why(
    bureau: Any, refusing_workers: WorkerPool
) -> None:
    refuse_checks(bureau, refusing_workers)
    rows = bureau.rows(0, 1, 30, 31, 32, 33)
    bureau.show(rows)
    run = await bureau.sweep()
    assert run.status is RunStatus.DEGRADED
    assert [(item.summary, item.summary_by) for item in run.items] == [("", SummaryBy.NONE)] * 2
    recorded = {(fallback.phase, fallback.where, fallback.reason.code) for fallback in run.fallbacks}
    assert {(Phase.SUMMARISE, bureau.site.url(row.path), "isolation.too_large") for row in rows[:2]} <= recorded
    assert (Phase.CRAWL, bureau.site.url("/news/"), "isolation.too_large") in recorded
    claims = [claim for item in run.items for claim in await bureau.store.evidence.list_claims(item.id)]
    assert claims, "the items still rest on their records"
    assert {claim.passage for claim in claims} == {""}


async def test_after_three_such_pages_a_run_tries_no_more_of_them(bureau: Any, refusing_workers: WorkerPool) -> None:
    refuse_checks(bureau, refusing_workers)
    rows = bureau.rows(0, 0, 1, 1, 2, 2, 30, 31)
    bureau.show(rows)
    run = await bureau.sweep()
    assert len(run.items) == 6
    assert sum(fallback.phase is Phase.SUMMARISE for fallback in run.fallbacks) == 6
    opened = [path for path in bureau.site.paths() if path.startswith("/news/detail/")]
    limit = bureau.settings.sweep.summary_concurrency
    assert 3 <= len(opened) < 3 + limit
