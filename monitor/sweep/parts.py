"""What the reading of a section is put together from."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from monitor.domain.prompts import OURS, Prompts
from monitor.domain.reading import SectionPlan
from monitor.domain.tables import Section, Source
from monitor.domain.words import Render
from monitor.ports import ChatModel, Clock, DocumentReader, PageLoader, ProgressCallback, untold
from monitor.settings import SweepSettings
from monitor.store import Store
from monitor.sweep.coverage import Ledger
from monitor.sweep.fallbacks import Fallbacks
from monitor.sweep.reader import SectionReader
from monitor.sweep.saving import Desk
from monitor.sweep.summarise import Summaries
from monitor.sweep.tools import Toolbox
from monitor.sweep.window import Window, reaching_back


@dataclass(frozen=True, kw_only=True)
class CrawlParts:
    """What reading sections needs; `model` None means by rule."""

    store: Store
    loader: PageLoader
    documents: DocumentReader
    model: ChatModel | None
    clock: Clock
    limits: SweepSettings
    folder: Path
    fallbacks: Fallbacks
    summaries: Summaries
    prompts: Prompts = OURS
    on_progress: ProgressCallback = untold
    cancel_event: asyncio.Event | None = None


def toolbox_for(
    plan: SectionPlan,
    *,
    source: Source,
    run_id: str,
    window: Window,
    memory: Section | None,
    parts: CrawlParts,
    max_items: int | None = None,
) -> Toolbox:
    """The tools for one section, with the reader, the desk and the ledger behind them.

    `memory` is what is remembered of the section. `max_items` in place of the source's own limit is for an agent that
    reads a whole site as one section.
    """
    ledger = Ledger(
        run_id=run_id,
        section=plan.name,
        source=source,
        memory=memory,
        window=reaching_back(window, memory),
        max_items=max_items or source.max_items or parts.limits.max_items,
    )
    reader = SectionReader(
        plan=plan,
        source_id=source.id or 0,
        loader=parts.loader,
        render=source.render or Render.AUTO,
        store=parts.store,
        ledger=ledger,
        memory=memory,
        max_pages=parts.limits.max_pages_per_section,
        tell=parts.on_progress,
    )
    desk = Desk(
        source=source,
        ledger=ledger,
        store=parts.store,
        clock=parts.clock,
        dated=reader.dated,
        adopt_summary=parts.summaries.adopt,
        tell=parts.on_progress,
    )
    return Toolbox(reader=reader, desk=desk, loader=parts.loader, documents=parts.documents, folder=parts.folder)
