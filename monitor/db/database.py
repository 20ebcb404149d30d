"""The store: one database, and what can be asked of it by subject."""

import asyncio
import datetime as dt
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Generic, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_async_engine
from monitor.db.sessions import DEFAULT_MAX_RETRY_S, SessionFactory, build_not_migrated_error, translate_errors
from monitor.db.tables.collection import Run, Source

if TYPE_CHECKING:
    from monitor.db.fulltext import FullTextQueries
    from monitor.db.queries.alarms import AlarmStore
    from monitor.db.queries.briefings import BriefingStore, DeliveryStore
    from monitor.db.queries.dashboard import DashboardQueries
    from monitor.db.queries.evidence import EvidenceStore, RevisionStore
    from monitor.db.queries.history import RunHistoryQueries
    from monitor.db.queries.items import ItemStore, MarkStore
    from monitor.db.queries.people import AuditStore, PeopleStore, PromptStore, SettingsStore, TokenStore
    from monitor.db.queries.research import ResearchEventStore, ResearchStore
    from monitor.db.queries.retention import RetentionStore
    from monitor.db.queries.runs import RunEventStore, RunStore
    from monitor.db.queries.sections import SectionStore, SourceMemory
    from monitor.db.queries.service import ExecutorStore, LeaseStore, MetricsQueries, ScheduleStore
    from monitor.db.queries.sources import SourceStore
    from monitor.db.queries.usage import SearchStore, UsageStore


T = TypeVar("T")


class _Queries(Generic[T]):
    """The queries of one subject, built when a store is first asked for them: a command pays for the tables it uses.

    `path` is that of their class below monitor.db.
    """

    def __init__(self, path: str) -> None:
        self._module, _, self._class_name = path.rpartition(".")

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, store: "Store", owner: type) -> T:
        queries: T = getattr(import_module(f"monitor.db.{self._module}"), self._class_name)(store.sessions)
        store.__dict__[self._name] = queries  # found there from now on
        return queries


class Store:
    """The database of the service, SQLite or PostgreSQL.

    Every method of its subjects is one short transaction, and raises `DatabaseError` with one clear sentence where the
    database cannot be reached or has another schema.
    """

    sources: "_Queries[SourceStore]" = _Queries("queries.sources.SourceStore")
    sections: "_Queries[SectionStore]" = _Queries("queries.sections.SectionStore")
    runs: "_Queries[RunStore]" = _Queries("queries.runs.RunStore")
    history: "_Queries[RunHistoryQueries]" = _Queries("queries.history.RunHistoryQueries")
    run_events: "_Queries[RunEventStore]" = _Queries("queries.runs.RunEventStore")
    research: "_Queries[ResearchStore]" = _Queries("queries.research.ResearchStore")
    research_events: "_Queries[ResearchEventStore]" = _Queries("queries.research.ResearchEventStore")
    executors: "_Queries[ExecutorStore]" = _Queries("queries.service.ExecutorStore")
    leases: "_Queries[LeaseStore]" = _Queries("queries.service.LeaseStore")
    schedules: "_Queries[ScheduleStore]" = _Queries("queries.service.ScheduleStore")
    people: "_Queries[PeopleStore]" = _Queries("queries.people.PeopleStore")
    tokens: "_Queries[TokenStore]" = _Queries("queries.people.TokenStore")
    audit: "_Queries[AuditStore]" = _Queries("queries.people.AuditStore")
    metrics: "_Queries[MetricsQueries]" = _Queries("queries.service.MetricsQueries")
    dashboard: "_Queries[DashboardQueries]" = _Queries("queries.dashboard.DashboardQueries")
    items: "_Queries[ItemStore]" = _Queries("queries.items.ItemStore")
    fulltext: "_Queries[FullTextQueries]" = _Queries("fulltext.FullTextQueries")
    marks: "_Queries[MarkStore]" = _Queries("queries.items.MarkStore")
    revisions: "_Queries[RevisionStore]" = _Queries("queries.evidence.RevisionStore")
    alarms: "_Queries[AlarmStore]" = _Queries("queries.alarms.AlarmStore")
    briefings: "_Queries[BriefingStore]" = _Queries("queries.briefings.BriefingStore")
    deliveries: "_Queries[DeliveryStore]" = _Queries("queries.briefings.DeliveryStore")
    evidence: "_Queries[EvidenceStore]" = _Queries("queries.evidence.EvidenceStore")
    retention: "_Queries[RetentionStore]" = _Queries("queries.retention.RetentionStore")
    usage: "_Queries[UsageStore]" = _Queries("queries.usage.UsageStore")
    searches: "_Queries[SearchStore]" = _Queries("queries.usage.SearchStore")
    settings: "_Queries[SettingsStore]" = _Queries("queries.people.SettingsStore")
    prompts: "_Queries[PromptStore]" = _Queries("queries.people.PromptStore")

    def __init__(
        self, engine: AsyncEngine, address: DatabaseAddress, *, max_retry_s: float = DEFAULT_MAX_RETRY_S
    ) -> None:
        self._max_retry_s = max_retry_s
        self._engine = engine
        self._address = address
        self.sessions = SessionFactory(engine, address)
        self.transaction = self.sessions.transaction

    @classmethod
    def open(cls, url: str, *, max_retry_s: float = DEFAULT_MAX_RETRY_S) -> "Store":
        """The store at a `database_url`; nothing is connected before it is first asked.

        A database that goes away after `check` found it well is waited for, for `max_retry_s` at most.
        `DatabaseError` where the url names no database that the service can use.
        """
        address = DatabaseAddress.parse(url)
        return cls(open_async_engine(address), address, max_retry_s=max_retry_s)

    async def check(self) -> None:
        """See that the database answers and has the tables of this version, else `DatabaseError` says what to do.

        A SQLite database that is not there yet, or is empty, is created and migrated.
        """
        if self._address.file is not None:
            await asyncio.to_thread(migrate.create_if_empty, self._address.full_url)
        with translate_errors(self._address):
            async with self._engine.connect() as connection:
                found = await connection.run_sync(migrate.read_revision)
        if found != migrate.get_head_revision():
            raise build_not_migrated_error(self._address)
        self.sessions.max_retry_s = self._max_retry_s

    async def copy_source(self, source: Source, to: "Store") -> Source:
        """Give another store what is known of a source, for a trial; answers the source as that store has it."""
        from monitor.db.queries.sections import copy_source

        return await copy_source(source, self.sessions, to.sessions)

    async def export_source_memory(self, source_id: int) -> "SourceMemory":
        """What is remembered of a source now."""
        from monitor.db.queries.sections import export_source_memory

        return await export_source_memory(source_id, self.sessions)

    async def import_source_memory(
        self, source: Source, memory: "SourceMemory", run: Run, *, at: dt.datetime, to: "Store"
    ) -> None:
        """Put another store into the state in which a run found a source, for a replay."""
        from monitor.db.queries.sections import import_source_memory

        await import_source_memory(source, memory, run, at=at, origin=self.sessions, target=to.sessions)

    async def close(self) -> None:
        """Close all connections; the store may be used again afterwards and then opens new ones."""
        await self._engine.dispose()

    async def __aenter__(self) -> "Store":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
