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

from pydantic import BaseModel

from monitor.bootstrap import SystemClock
from monitor.demo.sample_settings import sample_settings
from monitor.demo.scripted_model import MODEL_NAME, ScriptedModel
from monitor.demo.site import SampleSite
from monitor.domain.reading import SectionPlan
from monitor.domain.tables import Run, Source
from monitor.domain.words import RunStatus
from monitor.llm.client import ModelServer
from monitor.pages.documents import Documents
from monitor.pages.loader import Loader
from monitor.settings import LlmSettings, Settings
from monitor.store import Store
from monitor.sweep.agent import Agent
from monitor.sweep.fallbacks import Fallbacks
from monitor.sweep.parts import CrawlParts, toolbox_for
from monitor.sweep.pipeline import Parts, sweep
from monitor.sweep.summarise import Summaries
from monitor.sweep.window import Window, window_of
from monitor.work.steps import DirectSteps

_SITE_MAX_ITEMS = 1000


class TokenFigures(BaseModel):
    """What one way of reading the site cost, and how many items it saved."""

    way: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    largest_context_chars: int
    items: int


async def measure(today: dt.date) -> list[TokenFigures]:
    """The figures of both ways, the pipeline's first. `today` is the day on which the sample site stands."""
    site = SampleSite("ministry", today=today)
    async with site.serve() as base_url, ScriptedModel("good").serve() as model_url:
        return [
            await _measured("section agents, pruned", site, base_url, model_url, today),
            await _measured("one general agent, unpruned", site, base_url, model_url, today),
        ]


async def _measured(way: str, site: SampleSite, base_url: str, model_url: str, today: dt.date) -> TokenFigures:
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        async with _prepared(site, base_url, model_url, Path(folder)) as (run, source, parts):
            window = window_of(today=today, days=parts.limits.window_days)
            if way.startswith("section"):
                await sweep(run, source, window=window, today=today, parts=parts)
            else:
                await _read_by_general_agent(run, source, window, parts)
            usage = await parts.store.usage.for_run(run.id)
            items = await parts.store.items.for_run(run.id)
    return TokenFigures(
        way=way,
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        largest_context_chars=usage.largest_context_chars,
        items=len(items),
    )


@asynccontextmanager
async def _prepared(
    site: SampleSite, base_url: str, model_url: str, folder: Path
) -> AsyncIterator[tuple[Run, Source, Parts]]:
    settings = sample_settings(Settings(), base_url, folder=folder)
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(settings.database_url))
        await store.check()
        loader = await stack.enter_async_context(
            Loader.from_settings(pages=settings.pages, network=settings.network, clock=clock)
        )
        server = ModelServer(LlmSettings(base_url=model_url, model=MODEL_NAME))
        stack.push_async_callback(server.close)
        focus = [area["name"] for area in site.focus_areas]
        now = clock.now()
        source = await store.sources.add(Source(name=site.title, url=f"{base_url}/", focus_areas=focus, created_at=now))
        run = Run(id="bench", source_id=source.id, source=source.name, status=RunStatus.RUNNING, planned_at=now)
        await store.runs.create(run)
        yield (
            run,
            source,
            Parts(
                store=store,
                loader=loader,
                documents=Documents(max_bytes=settings.pages.max_bytes),
                model=server.for_run(run.id, record=store.usage.add, clock=clock),
                steps=DirectSteps(),
                clock=clock,
                limits=settings.sweep,
                folder=folder,
                is_trial=True,
            ),
        )


async def _read_by_general_agent(run: Run, source: Source, window: Window, parts: Parts) -> None:
    """One agent over the whole site, its six tools over one ledger, with nothing pruned."""
    if parts.model is None:
        raise ValueError("the general agent needs a model")
    plan = SectionPlan(ordinal=0, name=source.name, url=source.url)
    fallbacks = Fallbacks(run_id=run.id, store=parts.store, clock=parts.clock)
    summaries = Summaries(
        source=source,
        store=parts.store,
        loader=parts.loader,
        documents=parts.documents,
        model=None,
        limits=parts.limits,
        folder=parts.folder,
        fallbacks=fallbacks,
    )
    crawl_parts = CrawlParts(
        store=parts.store,
        loader=parts.loader,
        documents=parts.documents,
        model=parts.model,
        clock=parts.clock,
        limits=parts.limits,
        folder=parts.folder,
        fallbacks=fallbacks,
        summaries=summaries,
    )
    toolbox = toolbox_for(
        plan, source=source, run_id=run.id, window=window, memory=None, parts=crawl_parts, max_items=_SITE_MAX_ITEMS
    )
    agent = Agent(model=parts.model, toolbox=toolbox, limits=parts.limits, place=source.name)
    await agent.run_agent(source)
