"""Accounts at a provider, passkeys, second factors, and sign-ins that are under way."""

import datetime as dt
from collections.abc import Sequence

from sqlalchemy import CursorResult, delete, func, insert, select, update
from sqlmodel import col

from monitor.db.sessions import Queries, lock_decisions, sanitize_text, sanitize_value
from monitor.db.tables.identity import ExternalAccount, Passkey, SecondFactor, SignInFlow, SignInStep
from monitor.db.tables.people import Person
from monitor.vocabulary import Role


class IdentityStore(Queries, retries=False):
    async def begin_flow(self, flow: SignInFlow, *, now: dt.datetime, limit: int) -> bool:
        """Store a sign-in that begins and forget those that have expired; False where too many are under way."""
        async with self._sessions.begin_write() as session:
            await session.execute(delete(SignInFlow).where(col(SignInFlow.expires_at) <= now))
            if (await session.scalar(select(func.count()).select_from(SignInFlow)) or 0) >= limit:
                return False
            await session.execute(insert(SignInFlow), [sanitize_value(flow.model_dump())])
            return True

    async def take_flow(self, flow_id: str, step: SignInStep, *, now: dt.datetime) -> SignInFlow | None:
        """Return a sign-in and forget it, so that its answer counts once; None where there is none at this step."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            flow = await session.get(SignInFlow, flow_id)
            if flow is None or flow.step is not step:
                return None
            await session.execute(delete(SignInFlow).where(col(SignInFlow.id) == flow_id))
            return flow if flow.expires_at > now else None

    async def find_flow(self, flow_id: str, step: SignInStep, *, now: dt.datetime) -> SignInFlow | None:
        """Return a sign-in that goes on; None where there is none at this step."""
        flow = await self._get(SignInFlow, flow_id)
        return flow if flow is not None and flow.step is step and flow.expires_at > now else None

    async def find_account(self, issuer: str, subject: str) -> tuple[ExternalAccount, Person] | None:
        query = (
            select(ExternalAccount, Person)
            .join(Person, col(Person.name) == col(ExternalAccount.person))
            .where(col(ExternalAccount.issuer) == issuer, col(ExternalAccount.subject) == sanitize_text(subject))
        )
        rows = await self._fetch_rows(query)
        return (rows[0][0], rows[0][1]) if rows else None

    async def link_account(self, account: ExternalAccount) -> bool:
        """Store whose account it is; False where it is somebody's already."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            same = select(col(ExternalAccount.id)).where(
                col(ExternalAccount.issuer) == account.issuer, col(ExternalAccount.subject) == account.subject
            )
            if await session.scalar(same) is not None:
                return False
            await session.execute(insert(ExternalAccount), [account.model_dump(exclude={"id"})])
            return True

    async def list_accounts(self, person: str) -> list[ExternalAccount]:
        mine = select(ExternalAccount).where(col(ExternalAccount.person) == person)
        return await self._fetch_all(mine.order_by(col(ExternalAccount.id)))

    async def touch_account(self, account_id: int | None, *, at: dt.datetime) -> None:
        touched = update(ExternalAccount).where(col(ExternalAccount.id) == account_id)
        await self._execute(touched.values(last_used_at=at))

    async def unlink_account(self, person: str, account_id: int) -> ExternalAccount | None:
        """Remove an account of a person and return it; None where they have no such account."""
        async with self._lock(ExternalAccount, account_id) as (session, account):
            if account is None or account.person != person:
                return None
            await session.delete(account)
            return account

    async def add_passkey(self, key: Passkey, *, limit: int) -> bool:
        """Store a key; False where its person has so many, or where somebody has this very key."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            mine = select(func.count()).select_from(Passkey).where(col(Passkey.person) == key.person)
            same = select(col(Passkey.id)).where(col(Passkey.credential_id) == key.credential_id)
            if (await session.scalar(mine) or 0) >= limit or await session.scalar(same) is not None:
                return False
            await session.execute(insert(Passkey), [sanitize_value(key.model_dump(exclude={"id"}))])
            return True

    async def list_passkeys(self, person: str) -> list[Passkey]:
        mine = select(Passkey).where(col(Passkey.person) == person)
        return await self._fetch_all(mine.order_by(col(Passkey.id)))

    async def find_passkey(self, credential_id: str) -> Passkey | None:
        same = select(Passkey).where(col(Passkey.credential_id) == sanitize_text(credential_id))
        return await self._fetch_first(same)

    async def use_passkey(self, key: Passkey, *, count: int, at: dt.datetime) -> bool:
        """Keep the new count; False where another sign-in with the same key came in between."""
        unchanged = update(Passkey).where(col(Passkey.id) == key.id, col(Passkey.sign_count) == key.sign_count)
        async with self._sessions.begin_write() as session:
            result = await session.execute(unchanged.values(sign_count=count, last_used_at=at))
            return isinstance(result, CursorResult) and result.rowcount == 1

    async def rename_passkey(self, person: str, key_id: int, label: str) -> str | None:
        """Give a key of a person another label and return the one before; None where they have no such key."""
        async with self._lock(Passkey, key_id) as (_, key):
            if key is None or key.person != person:
                return None
            before, key.label = key.label, sanitize_text(label)
            return before

    async def remove_passkey(self, person: str, key_id: int) -> Passkey | None:
        """Remove a key of a person and return it; None where they have no such key."""
        async with self._lock(Passkey, key_id) as (session, key):
            if key is None or key.person != person:
                return None
            await session.delete(key)
            return key

    async def add_second_factor(self, factor: SecondFactor) -> bool:
        """Store it; False where its person has one."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            if await session.get(SecondFactor, factor.person) is not None:
                return False
            await session.execute(insert(SecondFactor), [factor.model_dump()])
            return True

    async def get_second_factor(self, person: str) -> SecondFactor | None:
        return await self._get(SecondFactor, sanitize_text(person))

    async def list_second_factors(self) -> Sequence[str]:
        """The names of those who have one."""
        return await self._fetch_all(select(col(SecondFactor.person)))

    async def use_time_step(self, person: str, step: int) -> bool:
        """Keep the time step of a code; False where one as late was used before."""
        earlier = update(SecondFactor).where(col(SecondFactor.person) == person, col(SecondFactor.last_step) < step)
        async with self._sessions.begin_write() as session:
            result = await session.execute(earlier.values(last_step=step))
            return isinstance(result, CursorResult) and result.rowcount == 1

    async def use_recovery_code(self, person: str, code_hash: str) -> bool:
        """Forget a recovery code; False where the person has no such code any more."""
        async with self._lock(SecondFactor, person) as (_, factor):
            if factor is None or code_hash not in factor.recovery_codes:
                return False
            factor.recovery_codes = [kept for kept in factor.recovery_codes if kept != code_hash]
            return True

    async def set_recovery_codes(self, person: str, code_hashes: Sequence[str]) -> None:
        mine = update(SecondFactor).where(col(SecondFactor.person) == person)
        await self._execute(mine.values(recovery_codes=list(code_hashes)))

    async def remove_second_factor(self, person: str) -> bool:
        async with self._sessions.begin_write() as session:
            result = await session.execute(delete(SecondFactor).where(col(SecondFactor.person) == person))
            return isinstance(result, CursorResult) and result.rowcount == 1

    async def has_admin_account(self, issuer: str) -> bool:
        """Whether an administrator who may sign in has done so by this provider."""
        query = (
            select(col(ExternalAccount.id))
            .join(Person, col(Person.name) == col(ExternalAccount.person))
            .where(
                col(ExternalAccount.issuer) == issuer,
                col(ExternalAccount.last_used_at).is_not(None),
                col(Person.role) == Role.ADMIN,
                col(Person.is_shut_out).is_(False),
            )
        )
        return await self._fetch_first(query.limit(1)) is not None
