"""Who is at work: the processes that carry out runs, and the duties that one of them has at a time."""

import datetime as dt

from sqlalchemy import delete, select, update
from sqlmodel import col

from monitor.domain.service import Executor, Lease
from monitor.store.sessions import Sessions, dialect_of, insert_for, insert_or

_CHANGING = ("kind", "host", "pid", "token", "started_at", "seen_at")


class Executors:
    """The processes that said that they are alive."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def beat(self, executor: Executor) -> None:
        """Say that a process is alive; a new one takes the place of a namesake."""
        async with self._sessions.writing() as session:
            await insert_or(session, Executor, [executor.model_dump()], key=["id"], update=_CHANGING)

    async def remove(self, executor_id: str, *, token: str) -> None:
        """Strike a process out; one that has taken its name meanwhile stays."""
        mine = (col(Executor.id) == executor_id, col(Executor.token) == token)
        async with self._sessions.writing() as session:
            await session.execute(delete(Executor).where(*mine))

    async def forget(self, before: dt.datetime) -> None:
        """Strike out those that were last seen before an instant."""
        async with self._sessions.writing() as session:
            await session.execute(delete(Executor).where(col(Executor.seen_at) < before))

    async def all(self) -> list[Executor]:
        """Every process that did not end in good order, alive or not."""
        async with self._sessions.reading() as session:
            return list((await session.scalars(select(Executor).order_by(col(Executor.id)))).all())


class Leases:
    """Duties. No clock is compared: whoever waits watches whether the holder's mark still changes."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def get(self, name: str) -> Lease | None:
        """Who has the duty, with the mark of the last renewal; None where nobody has."""
        async with self._sessions.reading() as session:
            return await session.get(Lease, name)

    async def renew(self, name: str, holder: str, *, at: dt.datetime) -> bool:
        """Keep a duty that one has; False where it is not one's own (any more)."""
        mine = (col(Lease.name) == name, col(Lease.holder) == holder)
        statement = update(Lease).where(*mine).values(renewed_at=at).returning(col(Lease.name))
        async with self._sessions.writing() as session:
            return await session.scalar(statement) is not None

    async def take(self, name: str, holder: str, *, at: dt.datetime, seen: Lease | None) -> bool:
        """Take a duty as it was last seen: free, or with a holder that has not renewed since. False if it moved."""
        async with self._sessions.writing() as session:
            if seen is None:
                row = {"name": name, "holder": holder, "renewed_at": at}
                statement = (
                    insert_for(dialect_of(session), Lease).values(row).on_conflict_do_nothing(index_elements=["name"])
                )
                return await session.scalar(statement.returning(col(Lease.name))) is not None
            same = (col(Lease.name) == name, col(Lease.holder) == seen.holder, col(Lease.renewed_at) == seen.renewed_at)
            change = update(Lease).where(*same).values(holder=holder, renewed_at=at).returning(col(Lease.name))
            return await session.scalar(change) is not None

    async def give_up(self, name: str, holder: str) -> None:
        """Leave a duty, so that the next one need not wait."""
        async with self._sessions.writing() as session:
            await session.execute(delete(Lease).where(col(Lease.name) == name, col(Lease.holder) == holder))
