"""The use cases around people: signing in, sessions, passwords, roles (decision 0037)."""

import datetime as dt
import hashlib
import hmac
import math
import re
import secrets
from dataclasses import dataclass

from monitor.app.audit import BY_COMMAND
from monitor.app.passwords import Passwords, check_password, one_time_password
from monitor.domain.people import Person, Session
from monitor.domain.words import Role
from monitor.errors import Conflict, NotFound, UsageError
from monitor.ports import Clock
from monitor.store import Store
from monitor.store.sessions import storable

FIRST = "admin"
"""The administrator that the first start makes."""

UNUSED = dt.timedelta(days=14)
LONGEST = dt.timedelta(days=90)
_SEEN_EVERY = dt.timedelta(minutes=1)

_WINDOW = dt.timedelta(minutes=15)
_FAILURES_OF_NAME = 5
_FAILURES_OF_ADDRESS = 20

NAME_RULE = "letters, digits and . _ @ + -, 60 at most, a letter or digit first."
NAME_PATTERN = r"^\w[\w.@+-]{0,59}$"
LANGUAGES = ("zh", "en")


class SignInRefused(UsageError):
    """Nobody was signed in: wrong name or password; or too many were wrong, and `wait_minutes` have to pass."""

    def __init__(self, message: str, *, wait_minutes: int = 0) -> None:
        super().__init__(message)
        self.wait_minutes = wait_minutes


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody who just signed in; `cookie` is known to nobody else, and to us only by its hash."""

    person: Person
    cookie: str
    session_id: str


class PersonDesk:
    """Signs people in, and keeps who may."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._people = store.people
        self._clock = clock
        self._passwords = Passwords()

    async def begin(self) -> str | None:
        """The one-time password of the first administrator, who is made where there is nobody yet; else None."""
        if await self._people.exist():
            return None
        password, person = await self._new(FIRST, Role.ADMIN)
        return password if await self._people.add_first(person) else None

    async def is_guarded(self) -> bool:
        """Whether an administrator has a password of their own choice, so that others may reach the pages."""
        return await self._people.is_guarded()

    async def sign_in(self, name: str, password: str, *, address: str, browser: str) -> SignedIn:
        """A new session; `SignInRefused` says the same of a wrong name as of a wrong password, and as late.

        Five failures of a name or twenty from an address within a quarter of an hour, and it has to be waited for.
        """
        person = await self._people.of(name)
        is_welcome = person is not None and not person.is_shut_out
        kept = person.password_hash if person is not None and is_welcome else None
        await self._prove(name, kept, password, address=address, refusal="The name or the password is wrong.")
        if person is None:
            raise AssertionError("a password is right for nobody")
        return await self._signed_in(person, address=address, browser=browser)

    async def visitor_of(self, cookie: str) -> tuple[Person, Session] | None:
        """Whose cookie this is; None where its session is over or was ended."""
        now = self._clock.now()
        found = await self._people.by_session(_session_id(cookie), now)
        if found is not None and now - found[1].seen_at >= _SEEN_EVERY:
            expires_at = min(now + UNUSED, found[1].created_at + LONGEST)
            await self._people.seen(found[1], at=now, expires_at=expires_at)
        return found

    def csrf_of(self, cookie: str) -> str:
        """What a form has to carry to show that it is ours: only who has the cookie can know it."""
        return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"csrf", hashlib.sha256).hexdigest()

    async def sign_out(self, session_id: str) -> None:
        await self._people.end_session(session_id)

    async def sessions(self, person: str | None = None) -> list[Session]:
        """The sessions that are not over, last used first."""
        return await self._people.sessions_of(person, self._clock.now())

    async def end_session(self, person: str | None, session_id: str) -> Session:
        """End a session of a person, or of anybody; `NotFound` where there is none."""
        ended = await self._people.end_session(session_id, person=person)
        if ended is None:
            raise NotFound("There is no such session: it may be over already.")
        return ended

    async def end_others(self, person: str, session_id: str | None = None) -> int:
        """End all sessions of a person but this one; answers how many."""
        return await self._people.end_sessions(person, keep=session_id)

    async def all(self) -> list[Person]:
        """Everybody who may or might sign in, by name."""
        return await self._people.all()

    async def of(self, name: str) -> Person:
        """The person of that name; `NotFound` where there is none."""
        person = await self._people.of(name)
        if person is None:
            raise NotFound(f"There is nobody named {name!r}: `monitor users list` shows who there is.")
        return person

    async def add(self, name: str, role: str) -> str:
        """Somebody new; answers the password with which they sign in the first time."""
        name = name.strip()
        if not re.fullmatch(NAME_PATTERN, name) or name == BY_COMMAND:
            raise UsageError(f"{name!r} is no name to sign in with: {NAME_RULE}")
        password, person = await self._new(name, role_of(role))
        if not await self._people.add(person):
            raise Conflict(f"There is somebody named {name!r} already: take another name.")
        return password

    async def set_password(self, name: str, new: str, *, old: str | None = None, session_id: str | None = None) -> None:
        """A new password of somebody, who proves to know the `old` one where it is asked for.

        All sessions of theirs end but `session_id`, in which it was typed. `UsageError` where it is too easy.
        """
        person = await self.of(name)
        check_password(new, name=name)
        if old is not None:
            await self._prove(name, person.password_hash, old, address=None, refusal="The old password is wrong.")
        if session_id is not None and await self._passwords.is_right(person.password_hash, new):
            raise UsageError("The new password is the old one: take another.")
        await self._people.set_password(name, await self._passwords.hashed(new), is_one_time=False, keep=session_id)

    async def reset(self, name: str) -> str:
        """A one-time password in place of somebody's own; all sessions of theirs end."""
        await self.of(name)
        password = one_time_password()
        await self._people.set_password(name, await self._passwords.hashed(password), is_one_time=True)
        return password

    async def set_language(self, name: str, language: str | None) -> None:
        """The language of somebody's pages; None is that of the browser."""
        if language is not None and language not in LANGUAGES:
            raise UsageError(f"There are no pages in {language!r}: take one of {', '.join(LANGUAGES)}.")
        await self._people.change(name, language=language)

    async def set_role(self, name: str, role: str) -> None:
        """Another role, from the next request on."""
        await self._limit(name, role=role_of(role))

    async def shut_out(self, name: str) -> None:
        """Somebody may not sign in any more: their sessions end, and their tokens are nobody's."""
        await self._limit(name, is_shut_out=True)

    async def let_in(self, name: str) -> None:
        """Somebody who was shut out may sign in again."""
        await self._limit(name, is_shut_out=False)

    async def _limit(self, name: str, *, role: Role | None = None, is_shut_out: bool | None = None) -> None:
        await self.of(name)
        if not await self._people.limit(name, role=role, is_shut_out=is_shut_out):
            raise Conflict(f"{name} is the last administrator: make somebody else one first.")

    async def _new(self, name: str, role: Role) -> tuple[str, Person]:
        password = one_time_password()
        kept = await self._passwords.hashed(password)
        return password, Person(
            name=name, password_hash=kept, is_one_time=True, role=role, created_at=self._clock.now()
        )

    async def _prove(self, name: str, kept: str | None, password: str, *, address: str | None, refusal: str) -> None:
        """See that it is the right password; a try counts before it is looked at, so that none slips in."""
        now, of_name = self._clock.now(), storable(f"name {name}")[:120]
        limits = {of_name: _FAILURES_OF_NAME}
        if address is not None:
            limits[storable(f"address {address}")[:120]] = _FAILURES_OF_ADDRESS
        tries, holding = await self._people.add_tries(limits, at=now, since=now - _WINDOW)
        if holding is not None:
            minutes = math.ceil((holding + _WINDOW - now) / dt.timedelta(minutes=1))
            message = f"Too many failed tries: wait {minutes} minute{'s' if minutes != 1 else ''}."
            raise SignInRefused(message, wait_minutes=minutes)
        if not await self._passwords.is_right(kept, password):
            raise SignInRefused(refusal)
        await self._people.forget_tries(tries, key=of_name)

    async def _signed_in(self, person: Person, *, address: str, browser: str) -> SignedIn:
        cookie, now = secrets.token_urlsafe(32), self._clock.now()
        session = Session(
            id=_session_id(cookie),
            person=person.name,
            address=address,
            browser=browser[:300],
            created_at=now,
            seen_at=now,
            expires_at=now + UNUSED,
        )
        await self._people.begin_session(session)
        return SignedIn(person=person, cookie=cookie, session_id=session.id)


def role_of(word: str) -> Role:
    """The role of that name; `UsageError` where there is none."""
    if word not in set(Role):
        raise UsageError(f"There is no role {word!r}: take one of {', '.join(Role)}.")
    return Role(word)


def _session_id(cookie: str) -> str:
    # The cookie is long and random, so that one round is enough.
    return hashlib.sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()
