"""What the pipeline's small contexts save: the sample ministry read twice with the same scripted model.

Once by the section agents with pruning, as a sweep does it; once by the single general agent without pruning, which
keeps every page that it opened in its context. Navigation and collection are compared; summaries and ranking come
after both and cost the same.
"""

import datetime as dt
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel

from benchmarks.scripted_model.server import MODEL_NAME, ScriptedModel
from monitor.clock import SystemClock
from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.reading import SectionPlan
from monitor.db.tables.collection import Run, Source
from monitor.demo.site import SampleSite, build_sample_settings
from monitor.fetch.outbound import OutboundPolicy
from monitor.isolation.pool import WorkerPool
from monitor.llm.client import ModelClient
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import Loader
from monitor.steps import InProcessSteps
from monitor.sweep.agent import CrawlAgent
from monitor.sweep.context import RunContext, SweepDependencies
from monitor.sweep.crawl import build_toolbox
from monitor.sweep.ledger import DateWindow, build_window
from monitor.sweep.pipeline import run_sweep
from monitor.vocabulary import RunStatus

_MAX_SITE_ITEMS = 1000


class TokenBenchmarkResult(BaseModel):
    """What one approach to the site cost, and how many items it saved."""

    approach: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    largest_context_chars: int
    items: int


async def measure(today: dt.date) -> list[TokenBenchmarkResult]:
    """The figures of both ways, the pipeline's first. `today` is the day on which the sample site stands."""
    site = SampleSite("ministry", today=today)
    async with site.serve() as base_url, ScriptedModel("good").serve() as model_url:
        return [
            await _measure_strategy("section agents, pruned", site, base_url, model_url, today),
            await _measure_strategy("one general agent, unpruned", site, base_url, model_url, today),
        ]


async def _measure_strategy(
    approach: str, site: SampleSite, base_url: str, model_url: str, today: dt.date
) -> TokenBenchmarkResult:
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        async with _prepare_run(site, base_url, model_url, Path(folder)) as (run, source, parts):
            window = build_window(today=today, days=parts.limits.window_days)
            if approach.startswith("section"):
                await run_sweep(run, source, window=window, today=today, deps=parts)
            else:
                await _read_by_general_agent(run, source, window, parts)
            usage = await parts.store.usage.load_run_usage(run.id)
            items = await parts.store.items.list_for_run(run.id)
    return TokenBenchmarkResult(
        approach=approach,
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        largest_context_chars=usage.largest_context_chars,
        items=len(items),
    )


@asynccontextmanager
async def _prepare_run(
    site: SampleSite, base_url: str, model_url: str, folder: Path
) -> AsyncIterator[tuple[Run, Source, SweepDependencies]]:
    settings = build_sample_settings(Settings(), base_url, folder=folder)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(settings.database_url))
        await store.check()
        workers = WorkerPool()
        stack.push_async_callback(workers.close)
        loader = await stack.enter_async_context(
            Loader.from_settings(pages=settings.pages, network=settings.network, clock=clock, workers=workers)
        )
        network = settings.network.with_service_hosts([urlsplit(model_url).netloc])
        server = ModelClient(LlmSettings(base_url=model_url, model=MODEL_NAME), OutboundPolicy(network))
        stack.push_async_callback(server.close)
        focus = [area["name"] for area in site.focus_areas]
        now = clock.now()
        source = await store.sources.add(Source(name=site.title, url=f"{base_url}/", focus_areas=focus, created_at=now))
        run = Run(id="bench", source_id=source.id, source=source.name, status=RunStatus.RUNNING, planned_at=now)
        await store.runs.create(run)
        yield (
            run,
            source,
            SweepDependencies(
                store=store,
                loader=loader,
                documents=DocumentReader(workers=workers, max_bytes=settings.pages.max_bytes),
                workers=workers,
                model=server.for_run(run.id, record=store.usage.add, clock=clock),
                steps=InProcessSteps(),
                clock=clock,
                limits=settings.sweep,
                folder=folder,
                is_trial=True,
            ),
        )


async def _read_by_general_agent(run: Run, source: Source, window: DateWindow, deps: SweepDependencies) -> None:
    """One agent over the whole site, its six tools over one ledger, with nothing pruned."""
    if deps.model is None:
        raise ValueError("the general agent needs a model")
    plan = SectionPlan(ordinal=0, name=source.name, url=source.url)
    context = RunContext(run_id=run.id, source=source, window=window, deps=deps)
    toolbox = build_toolbox(context, plan, memory=None, max_items=_MAX_SITE_ITEMS)
    agent = CrawlAgent(model=deps.model, toolbox=toolbox)
    await agent.run_agent(source)
