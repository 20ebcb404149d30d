"""The tokens with which people and programs sign in."""

from sqlalchemy import select
from sqlmodel import col

from monitor.domain.people import Token
from monitor.store.sessions import Sessions, insert_or


class Tokens:
    """Tokens by name; a new one takes the place of its namesake."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def put(self, token: Token) -> None:
        """Keep a token."""
        async with self._sessions.writing() as session:
            await insert_or(
                session, Token, [token.model_dump()], key=["name"], update=["hash", "role", "created_at"]
            )  # fmt: skip

    async def by_hash(self, hashed: str) -> Token | None:
        """The token of that hash."""
        async with self._sessions.reading() as session:
            return await session.scalar(select(Token).where(col(Token.hash) == hashed))

    async def all(self) -> list[Token]:
        """All tokens, newest first."""
        async with self._sessions.reading() as session:
            return list((await session.scalars(select(Token).order_by(col(Token.created_at).desc()))).all())

    async def exist(self) -> bool:
        """Whether there is any."""
        return bool(await self.all())
