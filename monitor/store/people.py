"""People, their sessions, and the sign-ins that failed.

Nothing here waits for a database that is gone: a person at a browser is better told at once.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from sqlalchemy import CursorResult, Executable, delete, func, insert, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.domain.people import Person, Session, SignInTry, Token
from monitor.domain.words import Role
from monitor.store.sessions import Sessions, alone, storable


class People:
    """Who may sign in, and where they did."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def of(self, name: str) -> Person | None:
        async with self._sessions.reading() as session:
            found = await session.get(Person, storable(name))
        return found if found is not None and found.name == name else None

    async def all(self) -> list[Person]:
        async with self._sessions.reading() as session:
            return list((await session.scalars(select(Person).order_by(col(Person.name)))).all())

    async def exist(self) -> bool:
        async with self._sessions.reading() as session:
            return await session.scalar(select(col(Person.name)).limit(1)) is not None

    async def is_guarded(self) -> bool:
        """Whether an administrator who may sign in has chosen a password."""
        query = select(col(Person.name)).where(
            col(Person.role) == Role.ADMIN, col(Person.is_one_time).is_(False), col(Person.is_shut_out).is_(False)
        )
        async with self._sessions.reading() as session:
            return await session.scalar(query.limit(1)) is not None

    async def add(self, person: Person) -> bool:
        """Keep a new person; False where a person or a token has the name, in capitals or not."""
        async with self._sessions.writing() as session:
            await alone(session)
            names = (await session.scalars(union_all(select(col(Person.name)), select(col(Token.name))))).all()
            if person.name.casefold() in {name.casefold() for name in names}:
                return False
            await session.execute(insert(Person), [person.model_dump()])
            return True

    async def add_first(self, person: Person) -> bool:
        """Keep the very first person; False where there is somebody."""
        async with self._sessions.writing() as session:
            await alone(session)
            if await session.scalar(select(col(Person.name)).limit(1)) is not None:
                return False
            await session.execute(insert(Person), [person.model_dump()])
            return True

    async def change(self, name: str, **columns: Any) -> None:
        """Change columns of a person; nothing that could leave the service without an administrator."""
        async with self._sessions.writing() as session:
            await session.execute(update(Person).where(col(Person.name) == name).values(**columns))

    async def set_password(self, name: str, password_hash: str, *, is_one_time: bool, keep: str | None = None) -> None:
        """A new password; all sessions of the person end but the one to be kept."""
        columns = {"password_hash": password_hash, "is_one_time": is_one_time}
        async with self._sessions.writing() as session:
            await session.execute(update(Person).where(col(Person.name) == name).values(**columns))
            await session.execute(_ending(name, keep=keep))

    async def limit(self, name: str, *, role: Role | None = None, is_shut_out: bool | None = None) -> bool:
        """Another role, or shut out or let in again; False, and no change, where no administrator would be left.

        Whoever is shut out has no session any more.
        """
        wanted = {"role": role, "is_shut_out": is_shut_out}
        columns = {column: value for column, value in wanted.items() if value is not None}
        others = select(func.count()).where(
            col(Person.role) == Role.ADMIN, col(Person.is_shut_out).is_(False), col(Person.name) != name
        )
        async with self._sessions.writing() as session:
            await alone(session)
            person = await session.get(Person, name)
            is_admin = person is not None and person.role is Role.ADMIN and not person.is_shut_out
            stays = role in (None, Role.ADMIN) and not is_shut_out
            if is_admin and not stays and not await session.scalar(others):
                return False
            await session.execute(update(Person).where(col(Person.name) == name).values(**columns))
            if is_shut_out:
                await session.execute(_ending(name))
            return True

    async def begin_session(self, begun: Session) -> None:
        """Keep a new session, and forget those that have expired."""
        values = begun.model_dump() | {"browser": storable(begun.browser), "address": storable(begun.address)[:64]}
        seen = update(Person).where(col(Person.name) == begun.person).values(last_seen_at=begun.created_at)
        async with self._sessions.writing() as session:
            await session.execute(delete(Session).where(col(Session.expires_at) <= begun.created_at))
            await session.execute(insert(Session), [values])
            await session.execute(seen)

    async def by_session(self, session_id: str, now: dt.datetime) -> tuple[Person, Session] | None:
        """Whose session it is; None where it is over, or the person was shut out."""
        query = (
            select(Person, Session)
            .join(Session, col(Session.person) == col(Person.name))
            .where(col(Session.id) == session_id, col(Session.expires_at) > now, col(Person.is_shut_out).is_(False))
        )
        async with self._sessions.reading() as session:
            row = (await session.execute(query)).first()
        return None if row is None else (row[0], row[1])

    async def seen(self, begun: Session, *, at: dt.datetime, expires_at: dt.datetime) -> None:
        """Take down that a session was used."""
        used = update(Session).where(col(Session.id) == begun.id).values(seen_at=at, expires_at=expires_at)
        async with self._sessions.writing() as session:
            await session.execute(used)
            await session.execute(update(Person).where(col(Person.name) == begun.person).values(last_seen_at=at))

    async def sessions_of(self, person: str | None, now: dt.datetime) -> list[Session]:
        """The sessions that are not over, last used first: of one person, or of everybody."""
        query = select(Session).where(col(Session.expires_at) > now).order_by(col(Session.seen_at).desc())
        if person is not None:
            query = query.where(col(Session.person) == person)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def end_session(self, session_id: str, *, person: str | None = None) -> Session | None:
        """End a session, of that person only where one is given; gives what was ended."""
        async with self._sessions.writing() as session:
            found = await session.get(Session, storable(session_id))
            if found is None or found.id != session_id or person not in (None, found.person):
                return None
            await session.execute(delete(Session).where(col(Session.id) == found.id))
            return found

    async def end_sessions(self, person: str, *, keep: str | None = None) -> int:
        """End all sessions of a person but the one to be kept; answers how many."""
        async with self._sessions.writing() as session:
            return await _count(session, _ending(person, keep=keep))

    async def add_tries(
        self, limits: dict[str, int], *, at: dt.datetime, since: dt.datetime
    ) -> tuple[list[int], dt.datetime | None]:
        """Take down a try under each of these keys, unless one has reached its limit.

        Answers the numbers of the tries; or none, and the instant of the try that has to be over first. Tries from
        before `since` are forgotten.
        """
        async with self._sessions.writing() as session:
            await alone(session)
            await session.execute(delete(SignInTry).where(col(SignInTry.at) <= since))
            holding = [await _holding(session, key, limit) for key, limit in limits.items()]
            if held := [instant for instant in holding if instant is not None]:
                return [], max(held)
            rows = [SignInTry(key=key, at=at) for key in limits]
            session.add_all(rows)
            await session.flush()
            return [row.id for row in rows if row.id is not None], None

    async def forget_tries(self, numbers: Sequence[int], *, key: str) -> None:
        """Forget these tries, and all others under a key: it was the right person after all."""
        mine = col(SignInTry.id).in_(numbers) | (col(SignInTry.key) == key)
        async with self._sessions.writing() as session:
            await session.execute(delete(SignInTry).where(mine))


def _ending(person: str, *, keep: str | None = None) -> Executable:
    ending = delete(Session).where(col(Session.person) == person)
    return ending if keep is None else ending.where(col(Session.id) != keep)


async def _holding(session: AsyncSession, key: str, limit: int) -> dt.datetime | None:
    """The try that keeps a key at its limit, if it is."""
    tries = select(col(SignInTry.at)).where(col(SignInTry.key) == key).order_by(col(SignInTry.at).desc())
    return await session.scalar(tries.offset(limit - 1).limit(1))


async def _count(session: AsyncSession, statement: Executable) -> int:
    result = await session.execute(statement)
    return result.rowcount if isinstance(result, CursorResult) else 0
