"""Captures, looked up and added by blocking calls in a thread.

A transaction by way of asyncio changes threads for each of its statements, a dozen times or more; here it does so once.
Every page that a run fetches comes this way.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import Connection, Engine, Insert, Table, delete, select, tuple_
from sqlmodel import SQLModel

from monitor.db.engines import make_write_engine, open_thread_engine
from monitor.db.sessions import Queries, SessionFactory, build_insert, translate_errors
from monitor.db.tables.evidence import EvidenceFile, EvidenceRecord

T = TypeVar("T")

_FILES, _RECORDS = SQLModel.metadata.tables["evidence_file"], SQLModel.metadata.tables["record"]
_PLACE = tuple_(_FILES.c.location, _FILES.c.offset)


class CaptureStore(Queries):
    """Where bodies lie in the files of evidence. Methods wait for a database that is gone, as those of others do."""

    def __init__(self, sessions: SessionFactory) -> None:
        super().__init__(sessions)
        self._engine: Engine | None = None

    async def find(self, sha256: str) -> list[EvidenceFile]:
        """Return all captures of a body: one, but for bodies that two processes met at once."""
        query = select(_FILES).where(_FILES.c.sha256 == sha256)

        def run(connection: Connection) -> list[EvidenceFile]:
            return [EvidenceFile(**row) for row in connection.execute(query).mappings()]

        return await self._call(run, writes=False)

    async def add(
        self,
        captures: Sequence[EvidenceFile],
        records: Sequence[EvidenceRecord],
        *,
        instead_of: Sequence[EvidenceFile] = (),
    ) -> None:
        """Store captures with the records that rest on them, in place of captures that are damaged or were moved."""
        gone = [(capture.location, capture.offset) for capture in instead_of]

        def run(connection: Connection) -> None:
            if gone:
                connection.execute(delete(_FILES).where(_PLACE.in_(gone)))
            if captures:
                connection.execute(_build_insert(connection, _FILES), [capture.model_dump() for capture in captures])
            if records:
                connection.execute(_build_insert(connection, _RECORDS), [record.model_dump() for record in records])

        await self._call(run, writes=True)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    async def _call(self, work: Callable[[Connection], T], *, writes: bool) -> T:
        if self._engine is None:
            self._engine = open_thread_engine(self._sessions.address)
        engine = make_write_engine(self._engine) if writes else self._engine

        def call() -> T:
            with translate_errors(self._sessions.address), engine.begin() as connection:
                return work(connection)

        return await asyncio.to_thread(call)


def _build_insert(connection: Connection, table: Table) -> Insert:
    # Again after a connection that was lost, rows may be there already.
    return build_insert(connection.dialect.name, table).on_conflict_do_nothing()
