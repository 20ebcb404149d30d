"""The sources, their settings and their health."""

import datetime as dt
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Text, cast, func, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.daily_totals import rename_source_totals
from monitor.db.sessions import Queries, build_insert, get_dialect, split_batches, upsert_rows
from monitor.db.tables.collection import Item, Run, SeededSource, Source
from monitor.db.tables.delivery import Alarm
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.vocabulary import RunStatus, SourceKind

_SUCCESSES = (RunStatus.SUCCEEDED, RunStatus.DEGRADED)
_IMMUTABLE_FIELDS = ("id", "created_at")


class SourceHead(NamedTuple):
    """What a list of all sources is filtered and sorted by."""

    id: int
    name: str
    url: str
    kind: SourceKind
    tags: Sequence[str]
    enabled: bool
    consecutive_failures: int
    last_run_at: dt.datetime | None


class SourceActivity(NamedTuple):
    """How many alarms of a source are open, and the latest run of it that has not ended, by the source's id."""

    open_alarms: dict[int, int]
    unfinished_runs: dict[int | None, str]


class SourceStore(Queries):
    async def get(self, name: str) -> Source | None:
        return await self._fetch_first(select(Source).where(col(Source.name) == name))

    async def get_by_id(self, source_id: int) -> Source | None:
        """The source of that id, which stays when the name changes."""
        return await self._get(Source, source_id)

    async def add(self, source: Source) -> Source:
        """Add a source; `Conflict` where its name is taken."""
        return (await self.add_all([source]))[0]

    async def add_all(self, sources: Sequence[Source]) -> list[Source]:
        """Add sources; `Conflict`, and none is added, where a name is taken."""
        added = []
        async with self._sessions.begin_write() as session:
            for source in sources:
                new = await _insert(session, source)
                if new is None:
                    raise _build_name_conflict(source.name)
                added.append(new)
        return added

    async def update_many(
        self, source_ids: Collection[int], changes: Callable[[Source], Mapping[str, Any]]
    ) -> list[Source]:
        """Change those of the sources for which `changes` says something new; returns them as they are then."""
        changed = []
        async with self._sessions.begin_write() as session:
            for batch in split_batches(sorted(source_ids)):
                for source in await session.scalars(select(Source).where(col(Source.id).in_(batch))):
                    values = {
                        field: value for field, value in changes(source).items() if getattr(source, field) != value
                    }
                    source.sqlmodel_update(values)
                    if values:
                        changed.append(source)
        return changed

    async def update(self, name: str, /, **changes: Any) -> Source:
        """Change fields of a source; `NotFound` where no source has that name, `Conflict` where the new one is taken.

        Its items and runs take a new name over.
        """
        unknown = [field for field in changes if field not in Source.model_fields or field in _IMMUTABLE_FIELDS]
        if unknown:
            raise UsageError("source.unknown_field", name=repr(unknown[0]))
        async with self._sessions.begin_write() as session:
            source = await _find_by_name(session, name)
            if source is None:
                raise NotFound("source.unknown", name=repr(name))
            new_name = changes.get("name", name)
            if new_name != name:
                if await _find_by_name(session, new_name) is not None:
                    raise _build_name_conflict(new_name)
                for table in (Item, Run):
                    mine = update(table).where(col(table.source_id) == source.id)
                    await session.execute(mine.values(source=new_name))
                await rename_source_totals(session, name, new_name)
            source.sqlmodel_update(changes)
            return source

    async def remove(self, name: str) -> bool:
        """Delete a source and what was known of its urls; items and runs stay. False where it does not exist."""
        async with self._sessions.begin_write() as session:
            source = await _find_by_name(session, name)
            if source is None:
                return False
            await session.delete(source)
            return True

    async def seed(self, sources: Sequence[Source]) -> list[str]:
        """Create the sources of the configuration that were never created before; returns the names of the new ones.

        The names are remembered, so that a deleted source does not come back at the next start.
        """
        async with self._sessions.begin_write() as session:
            seeded = set((await session.scalars(select(col(SeededSource.name)))).all())
            created = [
                source.name
                for source in sources
                if source.name not in seeded and await _insert(session, source) is not None
            ]
            rows = [{"name": source.name} for source in sources]
            await upsert_rows(session, SeededSource, rows, key=["name"])
        return created

    async def list(self, *, only_enabled: bool = False, tag: str | None = None) -> list[Source]:
        """All sources, newest first, or only those that are enabled or have a tag."""
        query = select(Source).order_by(col(Source.created_at).desc(), col(Source.id).desc())
        if only_enabled:
            query = query.where(col(Source.enabled))
        return [source for source in await self._fetch_all(query) if tag is None or tag in source.tags]

    async def list_heads(self) -> Sequence[SourceHead]:
        """The heads of all sources, the newest first; a thousand of them take a tenth of what whole sources take."""
        query: Select[*tuple[Any, ...]] = select(*(getattr(Source, name) for name in SourceHead._fields))
        return [SourceHead(*row) for row in await self._fetch_rows(query.order_by(col(Source.id).desc()))]

    async def load(self, source_ids: Sequence[int]) -> Sequence[Source]:
        """Those of the sources that are there, in the order of the ids."""
        found = {source.id: source for source in await self._fetch_in(select(Source), col(Source.id), source_ids)}
        return [found[source_id] for source_id in source_ids if source_id in found]

    async def list_tags(self) -> set[str]:
        lists = await self._fetch_all(select(cast(col(Source.tags), Text)).distinct())  # the database compares no JSON
        return {tag for tags in lists for tag in json.loads(tags)}

    async def load_activity(self) -> SourceActivity:
        alarms = select(col(Alarm.source_id), func.count()).where(col(Alarm.cleared_at).is_(None))
        runs = select(col(Run.source_id), col(Run.id), col(Run.planned_at)).where(is_unfinished())
        async with self._sessions.begin_read() as session:
            open_alarms = {row[0]: row[1] for row in await session.execute(alarms.group_by(col(Alarm.source_id)))}
            rows = sorted(await session.execute(runs), key=itemgetter(2))
            return SourceActivity(open_alarms, {source_id: run_id for source_id, run_id, _ in rows})


def is_unfinished() -> ColumnElement[bool]:
    """Whether a run waits or is at work.

    Each status is looked up for itself: a planner that only knows the average would rather read the runs of all years.
    """
    waiting, running = (
        select(col(Run.id)).where(col(Run.status) == status) for status in (RunStatus.QUEUED, RunStatus.RUNNING)
    )
    return col(Run.id).in_(union_all(waiting, running))


async def record_run(
    session: AsyncSession, source_id: int, *, at: dt.datetime, status: RunStatus, has_new: bool, error: Message | None
) -> None:
    """Record a run that ended at `at` in the source's health.

    A degraded run is a success. A cancelled one only counts as the last run.
    """
    changes: dict[str, Any] = {"last_run_at": at}
    if status in _SUCCESSES:
        changes |= {"last_success_at": at, "consecutive_failures": 0, "last_error": error}
    elif status is RunStatus.FAILED:
        changes |= {"consecutive_failures": col(Source.consecutive_failures) + 1, "last_error": error}
    if has_new and status is not RunStatus.CANCELLED:
        changes["last_new_item_at"] = at
    await session.execute(update(Source).where(col(Source.id) == source_id).values(**changes))


async def _find_by_name(session: AsyncSession, name: str) -> Source | None:
    return await session.scalar(select(Source).where(col(Source.name) == name))


async def _insert(session: AsyncSession, source: Source) -> Source | None:
    # One statement: where two processes add the same name at once, one gets None and neither an error.
    statement = build_insert(get_dialect(session), Source).values(source.model_dump(exclude={"id"}))
    new_id = await session.scalar(statement.on_conflict_do_nothing(index_elements=["name"]).returning(col(Source.id)))
    return None if new_id is None else await session.get_one(Source, new_id)


def _build_name_conflict(name: str) -> Conflict:
    return Conflict("source.name_taken", name=repr(name))
