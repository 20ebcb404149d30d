"""The use cases around people: signing in, sessions, passwords, roles (decision 0037)."""

import asyncio
import datetime as dt
import hashlib
import hmac
import math
import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import Person, Token, WebSession
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.audit import COMMAND_LINE_ACTOR
from monitor.vocabulary import Role

if TYPE_CHECKING:
    from argon2 import PasswordHasher


MIN_PASSWORD_CHARS = 12

_MAX_PASSWORD_CHARS = 1000

_MIN_DISTINCT_CHARS = 5

_COMMON_PASSWORDS = frozenset(
    {
        "123456789012",
        "1234567890123",
        "0123456789012",
        "123456123456",
        "qwertyuiop12",
        "qwertyuiop123",
        "1qaz2wsx3edc",
        "1q2w3e4r5t6y",
        "qazwsxedcrfv",
        "abcdefghijkl",
        "password1234",
        "password12345",
        "passwordpassword",
        "p@ssw0rd1234",
        "admin1234567",
        "administrator",
        "administrator1",
        "changemechangeme",
        "welcome12345",
        "letmeinletmein",
        "iloveyou1234",
        "woaini1314520",
        "woaini5201314",
        "monitormonitor",
        "monitor12345",
        "monitor123456",
    }
)

_ONE_TIME_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that could be taken for another

_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdC1vZi1hLW5vYm9keQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""What no password gives; to compare with it takes as long as with somebody's."""

_MAX_CONCURRENT_HASHES = 2


class PasswordVerifier:
    """Makes and compares argon2 hashes in threads, two at once at most: each takes 19 MiB for a while."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_HASHES)

    async def hash_password(self, password: str) -> str:
        """What is kept of a password."""
        async with self._slots:
            return await asyncio.to_thread(_get_hasher().hash, _normalize_password(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether it is the password; where nothing is kept, the answer is no and takes as long."""
        async with self._slots:
            is_same = await asyncio.to_thread(_is_same, password_hash or _DUMMY_HASH, password)
        return is_same and password_hash is not None


def check_password(password: str, *, name: str) -> None:
    """`UsageError` where a new password is too easily guessed."""
    text = unicodedata.normalize("NFKC", password)
    plain = text.casefold()
    if len(text) < MIN_PASSWORD_CHARS:
        raise UsageError(f"A password has {MIN_PASSWORD_CHARS} characters or more.")
    if len(text) > _MAX_PASSWORD_CHARS:
        raise UsageError(f"A password has {_MAX_PASSWORD_CHARS} characters at most.")
    if name.casefold() in plain and not plain.replace(name.casefold(), "").strip("0123456789 ._-!@#"):
        raise UsageError("The password must not be the name.")
    if plain in _COMMON_PASSWORDS or len(set(plain)) < _MIN_DISTINCT_CHARS:
        raise UsageError("That password is among the first that are tried: take another.")


def generate_one_time_password() -> str:
    """A password that is read from one screen and typed at another: four groups of five."""
    groups = ("".join(secrets.choice(_ONE_TIME_LETTERS) for _ in range(5)) for _ in range(4))
    return "-".join(groups)


def _is_same(kept: str, password: str) -> bool:
    from argon2.exceptions import VerifyMismatchError

    try:
        return _get_hasher().verify(kept, _normalize_password(password))
    except VerifyMismatchError:
        return False


@cache
def _get_hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher  # imported when somebody signs in: it takes a while

    return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


def _normalize_password(password: str) -> bytes:
    """One text for what an input method may write in two widths."""
    return unicodedata.normalize("NFKC", password[:_MAX_PASSWORD_CHARS]).encode("utf-8", "surrogatepass")


FIRST_ADMIN_NAME = "admin"
"""The administrator that the first start makes."""

SESSION_IDLE_TIMEOUT = dt.timedelta(days=14)

MAX_SESSION_AGE = dt.timedelta(days=90)

_SEEN_UPDATE_INTERVAL = dt.timedelta(minutes=1)

_FAILURE_WINDOW = dt.timedelta(minutes=15)

_MAX_FAILURES_PER_NAME = 5

_MAX_FAILURES_PER_ADDRESS = 20

NAME_RULE = "letters, digits and . _ @ + -, 60 at most, a letter or digit first."

NAME_PATTERN = r"^\w[\w.@+-]{0,59}$"

UI_LANGUAGES = ("zh", "en")


class SignInError(UsageError):
    """Nobody was signed in: wrong name or password; or too many were wrong, and `wait_minutes` have to pass."""

    def __init__(self, message: str, *, wait_minutes: int = 0) -> None:
        super().__init__(message)
        self.wait_minutes = wait_minutes


@dataclass(frozen=True, slots=True)
class SignInResult:
    """Somebody who just signed in; `cookie` is known to nobody else, and to us only by its hash."""

    person: Person
    cookie: str
    session_id: str


class PeopleService:
    """Signs people in, and keeps who may."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._people = store.people
        self._clock = clock
        self._passwords = PasswordVerifier()

    async def create_first_admin(self) -> str | None:
        """The one-time password of the first administrator, who is made where there is nobody yet; else None."""
        if await self._people.has_any():
            return None
        password, person = await self._build_person(FIRST_ADMIN_NAME, Role.ADMIN)
        return password if await self._people.add_first(person) else None

    async def has_secured_admin(self) -> bool:
        """Whether an administrator has a password of their own choice, so that others may reach the pages."""
        return await self._people.has_secured_admin()

    async def sign_in(self, name: str, password: str, *, address: str, browser: str) -> SignInResult:
        """A new session; `SignInError` says the same of a wrong name as of a wrong password, and as late.

        Five failures of a name or twenty from an address within a quarter of an hour, and it has to be waited for.
        """
        person = await self._people.get(name)
        is_welcome = person is not None and not person.is_shut_out
        kept = person.password_hash if person is not None and is_welcome else None
        await self._verify_password(name, kept, password, address=address, refusal="The name or the password is wrong.")
        if person is None:
            raise AssertionError("a password is right for nobody")
        return await self._create_session(person, address=address, browser=browser)

    async def authenticate(self, cookie: str) -> tuple[Person, WebSession] | None:
        """Whose cookie this is; None where its session is over or was ended."""
        now = self._clock.now()
        found = await self._people.find_by_session(_derive_session_id(cookie), now)
        if found is not None and now - found[1].seen_at >= _SEEN_UPDATE_INTERVAL:
            expires_at = min(now + SESSION_IDLE_TIMEOUT, found[1].created_at + MAX_SESSION_AGE)
            await self._people.touch_session(found[1], at=now, expires_at=expires_at)
        return found

    def compute_csrf_token(self, cookie: str) -> str:
        """What a form has to carry to show that it is ours: only who has the cookie can know it."""
        return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"csrf", hashlib.sha256).hexdigest()

    async def sign_out(self, session_id: str) -> None:
        await self._people.end_session(session_id)

    async def list_sessions(self, person: str | None = None) -> list[WebSession]:
        """The sessions that are not over, last used first."""
        return await self._people.list_sessions(person, self._clock.now())

    async def end_session(self, person: str | None, session_id: str) -> WebSession:
        """End a session of a person, or of anybody; `NotFound` where there is none."""
        ended = await self._people.end_session(session_id, person=person)
        if ended is None:
            raise NotFound("There is no such session: it may be over already.")
        return ended

    async def end_other_sessions(self, person: str, session_id: str | None = None) -> int:
        """End all sessions of a person but this one; answers how many."""
        return await self._people.end_sessions(person, keep_session_id=session_id)

    async def list_people(self) -> list[Person]:
        """Everybody who may or might sign in, by name."""
        return await self._people.list_all()

    async def get(self, name: str) -> Person:
        """The person of that name; `NotFound` where there is none."""
        person = await self._people.get(name)
        if person is None:
            raise NotFound(f"There is nobody named {name!r}: `monitor users list` shows who there is.")
        return person

    async def add(self, name: str, role: str) -> str:
        """Somebody new; answers the password with which they sign in the first time."""
        name = name.strip()
        if not re.fullmatch(NAME_PATTERN, name) or name == COMMAND_LINE_ACTOR:
            raise UsageError(f"{name!r} is no name to sign in with: {NAME_RULE}")
        password, person = await self._build_person(name, parse_role(role))
        if not await self._people.add(person):
            raise Conflict(f"There is somebody named {name!r} already: take another name.")
        return password

    async def set_password(self, name: str, new: str, *, old: str | None = None, session_id: str | None = None) -> None:
        """A new password of somebody, who proves to know the `old` one where it is asked for.

        All sessions of theirs end but `session_id`, in which it was typed. `UsageError` where it is too easy.
        """
        person = await self.get(name)
        check_password(new, name=name)
        if old is not None:
            await self._verify_password(
                name, person.password_hash, old, address=None, refusal="The old password is wrong."
            )
        if session_id is not None and await self._passwords.verify(person.password_hash, new):
            raise UsageError("The new password is the old one: take another.")
        await self._people.set_password(
            name, await self._passwords.hash_password(new), is_one_time=False, keep_session_id=session_id
        )

    async def reset_password(self, name: str) -> str:
        """A one-time password in place of somebody's own; all sessions of theirs end."""
        await self.get(name)
        password = generate_one_time_password()
        await self._people.set_password(name, await self._passwords.hash_password(password), is_one_time=True)
        return password

    async def set_language(self, name: str, language: str | None) -> None:
        """The language of somebody's pages; None is that of the browser."""
        if language is not None and language not in UI_LANGUAGES:
            raise UsageError(f"There are no pages in {language!r}: take one of {', '.join(UI_LANGUAGES)}.")
        await self._people.update(name, language=language)

    async def set_role(self, name: str, role: str) -> None:
        """Another role, from the next request on."""
        await self._change_access(name, role=parse_role(role))

    async def block_sign_in(self, name: str) -> None:
        """Somebody may not sign in any more: their sessions end, and their tokens are nobody's."""
        await self._change_access(name, is_shut_out=True)

    async def allow_sign_in(self, name: str) -> None:
        """Somebody who was shut out may sign in again."""
        await self._change_access(name, is_shut_out=False)

    async def _change_access(self, name: str, *, role: Role | None = None, is_shut_out: bool | None = None) -> None:
        await self.get(name)
        if not await self._people.set_access(name, role=role, is_shut_out=is_shut_out):
            raise Conflict(f"{name} is the last administrator: make somebody else one first.")

    async def _build_person(self, name: str, role: Role) -> tuple[str, Person]:
        password = generate_one_time_password()
        kept = await self._passwords.hash_password(password)
        return password, Person(
            name=name, password_hash=kept, is_one_time=True, role=role, created_at=self._clock.now()
        )

    async def _verify_password(
        self, name: str, password_hash: str | None, password: str, *, address: str | None, refusal: str
    ) -> None:
        """See that it is the right password; a try counts before it is looked at, so that none slips in."""
        now, of_name = self._clock.now(), sanitize_text(f"name {name}")[:120]
        limits = {of_name: _MAX_FAILURES_PER_NAME}
        if address is not None:
            limits[sanitize_text(f"address {address}")[:120]] = _MAX_FAILURES_PER_ADDRESS
        tries, holding = await self._people.record_sign_in_attempts(limits, at=now, since=now - _FAILURE_WINDOW)
        if holding is not None:
            minutes = math.ceil((holding + _FAILURE_WINDOW - now) / dt.timedelta(minutes=1))
            message = f"Too many failed tries: wait {minutes} minute{'s' if minutes != 1 else ''}."
            raise SignInError(message, wait_minutes=minutes)
        if not await self._passwords.verify(password_hash, password):
            raise SignInError(refusal)
        await self._people.clear_sign_in_attempts(tries, key=of_name)

    async def _create_session(self, person: Person, *, address: str, browser: str) -> SignInResult:
        cookie, now = secrets.token_urlsafe(32), self._clock.now()
        session = WebSession(
            id=_derive_session_id(cookie),
            person=person.name,
            address=address,
            browser=browser[:300],
            created_at=now,
            seen_at=now,
            expires_at=now + SESSION_IDLE_TIMEOUT,
        )
        await self._people.create_session(session)
        return SignInResult(person=person, cookie=cookie, session_id=session.id)


def parse_role(word: str) -> Role:
    """The role of that name; `UsageError` where there is none."""
    if word not in set(Role):
        raise UsageError(f"There is no role {word!r}: take one of {', '.join(Role)}.")
    return Role(word)


def _derive_session_id(cookie: str) -> str:
    # The cookie is long and random, so that one round is enough.
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()


_USE_UPDATE_INTERVAL = dt.timedelta(minutes=1)

_ROLE_ORDER = (Role.READER, Role.EDITOR, Role.ADMIN)

MAX_TOKEN_DAYS = 3650


class TokenScope(StrEnum):
    """What a token may be limited to, within its role."""

    READ = "read"
    WRITE = "write"
    RUN = "run"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class TokenCreator:
    """Who makes a token: a person, or a program with a token of its own, which may be limited to `scopes`."""

    name: str
    role: Role
    scopes: frozenset[str] | None = None


class TokenService:
    """Makes tokens and recognises them. A token is shown once; afterwards only its hash is known."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(
        self,
        name: str,
        role: str,
        *,
        scopes: Sequence[str] = (),
        days: int | None = None,
        by: TokenCreator | None = None,
    ) -> str:
        """A new token under a name, good for so many days; without scopes it may do all that its role may.

        Made by command (`by` None) it takes the place of one of the same name. Nobody else can make one that may do
        more than they themselves, nor under a name that a token or a person has.
        """
        wanted, chosen = parse_role(role), sorted({_parse_scope(scope) for scope in scopes}, key=list(TokenScope).index)
        if not re.fullmatch(NAME_PATTERN, name):
            raise UsageError(f"{name!r} is no name of a token: {NAME_RULE}")
        if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
            raise UsageError(f"A token is good for 1 to {MAX_TOKEN_DAYS} days, not for {days}.")
        if by is not None:
            _check_creator(by, wanted, chosen)
        token, now = secrets.token_urlsafe(32), self._clock.now()
        row = Token(
            name=name,
            hash=_hash_token(token),
            role=wanted,
            scopes=[str(scope) for scope in chosen],
            created_at=now,
            created_by="" if by is None else by.name,
            expires_at=None if days is None else now + dt.timedelta(days),
        )
        if not await self._store.tokens.save(row, may_replace=by is None):
            raise Conflict(f"There is a token or a person named {name!r} already: take another name.")
        return token

    async def list_tokens(self, *, created_by: str | None = None) -> list[Token]:
        """All tokens, newest first, or those that a person made."""
        return [
            token
            for token in await self._store.tokens.list_all()
            if created_by is None or token.created_by == created_by
        ]

    async def authenticate(self, token: str) -> Token | None:
        """Whose token this is; None where it is nobody's, has expired, or who made it was shut out.

        It has the lesser of its own role and that of who made it now.
        """
        now = self._clock.now()
        found = await self._store.tokens.find_by_hash(_hash_token(token), now)
        if found is None:
            return None
        row, maker = found
        if row.last_used_at is None or now - row.last_used_at >= _USE_UPDATE_INTERVAL:
            await self._store.tokens.touch(row.name, at=now)
        if maker is not None and _ROLE_ORDER.index(maker.role) < _ROLE_ORDER.index(row.role):
            row.role = maker.role
        return row

    async def revoke(self, name: str, *, created_by: str | None = None) -> Token:
        """Nobody can sign in with that token any more; `NotFound` where there is none, or that person has none."""
        gone = await self._store.tokens.remove(name, owner=created_by)
        if gone is None:
            raise NotFound(f"There is no token named {name!r}.")
        return gone


def _check_creator(by: TokenCreator, role: Role, scopes: Sequence[TokenScope]) -> None:
    if _ROLE_ORDER.index(role) > _ROLE_ORDER.index(by.role):
        raise UsageError(f"Your role is {by.role}: a token of yours cannot have the role {role}.")
    if by.scopes is not None and (not scopes or not by.scopes.issuperset(scopes)):
        raise UsageError(f"Your token has the scopes {', '.join(sorted(by.scopes))}: one of yours cannot have others.")


def _parse_scope(word: str) -> TokenScope:
    if word not in set(TokenScope):
        raise UsageError(f"There is no scope {word!r}: take some of {', '.join(TokenScope)}.")
    return TokenScope(word)


def _hash_token(token: str) -> str:
    # Tokens are long and random, so that one round is enough.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
