"""The use cases around health: what is out of the ordinary after a run, and how every source fares."""

import datetime as dt
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.app.alarm_rules import HISTORY, SectionState, judge
from monitor.app.backoff import resting_until
from monitor.app.cadence import cadence_of
from monitor.app.sources import timezone_of
from monitor.domain.alarms import AlarmNote
from monitor.domain.tables import Section, Source
from monitor.domain.words import RunStatus
from monitor.errors import UsageError, WorkFailed
from monitor.ports import Clock, Notifier
from monitor.store import Store


class SectionHealth(BaseModel):
    """How a section fares; the days are None until its cadence is learned."""

    name: str
    url: str
    last_new_on: dt.date | None
    usual_days: float | None = None
    silent_after_days: int | None = None
    last_complete_on: dt.date | None
    is_unfinished: bool


class SourceHealth(BaseModel):
    """How a source fares."""

    source: str
    enabled: bool
    last_run_at: dt.datetime | None
    last_success_at: dt.datetime | None
    last_new_item_at: dt.datetime | None
    consecutive_failures: int
    last_error: str | None
    resting_until: dt.datetime | None = None
    sections: list[SectionHealth] = Field(default_factory=list)


class Health(BaseModel):
    """How everything fares: the sources, and the alarms, newest first."""

    sources: list[SourceHealth]
    alarms: list[AlarmNote]


class HealthDesk:
    """Raises, clears and shows alarms, and hands each new one to the notifier."""

    def __init__(self, *, store: Store, clock: Clock, timezone: str, notifier: Notifier) -> None:
        self._store = store
        self._clock = clock
        self._timezone = timezone
        self._notifier = notifier

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

    async def look(self, names: Sequence[str] = (), *, is_whole: bool = False) -> Health:
        """How all sources fare, or those of these names, with their open alarms, or with those of the past too.

        `UsageError` for a name that no source has.
        """
        sources = await self._store.sources.list()
        for name in names:
            if all(source.name != name for source in sources):
                raise UsageError(f"There is no source {name!r}: `monitor sources list` shows all.")
        chosen = [source for source in sources if not names or source.name in names]
        alarms = await self._store.alarms.list(only_open=not is_whole, limit=1000)
        return Health(
            sources=[await self._health_of(source) for source in chosen],
            alarms=[alarm for alarm in alarms if not names or alarm.source in names],
        )

    async def _states(self, source: Source, run_id: str) -> list[SectionState]:
        memories = {memory.url: memory for memory in await self._store.sections.of_source(source.id or 0)}
        earlier = await self._store.sections.readings_before(source.id or 0, run_id, limit=HISTORY)
        return [
            SectionState(row=row, earlier=earlier.get(row.url, []), memory=memories.get(row.url))
            for row in await self._store.runs.sections(run_id)
        ]

    async def _health_of(self, source: Source) -> SourceHealth:
        sections = await self._store.sections.of_source(source.id or 0)
        told = {name: getattr(source, name) for name in SourceHealth.model_fields if name in Source.model_fields}
        told.pop("sections")
        rest = resting_until(source)
        is_resting = rest is not None and rest > self._clock.now()
        return SourceHealth(
            source=source.name, resting_until=rest if is_resting else None,
            sections=[_section_health(section) for section in sections], **told,
        )  # fmt: skip

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
        name=section.name, url=section.url, last_new_on=max(days, default=None),
        usual_days=cadence.usual_days if cadence else None,
        silent_after_days=cadence.silent_after_days if cadence else None,
        last_complete_on=section.last_complete_on, is_unfinished=section.is_unfinished,
    )  # fmt: skip
