"""The store: one database, and what can be asked of it by subject."""

import asyncio
import datetime as dt
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_async_engine
from monitor.db.fulltext import FullTextQueries
from monitor.db.queries.alarms import AlarmStore
from monitor.db.queries.audit import AuditStore, PromptStore, SettingsStore
from monitor.db.queries.briefings import BriefingStore, DeliveryStore
from monitor.db.queries.dashboard import DashboardQueries
from monitor.db.queries.evidence import EvidenceStore, RevisionStore
from monitor.db.queries.history import RunHistoryQueries
from monitor.db.queries.items import ItemStore, MarkStore
from monitor.db.queries.people import PeopleStore, TokenStore
from monitor.db.queries.research import ResearchEventStore, ResearchStore
from monitor.db.queries.retention import RetentionStore
from monitor.db.queries.runs import RunEventStore, RunStore
from monitor.db.queries.sections import (
    SectionStore,
    SourceMemory,
    copy_source,
    export_source_memory,
    import_source_memory,
)
from monitor.db.queries.service import ExecutorStore, LeaseStore, MetricsQueries, ScheduleStore
from monitor.db.queries.sources import SourceStore
from monitor.db.queries.usage import SearchStore, UsageStore
from monitor.db.sessions import DEFAULT_MAX_RETRY_S, SessionFactory, build_not_migrated_error, translate_errors
from monitor.db.tables.collection import Run, Source


class Store:
    """The database of the service, SQLite or PostgreSQL.

    Every method of its subjects is one short transaction, and raises `DatabaseError` with one clear sentence where the
    database cannot be reached or has another schema.
    """

    def __init__(
        self, engine: AsyncEngine, address: DatabaseAddress, *, max_retry_s: float = DEFAULT_MAX_RETRY_S
    ) -> None:
        self._max_retry_s = max_retry_s
        self._engine = engine
        self._address = address
        self.sessions = sessions = SessionFactory(engine, address)
        self.sources = SourceStore(sessions)
        self.sections = SectionStore(sessions)
        self.runs = RunStore(sessions)
        self.history = RunHistoryQueries(sessions)
        self.run_events = RunEventStore(sessions)
        self.research = ResearchStore(sessions)
        self.research_events = ResearchEventStore(sessions)
        self.executors = ExecutorStore(sessions)
        self.leases = LeaseStore(sessions)
        self.schedules = ScheduleStore(sessions)
        self.people = PeopleStore(sessions)
        self.tokens = TokenStore(sessions)
        self.audit = AuditStore(sessions)
        self.metrics = MetricsQueries(sessions)
        self.dashboard = DashboardQueries(sessions)
        self.items = ItemStore(sessions)
        self.fulltext = FullTextQueries(sessions)
        self.marks = MarkStore(sessions)
        self.revisions = RevisionStore(sessions)
        self.alarms = AlarmStore(sessions)
        self.briefings = BriefingStore(sessions)
        self.deliveries = DeliveryStore(sessions)
        self.evidence = EvidenceStore(sessions)
        self.retention = RetentionStore(sessions)
        self.usage = UsageStore(sessions)
        self.searches = SearchStore(sessions)
        self.settings = SettingsStore(sessions)
        self.prompts = PromptStore(sessions)

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

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """One transaction around several methods of the store: all is kept, or nothing; no network inside."""
        return self.sessions.transaction()

    async def copy_source(self, source: Source, to: "Store") -> Source:
        """Give another store what is known of a source, for a trial; answers the source as that store has it."""
        return await copy_source(source, self.sessions, to.sessions)

    async def export_source_memory(self, source_id: int) -> SourceMemory:
        """What is remembered of a source now."""
        return await export_source_memory(source_id, self.sessions)

    async def import_source_memory(
        self, source: Source, memory: SourceMemory, run: Run, *, at: dt.datetime, to: "Store"
    ) -> None:
        """Put another store into the state in which a run found a source, for a replay."""
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
