"""The recorded runs on which models are compared: which ones, and each as it can be done again piece by piece."""

import asyncio
import datetime as dt
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from monitor.clock import Clock
from monitor.config.model import PagesSettings
from monitor.db.database import Store
from monitor.db.queries.sections import import_source_memory
from monitor.db.reading import SectionPlan
from monitor.db.tables.collection import Item, Run, RunSection, Source
from monitor.db.tables.evidence import EvidenceRecord
from monitor.errors import RecordLost
from monitor.evaluation.measuring import PieceContext
from monitor.evaluation.metering import MeteredModel
from monitor.evaluation.pieces import GapRow, SampledRun
from monitor.evaluation.recorded import RecordedSites
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.replay import ReplayTransport
from monitor.evidence.storage import FileStorage
from monitor.fetch.guard import Guard
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import Loader
from monitor.services.recording import RunManifest
from monitor.steps import InProcessSteps
from monitor.sweep.context import RunContext, SweepDependencies
from monitor.sweep.navigate import HOME_SECTION_NAMES
from monitor.sweep.summarise import ArticleContent, fetch_article
from monitor.urls import url_key
from monitor.vocabulary import Disposition, Phase, RunStatus, SectionEnd, SourceKind

_MAX_EARLIER_RUNS = 50
_COMPLETE_STATUSES = (RunStatus.SUCCEEDED, RunStatus.DEGRADED)


@dataclass(frozen=True)
class _SectionSample:
    """A section to be read again, with the url keys of what the recorded run saved of it."""

    plan: SectionPlan
    wanted: tuple[str, ...]


@dataclass(kw_only=True)
class Sample:
    """A recorded run with the items and sections of it that are compared; `gaps` say what cannot be, and why.

    `home_sections` are the url keys of sections that the run or administrators kept; empty where navigation cannot be
    measured.
    """

    run: Run
    manifest: RunManifest
    source: Source
    items: list[Item]
    sections: list[_SectionSample]
    home_sections: list[str]
    records: Sequence[EvidenceRecord]
    gaps: list[GapRow] = field(default_factory=list)

    @property
    def row(self) -> SampledRun:
        return SampledRun(source=self.source.name, run_id=self.run.id, items=[item.id or 0 for item in self.items])

    def list_things(self) -> list[tuple[Phase, str]]:
        """What each contender is to do: phases with the places in them, in their order."""
        things = [(Phase.NAVIGATE, "")] if self.home_sections else []
        things += [(Phase.CRAWL, section.plan.url) for section in self.sections]
        things += [(Phase.SUMMARISE, str(item.id)) for item in self.items]
        things += [(Phase.VERIFY, str(item.id)) for item in self.items]
        return [*things, *([(Phase.RANK, "")] if len(self.items) > 1 else [])]

    def add_gap(self, phase: Phase, reason: Message) -> None:
        gap = GapRow(source=self.source.name, run_id=self.run.id, phase=phase, reason=reason)
        if gap not in self.gaps:
            self.gaps.append(gap)


@dataclass(frozen=True)
class _RecordedClock:
    """The clock as it was when the recorded run started."""

    at: dt.datetime

    def now(self) -> dt.datetime:
        return self.at


@dataclass(kw_only=True)
class OpenSample:
    """A sample whose pages can be loaded, and whose sections can be read into a store of their own."""

    sample: Sample
    records: EvidenceArchive
    workers: WorkerPool
    folder: Path
    base: Path
    store: Store
    clock: Clock
    _articles: dict[int, "asyncio.Task[ArticleContent]"] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=count)

    @asynccontextmanager
    async def copy_store(self) -> AsyncIterator[Store]:
        """A store in the state in which the recorded run found its source, for one piece of work alone."""
        file = self.folder / f"piece-{next(self._numbers)}.db"
        await asyncio.to_thread(shutil.copyfile, self.base, file)
        try:
            async with Store.open(f"sqlite:///{file}") as store:
                await store.check()
                yield store
        finally:
            for left in await asyncio.to_thread(lambda: list(self.folder.glob(f"{file.name}*"))):
                left.unlink(missing_ok=True)

    async def load_article(self, item: Item) -> ArticleContent:
        """What the recorded page of an item shows, read once for all contenders."""
        if item.id not in self._articles:
            sample = self.sample
            deps = self._build_dependencies(None, DEFAULT_PROMPTS, self.store)
            run = RunContext(run_id=sample.run.id, source=sample.source, window=sample.manifest.window, deps=deps)
            self._articles[item.id or 0] = asyncio.create_task(fetch_article(run, item, with_extract=True))
        return await self._articles[item.id or 0]

    def build_context(self, metered: MeteredModel, prompts: PromptSet, store: Store | None = None) -> PieceContext:
        return PieceContext(
            run_id=self.sample.run.id,
            source=self.sample.source,
            window=self.sample.manifest.window,
            deps=self._build_dependencies(metered, prompts, store or self.store),
            metered=metered,
        )

    def _build_dependencies(self, metered: MeteredModel | None, prompts: PromptSet, store: Store) -> SweepDependencies:
        sample, manifest = self.sample, self.sample.manifest
        sites = RecordedSites(ReplayTransport(self.records, sample.records, can_render=manifest.can_draw), self.clock)
        pages = PagesSettings(render=manifest.render, max_bytes=manifest.max_bytes)
        return SweepDependencies(
            store=store,
            loader=Loader(pages=pages, clock=self.clock, guard=Guard(), transport=sites, workers=self.workers),
            documents=DocumentReader(workers=self.workers, max_bytes=manifest.max_bytes),
            workers=self.workers,
            steps=InProcessSteps(),
            clock=self.clock,
            model=metered,
            limits=manifest.limits,
            folder=self.folder,
            prompts=prompts,
        )

    async def close(self) -> None:
        for task in self._articles.values():
            task.cancel()
        await asyncio.gather(*self._articles.values(), return_exceptions=True)


@dataclass(kw_only=True)
class SampleLoader:
    store: Store
    storage: FileStorage
    workers: WorkerPool

    @cached_property
    def records(self) -> EvidenceArchive:
        return EvidenceArchive(store=self.store, storage=self.storage)

    async def choose(self, max_items: int) -> list[SampledRun]:
        """Return the latest complete recorded run of each source; the items are shared out evenly among them."""
        sources = sorted(await self.store.sources.list(), key=lambda source: source.name)
        found = [row for source in sources if (row := await self._find_run(source.name)) is not None]
        shares = _share_out([len(row.items) for row in found], max_items)
        rows = zip(found, shares, strict=True)
        return [row.model_copy(update={"items": row.items[:share]}) for row, share in rows if share]

    async def _find_run(self, source: str) -> SampledRun | None:
        for run in await self.store.runs.list(source=source, limit=_MAX_EARLIER_RUNS):
            if run.status not in _COMPLETE_STATUSES or await self.store.evidence.get_manifest(run.id) is None:
                continue
            items = await self.store.items.list_for_run(run.id)
            if items:
                return SampledRun(source=source, run_id=run.id, items=[item.id or 0 for item in items])
        return None

    async def load(self, row: SampledRun) -> Sample:
        """Return a sample; `RecordLost` where its run or manifest is gone meanwhile."""
        run, facts = await self.store.runs.get(row.run_id), await self.store.evidence.get_manifest(row.run_id)
        if run is None or facts is None:
            raise RecordLost("evaluation.run_gone", source=row.source, run=row.run_id)
        manifest = RunManifest.merge(facts)
        chosen = set(row.items)
        sample = Sample(
            run=run,
            manifest=manifest,
            source=Source.model_validate(manifest.source),
            items=[item for item in await self.store.items.list_for_run(run.id) if item.id in chosen],
            sections=[],
            home_sections=[],
            records=await self.store.evidence.list_records(run.id),
        )
        sections = await self.store.runs.list_sections(run.id)
        await self._add_sections(sample, sections)
        await self._add_home(sample, sections)
        if len(sample.items) < 2:
            sample.add_gap(Phase.RANK, Message("evaluation.too_few_items"))
        return sample

    async def _add_sections(self, sample: Sample, sections: Sequence[RunSection]) -> None:
        if sample.source.kind is not SourceKind.SITE:
            sample.add_gap(Phase.CRAWL, Message("evaluation.no_sections_of_kind"))
            return
        if sample.manifest.limits.crawl == "rule":
            sample.add_gap(Phase.CRAWL, Message("evaluation.crawled_by_rule"))
            return
        of_run = {item.id for item in await self.store.items.list_for_run(sample.run.id)}
        in_sample = {url_key(item.url) for item in sample.items}
        wanted: dict[int, list[str]] = {}
        for entry in await self.store.runs.load_ledger(sample.run.id):
            is_known = entry.disposition is Disposition.KNOWN and entry.item_id in of_run
            if entry.disposition is Disposition.SAVED or is_known:
                wanted.setdefault(entry.section, []).append(url_key(entry.url))
        for section in sections:
            keys = wanted.get(section.ordinal, [])
            if not _is_home(section, sample.source) and in_sample.intersection(keys):
                plan = SectionPlan(
                    ordinal=section.ordinal, name=section.name, url=section.url, found_by=section.found_by
                )
                sample.sections.append(_SectionSample(plan, tuple(keys)))
        if not sample.sections:
            sample.add_gap(Phase.CRAWL, Message("evaluation.nothing_in_sections"))

    async def _add_home(self, sample: Sample, sections: Sequence[RunSection]) -> None:
        source = sample.source
        if source.kind is not SourceKind.SITE:
            sample.add_gap(Phase.NAVIGATE, Message("evaluation.no_sections_of_kind"))
            return
        if not any(url_key(record.url) == url_key(source.url) for record in sample.records):
            sample.add_gap(Phase.NAVIGATE, Message("evaluation.sections_pinned"))
            return
        current = await self.store.sources.get(source.name)
        pinned = [section["url"] for section in (current.sections if current else [])]
        kept = [
            section.url
            for section in sections
            if not _is_home(section, source) and section.ended is not SectionEnd.ERROR and section.candidates
        ]
        home = url_key(source.url)
        sample.home_sections = [key for key in dict.fromkeys(map(url_key, [*kept, *pinned])) if key != home]
        if not sample.home_sections:
            sample.add_gap(Phase.NAVIGATE, Message("evaluation.no_sections_kept"))

    @asynccontextmanager
    async def open(self, sample: Sample) -> AsyncIterator[OpenSample]:
        """Prepare a sample to be done again; a memory that cannot be restored is a gap, and its sections are left."""
        clock = _RecordedClock(sample.run.started_at or sample.run.planned_at)
        with tempfile.TemporaryDirectory(prefix="monitor-evaluation-") as name:
            folder = Path(name)
            base, shared = folder / "base.db", folder / "shared.db"
            async with Store.open(f"sqlite:///{base}") as store:
                await store.check()
                await self._import_memory(sample, store)
            await asyncio.to_thread(shutil.copyfile, base, shared)
            async with Store.open(f"sqlite:///{shared}") as store:
                opened = OpenSample(
                    sample=sample,
                    records=self.records,
                    workers=self.workers,
                    folder=folder,
                    base=base,
                    store=store,
                    clock=clock,
                )
                try:
                    yield opened
                finally:
                    await opened.close()

    async def _import_memory(self, sample: Sample, target: Store) -> None:
        manifest = sample.manifest
        fresh = sample.run.model_copy(
            update={"status": RunStatus.RUNNING, "ended_at": None, "error": None, "is_baseline": manifest.is_baseline}
        )
        try:
            await import_source_memory(
                sample.source,
                manifest.memory,
                fresh,
                at=manifest.at,
                origin=self.store.sessions,
                target=target.sessions,
            )
        except RecordLost as error:
            if sample.sections:
                sample.add_gap(Phase.CRAWL, error.message)
                sample.sections = []


def _is_home(section: RunSection, source: Source) -> bool:
    """Whether a section is the home page's own list, which no agent reads."""
    return section.name in HOME_SECTION_NAMES.values() and url_key(section.url) == url_key(source.url)


def _share_out(sizes: Sequence[int], total: int) -> list[int]:
    """Return how many of each may be taken, as evenly as their sizes allow; the first get what does not divide."""
    shares = [0] * len(sizes)
    while total and (open_places := [n for n, size in enumerate(sizes) if shares[n] < size]):
        for place in open_places[:total]:
            shares[place] += 1
        total -= min(total, len(open_places))
    return shares
