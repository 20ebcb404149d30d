"""People who may use the service: sign-in, sessions, devices, passwords, roles (decisions 0037 and 0060)."""

import asyncio
import datetime as dt
import hashlib
import hmac
import ipaddress
import math
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from monitor.config.model import Settings
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import KnownDevice, Person, WebSession
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.services.audit import (
    ANONYMOUS_NAME,
    COMMAND_LINE,
    NAME_PATTERN,
    RESERVED_NAMES,
    Actor,
    AuditAction,
    AuditedService,
    parse_role,
)
from monitor.services.passwords import PasswordVerifier, check_password, generate_one_time_password
from monitor.vocabulary import Role

FIRST_ADMIN_NAME = "admin"
FIRST_PASSWORD_FILE = "first_password.txt"  # noqa: S105 -- the name of a file
SESSION_IDLE_TIMEOUT = dt.timedelta(days=14)
MAX_SESSION_AGE = dt.timedelta(days=90)
MAX_DEVICE_AGE = dt.timedelta(days=400)  # browsers keep no cookie for longer
FIRST_PASSWORD_LIFETIME = dt.timedelta(days=1)
ONE_TIME_PASSWORD_LIFETIME = dt.timedelta(days=7)
_UNREAD_AT_FIRST = dt.timedelta(days=7)  # to a new person; what was seen earlier counts as read
_SEEN_UPDATE_INTERVAL = dt.timedelta(minutes=1)
_FAILURE_WINDOW = dt.timedelta(minutes=15)
_MAX_FAILURES = 5  # of a name from one network, of a known device, or of the old password in a session
_MAX_FAILURES_PER_NAME = 30  # from all devices together where the person has never signed in
_MAX_FAILURES_PER_NETWORK = 20
_IPV6_NETWORK_BITS = 64  # what one subscriber has
_MAX_KEY_CHARS = 120
_MAX_AUDITED_BROWSER_CHARS = 120
_UNKNOWN_SUBJECT = "?"
UI_LANGUAGES = ("zh", "en")


class SignInError(UsageError):
    """Wrong name or password; or too many failures, and `wait_minutes` have to pass."""

    def __init__(self, message: Message, *, wait_minutes: int = 0) -> None:
        super().__init__(message)
        self.wait_minutes = wait_minutes


class SecondFactorRequired(UsageError):
    """The password was right, and a code of the authenticator app is wanted too; `tries` are those counted so far."""

    def __init__(self, person: Person, tries: Sequence[int]) -> None:
        super().__init__("sign_in.code_required")
        self.person = person
        self.tries = list(tries)


@dataclass(frozen=True, slots=True)
class SignInResult:
    """A new session; the database holds only the hashes of `cookie` and of `device`, the cookie of the browser."""

    person: Person
    cookie: str
    device: str
    session_id: str


@dataclass(kw_only=True)
class PeopleService(AuditedService):
    settings: Settings

    def __post_init__(self) -> None:
        self._passwords = PasswordVerifier()
        self._held: dict[tuple[str, str], dt.datetime] = {}

    @property
    def first_password_file(self) -> Path:
        return self.settings.data_dir / FIRST_PASSWORD_FILE

    async def create_first_admin(self) -> str | None:
        """Create the first administrator and return their one-time password, which is written to a file too.

        An administrator who never chose a password gets another one once the first is used or expired. None where
        there is nothing to do.
        """
        if await self.has_secured_admin():
            await asyncio.to_thread(self.first_password_file.unlink, missing_ok=True)
            return None
        now, expires_at = self.clock.now(), self.clock.now() + FIRST_PASSWORD_LIFETIME
        password, person = await self._build_person(FIRST_ADMIN_NAME, Role.ADMIN, expires_at)
        async with self.store.transaction():
            if await self.store.people.add_first(person):
                await self.record(COMMAND_LINE, AuditAction.PERSON_ADD, person.name, after={"role": Role.ADMIN})
            elif await self._has_unsecured_first_admin() and await self.store.people.set_one_time_password(
                person.name, person.password_hash, expires_at=expires_at, only_if_expired_at=now
            ):
                await self.record(COMMAND_LINE, AuditAction.PERSON_RESET, person.name)
            else:
                return None
            await asyncio.to_thread(_write_first_password, self.first_password_file, password, expires_at)
        return password

    async def _has_unsecured_first_admin(self) -> bool:
        person = await self.store.people.get(FIRST_ADMIN_NAME)
        return person is not None and person.role is Role.ADMIN and not person.is_shut_out

    async def has_secured_admin(self) -> bool:
        """Whether an administrator has chosen a password, so that the pages may be opened to others."""
        return await self.store.people.has_secured_admin()

    async def sign_in(
        self, name: str, password: str, *, address: str, browser: str, device: str | None = None
    ) -> SignInResult:
        """Create a session; a wrong name fails like a wrong password, and too many failures are refused for a while.

        `SecondFactorRequired` where the password was right and that is not enough.

        `device` is the cookie of a browser that somebody signed in with before. Where this person did, the failures
        of others are not counted: nobody can keep a person from signing in where they have signed in before.
        """
        person = await self.store.people.get(name)
        stranger = Actor(ANONYMOUS_NAME, Role.READER, address=address)
        subject = _UNKNOWN_SUBJECT if person is None else person.name  # an unknown name may be a mistyped password
        key, others = await self.list_sign_in_limits(name, address, device)
        password_hash = person.password_hash if person is not None and not person.is_shut_out else None
        try:
            await self.require_local_sign_in(name)
            tries = await self._verify_password(
                password_hash, password, key=key, others=others, refusal="sign_in.wrong"
            )
            if person is None:
                raise AssertionError("a password matched without a person")
            if await self.store.identity.get_second_factor(person.name) is not None:
                raise SecondFactorRequired(person, tries)
            begun = await self.begin_session(person, address=address, browser=browser, device=device, spends=True)
        except SignInError as refused:
            await self.record_refusal(stranger, subject, refused)
            raise
        await self.clear_tries(tries, key)
        return begun

    async def require_local_sign_in(self, name: str) -> None:
        """Refuse passwords and passkeys where they are switched off, but not before the provider let an admin in."""
        auth = self.settings.auth
        if auth.passwords or name == auth.break_glass:
            return
        if await self.store.identity.has_admin_account(auth.oidc.issuer or ""):
            raise SignInError(Message.of("sign_in.passwords_off", provider=auth.oidc.display_name))

    async def list_sign_in_limits(self, name: str, address: str, device: str | None) -> tuple[str, dict[str, int]]:
        """Return what a try is counted under: a key that a success clears, and others with their limits."""
        device_id, since = _hash_cookie(device or ""), self.clock.now() - MAX_DEVICE_AGE
        if await self.store.people.is_known_device(device_id, name, since=since):
            return f"device {device_id[:40]} {name}", {}
        network = _get_network(address)
        others = {f"name {name}": _MAX_FAILURES_PER_NAME, f"address {network}": _MAX_FAILURES_PER_NETWORK}
        return f"from {network} {name}", others

    async def record_refusal(self, by: Actor, subject: str, refused: SignInError) -> None:
        """Record a failure; of tries that were not even looked at the first one in a quarter of an hour."""
        reason = refused.message.code.removeprefix("sign_in.")
        if not refused.wait_minutes:
            await self.record(by, AuditAction.SIGN_IN_FAILED, subject, reason=reason)
            return
        now, key = self.clock.now(), (subject, _get_network(by.address))
        self._held = {held: at for held, at in self._held.items() if now - _FAILURE_WINDOW < at <= now}
        if key not in self._held:
            self._held[key] = now
            await self.record(by, AuditAction.SIGN_IN_HELD, subject, wait_minutes=refused.wait_minutes)

    async def authenticate(self, cookie: str) -> tuple[Person, WebSession] | None:
        """Return whose cookie this is; None where its session has expired or was ended."""
        now = self.clock.now()
        found = await self.store.people.find_by_session(_hash_cookie(cookie), now)
        if found is not None and now - found[1].seen_at >= _SEEN_UPDATE_INTERVAL:
            latest = found[1].ends_at or found[1].created_at + MAX_SESSION_AGE
            expires_at = min(now + SESSION_IDLE_TIMEOUT, latest)
            await self.store.people.touch_session(found[1], at=now, expires_at=expires_at)
        return found

    def compute_csrf_token(self, cookie: str) -> str:
        """Return the token that proves a form is ours: only who has the cookie can know it."""
        return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"csrf", hashlib.sha256).hexdigest()

    async def sign_out(self, session_id: str, *, by: Actor) -> None:
        async with self.store.transaction():
            if await self.store.people.end_session(session_id, person=by.name) is not None:
                await self.record(by, AuditAction.SIGN_OUT, by.name)

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
        expires_at = self.clock.now() + ONE_TIME_PASSWORD_LIFETIME
        password, person = await self._build_person(name, parse_role(role), expires_at)
        async with self.store.transaction():
            if not await self.store.people.add(person):
                raise Conflict("person.name_taken", name=name)
            await self.record(by, AuditAction.PERSON_ADD, name, after={"role": person.role})
        return password

    async def add_without_password(self, name: str, role: Role) -> Person | None:
        """Store somebody who signs in by other means; None where the name is taken. The caller records it."""
        now = self.clock.now()
        person = Person(name=name, password_hash="", role=role, created_at=now, read_until=now - _UNREAD_AT_FIRST)
        return person if await self.store.people.add(person) else None

    async def set_password(
        self, name: str, new: str, *, by: Actor, old: str | None = None, session_id: str | None = None
    ) -> None:
        """Set a password, end all sessions but `session_id`; another person's takes an administrator."""
        if name != by.name:
            by.require(Role.ADMIN)
        person = await self.get(name)
        check_password(new, name=name)
        if old is not None:
            await self._verify_old_password(person, old, session_id=session_id, by=by)
        if session_id is not None and await self._passwords.verify(person.password_hash, new):
            raise UsageError("password.unchanged")
        password_hash = await self._passwords.hash_password(new)
        async with self.store.transaction():
            await self.store.people.set_password(name, password_hash, keep_session_id=session_id)
            await self.record(by, AuditAction.PERSON_PASSWORD, name)
        await self._remove_first_password(name)

    async def _verify_old_password(self, person: Person, old: str, *, session_id: str | None, by: Actor) -> None:
        """Failures are counted in the session alone: a stranger's hinder nobody who has signed in."""
        key = f"session {session_id or person.name}"
        try:
            tries = await self._verify_password(person.password_hash, old, key=key, refusal="password.wrong_old")
        except SignInError as refused:
            if not refused.wait_minutes:
                await self.record(by, AuditAction.SIGN_IN_FAILED, person.name, reason="wrong_old")
            raise
        await self.clear_tries(tries, key)

    async def reset_password(self, name: str, *, by: Actor) -> str:
        """Replace a password by a one-time password and return it; all sessions of the person end."""
        by.require(Role.ADMIN)
        await self.get(name)
        password = generate_one_time_password()
        password_hash = await self._passwords.hash_password(password)
        expires_at = self.clock.now() + ONE_TIME_PASSWORD_LIFETIME
        async with self.store.transaction():
            await self.store.people.set_one_time_password(name, password_hash, expires_at=expires_at)
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

    async def _build_person(self, name: str, role: Role, expires_at: dt.datetime) -> tuple[str, Person]:
        password = generate_one_time_password()
        return password, Person(
            name=name,
            password_hash=await self._passwords.hash_password(password),
            is_one_time=True,
            password_expires_at=expires_at,
            role=role,
            created_at=self.clock.now(),
            read_until=self.clock.now() - _UNREAD_AT_FIRST,
        )

    async def _verify_password(
        self,
        password_hash: str | None,
        password: str,
        *,
        key: str,
        others: Mapping[str, int] = MappingProxyType({}),
        refusal: str,
    ) -> list[int]:
        """Return the numbers of the tries that were counted, before the password was looked at: none slips in.

        `SignInError` for a wrong password, or where a key has reached its limit.
        """
        tries = await self.count_try(key, others)
        if not await self._passwords.verify(password_hash, password):
            raise SignInError(Message.of(refusal))
        return tries

    async def count_try(self, key: str, others: Mapping[str, int] = MappingProxyType({})) -> list[int]:
        """Count a try of somebody who has to prove who they are; `SignInError` where a key has reached its limit."""
        now = self.clock.now()
        limits = {_shorten_key(name): limit for name, limit in ((key, _MAX_FAILURES), *others.items())}
        tries, holding = await self.store.people.record_sign_in_attempts(limits, at=now, since=now - _FAILURE_WINDOW)
        if holding is not None:
            minutes = max(math.ceil((holding + _FAILURE_WINDOW - now) / dt.timedelta(minutes=1)), 1)
            raise SignInError(Message.of("sign_in.wait", count=minutes), wait_minutes=minutes)
        return tries

    async def clear_tries(self, tries: Sequence[int], key: str) -> None:
        """Forget these tries and all others under a key: it was the right person after all."""
        await self.store.people.clear_sign_in_attempts(tries, key=_shorten_key(key))

    async def begin_session(
        self,
        person: Person,
        *,
        address: str,
        browser: str,
        device: str | None,
        spends: bool = False,
        max_age: dt.timedelta = MAX_SESSION_AGE,
        method: str = "password",
    ) -> SignInResult:
        """Begin a session of somebody who has proved who they are, and remember the device.

        `spends` says that it was by password: `SignInError` where a one-time one is used or expired.
        """
        spends_password = spends and person.is_one_time
        now, cookie = self.clock.now(), secrets.token_urlsafe(32)
        session = WebSession(
            id=_hash_cookie(cookie),
            person=person.name,
            address=address,
            browser=browser[:300],
            created_at=now,
            seen_at=now,
            expires_at=now + min(SESSION_IDLE_TIMEOUT, max_age),
            ends_at=now + max_age,
        )
        by = Actor(person.name, person.role, address=address)
        async with self.store.transaction():
            device = await self._choose_device(person.name, device)
            known = KnownDevice(id=_hash_cookie(device), person=person.name, seen_at=now)
            if not await self.store.people.create_session(session, spends_password=spends_password, device=known):
                raise SignInError(Message.of("sign_in.expired"))
            shown = browser[:_MAX_AUDITED_BROWSER_CHARS]
            how = {} if method == "password" else {"method": method}
            await self.record(by, AuditAction.SIGN_IN, person.name, browser=shown, **how)
        if spends_password:
            await self._remove_first_password(person.name)
        return SignInResult(person=person, cookie=cookie, device=device, session_id=session.id)

    async def _choose_device(self, name: str, device: str | None) -> str:
        """Return the cookie of the browser: the one that it has where it is this person's, else a new one.

        Who was known by the one before is known by the new one: nobody is known by a cookie that somebody else made.
        """
        device_id, since = _hash_cookie(device or ""), self.clock.now() - MAX_DEVICE_AGE
        if device and await self.store.people.is_known_device(device_id, name, since=since):
            return device
        chosen = secrets.token_urlsafe(32)
        await self.store.people.move_devices(device_id, _hash_cookie(chosen), before=since)
        return chosen

    async def _remove_first_password(self, name: str) -> None:
        if name == FIRST_ADMIN_NAME:
            await asyncio.to_thread(self.first_password_file.unlink, missing_ok=True)


def _write_first_password(file: Path, password: str, expires_at: dt.datetime) -> None:
    """Write it for its owner alone; `UsageError` where that is not possible."""
    text = f"{FIRST_ADMIN_NAME}\n{password}\n{expires_at:%Y-%m-%d %H:%M}Z\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.unlink(missing_ok=True)
        handle = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        raise UsageError("file.not_written", path=file, reason=error.strerror or str(error)) from None


def _get_network(address: str) -> str:
    """Return what one subscriber has of addresses: the address itself, of IPv6 its network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed.packed, _IPV6_NETWORK_BITS), strict=False))


def _shorten_key(key: str) -> str:
    """Return a key that its column holds, and that no other key is shortened to."""
    text = sanitize_text(key)
    if len(text) <= _MAX_KEY_CHARS:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text[: _MAX_KEY_CHARS - len(digest) - 1]} {digest}"


def _hash_cookie(cookie: str) -> str:
    # The cookie is long and random, so that one round is enough.
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
