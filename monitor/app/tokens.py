"""The use cases around tokens."""

import hashlib
import secrets

from monitor.domain.people import Token
from monitor.domain.words import Role
from monitor.errors import UsageError
from monitor.ports import Clock
from monitor.store import Store


class TokenDesk:
    """Makes tokens and recognises them. A token is shown once; afterwards only its hash is known."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make(self, name: str, role: str) -> str:
        """A new token under a name, in place of an older one of the same name."""
        if role not in set(Role):
            raise UsageError(f"There is no role {role!r}: take one of {', '.join(Role)}.")
        token = secrets.token_urlsafe(32)
        row = Token(name=name, hash=_hash(token), role=Role(role), created_at=self._clock.now())
        await self._store.tokens.put(row)
        return token

    async def all(self) -> list[Token]:
        """All tokens, newest first."""
        return await self._store.tokens.all()

    async def of(self, token: str) -> Token | None:
        """Whose token this is; None where it is nobody's."""
        return await self._store.tokens.by_hash(_hash(token))


def _hash(token: str) -> str:
    # Tokens are long and random, so that one round is enough.
    return hashlib.sha256(token.encode()).hexdigest()
