"""The second factor of passwords: codes of an authenticator app (TOTP, RFC 6238), and recovery codes in its place."""

import asyncio
import base64
import datetime as dt
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from monitor.db.tables.identity import SecondFactor, SignInStep
from monitor.db.tables.people import Person
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.services.audit import ANONYMOUS_NAME, Actor, AuditAction, hash_token
from monitor.services.identity.flows import SignInFlowService
from monitor.services.passwords import generate_one_time_password
from monitor.services.people import PeopleService, SecondFactorRequired, SignInError, SignInResult
from monitor.services.settings import SettingsService
from monitor.vocabulary import Role

RECOVERY_CODES = 10
_ISSUER = "Monitor"
_SECRET_BYTES = 20
_DIGITS, _STEP_S = 6, 30  # all that authenticator apps agree upon
_MAX_DRIFT_STEPS = 1  # of the clock of a phone, before and after


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What an app is set up with: the secret as text and as a QR code, and the cookie that the confirmation needs."""

    secret: str
    qr_code: str
    cookie: str


@dataclass(kw_only=True)
class SecondFactorService(SignInFlowService):
    people: PeopleService
    settings_service: SettingsService

    async def find(self, person: str) -> SecondFactor | None:
        return await self.store.identity.get_second_factor(person)

    async def list_people(self) -> frozenset[str]:
        """Return the names of those who have one."""
        return frozenset(await self.store.identity.list_second_factors())

    async def begin_sign_in(self, required: SecondFactorRequired) -> str:
        """Return the cookie of a sign-in whose password was right, and which waits for a code."""
        person = required.person
        proof = hash_token(person.password_hash)
        return await self.begin_flow(SignInStep.SECOND_FACTOR, person=person.name, tries=required.tries, password=proof)

    async def is_waiting(self, cookie: str) -> bool:
        """Whether there is a sign-in that waits for a code."""
        return await self.find_flow(cookie, SignInStep.SECOND_FACTOR) is not None

    async def sign_in(
        self, cookie: str, code: str, *, address: str, browser: str, device: str | None = None
    ) -> SignInResult:
        """Begin a session; `SignInError` for a wrong code, for one that was used, and after too many failures."""
        flow = await self.find_flow(cookie, SignInStep.SECOND_FACTOR)
        person = await self.store.people.get(flow.person) if flow is not None and flow.person else None
        factor = await self.find(person.name) if person is not None else None
        if flow is None or person is None or factor is None or not _is_unchanged(person, flow.data["password"]):
            raise SignInError(Message("sign_in.flow_over"))
        await self.people.require_local_sign_in(person.name)
        password_key, _ = await self.people.list_sign_in_limits(person.name, address, device)
        # Who comes so far knows the password, so that all unknown devices may share one limit.
        key = f"code {password_key}" if password_key.startswith("device ") else f"code {person.name}"
        try:
            tries = await self.people.count_try(key)
            method = await self._use_code(factor, code)
        except SignInError as refused:
            stranger = Actor(ANONYMOUS_NAME, Role.READER, address=address)
            await self.people.record_refusal(stranger, person.name, refused)
            raise
        await self.take_flow(cookie, SignInStep.SECOND_FACTOR)
        begun = await self.people.begin_session(
            person, address=address, browser=browser, device=device, spends=True, method=method
        )
        await self.people.clear_tries(tries, key)
        await self.people.clear_tries(flow.data["tries"], password_key)
        return begun

    async def begin_adding(self, cookie: str, *, by: Actor) -> Enrolment:
        """Return a new secret, or the one that this browser was given and has not confirmed yet."""
        person = await self.people.get(by.name)
        if not person.password_hash:
            raise UsageError("second_factor.no_password")
        if await self.find(by.name) is not None:
            raise Conflict("second_factor.is_on")
        flow = await self.find_flow(cookie, SignInStep.SECOND_FACTOR_ADD, person=by.name)
        if flow is not None:
            secret = await self._decrypt(flow.data["secret"])
        else:
            secret = base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()
            encrypted = await asyncio.to_thread(self.settings_service.secret_box.encrypt, secret)
            cookie = await self.begin_flow(SignInStep.SECOND_FACTOR_ADD, person=by.name, secret=encrypted)
        return Enrolment(secret, _draw_qr_code(secret, by.name), cookie)

    async def add(self, cookie: str, code: str, *, by: Actor) -> list[str]:
        """Keep the secret that a code proves to be in an app; return the recovery codes, which are shown this once."""
        flow = await self.find_flow(cookie, SignInStep.SECOND_FACTOR_ADD, person=by.name)
        if flow is None:
            raise SignInError(Message("sign_in.flow_over"))
        encrypted = flow.data["secret"]
        step = _find_step(await self._decrypt(encrypted), _normalize(code), self.clock.now())
        if step is None:
            raise SignInError(Message("sign_in.wrong_code"))
        codes = _create_recovery_codes()
        factor = SecondFactor(
            person=by.name,
            secret=encrypted,
            last_step=step,
            recovery_codes=_hash_all(codes),
            created_at=self.clock.now(),
        )
        await self.take_flow(cookie, SignInStep.SECOND_FACTOR_ADD, person=by.name)
        async with self.store.transaction():
            if not await self.store.identity.add_second_factor(factor):
                raise Conflict("second_factor.is_on")
            await self.record(by, AuditAction.SECOND_FACTOR_ADD, by.name)
        return codes

    async def replace_recovery_codes(self, code: str, *, session_id: str, by: Actor) -> list[str]:
        """Return new recovery codes; the ones before are good for nothing any more."""
        await self._verify_own_code(code, session_id=session_id, by=by)
        codes = _create_recovery_codes()
        async with self.store.transaction():
            await self.store.identity.set_recovery_codes(by.name, _hash_all(codes))
            await self.record(by, AuditAction.SECOND_FACTOR_CODES, by.name)
        return codes

    async def remove(self, code: str, *, session_id: str, by: Actor) -> None:
        """Remove one's own: whoever finds a browser open cannot do it without a code."""
        await self._verify_own_code(code, session_id=session_id, by=by)
        await self._remove(by.name, by)

    async def reset(self, person: str, *, by: Actor) -> None:
        """Remove that of somebody who lost phone and recovery codes: an administrator's act."""
        by.require(Role.ADMIN)
        await self.people.get(person)
        await self._remove(person, by)

    async def _remove(self, person: str, by: Actor) -> None:
        async with self.store.transaction():
            if not await self.store.identity.remove_second_factor(person):
                raise NotFound("second_factor.is_off", name=person)
            await self.record(by, AuditAction.SECOND_FACTOR_REMOVE, person)

    async def _verify_own_code(self, code: str, *, session_id: str, by: Actor) -> None:
        factor = await self.find(by.name)
        if factor is None:
            raise NotFound("second_factor.is_off", name=by.name)
        key = f"code session {session_id}"
        tries = await self.people.count_try(key)
        await self._use_code(factor, code)
        await self.people.clear_tries(tries, key)

    async def _use_code(self, factor: SecondFactor, code: str) -> str:
        """Use a code, which counts once, and return which kind it was; `SignInError` where it is none."""
        text = _normalize(code)
        if len(text) == _DIGITS and text.isdecimal():
            step = _find_step(await self._decrypt(factor.secret), text, self.clock.now())
            if step is not None and await self.store.identity.use_time_step(factor.person, step):
                return "totp"
        elif await self.store.identity.use_recovery_code(factor.person, hash_token(text)):
            return "recovery_code"
        raise SignInError(Message("sign_in.wrong_code"))

    async def _decrypt(self, encrypted: str) -> str:
        return await asyncio.to_thread(self.settings_service.secret_box.decrypt, encrypted)


def _is_unchanged(person: Person, proof: str) -> bool:
    """Whether the password is the one that was right, and the person may still come in."""
    return not person.is_shut_out and hmac.compare_digest(hash_token(person.password_hash), proof)


def _build_totp(secret: str) -> TOTP:
    return TOTP(base64.b32decode(secret), _DIGITS, SHA1(), _STEP_S)  # noqa: S303 -- what the apps know


def _find_step(secret: str, code: str, now: dt.datetime) -> int | None:
    """Return the time step whose code this is; None where it is not that of now, give or take the drift."""
    totp, current = _build_totp(secret), int(now.timestamp()) // _STEP_S
    steps = range(current - _MAX_DRIFT_STEPS, current + _MAX_DRIFT_STEPS + 1)
    given = code.encode("utf-8", "surrogatepass")
    return next((step for step in steps if hmac.compare_digest(totp.generate(step * _STEP_S), given)), None)


def _draw_qr_code(secret: str, person: str) -> str:
    """Return the image that an app scans, as a data: URL."""
    import segno  # for this one page

    uri = _build_totp(secret).get_provisioning_uri(person, _ISSUER)
    return segno.make(uri, error="m").svg_data_uri(scale=4, border=4, light="#fff")


def _create_recovery_codes() -> list[str]:
    return [generate_one_time_password() for _ in range(RECOVERY_CODES)]


def _hash_all(codes: Sequence[str]) -> list[str]:
    return [hash_token(_normalize(code)) for code in codes]


def _normalize(code: str) -> str:
    """Return a code as it is compared: people write it with blanks and hyphens."""
    return "".join(code.split()).replace("-", "").lower()
