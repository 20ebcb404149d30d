"""The use cases around health: what is out of the ordinary after a run, and how every source fares."""

import datetime as dt
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.app.alarm_rules import HISTORY, SectionState, judge
from monitor.app.backoff import resting_until
from monitor.app.blocks import HostBlock, blocks_by_host
from monitor.app.cadence import cadence_of
from monitor.app.costs import days_until
from monitor.app.sources import timezone_of
from monitor.domain.alarms import AlarmNote
from monitor.domain.tables import Section, Source
from monitor.domain.words import RunStatus
from monitor.errors import NotFound, UsageError, WorkFailed
from monitor.ports import Clock, Notifier, Schedules
from monitor.store import Store

_MOST_ALARMS = 1000
_COUNT_SERVES = dt.timedelta(seconds=15)


class SectionHealth(BaseModel):
    """How a section fares; the days are None until its cadence is learned.

    `arrivals` are the latest days on which something new came, oldest first, at most 60.
    """

    name: str
    url: str
    last_new_on: dt.date | None
    usual_days: float | None = None
    silent_after_days: int | None = None
    last_complete_on: dt.date | None
    is_unfinished: bool
    arrivals: list[dt.date] = Field(default_factory=list)


class SourceHealth(BaseModel):
    """How a source fares. `next_run_at` is None for one without a schedule, and for a disabled one."""

    id: int
    source: str
    enabled: bool
    last_run_at: dt.datetime | None
    last_success_at: dt.datetime | None
    last_new_item_at: dt.datetime | None
    consecutive_failures: int
    last_error: str | None
    resting_until: dt.datetime | None = None
    next_run_at: dt.datetime | None = None
    sections: list[SectionHealth] = Field(default_factory=list)


class Health(BaseModel):
    """How everything fares: the sources, and the alarms, newest first."""

    sources: list[SourceHealth]
    alarms: list[AlarmNote]


class HealthDesk:
    """Raises, clears and shows alarms, and hands each new one to the notifier."""

    def __init__(self, *, store: Store, clock: Clock, timezone: str, notifier: Notifier, schedules: Schedules) -> None:
        self._store = store
        self._schedules = schedules
        self._clock = clock
        self._timezone = timezone
        self._notifier = notifier
        self._counted: tuple[dt.datetime, int] | None = None

    async def examine(self, run_id: str) -> None:
        """Bring the alarms of a run's source to what that run shows; to be called when the run has ended.

        Doing it again changes nothing. A run that was cancelled or whose source is gone shows nothing.
        """
        run = await self._store.runs.get(run_id)
        source = await self._store.sources.by_id(run.source_id) if run and run.source_id is not None else None
        if run is not None and source is not None and run.status.is_final and run.status is not RunStatus.CANCELLED:
            now = self._clock.now()
            today = now.astimezone(ZoneInfo(timezone_of(source, self._timezone))).date()
            fallbacks = await self._store.runs.fallbacks(run_id)
            verdict = judge(source, run, await self._states(source, run_id), fallbacks, today=today)
            await self._store.alarms.settle(
                source.id or 0, run_id=run_id, due=verdict.due, judged=verdict.judged, at=now
            )
        await self._tell()

    async def open_alarms(self) -> int:
        """How many alarms are open; every page shows it, so what was counted serves for 15 seconds."""
        now = self._clock.now()
        if self._counted is None or not dt.timedelta() <= now - self._counted[0] < _COUNT_SERVES:
            self._counted = (now, await self._store.alarms.count_open())
        return self._counted[1]

    async def look(self, names: Sequence[str] = (), *, is_whole: bool = False) -> Health:
        """How all sources fare, or those of these names, with their open alarms, or with those of the past too.

        `UsageError` for a name that no source has.
        """
        sources = await self._store.sources.list()
        for name in names:
            if all(source.name != name for source in sources):
                raise UsageError(f"There is no source {name!r}: `monitor sources list` shows all.")
        chosen = [source for source in sources if not names or source.name in names]
        alarms = await self._store.alarms.list(only_open=not is_whole, limit=_MOST_ALARMS)
        return Health(
            sources=await self._told(chosen), alarms=[alarm for alarm in alarms if not names or alarm.source in names]
        )

    async def watch(self, *, skip: int, limit: int) -> tuple[int, list[SourceHealth]]:
        """How many sources there are, and how some of them fare: those in trouble first, the disabled ones last."""
        sources = await self._store.sources.list()
        alarmed = {alarm.source for alarm in await self._store.alarms.list(only_open=True, limit=_MOST_ALARMS)}

        def place(source: Source) -> tuple[bool, bool, str]:
            is_troubled = source.consecutive_failures > 0 or source.name in alarmed
            return not source.enabled, not is_troubled, source.name

        return len(sources), await self._told(sorted(sources, key=place)[skip : skip + limit])

    async def one(self, source_id: int) -> SourceHealth:
        """How one source fares; `NotFound` where there is none of that number."""
        source = await self._store.sources.by_id(source_id)
        if source is None:
            raise NotFound(f"There is no source {source_id}.")
        return (await self._told([source]))[0]

    async def alarms(
        self, *, is_open: bool | None = None, source_id: int | None = None, before_id: int | None = None, limit: int
    ) -> list[AlarmNote]:
        """The alarms raised before another one, newest first: open ones, past ones, or both."""
        return await self._store.alarms.page(is_open=is_open, source_id=source_id, before_id=before_id, limit=limit)

    async def blocks(self, days: int, *, source_id: int | None = None) -> list[HostBlock]:
        """What sites kept from us on so many days, today included, by day, host and kind of block."""
        zone = ZoneInfo(self._timezone)
        since = days_until(self._clock.now(), zone, days)[0].begin
        return blocks_by_host(await self._store.outlook.blocks(since, source_id=source_id), zone)

    async def _states(self, source: Source, run_id: str) -> list[SectionState]:
        memories = {memory.url: memory for memory in await self._store.sections.of_source(source.id or 0)}
        earlier = await self._store.sections.readings_before(source.id or 0, run_id, limit=HISTORY)
        return [
            SectionState(row=row, earlier=earlier.get(row.url, []), memory=memories.get(row.url))
            for row in await self._store.runs.sections(run_id)
        ]

    async def _told(self, sources: Sequence[Source]) -> list[SourceHealth]:
        sections = await self._store.sections.of_sources([source.id or 0 for source in sources])
        return [self._health_of(source, sections.get(source.id or 0, [])) for source in sources]

    def _health_of(self, source: Source, sections: Sequence[Section]) -> SourceHealth:
        told = {name: getattr(source, name) for name in SourceHealth.model_fields if name in Source.model_fields}
        told.pop("sections")
        now, rest = self._clock.now(), resting_until(source)
        is_resting = rest is not None and rest > now
        return SourceHealth(
            source=source.name,
            resting_until=rest if is_resting else None,
            next_run_at=self._next_run(source, rest if rest is not None and is_resting else now),
            sections=[_section_health(section) for section in sections],
            **told,
        )

    def _next_run(self, source: Source, after: dt.datetime) -> dt.datetime | None:
        if source.schedule is None or not source.enabled:
            return None
        return self._schedules.next_after(source.schedule, timezone_of(source, self._timezone), after)

    async def _tell(self) -> None:
        """Hand on what nobody was told of; what cannot be handed on stays for the next time."""
        notes = await self._store.alarms.untold()
        if not notes:
            return
        try:
            await self._notifier.notify(notes)
        except WorkFailed:
            return
        await self._store.alarms.mark_told([note.id for note in notes], self._clock.now())


def _section_health(section: Section) -> SectionHealth:
    days = [dt.date.fromisoformat(day) for day in section.arrivals]
    cadence = cadence_of(days)
    return SectionHealth(
        name=section.name,
        url=section.url,
        last_new_on=max(days, default=None),
        usual_days=cadence.usual_days if cadence else None,
        silent_after_days=cadence.silent_after_days if cadence else None,
        last_complete_on=section.last_complete_on,
        is_unfinished=section.is_unfinished,
        arrivals=sorted(days),
    )
