"""Passkeys: keys on a person's device that sign in without a password (WebAuthn, by py_webauthn)."""

import base64
import hashlib
import ipaddress
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from monitor.config.model import Settings
from monitor.db.tables.identity import Passkey, SignInStep
from monitor.errors import Conflict, ExtraMissing, MonitorError, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.extras import check_extra, needs_extra
from monitor.i18n.message import Message
from monitor.services.audit import ANONYMOUS_NAME, Actor, AuditAction
from monitor.services.identity.flows import SignInFlowService
from monitor.services.people import PeopleService, SignInError, SignInResult
from monitor.vocabulary import Role

MAX_PASSKEYS = 20
MAX_PASSKEY_LABEL_CHARS = 100
_MAX_CREDENTIAL_CHARS = 1400
_SERVICE_NAME = "Monitor"


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """What a passkey is made for: a host, and the origin of the pages that may ask for it."""

    id: str
    origin: str

    @classmethod
    def from_url(cls, url: str) -> "RelyingParty | None":
        """The one of our own address; None where browsers have no passkeys: without TLS, or by a bare number."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_local = host == "localhost" or host.endswith(".localhost")
        if not host or _is_address(host) or (parts.scheme != "https" and not is_local):
            return None
        return cls(host, f"{parts.scheme}://{parts.netloc}")


@dataclass(frozen=True, slots=True)
class PasskeyRequest:
    """What a browser hands to the device, as JSON, and the cookie by which its answer is recognised."""

    options: dict[str, Any]
    cookie: str


@dataclass(kw_only=True)
class PasskeyService(SignInFlowService):
    settings: Settings
    people: PeopleService

    @property
    def is_available(self) -> bool:
        """Whether what passkeys need is installed."""
        try:
            check_extra("identity")
        except ExtraMissing:
            return False
        return True

    async def list(self, person: str) -> Sequence[Passkey]:
        return await self.store.identity.list_passkeys(person)

    async def begin_adding(self, party: RelyingParty, *, by: Actor) -> PasskeyRequest:
        """Ask the device of whoever has signed in for a new key, one that it finds by itself and unlocks first."""
        with needs_extra("identity"):
            import webauthn
            from webauthn.helpers import structs

        known = await self.store.identity.list_passkeys(by.name)
        if len(known) >= MAX_PASSKEYS:
            raise Conflict("passkey.too_many", limit=MAX_PASSKEYS)
        options = webauthn.generate_registration_options(
            rp_id=party.id,
            rp_name=_SERVICE_NAME,
            user_name=by.name,
            user_id=hashlib.sha256(f"{party.id} {by.name}".encode()).digest(),
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=[
                structs.PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(key.credential_id))
                for key in known
            ],
        )
        cookie = await self.begin_flow(SignInStep.PASSKEY_ADD, person=by.name, challenge=_encode(options.challenge))
        return PasskeyRequest(json.loads(webauthn.options_to_json(options)), cookie)

    async def add(
        self, cookie: str, answer: Mapping[str, Any], label: str, party: RelyingParty, *, by: Actor
    ) -> Passkey:
        """Keep the key that a device made; `UsageError` where its answer proves nothing, or has no label."""
        flow = await self.take_flow(cookie, SignInStep.PASSKEY_ADD, person=by.name)
        label = _check_label(label)
        with needs_extra("identity"):
            import webauthn

        with _refusing("passkey.not_proved"):
            made = webauthn.verify_registration_response(
                credential=dict(answer),
                expected_challenge=_decode(flow.data["challenge"]),
                expected_rp_id=party.id,
                expected_origin=party.origin,
                require_user_verification=True,
            )
        key = Passkey(
            person=by.name,
            credential_id=_encode(made.credential_id),
            public_key=_encode(made.credential_public_key),
            sign_count=made.sign_count,
            label=label,
            created_at=self.clock.now(),
        )
        if len(key.credential_id) > _MAX_CREDENTIAL_CHARS:
            raise UsageError("passkey.not_proved")
        async with self.store.transaction():
            if not await self.store.identity.add_passkey(key, limit=MAX_PASSKEYS):
                raise Conflict("passkey.too_many", limit=MAX_PASSKEYS)
            await self.record(by, AuditAction.PASSKEY_ADD, by.name, label=label)
        return key

    async def begin_sign_in(self, party: RelyingParty) -> PasskeyRequest:
        """Ask a device for whichever key it has for this service: nobody types a name."""
        with needs_extra("identity"):
            import webauthn
            from webauthn.helpers.structs import UserVerificationRequirement

        options = webauthn.generate_authentication_options(
            rp_id=party.id, user_verification=UserVerificationRequirement.REQUIRED
        )
        cookie = await self.begin_flow(SignInStep.PASSKEY, challenge=_encode(options.challenge))
        return PasskeyRequest(json.loads(webauthn.options_to_json(options)), cookie)

    async def sign_in(
        self,
        cookie: str,
        answer: Mapping[str, Any],
        party: RelyingParty,
        *,
        address: str,
        browser: str,
        device: str | None = None,
    ) -> SignInResult:
        """Begin a session of whose key it is; `SignInError` where the answer proves nothing, or was used before."""
        key = None
        try:
            flow = await self.take_flow(cookie, SignInStep.PASSKEY)
            key = await self.store.identity.find_passkey(str(answer.get("id", "")))
            person = await self.store.people.get(key.person) if key is not None else None
            if key is None or person is None or person.is_shut_out:
                raise SignInError(Message("passkey.unknown"))
            await self.people.require_local_sign_in(person.name)
            await self._check(key, answer, flow.data["challenge"], party)
            return await self.people.begin_session(
                person, address=address, browser=browser, device=device, method="passkey"
            )
        except MonitorError as refused:
            if key is not None:  # else a stranger could fill the audit
                stranger = Actor(ANONYMOUS_NAME, Role.READER, address=address)
                await self.record(stranger, AuditAction.SIGN_IN_FAILED, key.person, reason=refused.message.code)
            raise

    async def _check(self, key: Passkey, answer: Mapping[str, Any], challenge: str, party: RelyingParty) -> None:
        """Verify signature, challenge, origin, unlocking and counter: one that does not grow is that of a copy."""
        with needs_extra("identity"):
            import webauthn

        with _refusing("passkey.not_proved"):
            proof = webauthn.verify_authentication_response(
                credential=dict(answer),
                expected_challenge=_decode(challenge),
                expected_rp_id=party.id,
                expected_origin=party.origin,
                credential_public_key=_decode(key.public_key),
                credential_current_sign_count=key.sign_count,
                require_user_verification=True,
            )
        if not await self.store.identity.use_passkey(key, count=proof.new_sign_count, at=self.clock.now()):
            raise SignInError(Message("passkey.not_proved"))

    async def rename(self, key_id: int, label: str, *, by: Actor) -> None:
        """Give one of one's own keys another label."""
        label = _check_label(label)
        async with self.store.transaction():
            before = await self.store.identity.rename_passkey(by.name, key_id, label)
            if before is None:
                raise NotFound("passkey.not_found")
            await self.record(by, AuditAction.PASSKEY_RENAME, by.name, before=before, after=label)

    async def remove(self, person: str, key_id: int, *, by: Actor) -> None:
        """Remove a key; another person's takes an administrator."""
        if person != by.name:
            by.require(Role.ADMIN)
            await self.people.get(person)
        async with self.store.transaction():
            key = await self.store.identity.remove_passkey(person, key_id)
            if key is None:
                raise NotFound("passkey.not_found")
            await self.record(by, AuditAction.PASSKEY_REMOVE, person, label=key.label)


def _check_label(text: str) -> str:
    label = normalize_line(text)[:MAX_PASSKEY_LABEL_CHARS].strip()
    if not label:
        raise UsageError("passkey.without_label")
    return label


@contextmanager
def _refusing(code: str) -> Iterator[None]:
    """Turn what the library finds wrong in an answer into one refusal."""
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        yield
    except (WebAuthnException, ValueError, KeyError, TypeError):
        raise SignInError(Message(code)) from None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
