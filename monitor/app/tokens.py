"""The use cases around tokens."""

import datetime as dt
import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.app.people import NAME_PATTERN, NAME_RULE, role_of
from monitor.domain.people import Token
from monitor.domain.words import Role
from monitor.errors import Conflict, NotFound, UsageError
from monitor.ports import Clock
from monitor.store import Store

_SEEN_EVERY = dt.timedelta(minutes=1)
_RANKS = (Role.READER, Role.EDITOR, Role.ADMIN)
MAX_DAYS = 3650


class Scope(StrEnum):
    """What a token may be limited to, within its role."""

    READ = "read"
    WRITE = "write"
    RUN = "run"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Maker:
    """Who makes a token: a person, or a program with a token of its own, which may be limited to `scopes`."""

    name: str
    role: Role
    scopes: frozenset[str] | None = None


class TokenDesk:
    """Makes tokens and recognises them. A token is shown once; afterwards only its hash is known."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make(
        self,
        name: str,
        role: str,
        *,
        scopes: Sequence[str] = (),
        days: int | None = None,
        by: Maker | None = None,
    ) -> str:
        """A new token under a name, good for so many days; without scopes it may do all that its role may.

        Made by command (`by` None) it takes the place of one of the same name. Nobody else can make one that may do
        more than they themselves, nor under a name that a token or a person has.
        """
        wanted, chosen = role_of(role), sorted({_scope_of(scope) for scope in scopes}, key=list(Scope).index)
        if not re.fullmatch(NAME_PATTERN, name):
            raise UsageError(f"{name!r} is no name of a token: {NAME_RULE}")
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise UsageError(f"A token is good for 1 to {MAX_DAYS} days, not for {days}.")
        if by is not None:
            _check_maker(by, wanted, chosen)
        token, now = secrets.token_urlsafe(32), self._clock.now()
        row = Token(
            name=name,
            hash=_hash(token),
            role=wanted,
            scopes=[str(scope) for scope in chosen],
            created_at=now,
            created_by="" if by is None else by.name,
            expires_at=None if days is None else now + dt.timedelta(days),
        )
        if not await self._store.tokens.put(row, may_replace=by is None):
            raise Conflict(f"There is a token or a person named {name!r} already: take another name.")
        return token

    async def all(self, *, of: str | None = None) -> list[Token]:
        """All tokens, newest first, or those that a person made."""
        return [token for token in await self._store.tokens.all() if of is None or token.created_by == of]

    async def of(self, token: str) -> Token | None:
        """Whose token this is; None where it is nobody's, has expired, or who made it was shut out.

        It has the lesser of its own role and that of who made it now.
        """
        now = self._clock.now()
        found = await self._store.tokens.by_hash(_hash(token), now)
        if found is None:
            return None
        row, maker = found
        if row.last_used_at is None or now - row.last_used_at >= _SEEN_EVERY:
            await self._store.tokens.used(row.name, at=now)
        if maker is not None and _RANKS.index(maker.role) < _RANKS.index(row.role):
            row.role = maker.role
        return row

    async def revoke(self, name: str, *, of: str | None = None) -> Token:
        """Nobody can sign in with that token any more; `NotFound` where there is none, or that person has none."""
        gone = await self._store.tokens.remove(name, of=of)
        if gone is None:
            raise NotFound(f"There is no token named {name!r}.")
        return gone


def _check_maker(by: Maker, role: Role, scopes: Sequence[Scope]) -> None:
    if _RANKS.index(role) > _RANKS.index(by.role):
        raise UsageError(f"Your role is {by.role}: a token of yours cannot have the role {role}.")
    if by.scopes is not None and (not scopes or not by.scopes.issuperset(scopes)):
        raise UsageError(f"Your token has the scopes {', '.join(sorted(by.scopes))}: one of yours cannot have others.")


def _scope_of(word: str) -> Scope:
    if word not in set(Scope):
        raise UsageError(f"There is no scope {word!r}: take some of {', '.join(Scope)}.")
    return Scope(word)


def _hash(token: str) -> str:
    # Tokens are long and random, so that one round is enough.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
