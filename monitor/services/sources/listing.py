"""The sources as the desk shows them: how each stands, when it runs next, and what was read of it lately."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.services.alarms import get_backoff_end
from monitor.services.runtime import CronParser
from monitor.services.sources.service import SourceService
from monitor.vocabulary import Render, SourceKind


class SourceStatus(StrEnum):
    """How a source stands, the gravest that is true of it."""

    FINE = "fine"
    NEW = "new"
    ALARM = "alarm"
    FAILING = "failing"
    RESTING = "resting"
    DISABLED = "disabled"


class PinnedSection(BaseModel):
    """A section that an administrator pinned."""

    name: str
    url: str


class SourceSchema(MessageModel):
    """A source: what a person set, and how it fares.

    `next_run_at` is the next planned time that is not passed over; `run_id` a run that waits or is under way;
    `open_alarms` counts what is out of the ordinary.
    """

    id: int
    name: str
    url: str
    kind: SourceKind
    focus_areas: list[str]
    rules: str
    sections: list[PinnedSection]
    schedule: str | None
    timezone: str | None
    window_days: int | None
    max_items: int | None
    render: Render | None
    keywords_include: list[str]
    keywords_exclude: list[str]
    allow_other_hosts: bool
    tags: list[str]
    language: str | None
    summary_language: str
    enabled: bool
    created_at: dt.datetime
    last_run_at: dt.datetime | None
    last_success_at: dt.datetime | None
    last_new_item_at: dt.datetime | None
    consecutive_failures: int
    last_error: Message | None
    state: SourceStatus
    resting_until: dt.datetime | None = None
    next_run_at: dt.datetime | None = None
    run_id: str | None = None
    open_alarms: int = 0


class SourceFilter(BaseModel):
    """Which sources are meant; what is empty does not narrow. `text` stands in the name, the address or a tag."""

    text: str = ""
    tag: str = ""
    kind: SourceKind | None = None
    state: SourceStatus | None = None


class SourceListPage(BaseModel):
    """A part of the list of sources, newest first; `after` is the number of the last one where there are more.

    `states` counts all that match the filter but for its state; `tags` are those that any source bears, `total` is how
    many sources are meant.
    """

    sources: list[SourceSchema] = Field(default_factory=list)
    after: int | None = None
    states: dict[SourceStatus, int] = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
    total: int = 0


@dataclass(frozen=True, slots=True)
class _SourceContext:
    """What is true of the sources beside their rows: open alarms and unfinished runs, by the source's number."""

    alarms: Counter[str]
    runs: dict[int, str]


class SourceListService:
    """Tells how the sources stand: a few questions to the database for all of them."""

    def __init__(
        self, *, store: Store, sources: SourceService, clock: Clock, schedules: CronParser, timezone: str
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._schedules = schedules
        self._timezone = timezone

    async def list(self, source_filter: SourceFilter, *, after: int | None = None, limit: int = 50) -> SourceListPage:
        """The sources that are meant, newest first, from the one that follows number `after` on."""
        around = await self._load_context()
        newest = sorted(await self._store.sources.list(), key=lambda one: one.id or 0, reverse=True)
        matching = [one for one in newest if _matches_filter(one, source_filter)]
        states = {one.id or 0: self._get_status(one, around) for one in matching}
        of_state = [one for one in matching if source_filter.state in (None, states[one.id or 0])]
        rest = _skip_to(of_state, after)
        return SourceListPage(
            sources=[self._build_schema(one, around) for one in rest[:limit]],
            after=rest[limit - 1].id if len(rest) > limit else None,
            states=dict(Counter(states.values())),
            tags=sorted({tag for one in newest for tag in one.tags}),
            total=len(of_state),
        )

    async def get(self, source_id: int) -> SourceSchema:
        """The source of that number, or `NotFound`."""
        return self._build_schema(await self._sources.get_by_id(source_id), await self._load_context())

    async def _load_context(self) -> _SourceContext:
        runs = {run.source_id: run.id for run in await self._store.runs.list_open() if run.source_id is not None}
        alarms = await self._store.alarms.list(only_open=True, limit=10_000)
        return _SourceContext(Counter(alarm.source for alarm in alarms), runs)

    def _build_schema(self, source: Source, context: _SourceContext) -> SourceSchema:
        rest = self._get_backoff_end(source)
        told = {
            "state": self._get_status(source, context),
            "resting_until": rest,
            "next_run_at": self._compute_next_run(source, rest),
            "run_id": context.runs.get(source.id or 0),
            "open_alarms": context.alarms[source.name],
        }
        return SourceSchema.model_validate(source.model_dump() | told)

    def _get_status(self, source: Source, context: _SourceContext) -> SourceStatus:
        if not source.enabled:
            return SourceStatus.DISABLED
        if self._get_backoff_end(source) is not None:
            return SourceStatus.RESTING
        if source.consecutive_failures:
            return SourceStatus.FAILING
        if context.alarms[source.name]:
            return SourceStatus.ALARM
        return SourceStatus.NEW if source.last_run_at is None else SourceStatus.FINE

    def _get_backoff_end(self, source: Source) -> dt.datetime | None:
        until = get_backoff_end(source)
        return until if until is not None and until > self._clock.now() else None

    def _compute_next_run(self, source: Source, rest: dt.datetime | None) -> dt.datetime | None:
        if not source.enabled or source.schedule is None:
            return None
        try:
            zone = source.timezone or self._timezone
            return self._schedules.next_after(source.schedule, zone, rest or self._clock.now())
        except UsageError:  # written down by an older version, which took it
            return None


def _matches_filter(source: Source, source_filter: SourceFilter) -> bool:
    text = source_filter.text.strip().casefold()
    told = (source.name, source.url, *source.tags)
    return (
        (not text or any(text in one.casefold() for one in told))
        and (not source_filter.tag or source_filter.tag in source.tags)
        and source_filter.kind in (None, source.kind)
    )


def _skip_to(sources: Sequence[Source], after: int | None) -> Sequence[Source]:
    """Those after the one of that number; it may be gone, so that numbers, which rise with time, decide."""
    if after is None:
        return sources
    return [source for source in sources if (source.id or 0) < after]
