"""The sources: shown with how they fare, and changed; every change is checked as a whole before it is stored."""

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from monitor.db.queries.sources import SourceActivity, SourceHead
from monitor.db.tables.collection import Source
from monitor.db.terms import split_query
from monitor.errors import NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.log_in import LogInStep
from monitor.recipe import SectionRecipe
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.schedules import DEFAULT_SCHEDULE, check_schedule, find_next_fire_time, parse_written_schedule
from monitor.services.sources.form import SourceForm, build_source, diff_sources, dump_form_values, validate_form
from monitor.services.teams import choose_eyes
from monitor.urls import url_key
from monitor.vocabulary import Render, Role, SourceKind

if TYPE_CHECKING:
    from monitor.services.sources.importing import ImportPlan
    from monitor.services.sources.tables import SourceList

MAX_BULK_SOURCES = 1000


class SourceStatus(StrEnum):
    """The gravest that is true of a source."""

    FINE = "fine"
    NEW = "new"
    ALARM = "alarm"
    FAILING = "failing"
    RESTING = "resting"
    DISABLED = "disabled"


class PinnedSection(BaseModel):
    name: str
    url: str


class SourceHealthSummary(MessageModel):
    """How a source fares; `next_run_at` is the next planned time that is not passed over."""

    id: int
    enabled: bool
    last_run_at: dt.datetime | None
    last_success_at: dt.datetime | None
    last_new_item_at: dt.datetime | None
    consecutive_failures: int
    last_error: Message | None
    resting_until: dt.datetime | None = None
    next_run_at: dt.datetime | None = None


class SourceSchema(SourceHealthSummary):
    """A source: what a person set, and how it fares.

    `next_run_at` is the next planned time that is not passed over; `run_id` a run that waits or is under way;
    `open_alarms` counts what is out of the ordinary.
    """

    name: str
    team_id: int | None = None
    url: str
    kind: SourceKind
    focus_areas: list[str]
    rules: str
    sections: list[PinnedSection]
    recipes: list[SectionRecipe]
    steps: list[LogInStep]
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
    created_at: dt.datetime
    state: SourceStatus
    run_id: str | None = None
    open_alarms: int = 0


class SourceFilter(BaseModel):
    """Which sources to list; what is empty does not narrow. All words of `text` stand in name, address or tags."""

    text: str = ""
    tag: str = ""
    kind: SourceKind | None = None
    state: SourceStatus | None = None


class SourceListPage(BaseModel):
    """A part of the list; `states` counts all that match but for the state, `total` those that match it whole."""

    sources: list[SourceSchema] = Field(default_factory=list)
    after: int | None = None
    states: dict[SourceStatus, int] = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
    total: int = 0


class BulkAction(StrEnum):
    ENABLE = "enable"
    DISABLE = "disable"
    TAG = "tag"
    UNTAG = "untag"
    SCHEDULE = "schedule"
    REMOVE = "remove"


class SectionChange(StrEnum):
    PIN = "pin"
    UNPIN = "unpin"
    UP = "up"
    DOWN = "down"


@dataclass(kw_only=True)
class SourceService(AuditedService):
    timezone: str

    async def list_sources(self, *, only_enabled: bool = False, tag: str | None = None) -> list[Source]:
        return await self.store.sources.list(only_enabled=only_enabled, tag=tag)

    async def list_page(
        self, source_filter: SourceFilter, *, after: int | None = None, limit: int = 50
    ) -> SourceListPage:
        activity = await self.store.sources.load_activity()
        newest = await self.store.sources.list_heads()
        matching = [source for source in newest if _matches_filter(source, source_filter)]
        states = {source.id: self._get_status(source, activity) for source in matching}
        of_state = [source for source in matching if source_filter.state in (None, states[source.id])]
        # The source of that number may be gone; numbers rise with time.
        rest = [source.id for source in of_state if after is None or source.id < after]
        return SourceListPage(
            sources=[self._build_schema(source, activity) for source in await self.store.sources.load(rest[:limit])],
            after=rest[limit - 1] if len(rest) > limit else None,
            states=dict(Counter(states.values())),
            tags=sorted({tag for source in newest for tag in source.tags}),
            total=len(of_state),
        )

    async def get(self, name: str) -> Source:
        source = await self.store.sources.get(name)
        if source is not None:
            return source
        known = [source.name for source in await self.store.sources.list_heads()]
        if not known:
            raise NotFound("source.none_yet", name=name)
        wanted = name.casefold()
        near = [other for other in known if wanted in other.casefold() or other.casefold() in wanted]
        raise NotFound("source.not_found", name=name, known=(near or known)[:10])

    async def get_by_id(self, source_id: int) -> Source:
        source = await self.store.sources.get_by_id(source_id)
        if source is None:
            raise NotFound("source.no_such_number", number=source_id)
        return source

    async def get_schema(self, source_id: int) -> SourceSchema:
        return self._build_schema(await self.get_by_id(source_id), await self.store.sources.load_activity())

    async def add(self, values: Mapping[str, Any], *, by: Actor, team_id: int | None = None) -> Source:
        by.require(Role.EDITOR)
        choose_eyes(team_id)
        source = self._build_source(values)
        source.team_id = team_id
        async with self.store.transaction():
            added = await self.store.sources.add(source)
            await self.record(by, AuditAction.SOURCE_ADD, added.name, after=dump_form_values(added))
        return added

    def build_draft(self, values: Mapping[str, Any], *, stored: Source | None = None) -> Source:
        if stored is None:
            return self._build_source(values)
        made = build_source({**dump_form_values(stored), **values}, now=self.clock.now(), timezone=self.timezone)
        return Source.model_validate({**stored.model_dump(), **made.model_dump(include=set(SourceForm.model_fields))})

    async def edit(self, source_id: int, changes: Mapping[str, Any], *, by: Actor) -> Source:
        """Change fields of a source; an edit that leaves it as it was is not recorded."""
        by.require(Role.EDITOR)
        async with self.store.transaction():
            before = await self.get_by_id(source_id)
            form = validate_form({**dump_form_values(before), **changes}, timezone=self.timezone)
            after = await self.store.sources.update(before.name, **form.model_dump(mode="python"))
            was, now = diff_sources(before, after)
            if now:
                await self.record(by, AuditAction.SOURCE_EDIT, after.name, before=was, after=now)
        return after

    async def change_sections(
        self, source_id: int, change: SectionChange, chosen: Sequence[PinnedSection], *, by: Actor
    ) -> Source:
        """Pin or unpin sections of a source, or move them one place up or down among the pinned ones."""
        source = await self.get_by_id(source_id)
        pinned = change_sections([PinnedSection(**section) for section in source.sections], change, chosen)
        return await self.edit(source_id, {"sections": [section.model_dump() for section in pinned]}, by=by)

    async def remove(self, source_id: int, *, by: Actor) -> Source:
        by.require(Role.ADMIN)
        async with self.store.transaction():
            source = await self.get_by_id(source_id)
            await self.store.sources.remove(source.name)
            await self.record(by, AuditAction.SOURCE_REMOVE, source.name, before=dump_form_values(source))
        return source

    async def list_ids(self, source_filter: SourceFilter) -> set[int]:
        """Return the numbers of all sources that a filter means."""
        activity = await self.store.sources.load_activity()
        return {
            source.id
            for source in await self.store.sources.list_heads()
            if _matches_filter(source, source_filter)
            and source_filter.state in (None, self._get_status(source, activity))
        }

    async def change_many(
        self, source_ids: Collection[int], action: BulkAction, *, tag: str = "", schedule: str = "", by: Actor
    ) -> list[Source]:
        """Enable, disable, tag, untag, schedule or remove several sources; return those that this changed."""
        by.require(Role.ADMIN if action is BulkAction.REMOVE else Role.EDITOR)
        if len(source_ids) > MAX_BULK_SOURCES:
            raise UsageError("source.too_many_chosen", limit=MAX_BULK_SOURCES)
        if action is BulkAction.REMOVE:
            return await self._remove_many(source_ids, by)
        change = self._plan_change(action, normalize_line(tag), schedule)
        before: dict[int, str | None] = {}

        def note_and_change(source: Source) -> dict[str, Any]:
            before[source.id or 0] = source.schedule
            return change(source)

        async with self.store.transaction():
            changed = await self.store.sources.update_many(source_ids, note_and_change)
            for source in changed:
                if action is BulkAction.SCHEDULE:
                    was, now = ({"schedule": cron} for cron in (before[source.id or 0], source.schedule))
                    await self.record(by, AuditAction.SOURCE_EDIT, source.name, before=was, after=now)
                else:
                    detail = {"tag": tag} if action in (BulkAction.TAG, BulkAction.UNTAG) else {}
                    await self.record(by, AuditAction(f"source.{action}"), source.name, **detail)
        return changed

    def _plan_change(self, action: BulkAction, tag: str, schedule: str) -> Callable[[Source], dict[str, Any]]:
        """Return what gives the changed fields of a source; `UsageError` where the tag or the schedule is none."""
        if action is BulkAction.SCHEDULE:
            cron = parse_written_schedule(schedule)
            if cron is not None:
                check_schedule(cron, self.timezone)
            return lambda _: {"schedule": cron}
        if action in (BulkAction.ENABLE, BulkAction.DISABLE):
            return lambda _: {"enabled": action is BulkAction.ENABLE}
        if not tag:
            raise UsageError("source.tag_missing")
        kept = [tag] if action is BulkAction.TAG else []
        return lambda source: {
            "tags": source.tags
            if tag in source.tags and kept
            else [*(other for other in source.tags if other != tag), *kept]
        }

    async def _remove_many(self, source_ids: Collection[int], by: Actor) -> list[Source]:
        async with self.store.transaction():
            known = {source.id for source in await self.store.sources.list()}
            return [await self.remove(source_id, by=by) for source_id in sorted(source_ids) if source_id in known]

    async def plan_import(self, source_list: "SourceList") -> "ImportPlan":
        """Return what would become of each row of a list."""
        from monitor.services.sources.importing import plan_import

        return plan_import(source_list, await self.store.sources.list(), build=self._build_source)

    async def import_list(self, source_list: "SourceList", *, by: Actor, team_id: int | None = None) -> "ImportPlan":
        """Add the sources of a list that are good and new, for a team or for all; the plan says which were not."""
        by.require(Role.ADMIN)
        choose_eyes(team_id)
        async with self.store.transaction():
            plan = await self.plan_import(source_list)
            for source in plan.sources:
                source.team_id = team_id
            plan.sources = await self.store.sources.add_all(plan.sources)
            for source in plan.sources:
                await self.record(by, AuditAction.SOURCE_IMPORT, source.name, after=dump_form_values(source))
        return plan

    async def export(self, list_format: str) -> bytes:
        from monitor.services.sources.exchange import format_sources
        from monitor.services.sources.tables import SourceListFormat

        if list_format not in set(SourceListFormat):
            raise UsageError("source.unknown_list_format", format=list_format)
        sources = list(reversed(await self.store.sources.list()))
        return await asyncio.to_thread(format_sources, sources, SourceListFormat(list_format))

    async def seed(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        return await self.store.sources.seed([self._build_source(row) for row in rows])

    def _build_source(self, values: Mapping[str, Any]) -> Source:
        """Build a new source: one that does not say when it runs gets the default schedule."""
        values = {"schedule": DEFAULT_SCHEDULE, **values}
        return build_source(values, now=self.clock.now(), timezone=self.timezone)

    def _build_schema(self, source: Source, activity: SourceActivity) -> SourceSchema:
        resting_until = find_rest_end(source, self.clock.now())
        return SourceSchema(
            **source.model_dump(),
            state=self._get_status(source, activity),
            resting_until=resting_until,
            next_run_at=find_next_run(source, resting_until or self.clock.now(), timezone=self.timezone),
            run_id=activity.unfinished_runs.get(source.id),
            open_alarms=activity.open_alarms.get(source.id or 0, 0),
        )

    def _get_status(self, source: Source | SourceHead, activity: SourceActivity) -> SourceStatus:
        if not source.enabled:
            return SourceStatus.DISABLED
        if find_rest_end(source, self.clock.now()) is not None:
            return SourceStatus.RESTING
        if source.consecutive_failures:
            return SourceStatus.FAILING
        if activity.open_alarms.get(source.id or 0, 0):
            return SourceStatus.ALARM
        return SourceStatus.NEW if source.last_run_at is None else SourceStatus.FINE


def change_sections(
    pinned: Sequence[PinnedSection], change: SectionChange, chosen: Sequence[PinnedSection]
) -> list[PinnedSection]:
    """Return the pinned sections after a change; they are read in this order."""
    keys = {url_key(section.url) for section in chosen}
    sections = list(pinned)
    match change:
        case SectionChange.PIN:
            there = {url_key(section.url) for section in pinned}
            return sections + [section for section in chosen if url_key(section.url) not in there]
        case SectionChange.UNPIN:
            return [section for section in sections if url_key(section.url) not in keys]
    places = range(len(sections)) if change is SectionChange.UP else range(len(sections) - 1, -1, -1)
    step = -1 if change is SectionChange.UP else 1
    for place in places:
        if url_key(sections[place].url) in keys and 0 <= place + step < len(sections):
            sections[place], sections[place + step] = sections[place + step], sections[place]
    return sections


def _matches_filter(source: SourceHead, source_filter: SourceFilter) -> bool:
    fields = [field.casefold() for field in (source.name, source.url, *source.tags)]
    return (
        all(any(word.casefold() in field for field in fields) for word in split_query(source_filter.text))
        and (not source_filter.tag or source_filter.tag in source.tags)
        and source_filter.kind in (None, source.kind)
    )


MAX_BACKOFF = dt.timedelta(hours=20)  # shorter than a day, so that a source that is planned daily is tried every day
_INITIAL_BACKOFF = dt.timedelta(hours=1)


def get_backoff_end(source: Source | SourceHead) -> dt.datetime | None:
    """Return when a failing source's rest ends: it doubles from an hour, after the second failure, to twenty hours."""
    if source.consecutive_failures < 2 or source.last_run_at is None:
        return None
    rest = _INITIAL_BACKOFF * int(2 ** min(source.consecutive_failures - 2, 10))
    return source.last_run_at + min(rest, MAX_BACKOFF)


def find_rest_end(source: Source | SourceHead, now: dt.datetime) -> dt.datetime | None:
    """Return until when a failing source rests; None for one that does not rest now.

    A last run that lies ahead of now failed under a clock that was wrong, which may be why it failed: no rest for that.
    """
    until = get_backoff_end(source)
    if until is None or until <= now or (source.last_run_at is not None and source.last_run_at > now):
        return None
    return until


def find_next_run(source: Source, after: dt.datetime, *, timezone: str) -> dt.datetime | None:
    """Return the next planned time; None for a source without a schedule, and for a disabled one."""
    if not source.enabled or source.schedule is None:
        return None
    try:
        return find_next_fire_time(source.schedule, source.timezone or timezone, after)
    except UsageError:  # stored by an older version, which took it
        return None
