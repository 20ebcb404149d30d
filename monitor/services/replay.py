"""The use case of replaying a run: all of it again from what was recorded, with no network and no model."""

import asyncio
import datetime as dt
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.briefing.item import build_item_schema
from monitor.clock import Clock
from monitor.config.model import PagesSettings, Settings
from monitor.db.database import Store
from monitor.db.maintenance import ReplayItemStore, create_backup, restore_row_order
from monitor.db.queries.marks import copy_marks
from monitor.db.queries.sections import import_source_memory
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import EvidenceRecord
from monitor.errors import RecordLost, UsageError
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.replay import ReplayModel, ReplayTransport
from monitor.evidence.storage import FileStorage
from monitor.fetch.guard import Guard
from monitor.isolation.pool import WorkerPool
from monitor.llm.prompts import PromptSet
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import Loader
from monitor.services.alerts import AlertService
from monitor.services.briefings import BriefingQuery, BriefingService
from monitor.services.deadlines import DeadlineService
from monitor.services.policies import PolicyService
from monitor.services.recording import RunManifest
from monitor.services.runs import FullRunReport, load_full_run_report
from monitor.services.search import SavedSearch
from monitor.steps import InProcessSteps
from monitor.sweep.context import SweepDependencies
from monitor.sweep.pipeline import run_sweep
from monitor.verify.linking import EvidenceLinker
from monitor.vocabulary import Disposition, RunStatus

# What a later look at an item's page brings up to date, so that the run is no longer alone in having written it.
_REVISED_FIELDS = frozenset({"attachments", "date_conflict", "text"})


class ReplayDifference(BaseModel):
    what: str
    recorded: Any = None
    replayed: Any = None


class ReplayResult(BaseModel):
    """What came of a replay; `shown` counts the records asked for, `is_briefing_identical` may be unknown."""

    run_id: str
    source: str
    is_identical: bool
    is_briefing_identical: bool | None
    differences: list[ReplayDifference] = Field(default_factory=list)
    records: int
    shown: int
    answers: int
    replayed: FullRunReport


@dataclass(kw_only=True)
class ReplayService:
    store: Store
    storage: FileStorage
    settings: Settings
    saved_search: SavedSearch
    workers: WorkerPool

    async def replay(self, run_id: str, *, database: Path | None = None) -> ReplayResult:
        """Do a run again from its records; `RecordLost` where one is missing, `UsageError` where there are none."""
        if database is not None and await asyncio.to_thread(database.exists):
            raise UsageError("replay.file_exists", file=str(database))
        run, outset = await self._load_recorded_run(run_id)
        rows = await self.store.evidence.list_records(run_id)
        await self._check_records(rows)
        with tempfile.TemporaryDirectory(prefix="monitor-replay-") as folder:
            url = f"sqlite:///{Path(folder) / 'replay.db'}"
            async with Store.open(url) as store:
                await store.check()
                sites = await self._replay_run(run, outset, rows, store, Path(folder))
                replayed = await self._compare(run, rows, sites, store)
                if database is not None:
                    await asyncio.to_thread(create_backup, url, database)
            return replayed

    async def _load_recorded_run(self, run_id: str) -> tuple[Run, RunManifest]:
        run = await self.store.runs.get(run_id)
        if run is None:
            raise UsageError("replay.no_run", run=run_id)
        if not run.status.is_final:
            raise UsageError("run.not_ended", run=run_id, status=run.status)
        if run.status is RunStatus.CANCELLED:
            raise UsageError("replay.cancelled_run", run=run_id)
        facts = await self.store.evidence.get_manifest(run_id)
        if facts is None:
            raise UsageError("replay.nothing_recorded", run=run_id)
        return run, RunManifest.merge(facts)

    async def _check_records(self, rows: Sequence[EvidenceRecord]) -> None:
        records = EvidenceArchive(store=self.store, storage=self.storage)
        bodies = {row.sha256: row for row in rows}.values()
        lost: list[RecordLost] = []
        for row in bodies:
            try:
                await records.load(row)
            except RecordLost as error:
                lost.append(error)
        if lost:
            raise RecordLost("replay.records_lost", lost=len(lost), pages=len(bodies), first=lost[0].message)

    async def _replay_run(
        self, run: Run, manifest: RunManifest, rows: Sequence[EvidenceRecord], store: Store, folder: Path
    ) -> ReplayTransport:
        source = Source.model_validate(manifest.source)
        fresh = run.model_copy(
            update={"status": RunStatus.RUNNING, "ended_at": None, "error": None, "is_baseline": manifest.is_baseline}
        )
        await import_source_memory(
            source, manifest.memory, fresh, at=manifest.at, origin=self.store.sessions, target=store.sessions
        )
        store.items = ReplayItemStore(store.sessions, await self.store.items.list_for_run(run.id))
        clock = _ReplayClock(run)
        records = EvidenceArchive(store=self.store, storage=self.storage)
        sites = ReplayTransport(records, rows, can_render=manifest.can_draw)
        answers = await self.store.evidence.list_answers(run.id)
        pages = PagesSettings(render=manifest.render, max_bytes=manifest.max_bytes)
        parts = SweepDependencies(
            store=store,
            loader=Loader(pages=pages, clock=clock, guard=Guard(), transport=sites, workers=self.workers),
            documents=DocumentReader(workers=self.workers, max_bytes=manifest.max_bytes),
            workers=self.workers,
            steps=InProcessSteps(),
            clock=clock,
            model=ReplayModel(answers) if manifest.has_model else None,
            # What later looks at earlier items brought is not of this run alone.
            limits=manifest.limits.model_copy(update={"revisit_days": []}),
            folder=folder,
            linker=EvidenceLinker(records.load_by_id, self.workers),
            query_runner=self.saved_search.for_recorded_run(run.id, self.store),
            feedback=manifest.wishes,
            repeats=manifest.repeats,
            prompts=PromptSet(manifest.prompts),
            before_end=clock.advance_to_end,
            file_documents=self._build_policies(store, clock).file_documents,
        )
        await run_sweep(fresh, source, window=manifest.window, today=manifest.today, deps=parts)
        await restore_row_order(run.id, origin=self.store.sessions, target=store.sessions)
        await copy_marks(self.store.sessions, store.sessions)
        return sites

    def _build_policies(self, store: Store, clock: Clock) -> PolicyService:
        """Return what files the documents of a replayed run; topics are people's, and not the run's."""
        alerts = AlertService(store=store, settings=self.settings, clock=clock)
        deadlines = DeadlineService(store=store, settings=self.settings, clock=clock, alerts=alerts)
        return PolicyService(
            store=store, settings=self.settings, clock=clock, workers=self.workers, deadlines=deadlines
        )

    async def _compare(
        self, run: Run, rows: Sequence[EvidenceRecord], sites: ReplayTransport, store: Store
    ) -> ReplayResult:
        replayed_run = await store.runs.get(run.id) or run
        replayed = await load_full_run_report(replayed_run, store)
        is_one_go = all(row.attempt == 1 for row in rows)
        recorded = await load_full_run_report(run, self.store)
        before, after = [_dump_run(report, is_uninterrupted=is_one_go) for report in (recorded, replayed)]
        differences = _diff_values(before, after)
        recorded_items = {item.id or 0: item for item in await self.store.items.list_for_run(run.id)}
        replayed_items = {item.id or 0: item for item in await store.items.list_for_run(run.id)}
        for item_id in sorted(recorded_items.keys() | replayed_items.keys()):
            here, there = recorded_items.get(item_id), replayed_items.get(item_id)
            before = {} if here is None else await _dump_item(here, self.store)
            after = {} if there is None else await _dump_item(there, store)
            if any(revision.run_id != run.id for revision in await self.store.revisions.list_for_item(item_id)):
                for name in _REVISED_FIELDS:
                    before.pop(name, None)
                    after.pop(name, None)
            differences += [
                difference.model_copy(update={"what": f"item {item_id}: {difference.what}"})
                for difference in _diff_values(before, after)
            ]
        return ReplayResult(
            run_id=run.id,
            source=run.source,
            is_identical=not differences,
            differences=differences,
            is_briefing_identical=await self._is_briefing_identical(run, store),
            records=len(rows),
            shown=len(sites.used_record_ids),
            answers=len(await self.store.evidence.list_answers(run.id)),
            replayed=replayed,
        )

    async def _is_briefing_identical(self, run: Run, store: Store) -> bool | None:
        """Whether the briefing of the source for the run's day, written by rule, is the same to the byte."""
        zone = ZoneInfo(self.settings.timezone)
        day = run.planned_at.astimezone(zone).date()
        of_source = await self.store.runs.list(source=run.source, limit=None)
        of_day = [other for other in of_source if other.planned_at.astimezone(zone).date() == day]
        if run.ended_at is None or len(of_day) != 1 or of_source[0].id != run.id:
            return None
        wanted = BriefingQuery(day=day, sources=[run.source])
        clock = _ReplayClock(run)
        clock.advance_to_end()
        recorded, replayed = [
            await BriefingService(store=each, clock=clock, settings=self.settings, workers=self.workers).compose(wanted)
            for each in (self.store, store)
        ]
        return recorded.model_dump_json() == replayed.model_dump_json()


class _ReplayClock:
    """The clock as the run read it: when it started, and when it ended."""

    def __init__(self, run: Run) -> None:
        self._now = run.started_at or run.planned_at
        self._end = run.ended_at or self._now

    def now(self) -> dt.datetime:
        return self._now

    def advance_to_end(self) -> None:
        self._now = self._end


def _dump_run(run: FullRunReport, *, is_uninterrupted: bool) -> dict[str, Any]:
    """A run as far as it follows from its records; interruption changes how a section ended."""
    dumped = run.model_dump(mode="json", exclude={"items", "usage", "alarms"})
    sections = {f"section {row['name']} ({number})": row for number, row in enumerate(dumped.pop("sections"), start=1)}
    for section in sections.values() if not is_uninterrupted else ():
        del section["ended"]
    candidates = {f"candidate {row['url']} in {row['section']}": row for row in dumped.pop("candidates")}
    for candidate in candidates.values():
        if candidate["disposition"] == Disposition.SAVED:
            # Who saved it stands in the item, and here not after an interruption.
            for name in ("reason", "reason_code", "reason_args"):
                candidate.pop(name, None)
    whole: dict[str, Any] = dumped | sections | candidates
    return whole


async def _dump_item(item: Item, store: Store) -> dict[str, Any]:
    claims = [
        json.dumps([claim.kind, claim.claim, claim.record_id, claim.passage], ensure_ascii=False)
        for claim in await store.evidence.list_claims(item.id or 0)
    ]
    text = await store.items.get_text(item.id or 0)
    return build_item_schema(item).model_dump(mode="json") | {"claims": sorted(claims), "text": text}


def _diff_values(recorded: dict[str, Any], replayed: dict[str, Any]) -> list[ReplayDifference]:
    names = dict.fromkeys([*recorded, *replayed])
    return [
        ReplayDifference(what=name, recorded=recorded.get(name), replayed=replayed.get(name))
        for name in names
        if recorded.get(name) != replayed.get(name)
    ]
