"""The store: one database, and what can be asked of it by subject."""

import asyncio
import datetime as dt
from types import TracebackType

from sqlalchemy.ext.asyncio import AsyncEngine

from monitor.domain import desk, live, marks  # noqa: F401 -- their tables belong to the schema
from monitor.domain.tables import Run, Source
from monitor.store import migrate
from monitor.store.address import DatabaseAddress
from monitor.store.alarms import Alarms
from monitor.store.audit import Audit
from monitor.store.briefings import Briefings
from monitor.store.deliveries import Deliveries
from monitor.store.desk_settings import DeskSettings, Prompts
from monitor.store.engines import open_async_engine
from monitor.store.evidence import Evidence
from monitor.store.executors import Executors, Leases
from monitor.store.failure import explained, not_migrated
from monitor.store.figures import Figures
from monitor.store.fulltext import FullText
from monitor.store.history import History
from monitor.store.items import Items
from monitor.store.lending import Memory, lend, lend_again, memory_of
from monitor.store.live import Live
from monitor.store.marks import Marks
from monitor.store.outlook import Outlook
from monitor.store.patience import PATIENCE_S
from monitor.store.people import People
from monitor.store.research import Researches
from monitor.store.research_events import ResearchEvents
from monitor.store.retention import Retention
from monitor.store.revisions import Revisions
from monitor.store.runs import Runs
from monitor.store.schedules import Schedules
from monitor.store.searches import Searches
from monitor.store.sections import Sections
from monitor.store.sessions import Sessions
from monitor.store.sources import Sources
from monitor.store.tokens import Tokens
from monitor.store.usage import UsageLedger


class Store:
    """The database of the service, SQLite or PostgreSQL.

    Every method of its subjects is one short transaction, and raises `DatabaseError` with one clear sentence where the
    database cannot be reached or has another schema.
    """

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._engine = engine
        self._address = address
        self.sessions = sessions = Sessions(engine, address)
        self.sources = Sources(sessions)
        self.sections = Sections(sessions)
        self.runs = Runs(sessions)
        self.history = History(sessions)
        self.live = Live(sessions)
        self.research = Researches(sessions)
        self.research_events = ResearchEvents(sessions)
        self.executors = Executors(sessions)
        self.leases = Leases(sessions)
        self.schedules = Schedules(sessions)
        self.people = People(sessions)
        self.tokens = Tokens(sessions)
        self.audit = Audit(sessions)
        self.figures = Figures(sessions)
        self.outlook = Outlook(sessions)
        self.items = Items(sessions)
        self.fulltext = FullText(sessions)
        self.marks = Marks(sessions)
        self.revisions = Revisions(sessions)
        self.alarms = Alarms(sessions)
        self.briefings = Briefings(sessions)
        self.deliveries = Deliveries(sessions)
        self.evidence = Evidence(sessions)
        self.retention = Retention(sessions)
        self.usage = UsageLedger(sessions)
        self.searches = Searches(sessions)
        self.desk_settings = DeskSettings(sessions)
        self.prompts = Prompts(sessions)

    @classmethod
    def open(cls, url: str, *, patience_s: float = PATIENCE_S) -> "Store":
        """The store at a `database_url`; nothing is connected before it is first asked.

        A database that goes away after `check` found it well is waited for, for `patience_s` at most.
        `DatabaseError` where the url names no database that the service can use.
        """
        address = DatabaseAddress.parse(url)
        return cls(open_async_engine(address), address, patience_s=patience_s)

    async def check(self) -> None:
        """See that the database answers and has the tables of this version, else `DatabaseError` says what to do.

        A SQLite database that is not there yet, or is empty, is created and migrated.
        """
        if self._address.file is not None:
            await asyncio.to_thread(migrate.create_if_empty, self._address.text)
        with explained(self._address):
            async with self._engine.connect() as connection:
                found = await connection.run_sync(migrate.revision_of)
        if found != migrate.head():
            raise not_migrated(self._address)
        self.sessions.patience_s = self._patience_s

    async def lend(self, source: Source, to: "Store") -> Source:
        """Give another store what is known of a source, for a trial; answers the source as that store has it."""
        return await lend(source, self.sessions, to.sessions)

    async def memory(self, source_id: int) -> Memory:
        """What is remembered of a source now."""
        return await memory_of(source_id, self.sessions)

    async def lend_again(self, source: Source, memory: Memory, run: Run, *, at: dt.datetime, to: "Store") -> None:
        """Put another store into the state in which a run found a source, for a replay."""
        await lend_again(source, memory, run, at=at, origin=self.sessions, target=to.sessions)

    async def close(self) -> None:
        """Close all connections; the store may be used again afterwards and then opens new ones."""
        await self._engine.dispose()

    async def __aenter__(self) -> "Store":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
