"""The tokens with which programs sign in."""

import datetime as dt

from sqlalchemy import delete, insert, or_, select, update
from sqlmodel import col

from monitor.domain.people import Person, Token
from monitor.store.sessions import Sessions, alone, storable


class Tokens:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def put(self, token: Token, *, may_replace: bool) -> bool:
        """Keep a token; False where a person has its name, or a token has that must not be replaced.

        A token that was made with another one belongs to whoever made that.
        """
        async with self._sessions.writing() as session:
            await alone(session)
            if await session.get(Person, token.name) is not None:
                return False
            if await session.get(Token, token.name) is not None:
                if not may_replace:
                    return False
                await session.execute(delete(Token).where(col(Token.name) == token.name))
            through = await session.get(Token, token.created_by)
            made_by = token.created_by if through is None else through.created_by
            await session.execute(insert(Token), [token.model_dump() | {"created_by": made_by}])
            return True

    async def by_hash(self, hashed: str, now: dt.datetime) -> tuple[Token, Person | None] | None:
        """The token of that hash and the person who made it, if a person did; None where it is not good any more."""
        query = (
            select(Token, Person)
            .outerjoin(Person, col(Person.name) == col(Token.created_by))
            .where(
                col(Token.hash) == hashed,
                or_(col(Token.expires_at).is_(None), col(Token.expires_at) > now),
                or_(col(Person.is_shut_out).is_(None), col(Person.is_shut_out).is_(False)),
            )
        )
        async with self._sessions.reading() as session:
            row = (await session.execute(query)).first()
        return None if row is None else (row[0], row[1])

    async def used(self, name: str, *, at: dt.datetime) -> None:
        """Take down that a token was used."""
        async with self._sessions.writing() as session:
            await session.execute(update(Token).where(col(Token.name) == name).values(last_used_at=at))

    async def all(self) -> list[Token]:
        query = select(Token).order_by(col(Token.created_at).desc(), col(Token.name))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def remove(self, name: str, *, of: str | None) -> Token | None:
        """Remove a token, that of a person only where one is given; gives what was removed."""
        async with self._sessions.writing() as session:
            found = await session.get(Token, storable(name))
            if found is None or found.name != name or of not in (None, found.created_by):
                return None
            await session.execute(delete(Token).where(col(Token.name) == found.name))
            return found
