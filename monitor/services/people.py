"""People and programs that may use the service: sign-in, sessions, passwords, roles, tokens (decision 0037)."""

import asyncio
import datetime as dt
import hashlib
import hmac
import math
import re
import secrets
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import Person, WebSession
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.services.audit import (
    COMMAND_LINE,
    NAME_PATTERN,
    RESERVED_NAMES,
    Actor,
    AuditAction,
    AuditedService,
    parse_role,
)
from monitor.vocabulary import Role

if TYPE_CHECKING:
    from argon2 import PasswordHasher


MIN_PASSWORD_CHARS = 12
_MAX_PASSWORD_CHARS = 1000
_MIN_DISTINCT_CHARS = 5

_COMMON_PASSWORDS = """
123456789012 1234567890123 0123456789012 123456123456 qwertyuiop12 qwertyuiop123 1qaz2wsx3edc 1q2w3e4r5t6y
qazwsxedcrfv abcdefghijkl password1234 password12345 passwordpassword p@ssw0rd1234 admin1234567 administrator
administrator1 changemechangeme welcome12345 letmeinletmein iloveyou1234 woaini1314520 woaini5201314
monitormonitor monitor12345 monitor123456
"""

_ONE_TIME_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that could be taken for another
_DUMMY_HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdC1vZi1hLW5vYm9keQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
"""Matches no password; comparing with it takes as long as with a real hash."""

_MAX_CONCURRENT_HASHES = 2


class PasswordVerifier:
    """Hashes and verifies passwords with argon2 in threads, two at once at most: each takes 19 MiB."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT_HASHES)

    async def hash_password(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(_get_hasher().hash, _normalize_password(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether it is the password; without a hash the answer is no, after the same time."""
        async with self._slots:
            is_same = await asyncio.to_thread(_is_same, password_hash or _DUMMY_HASH, password)
        return is_same and password_hash is not None


def check_password(password: str, *, name: str) -> None:
    text = unicodedata.normalize("NFKC", password)
    plain = text.casefold()
    if len(text) < MIN_PASSWORD_CHARS:
        raise UsageError("password.short", limit=MIN_PASSWORD_CHARS)
    if len(text) > _MAX_PASSWORD_CHARS:
        raise UsageError("password.long", limit=_MAX_PASSWORD_CHARS)
    if name.casefold() in plain and not plain.replace(name.casefold(), "").strip("0123456789 ._-!@#"):
        raise UsageError("password.is_name")
    if plain in _COMMON_PASSWORDS.split() or len(set(plain)) < _MIN_DISTINCT_CHARS:
        raise UsageError("password.common")


def generate_one_time_password() -> str:
    return "-".join("".join(secrets.choice(_ONE_TIME_LETTERS) for _ in range(5)) for _ in range(4))


def _is_same(password_hash: str, password: str) -> bool:
    from argon2.exceptions import VerifyMismatchError

    try:
        return _get_hasher().verify(password_hash, _normalize_password(password))
    except VerifyMismatchError:
        return False


@cache
def _get_hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher  # imported when somebody signs in: it takes a while

    return PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1)


def _normalize_password(password: str) -> bytes:
    return unicodedata.normalize("NFKC", password[:_MAX_PASSWORD_CHARS]).encode("utf-8", "surrogatepass")


FIRST_ADMIN_NAME = "admin"
SESSION_IDLE_TIMEOUT = dt.timedelta(days=14)
MAX_SESSION_AGE = dt.timedelta(days=90)
_SEEN_UPDATE_INTERVAL = dt.timedelta(minutes=1)
_FAILURE_WINDOW = dt.timedelta(minutes=15)
_MAX_FAILURES_PER_NAME = 5
_MAX_FAILURES_PER_ADDRESS = 20
UI_LANGUAGES = ("zh", "en")


class SignInError(UsageError):
    """Wrong name or password; or too many failures, and `wait_minutes` have to pass."""

    def __init__(self, message: Message, *, wait_minutes: int = 0) -> None:
        super().__init__(message)
        self.wait_minutes = wait_minutes


@dataclass(frozen=True, slots=True)
class SignInResult:
    """A new session; the database holds only the hash of `cookie`."""

    person: Person
    cookie: str
    session_id: str


@dataclass(kw_only=True)
class PeopleService(AuditedService):
    def __post_init__(self) -> None:
        self._passwords = PasswordVerifier()

    async def create_first_admin(self) -> str | None:
        """Create the first administrator and return their one-time password; None where there is somebody."""
        if await self.store.people.has_any():
            return None
        password, person = await self._build_person(FIRST_ADMIN_NAME, Role.ADMIN)
        async with self.store.transaction():
            if not await self.store.people.add_first(person):
                return None
            await self.record(COMMAND_LINE, AuditAction.PERSON_ADD, person.name, after={"role": Role.ADMIN})
        return password

    async def has_secured_admin(self) -> bool:
        """Whether an administrator has chosen a password, so that the pages may be opened to others."""
        return await self.store.people.has_secured_admin()

    async def sign_in(self, name: str, password: str, *, address: str, browser: str) -> SignInResult:
        """Create a session; a wrong name fails like a wrong password, and too many failures are refused for a while."""
        person = await self.store.people.get(name)
        password_hash = person.password_hash if person is not None and not person.is_shut_out else None
        await self._verify_password(name, password_hash, password, address=address, refusal="sign_in.wrong")
        if person is None:
            raise AssertionError("a password matched without a person")
        return await self._create_session(person, address=address, browser=browser)

    async def authenticate(self, cookie: str) -> tuple[Person, WebSession] | None:
        """Return whose cookie this is; None where its session has expired or was ended."""
        now = self.clock.now()
        found = await self.store.people.find_by_session(_derive_session_id(cookie), now)
        if found is not None and now - found[1].seen_at >= _SEEN_UPDATE_INTERVAL:
            expires_at = min(now + SESSION_IDLE_TIMEOUT, found[1].created_at + MAX_SESSION_AGE)
            await self.store.people.touch_session(found[1], at=now, expires_at=expires_at)
        return found

    def compute_csrf_token(self, cookie: str) -> str:
        """Return the token that proves a form is ours: only who has the cookie can know it."""
        return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"csrf", hashlib.sha256).hexdigest()

    async def sign_out(self, session_id: str) -> None:
        await self.store.people.end_session(session_id)

    async def list_sessions(self, person: str | None = None) -> list[WebSession]:
        return await self.store.people.list_sessions(person, self.clock.now())

    async def end_session(self, session_id: str, *, by: Actor, person: str | None = None) -> WebSession:
        """End a session, of that person only where one is given; another's takes an administrator."""
        if person != by.name:
            by.require(Role.ADMIN)
        async with self.store.transaction():
            ended = await self.store.people.end_session(session_id, person=person)
            if ended is None:
                raise NotFound("session.not_found")
            await self.record(by, AuditAction.SESSION_END, ended.person)
        return ended

    async def end_other_sessions(self, session_id: str, *, by: Actor) -> int:
        async with self.store.transaction():
            count = await self.store.people.end_sessions(by.name, keep_session_id=session_id)
            await self.record(by, AuditAction.SESSION_END, by.name)
        return count

    async def list_people(self) -> list[Person]:
        return await self.store.people.list_all()

    async def get(self, name: str) -> Person:
        person = await self.store.people.get(name)
        if person is None:
            raise NotFound("person.not_found", name=name)
        return person

    async def add(self, name: str, role: str, *, by: Actor) -> str:
        """Add a person; return the password with which they sign in the first time."""
        by.require(Role.ADMIN)
        name = name.strip()
        if not re.fullmatch(NAME_PATTERN, name) or name in RESERVED_NAMES:
            raise UsageError("person.bad_name", name=name)
        password, person = await self._build_person(name, parse_role(role))
        async with self.store.transaction():
            if not await self.store.people.add(person):
                raise Conflict("person.name_taken", name=name)
            await self.record(by, AuditAction.PERSON_ADD, name, after={"role": person.role})
        return password

    async def set_password(
        self, name: str, new: str, *, by: Actor, old: str | None = None, session_id: str | None = None
    ) -> None:
        """Set a password, end all sessions but `session_id`; another person's takes an administrator."""
        if name != by.name:
            by.require(Role.ADMIN)
        person = await self.get(name)
        check_password(new, name=name)
        if old is not None:
            await self._verify_password(name, person.password_hash, old, address=None, refusal="password.wrong_old")
        if session_id is not None and await self._passwords.verify(person.password_hash, new):
            raise UsageError("password.unchanged")
        password_hash = await self._passwords.hash_password(new)
        async with self.store.transaction():
            await self.store.people.set_password(name, password_hash, is_one_time=False, keep_session_id=session_id)
            await self.record(by, AuditAction.PERSON_PASSWORD, name)

    async def reset_password(self, name: str, *, by: Actor) -> str:
        """Replace a password by a one-time password and return it; all sessions of the person end."""
        by.require(Role.ADMIN)
        await self.get(name)
        password = generate_one_time_password()
        password_hash = await self._passwords.hash_password(password)
        async with self.store.transaction():
            await self.store.people.set_password(name, password_hash, is_one_time=True)
            await self.record(by, AuditAction.PERSON_RESET, name)
        return password

    async def set_language(self, language: str | None, *, by: Actor) -> None:
        """Choose the language of one's own pages; None is that of the browser."""
        if language is not None and language not in UI_LANGUAGES:
            raise UsageError("person.unknown_language", language=language, known=UI_LANGUAGES)
        await self.store.people.update(by.name, language=language)

    async def set_role(self, name: str, role: str, *, by: Actor) -> None:
        by.require(Role.ADMIN)
        wanted = parse_role(role)
        async with self.store.transaction():
            before = (await self.get(name)).role
            if before is wanted:
                return
            await self._set_access(name, role=wanted)
            roles = {"before": {"role": before}, "after": {"role": wanted}}
            await self.record(by, AuditAction.PERSON_ROLE, name, **roles)

    async def block_sign_in(self, name: str, *, by: Actor) -> None:
        """Keep a person from signing in: their sessions end, and their tokens stop working."""
        await self._set_shut_out(name, is_shut_out=True, by=by)

    async def allow_sign_in(self, name: str, *, by: Actor) -> None:
        await self._set_shut_out(name, is_shut_out=False, by=by)

    async def _set_shut_out(self, name: str, *, is_shut_out: bool, by: Actor) -> None:
        by.require(Role.ADMIN)
        async with self.store.transaction():
            if (await self.get(name)).is_shut_out is is_shut_out:
                return
            await self._set_access(name, is_shut_out=is_shut_out)
            action = AuditAction.PERSON_SHUT_OUT if is_shut_out else AuditAction.PERSON_LET_IN
            await self.record(by, action, name)

    async def _set_access(self, name: str, *, role: Role | None = None, is_shut_out: bool | None = None) -> None:
        if not await self.store.people.set_access(name, role=role, is_shut_out=is_shut_out):
            raise Conflict("person.last_admin", name=name)

    async def _build_person(self, name: str, role: Role) -> tuple[str, Person]:
        password = generate_one_time_password()
        password_hash = await self._passwords.hash_password(password)
        return password, Person(
            name=name, password_hash=password_hash, is_one_time=True, role=role, created_at=self.clock.now()
        )

    async def _verify_password(
        self, name: str, password_hash: str | None, password: str, *, address: str | None, refusal: str
    ) -> None:
        """Raise `SignInError` for a wrong password; an attempt is counted before it is checked, so none slips in."""
        now, of_name = self.clock.now(), sanitize_text(f"name {name}")[:120]
        limits = {of_name: _MAX_FAILURES_PER_NAME}
        if address is not None:
            limits[sanitize_text(f"address {address}")[:120]] = _MAX_FAILURES_PER_ADDRESS
        tries, holding = await self.store.people.record_sign_in_attempts(limits, at=now, since=now - _FAILURE_WINDOW)
        if holding is not None:
            minutes = math.ceil((holding + _FAILURE_WINDOW - now) / dt.timedelta(minutes=1))
            raise SignInError(Message.of("sign_in.wait", count=minutes), wait_minutes=minutes)
        if not await self._passwords.verify(password_hash, password):
            raise SignInError(Message.of(refusal))
        await self.store.people.clear_sign_in_attempts(tries, key=of_name)

    async def _create_session(self, person: Person, *, address: str, browser: str) -> SignInResult:
        cookie, now = secrets.token_urlsafe(32), self.clock.now()
        session = WebSession(
            id=_derive_session_id(cookie),
            person=person.name,
            address=address,
            browser=browser[:300],
            created_at=now,
            seen_at=now,
            expires_at=now + SESSION_IDLE_TIMEOUT,
        )
        await self.store.people.create_session(session)
        return SignInResult(person=person, cookie=cookie, session_id=session.id)


def _derive_session_id(cookie: str) -> str:
    # The cookie is long and random, so that one round is enough.
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
