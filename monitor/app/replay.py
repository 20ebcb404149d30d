"""The use case of replaying a run: all of it again from what was recorded, with no network and no model."""

import asyncio
import datetime as dt
import json
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.app.briefings import BriefingDesk, BriefingQuery
from monitor.app.recording import OutsetFacts
from monitor.app.report import WholeRun, whole_run
from monitor.app.standing import StandingSearch
from monitor.briefing.wire import item_wire
from monitor.domain.evidence import Record
from monitor.domain.prompts import Prompts
from monitor.domain.tables import Item, Run, Source
from monitor.domain.words import Disposition, RunStatus
from monitor.errors import RecordLost, UsageError
from monitor.evidence.answers import ReplayedModel
from monitor.evidence.linking import Linker
from monitor.evidence.records import Records
from monitor.evidence.replayed import ReplayedSites
from monitor.evidence.storage import Storage
from monitor.ports import Clock, DocumentReader, Outside, PageLoader
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.backup import back_up
from monitor.store.marks import copy_marks
from monitor.store.repeating import RepeatedItems, put_in_order
from monitor.sweep.pipeline import Parts, sweep

T = TypeVar("T")
NewLoader = Callable[[OutsetFacts, Outside, Clock], PageLoader]
NewReader = Callable[[OutsetFacts], DocumentReader]

_END = "end"
# What a later look at an item's page brings up to date, so that the run is no longer alone in having written it.
_REVISED = frozenset({"attachments", "date_conflict", "text"})


class Difference(BaseModel):
    """Something that the replay made another of than the run did."""

    what: str
    recorded: Any = None
    replayed: Any = None


class Replay(BaseModel):
    """What came of a replay.

    `records` and `answers` count what was recorded, `shown` the records that the replay asked for: a run that was
    interrupted has asked for some things twice. `is_briefing_identical` is None where the day's briefing of the source
    rests on other runs too.
    """

    run_id: str
    source: str
    is_identical: bool
    is_briefing_identical: bool | None
    differences: list[Difference] = Field(default_factory=list)
    records: int
    shown: int
    answers: int
    replayed: WholeRun


class ReplayDesk:
    """Replays runs, each in a database of its own."""

    def __init__(
        self,
        *,
        store: Store,
        storage: Storage,
        settings: Settings,
        new_loader: NewLoader,
        new_reader: NewReader,
        standing: StandingSearch,
    ) -> None:
        self._standing = standing
        self._store = store
        self._storage = storage
        self._settings = settings
        self._new_loader = new_loader
        self._new_reader = new_reader

    async def replay(self, run_id: str, *, database: Path | None = None) -> Replay:
        """Do a run again from its records, and compare; `database` is a new file in which the replay stays.

        `RecordLost` where a record is missing or was altered, or the replay asks for something that was not recorded.
        `UsageError` where there is no such run, or nothing of it was recorded.
        """
        _refuse_to_replace(database)
        run, outset = await self._recorded(run_id)
        rows = await self._store.evidence.records(run_id)
        await self._check(rows)
        with tempfile.TemporaryDirectory(prefix="monitor-replay-") as folder:
            url = f"sqlite:///{Path(folder) / 'replay.db'}"
            async with Store.open(url) as store:
                await store.check()
                sites = await self._again(run, outset, rows, store, Path(folder))
                replayed = await self._compared(run, rows, sites, store)
                if database is not None:
                    await asyncio.to_thread(back_up, url, database)
            return replayed

    async def _recorded(self, run_id: str) -> tuple[Run, OutsetFacts]:
        run = await self._store.runs.get(run_id)
        if run is None:
            raise UsageError(
                f"There is no run {run_id!r}, or it was forgotten with its records when it was older than "
                "`retention_days`; `monitor runs list` names those that are there."
            )
        if not run.status.is_final:
            raise UsageError(f"The run {run_id} has not ended: it is {run.status}.")
        if run.status is RunStatus.CANCELLED:
            raise UsageError(f"The run {run_id} was cancelled: only what came to its end can be compared.")
        facts = await self._store.evidence.outset(run_id)
        if facts is None:
            raise UsageError(f"Nothing is recorded of the run {run_id}: it is older than the records, or never began.")
        return run, OutsetFacts.model_validate(facts)

    async def _check(self, rows: Sequence[Record]) -> None:
        """See that every record is whole before anything rests on it."""
        records = Records(store=self._store, storage=self._storage)
        files = {row.stored_at: row for row in rows}.values()
        lost: list[RecordLost] = []
        for row in files:
            try:
                await records.sighting(row)
            except RecordLost as error:
                lost.append(error)
        if lost:
            raise RecordLost(
                f"The run cannot be replayed: {len(lost)} of its {len(files)} files of records are gone or damaged. "
                f"The first: {lost[0]}"
            )

    async def _again(
        self, run: Run, outset: OutsetFacts, rows: Sequence[Record], store: Store, folder: Path
    ) -> ReplayedSites:
        source = Source.model_validate(outset.source)
        fresh = run.model_copy(
            update={"status": RunStatus.RUNNING, "ended_at": None, "error": None, "is_baseline": outset.is_baseline}
        )
        await self._store.lend_again(source, outset.memory, fresh, at=outset.at, to=store)
        store.items = RepeatedItems(store.sessions, await self._store.items.for_run(run.id))
        clock = _RunClock(run)
        records = Records(store=store, storage=self._storage)
        sites = ReplayedSites(records, rows, can_draw=outset.can_draw)
        answers = await self._store.evidence.answers(run.id)
        parts = Parts(
            store=store,
            loader=self._new_loader(outset, sites, clock),
            documents=self._new_reader(outset),
            steps=_RunSteps(clock),
            clock=clock,
            model=ReplayedModel(answers) if outset.has_model else None,
            # What later looks at earlier items brought is not of this run alone.
            limits=outset.limits.model_copy(update={"revisit_days": []}),
            folder=folder,
            linker=Linker(records.sighting_of),
            results=self._standing.of_record(run.id, self._store),
            wishes=outset.wishes,
            prompts=Prompts(outset.prompts),
        )
        await sweep(fresh, source, window=outset.window, today=outset.today, parts=parts)
        await put_in_order(run.id, like=self._store.sessions, target=store.sessions)
        await copy_marks(self._store.sessions, store.sessions)
        return sites

    async def _compared(self, run: Run, rows: Sequence[Record], sites: ReplayedSites, store: Store) -> Replay:
        replayed_run = await store.runs.get(run.id) or run
        replayed = await whole_run(replayed_run, store)
        is_one_go = all(row.attempt == 1 for row in rows)
        recorded = await whole_run(run, self._store)
        differences = _differences(_told(recorded, is_one_go=is_one_go), _told(replayed, is_one_go=is_one_go))
        recorded_items = {item.id or 0: item for item in await self._store.items.for_run(run.id)}
        replayed_items = {item.id or 0: item for item in await store.items.for_run(run.id)}
        for item_id in sorted(recorded_items.keys() | replayed_items.keys()):
            here, there = recorded_items.get(item_id), replayed_items.get(item_id)
            before = {} if here is None else await _item_told(here, self._store)
            after = {} if there is None else await _item_told(there, store)
            if any(revision.run_id != run.id for revision in await self._store.revisions.of_item(item_id)):
                before, after = ({k: v for k, v in one.items() if k not in _REVISED} for one in (before, after))
            differences += [
                difference.model_copy(update={"what": f"item {item_id}: {difference.what}"})
                for difference in _differences(before, after)
            ]
        return Replay(
            run_id=run.id,
            source=run.source,
            is_identical=not differences,
            differences=differences,
            is_briefing_identical=await self._is_briefing_identical(run, store),
            records=len(rows),
            shown=len(sites.shown),
            answers=len(await self._store.evidence.answers(run.id)),
            replayed=replayed,
        )

    async def _is_briefing_identical(self, run: Run, store: Store) -> bool | None:
        """Whether the briefing of the source for the run's day, written by rule, is the same to the byte."""
        zone = ZoneInfo(self._settings.timezone)
        day = run.planned_at.astimezone(zone).date()
        of_source = await self._store.runs.list(source=run.source, limit=None)
        if run.ended_at is None or sum(one.planned_at.astimezone(zone).date() == day for one in of_source) != 1:
            return None
        if of_source[0].id != run.id:
            return None
        wanted = BriefingQuery(day=day, sources=[run.source])
        clock = _RunClock(run)
        clock.end()
        one, other = [
            (await BriefingDesk(store=each, clock=clock, settings=self._settings).write(wanted)).model_dump_json()
            for each in (self._store, store)
        ]
        return one == other


class _RunClock:
    """The clock as the run read it: when it started, and when it ended (`ports.Clock`)."""

    def __init__(self, run: Run) -> None:
        self._now = run.started_at or run.planned_at
        self._end = run.ended_at or self._now

    def now(self) -> dt.datetime:
        return self._now

    def end(self) -> None:
        """From now on it is the end of the run."""
        self._now = self._end


class _RunSteps:
    """Does every step once (`ports.Steps`), the last one at the end of the run."""

    def __init__(self, clock: _RunClock) -> None:
        self._clock = clock

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        del result
        if name == _END:
            self._clock.end()
        return await step()


def _refuse_to_replace(database: Path | None) -> None:
    if database is not None and database.exists():
        raise UsageError(f"There is a file {database} already: choose another name.")


def _told(run: WholeRun, *, is_one_go: bool) -> dict[str, Any]:
    """A run as far as it follows from its records: its items apart, without what its model calls cost.

    A section that was gone on with after an interruption ended otherwise than one that is read in one go.
    """
    told = run.model_dump(mode="json", exclude={"items", "usage", "alarms"})
    sections = {f"section {one['name']} ({number})": one for number, one in enumerate(told.pop("sections"), start=1)}
    for section in sections.values() if not is_one_go else ():
        del section["ended"]
    candidates = {f"candidate {one['url']} in {one['section']}": one for one in told.pop("candidates")}
    for candidate in candidates.values():
        if candidate["disposition"] == Disposition.SAVED:
            del candidate["reason"]  # who saved it: that stands in the item, and here not after an interruption
    return told | sections | candidates


async def _item_told(item: Item, store: Store) -> dict[str, Any]:
    claims = [
        json.dumps([claim.kind, claim.claim, claim.record_id, claim.passage], ensure_ascii=False)
        for claim in await store.evidence.claims(item.id or 0)
    ]
    text = await store.items.text(item.id or 0)
    return item_wire(item).model_dump(mode="json") | {"claims": sorted(claims), "text": text}


def _differences(recorded: dict[str, Any], replayed: dict[str, Any]) -> list[Difference]:
    names = dict.fromkeys([*recorded, *replayed])
    return [
        Difference(what=name, recorded=recorded.get(name), replayed=replayed.get(name))
        for name in names
        if recorded.get(name) != replayed.get(name)
    ]
