"""Captures, looked up and added by blocking calls in a thread.

A transaction by way of asyncio changes threads for each of its statements, a dozen times or more; here it does so once.
Every page that a run fetches comes this way.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from sqlalchemy import Engine, Insert, bindparam, delete, func, select, tuple_
from sqlmodel import SQLModel

from monitor.db.engines import make_write_engine, open_thread_engine
from monitor.db.sessions import Queries, SessionFactory, build_insert, translate_errors
from monitor.db.tables.evidence import EvidenceFile, EvidenceRecord

T = TypeVar("T")

_FILES = SQLModel.metadata.tables["evidence_file"]
_FIND = select(_FILES).where(_FILES.c.sha256 == bindparam("sha256"))
_FIND_END = select(func.max(_FILES.c.offset + _FILES.c.length)).where(_FILES.c.location == bindparam("location"))


class CaptureTable:
    """Where bodies lie in the files of evidence; each call is a transaction of its own, and blocks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writer = make_write_engine(engine)

    def find(self, sha256: str) -> list[EvidenceFile]:
        """Return all captures of a body: one, but for bodies that two processes met at once."""
        with self._engine.connect() as connection:
            return [EvidenceFile(**row) for row in connection.execute(_FIND, {"sha256": sha256}).mappings()]

    def find_end(self, location: str) -> int:
        """Return where the last capture in a file ends: what lies behind that is nobody's."""
        with self._engine.connect() as connection:
            return connection.scalar(_FIND_END, {"location": location}) or 0

    def add(
        self,
        captures: Sequence[EvidenceFile],
        records: Sequence[EvidenceRecord],
        *,
        instead_of: Sequence[EvidenceFile] = (),
    ) -> None:
        """Store captures with the records that rest on them, in place of captures that are damaged or were moved."""
        gone = [(capture.location, capture.offset) for capture in instead_of]
        with self._writer.begin() as connection:
            if gone:
                connection.execute(delete(_FILES).where(tuple_(_FILES.c.location, _FILES.c.offset).in_(gone)))
            for name, rows in (("evidence_file", captures), ("record", records)):
                if rows:
                    insert = _build_insert(connection.dialect.name, name)
                    connection.execute(insert, [row.model_dump() for row in rows])


@cache
def _build_insert(dialect: str, name: str) -> Insert:
    # Again after a connection that was lost, rows may be there already.
    return build_insert(dialect, SQLModel.metadata.tables[name]).on_conflict_do_nothing()


class CaptureStore(Queries):
    """The table of captures for those who await; a call waits for a database that is gone, and then starts over."""

    def __init__(self, sessions: SessionFactory) -> None:
        super().__init__(sessions)
        self._engine: Engine | None = None
        self._table: CaptureTable | None = None

    async def call(self, work: Callable[[CaptureTable], T]) -> T:
        """Do blocking work with the table in a thread."""
        if self._table is None:
            self._engine = open_thread_engine(self._sessions.address)
            self._table = CaptureTable(self._engine)
        return await asyncio.to_thread(self._call_now, work, self._table)

    async def find(self, sha256: str) -> list[EvidenceFile]:
        return await self.call(lambda table: table.find(sha256))

    async def add(
        self,
        captures: Sequence[EvidenceFile],
        records: Sequence[EvidenceRecord],
        *,
        instead_of: Sequence[EvidenceFile] = (),
    ) -> None:
        await self.call(lambda table: table.add(captures, records, instead_of=instead_of))

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    def _call_now(self, work: Callable[[CaptureTable], T], table: CaptureTable) -> T:
        with translate_errors(self._sessions.address):
            return work(table)
