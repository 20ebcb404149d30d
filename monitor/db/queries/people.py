"""People with their sessions and tokens, the audit log, and the settings and prompts that they changed.

Sign-ins and settings do not wait for a database that is gone: a person at a browser is better told at once.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import CursorResult, Delete, case, delete, func, insert, or_, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, defer
from sqlmodel import col

from monitor.db.sessions import Queries, lock_decisions, sanitize_text, sanitize_value, upsert_rows
from monitor.db.tables.people import (
    AuditEntry,
    FeedKey,
    KnownDevice,
    Person,
    SignInTry,
    StoredPrompt,
    StoredSetting,
    Token,
    WebSession,
)
from monitor.vocabulary import Role

SPENT = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
"""When a one-time password that was used has expired: whatever a clock says later, it is over."""

_CLOCK_TOLERANCE = dt.timedelta(minutes=1)


class PeopleStore(Queries, retries=False):
    async def get(self, name: str) -> Person | None:
        found = await self._get(Person, sanitize_text(name))
        return found if found is not None and found.name == name else None

    async def list_all(self) -> list[Person]:
        return await self._fetch_all(select(Person).order_by(col(Person.name)))

    async def has_secured_admin(self) -> bool:
        """Whether an administrator who may sign in has chosen a password."""
        query = select(col(Person.name)).where(
            col(Person.role) == Role.ADMIN, col(Person.is_one_time).is_(False), col(Person.is_shut_out).is_(False)
        )
        return await self._fetch_first(query.limit(1)) is not None

    async def add(self, person: Person) -> bool:
        """Store a new person; False where a person or a token has the name, whatever its case."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            names = (await session.scalars(union_all(select(col(Person.name)), select(col(Token.name))))).all()
            if person.name.casefold() in {name.casefold() for name in names}:
                return False
            await session.execute(insert(Person), [person.model_dump()])
            return True

    async def add_first(self, person: Person) -> bool:
        """Store the very first person; False where there is somebody."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            if await session.scalar(select(col(Person.name)).limit(1)) is not None:
                return False
            await session.execute(insert(Person), [person.model_dump()])
            return True

    async def update(self, name: str, **columns: Any) -> None:
        """Change columns that cannot leave the service without an administrator."""
        await self._execute(update(Person).where(col(Person.name) == name).values(**columns))

    async def set_password(self, name: str, password_hash: str, *, keep_session_id: str | None = None) -> None:
        """Set a password of their own and end all sessions of the person but the one to be kept."""
        columns = {"password_hash": password_hash, "is_one_time": False, "password_expires_at": None}
        async with self._sessions.begin_write() as session:
            await session.execute(update(Person).where(col(Person.name) == name).values(**columns))
            await session.execute(_build_session_delete(name, keep=keep_session_id))

    async def set_one_time_password(
        self, name: str, password_hash: str, *, expires_at: dt.datetime, only_if_expired_at: dt.datetime | None = None
    ) -> bool:
        """Set a password for one sign-in and end all sessions of the person.

        With `only_if_expired_at`, only in place of a one-time password that is over then; False where it is not.
        """
        columns = {"password_hash": password_hash, "is_one_time": True, "password_expires_at": expires_at}
        setting = update(Person).where(col(Person.name) == name).values(**columns)
        if only_if_expired_at is not None:
            is_over = col(Person.password_expires_at) <= only_if_expired_at
            setting = setting.where(col(Person.is_one_time), is_over)
        async with self._sessions.begin_write() as session:
            result = await session.execute(setting)
            if isinstance(result, CursorResult) and not result.rowcount:
                return False
            await session.execute(_build_session_delete(name))
            return True

    async def set_access(self, name: str, *, role: Role | None = None, is_shut_out: bool | None = None) -> bool:
        """Change the role, or shut out and end all sessions, or let in; False where no administrator would be left."""
        wanted = {"role": role, "is_shut_out": is_shut_out}
        columns = {column: value for column, value in wanted.items() if value is not None}
        others = select(func.count()).where(
            col(Person.role) == Role.ADMIN, col(Person.is_shut_out).is_(False), col(Person.name) != name
        )
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            person = await session.get(Person, name)
            is_admin = person is not None and person.role is Role.ADMIN and not person.is_shut_out
            stays = role in (None, Role.ADMIN) and not is_shut_out
            if is_admin and not stays and not await session.scalar(others):
                return False
            await session.execute(update(Person).where(col(Person.name) == name).values(**columns))
            if is_shut_out:
                await session.execute(_build_session_delete(name))
            return True

    async def create_session(self, begun: WebSession, *, spends_password: bool, device: KnownDevice) -> bool:
        """Store a new session and its device, and delete those that have expired.

        With `spends_password` the one-time password is over with it; False where it was already, and nothing is done.
        """
        browser, address = sanitize_text(begun.browser), sanitize_text(begun.address)[:64]
        values = begun.model_dump() | {"browser": browser, "address": address}
        person, now = col(Person.name) == begun.person, begun.created_at
        is_over = col(Person.password_expires_at) <= now
        spending = update(Person).where(person, col(Person.is_one_time), is_over.is_not(True))
        async with self._sessions.begin_write() as session:
            if spends_password:
                result = await session.execute(spending.values(password_expires_at=SPENT))
                if isinstance(result, CursorResult) and not result.rowcount:
                    return False
            await session.execute(delete(WebSession).where(col(WebSession.expires_at) <= now))
            await session.execute(insert(WebSession), [values])
            await session.execute(update(Person).where(person).values(last_seen_at=now))
            await upsert_rows(session, KnownDevice, [device.model_dump()], key=["id", "person"], update=["seen_at"])
            return True

    async def is_known_device(self, device_id: str, person: str, *, since: dt.datetime) -> bool:
        """Whether the person has signed in there before, and last since then."""
        device = await self._get(KnownDevice, (device_id, sanitize_text(person)))
        return device is not None and device.person == person and device.seen_at >= since

    async def move_devices(self, device_id: str, new_id: str, *, before: dt.datetime) -> None:
        """Give whoever is known at a device another number for it, and forget devices not seen since `before`."""
        async with self._sessions.begin_write() as session:
            await session.execute(delete(KnownDevice).where(col(KnownDevice.seen_at) < before))
            await session.execute(update(KnownDevice).where(col(KnownDevice.id) == device_id).values(id=new_id))

    async def find_by_session(self, session_id: str, now: dt.datetime) -> tuple[Person, WebSession] | None:
        """None where the session is over, or its person was shut out."""
        query = (
            select(Person, WebSession)
            .join(WebSession, col(WebSession.person) == col(Person.name))
            .where(
                col(WebSession.id) == session_id, col(WebSession.expires_at) > now, col(Person.is_shut_out).is_(False)
            )
        )
        rows = await self._fetch_rows(query)
        return (rows[0][0], rows[0][1]) if rows else None

    async def touch_session(self, begun: WebSession, *, at: dt.datetime, expires_at: dt.datetime) -> None:
        used = update(WebSession).where(col(WebSession.id) == begun.id).values(seen_at=at, expires_at=expires_at)
        async with self._sessions.begin_write() as session:
            await session.execute(used)
            await session.execute(update(Person).where(col(Person.name) == begun.person).values(last_seen_at=at))

    async def list_sessions(self, person: str | None, now: dt.datetime) -> list[WebSession]:
        """The sessions that are not over, last used first: of one person, or of everybody."""
        query = select(WebSession).where(col(WebSession.expires_at) > now).order_by(col(WebSession.seen_at).desc())
        if person is not None:
            query = query.where(col(WebSession.person) == person)
        return await self._fetch_all(query)

    async def end_session(self, session_id: str, *, person: str | None = None) -> WebSession | None:
        """End a session, of `person` only where one is given; returns the ended session."""
        async with self._sessions.begin_write() as session:
            found = await session.get(WebSession, sanitize_text(session_id))
            if found is None or found.id != session_id or person not in (None, found.person):
                return None
            await session.execute(delete(WebSession).where(col(WebSession.id) == found.id))
            return found

    async def end_sessions(self, person: str, *, keep_session_id: str | None = None) -> int:
        """End all sessions of a person but the one to be kept; returns how many."""
        async with self._sessions.begin_write() as session:
            result = await session.execute(_build_session_delete(person, keep=keep_session_id))
            return result.rowcount if isinstance(result, CursorResult) else 0

    async def record_sign_in_attempts(
        self, limits: dict[str, int], *, at: dt.datetime, since: dt.datetime
    ) -> tuple[list[int], dt.datetime | None]:
        """Record a try under each of these keys, unless one has reached its limit, and forget those before `since`.

        Returns the numbers of the tries; or none, and the instant of the try that has to expire first.
        """
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            is_of_now = (col(SignInTry.at) > since) & (col(SignInTry.at) <= at + _CLOCK_TOLERANCE)
            await session.execute(delete(SignInTry).where(~is_of_now))  # a clock that was set back holds nobody
            holding = [await _find_limiting_attempt(session, key, limit) for key, limit in limits.items()]
            if held := [instant for instant in holding if instant is not None]:
                return [], max(held)
            rows = [SignInTry(key=key, at=at) for key in limits]
            session.add_all(rows)
            await session.flush()
            return [row.id for row in rows if row.id is not None], None

    async def clear_sign_in_attempts(self, numbers: Sequence[int], *, key: str) -> None:
        """Forget these tries and all others under a key: it was the right person after all."""
        mine = col(SignInTry.id).in_(numbers) | (col(SignInTry.key) == key)
        await self._execute(delete(SignInTry).where(mine))


def _build_session_delete(person: str, *, keep: str | None = None) -> Delete:
    ending = delete(WebSession).where(col(WebSession.person) == person)
    return ending if keep is None else ending.where(col(WebSession.id) != keep)


async def _find_limiting_attempt(session: AsyncSession, key: str, limit: int) -> dt.datetime | None:
    """The instant of the try that keeps a key at its limit; None where it has fewer."""
    tries = select(col(SignInTry.at)).where(col(SignInTry.key) == key).order_by(col(SignInTry.at).desc())
    return await session.scalar(tries.offset(limit - 1).limit(1))


class TokenStore(Queries, retries=False):
    async def save(self, token: Token, *, may_replace: bool) -> bool:
        """Store a token; False where a person has its name, or a token that must not be replaced.

        A token that was made with another one belongs to whoever made that.
        """
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
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

    async def get(self, name: str) -> Token | None:
        found = await self._get(Token, sanitize_text(name))
        return found if found is not None and found.name == name else None

    async def count_use(self, name: str, day: dt.date) -> bool:
        """Count a use of a token on a day; False where it has been used as often as it may be."""
        is_new_day = col(Token.used_on).is_distinct_from(day)
        used = case((is_new_day, 1), else_=col(Token.used) + 1)
        counting = update(Token).where(col(Token.name) == name, is_new_day | (col(Token.used) < col(Token.daily_limit)))
        async with self._sessions.begin_write() as session:
            result = await session.execute(counting.values(used_on=day, used=used))
            return isinstance(result, CursorResult) and result.rowcount == 1

    async def find_by_hash(self, hashed: str, now: dt.datetime) -> tuple[Token, Person | None] | None:
        """The token of that hash and the person who made it, if one did; None where it may not be used any more."""
        query = (
            select(Token, Person)
            .outerjoin(Person, col(Person.name) == col(Token.created_by))
            .where(
                col(Token.hash) == hashed,
                or_(col(Token.expires_at).is_(None), col(Token.expires_at) > now),
                or_(col(Person.is_shut_out).is_(None), col(Person.is_shut_out).is_(False)),
            )
        )
        rows = await self._fetch_rows(query)
        return (rows[0][0], rows[0][1]) if rows else None

    async def touch(self, name: str, *, at: dt.datetime) -> None:
        await self._execute(update(Token).where(col(Token.name) == name).values(last_used_at=at))

    async def list_all(self) -> list[Token]:
        return await self._fetch_all(select(Token).order_by(col(Token.created_at).desc(), col(Token.name)))

    async def remove(self, name: str, *, owner: str | None) -> Token | None:
        """Remove a token, one of `owner` only where that is given; returns the removed token."""
        async with self._sessions.begin_write() as session:
            found = await session.get(Token, sanitize_text(name))
            if found is None or found.name != name or owner not in (None, found.created_by):
                return None
            await session.execute(delete(Token).where(col(Token.name) == found.name))
            return found


class FeedKeyStore(Queries):
    async def add(self, key: FeedKey, *, limit: int) -> FeedKey | None:
        """Store a key; None where its person has so many already."""
        kept = FeedKey(**sanitize_value(key.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            mine = select(func.count()).select_from(FeedKey).where(col(FeedKey.person) == kept.person)
            if (await session.execute(mine)).scalar_one() >= limit:
                return None
            session.add(kept)
            await session.flush()
        return kept

    async def list_for(self, person: str) -> list[FeedKey]:
        """The keys of a person, the newest first."""
        return await self._fetch_all(
            select(FeedKey).where(col(FeedKey.person) == person).order_by(col(FeedKey.id).desc())
        )

    async def find(self, token_hash: str) -> tuple[FeedKey, Person] | None:
        """The key of that hash and whose it is; None where there is none, or its person is shut out."""
        query = (
            select(FeedKey, Person)
            .join(Person, col(Person.name) == col(FeedKey.person))
            .where(col(FeedKey.token_hash) == token_hash, col(Person.is_shut_out).is_(False))
        )
        rows = await self._fetch_rows(query)
        return (rows[0][0], rows[0][1]) if rows else None

    async def touch(self, key_id: int, *, at: dt.datetime) -> None:
        await self._execute(update(FeedKey).where(col(FeedKey.id) == key_id).values(last_used_at=at))

    async def remove(self, person: str, key_id: int) -> FeedKey | None:
        """Remove a key of a person and return it; None where they have no such key."""
        async with self._lock(FeedKey, key_id) as (session, key):
            if key is None or key.person != person:
                return None
            await session.delete(key)
            return key


class AuditStore(Queries):
    async def add(self, entry: AuditEntry) -> None:
        values = entry.model_dump(exclude={"id"}) | {"subject": sanitize_text(entry.subject)}
        await self._execute(insert(AuditEntry).values(values))

    async def list_entries(
        self,
        *,
        person: str | None,
        action: str | None,
        subject: str | None,
        address: str | None,
        before_id: int | None,
        limit: int,
    ) -> list[AuditEntry]:
        """Newest first; `action` also finds those that begin with it and a dot, `subject` those that hold it."""
        query = select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(limit)
        if person:
            query = query.where(col(AuditEntry.person) == sanitize_text(person))
        if action:
            is_group = col(AuditEntry.action).startswith(f"{sanitize_text(action)}.", autoescape=True)
            query = query.where((col(AuditEntry.action) == sanitize_text(action)) | is_group)
        if subject:
            query = query.where(col(AuditEntry.subject).icontains(sanitize_text(subject), autoescape=True))
        if address:
            query = query.where(col(AuditEntry.address) == sanitize_text(address))
        if before_id is not None:
            query = query.where(col(AuditEntry.id) < before_id)
        return await self._fetch_all(query)

    async def list_after(
        self, after_id: int, *, since: dt.datetime | None, until: dt.datetime | None, limit: int
    ) -> list[AuditEntry]:
        """Oldest first, from an entry on: those from `since` to before `until`, as far as they are exported."""
        query = select(AuditEntry).where(col(AuditEntry.id) > after_id).order_by(col(AuditEntry.id)).limit(limit)
        query = query.options(*(defer(getattr(AuditEntry, name)) for name in ("salts", "erased")))
        if since is not None:
            query = query.where(col(AuditEntry.at) >= since)
        if until is not None:
            query = query.where(col(AuditEntry.at) < until)
        return await self._fetch_all(query)

    async def list_people(self) -> list[str]:
        return await self._list_values(col(AuditEntry.person))

    async def list_actions(self) -> list[str]:
        return await self._list_values(col(AuditEntry.action))

    async def _list_values(self, column: Mapped[str]) -> list[str]:
        """Each value once, in order: one step in the column's index for each, not one for each entry."""
        first = select(func.min(column).label("value")).cte("values", recursive=True)
        following = select(func.min(column)).where(column > first.c.value).scalar_subquery()
        values = first.union_all(select(following).where(first.c.value.is_not(None)))
        return await self._fetch_all(select(values.c.value).where(values.c.value.is_not(None)))


class SettingsStore(Queries, retries=False):
    """Stored settings by path, with their values as they are, encrypted or not."""

    async def list_all(self) -> list[StoredSetting]:
        return await self._fetch_all(select(StoredSetting).order_by(col(StoredSetting.path)))

    async def load_timestamps(self) -> dict[str, dt.datetime]:
        """When each was stored: two equal answers mean that nothing was changed."""
        rows = await self._fetch_rows(select(col(StoredSetting.path), col(StoredSetting.at)))
        return {row[0]: row[1] for row in rows}

    async def change(self, rows: Sequence[StoredSetting], *, deleted_paths: Iterable[str] = ()) -> None:
        values = [row.model_dump() for row in rows]
        async with self._sessions.begin_write() as session:
            changed = ["value", "is_secret", "hosts", "is_host_assumed", "by", "at"]
            await upsert_rows(session, StoredSetting, values, key=["path"], update=changed)
            await session.execute(delete(StoredSetting).where(col(StoredSetting.path).in_(list(deleted_paths))))

    async def bind(self, hosts: Mapping[str, Sequence[str]]) -> None:
        """Set the hosts of secrets that have none; one that was bound in the meantime stays as it is."""
        async with self._sessions.begin_write() as session:
            for path, names in hosts.items():
                is_unbound = (col(StoredSetting.path) == path, col(StoredSetting.hosts).is_(None))
                values = {"hosts": list(names), "is_host_assumed": True}
                await session.execute(update(StoredSetting).where(*is_unbound).values(values))


class PromptStore(Queries, retries=False):
    """The wordings that replace ours, by name."""

    async def list_all(self) -> list[StoredPrompt]:
        return await self._fetch_all(select(StoredPrompt).order_by(col(StoredPrompt.name)))

    async def save(self, row: StoredPrompt) -> None:
        await self._upsert([row], key=["name"], update=["text", "by", "at"])

    async def delete(self, name: str) -> bool:
        """Restore our wording; False where it was not replaced."""
        async with self._sessions.begin_write() as session:
            row = await session.get(StoredPrompt, name)
            if row is not None:
                await session.delete(row)
            return row is not None
