"""Sign-in by a provider of OpenID Connect: whose account it is, which role its groups give, how accounts are linked."""

import datetime as dt
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from monitor.config.auth import OidcSettings, get_claim
from monitor.config.model import Settings
from monitor.db.tables.identity import ExternalAccount, SignInFlow, SignInStep
from monitor.db.tables.people import Person
from monitor.errors import Conflict, MonitorError, NotFound, UsageError
from monitor.extras import needs_extra
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.services.audit import ANONYMOUS_NAME, NAME_PATTERN, RESERVED_NAMES, ROLE_ORDER, SERVICE, Actor, AuditAction
from monitor.services.identity.flows import SignInFlowService
from monitor.services.people import PeopleService, SignInError, SignInResult
from monitor.services.teams import TeamService
from monitor.vocabulary import Role

if TYPE_CHECKING:
    from monitor.services.identity.provider import OidcProvider

_MAX_SUBJECT_CHARS = 255  # what OpenID Connect allows
_UNPROVED = {"sign_in.flow_over", "oidc.off", "oidc.denied", "oidc.token_refused", "oidc.unreachable"}
"""Refusals that a stranger can bring about as often as they like: the log has them, the audit would be filled."""

_log = get_logger("oidc")


@dataclass(frozen=True, slots=True)
class SignInStart:
    """Where a browser goes on, and the cookie by which its answer is recognised."""

    url: str
    cookie: str


@dataclass(frozen=True, slots=True)
class SignInEnd:
    """What a sign-in led to: a session, or where an account was linked, None; and the path to go on to."""

    signed_in: SignInResult | None
    wanted: str


@dataclass(kw_only=True)
class OidcService(SignInFlowService):
    settings: Settings
    people: PeopleService
    teams: TeamService

    def __post_init__(self) -> None:
        self._provider: tuple[OidcSettings, OidcProvider] | None = None

    @property
    def _oidc(self) -> OidcSettings:
        return self.settings.auth.oidc

    @property
    def provider_name(self) -> str | None:
        """What people call the provider; None where there is none."""
        return self._oidc.display_name if self._oidc.is_on else None

    async def begin(self, *, redirect_url: str, wanted: str, person: str | None = None) -> SignInStart:
        """Begin a sign-in, or the linking of an account to a `person` who has signed in."""
        provider = self._get_provider()
        url, handshake = await provider.begin(redirect_url)
        cookie = await self.begin_flow(SignInStep.PROVIDER, person=person, handshake=handshake, wanted=wanted)
        return SignInStart(url, cookie)

    async def finish(
        self,
        cookie: str,
        answer: Mapping[str, str],
        *,
        address: str,
        browser: str,
        device: str | None = None,
        by: Actor | None = None,
    ) -> SignInEnd:
        """End a sign-in with what the provider sent the browser back with; `SignInError` says why it was refused.

        `by` is who has signed in already: an account is linked to the person who asked for it, and to nobody else.
        """
        stranger = Actor(ANONYMOUS_NAME, Role.READER, address=address)
        try:
            flow, claims = await self._redeem(cookie, answer)
            if flow.person is not None:
                if by is None or by.name != flow.person:
                    raise SignInError(Message("sign_in.flow_over"))
                await self._link(flow.person, str(claims["sub"]), by=by)
                return SignInEnd(None, flow.data["wanted"])
            person = await self._admit(claims, replace(SERVICE, address=address))
            max_age = dt.timedelta(hours=self._oidc.session_hours)
            begun = await self.people.begin_session(
                person, address=address, browser=browser, device=device, max_age=max_age, method="oidc"
            )
        except MonitorError as refused:
            if refused.message.code not in _UNPROVED:
                await self.record(stranger, AuditAction.SIGN_IN_FAILED, "?", reason=refused.message.code)
            _log.warning("sign-in refused", reason=str(refused), address=address)
            raise
        return SignInEnd(begun, flow.data["wanted"])

    async def _redeem(self, cookie: str, answer: Mapping[str, str]) -> tuple[SignInFlow, dict[str, Any]]:
        """Return the sign-in that this browser began, and the claims of who signed in."""
        provider = self._get_provider()
        flow = await self.take_flow(cookie, SignInStep.PROVIDER)
        is_ours = secrets.compare_digest(answer.get("state", "").encode(), flow.data["handshake"]["state"].encode())
        if not is_ours or answer.get("iss", self._oidc.issuer) != self._oidc.issuer:
            raise SignInError(Message("sign_in.flow_over"))
        if error := answer.get("error"):
            code = error if re.fullmatch(r"[a-z_]{1,60}", error) else "error"
            raise SignInError(Message.of("oidc.denied", name=self._oidc.display_name, reason=code))
        return flow, await provider.redeem_code(answer.get("code", ""), flow.data["handshake"])

    async def _admit(self, claims: Mapping[str, Any], by: Actor) -> Person:
        """Return whose account it is, with the role that their groups give now; add a person who is new."""
        issuer, subject = self._oidc.issuer or "", str(claims["sub"])
        groups = self._list_groups(claims)
        role = self._choose_role(groups)
        found = await self.store.identity.find_account(issuer, subject)
        if found is None:
            created = await self._create_person(claims, role, by)
            await self._follow_teams(created.name, groups, by)
            return created
        account, person = found
        if person.is_shut_out:
            raise SignInError(Message("oidc.shut_out"))
        if self._oidc.roles and role is None:
            raise SignInError(Message.of("oidc.no_role", name=self._oidc.display_name))
        await self.store.identity.touch_account(account.id, at=self.clock.now())
        if self._oidc.roles and role is not None and role is not person.role:
            await self._follow_role(person, role, by)
        await self._follow_teams(person.name, groups, by)
        return await self.people.get(person.name)

    def _list_groups(self, claims: Mapping[str, Any]) -> list[str]:
        groups = get_claim(claims, self._oidc.groups_claim)
        return [name for name in (groups if isinstance(groups, list) else [groups]) if isinstance(name, str)]

    def _choose_role(self, groups: Sequence[str]) -> Role | None:
        """Return the highest role that a group gives, else the default one; None where there is none."""
        given = [self._oidc.roles[name] for name in groups if name in self._oidc.roles]
        return max(given, key=ROLE_ORDER.index, default=self._oidc.default_role)

    async def _follow_teams(self, person: str, groups: Sequence[str], by: Actor) -> None:
        """Put a person into the teams of their groups, and out of all others that groups give.

        A team that no group gives is joined and left here; so is every team where the settings name none.
        """
        by_group = self._oidc.teams
        if not by_group:
            return
        names = await self.store.teams.list_names()
        joined = {names[team_id] for team_id in await self.store.teams.list_of_person(person) or () if team_id in names}
        given = {by_group[group] for group in groups if group in by_group}
        if unknown := given - set(names.values()):
            _log.warning("auth.oidc.teams names teams that are not there", teams=sorted(unknown))
        await self.teams.set_memberships(person, joined - set(by_group.values()) | given, by=by)

    async def _follow_role(self, person: Person, role: Role, by: Actor) -> None:
        """Give a person the role of their groups; the last administrator stays one."""
        async with self.store.transaction():
            if not await self.store.people.set_access(person.name, role=role):
                _log.warning("the last administrator keeps the role", person=person.name, role=str(role))
                return
            change = {"before": {"role": person.role}, "after": {"role": role}, "provider": self._oidc.issuer}
            await self.record(by, AuditAction.PERSON_ROLE, person.name, **change)

    async def _create_person(self, claims: Mapping[str, Any], role: Role | None, by: Actor) -> Person:
        """Add a person under the name that the provider gives; a name that is taken is never taken over."""
        provider = self._oidc.display_name
        if not self._oidc.create_people:
            raise SignInError(Message.of("oidc.unknown", name=provider))
        if role is None:
            raise SignInError(Message.of("oidc.no_role", name=provider))
        name = self._choose_name(claims)
        account = self._build_account(name, str(claims["sub"]))
        account.last_used_at = account.created_at
        async with self.store.transaction():
            person = await self.people.add_without_password(name, role)
            if person is None:
                raise SignInError(Message.of("oidc.name_taken", person=name, name=provider))
            if not await self.store.identity.link_account(account):
                raise SignInError(Message("sign_in.flow_over"))
            after = {"role": role, "provider": account.issuer, "account": account.subject}
            await self.record(by, AuditAction.PERSON_ADD, name, after=after)
        return person

    def _choose_name(self, claims: Mapping[str, Any]) -> str:
        value = get_claim(claims, self._oidc.name_claim)
        name = value.strip() if isinstance(value, str) else ""
        if not re.fullmatch(NAME_PATTERN, name) or name in RESERVED_NAMES:
            raise SignInError(
                Message.of("oidc.bad_name", name=self._oidc.display_name, claim=self._oidc.name_claim, value=name[:60])
            )
        return name

    async def list_accounts(self, person: str) -> list[ExternalAccount]:
        return await self.store.identity.list_accounts(person)

    async def link(self, person: str, subject: str, *, by: Actor) -> None:
        """Link an account of the provider to a person by what the provider calls it: an administrator's act."""
        by.require(Role.ADMIN)
        await self.people.get(person)
        await self._link(person, subject.strip(), by=by)

    async def _link(self, person: str, subject: str, *, by: Actor) -> None:
        self._require_provider()
        if not 0 < len(subject) <= _MAX_SUBJECT_CHARS or not subject.isprintable():
            raise UsageError("oidc.bad_subject", limit=_MAX_SUBJECT_CHARS)
        async with self.store.transaction():
            if not await self.store.identity.link_account(self._build_account(person, subject)):
                raise Conflict("oidc.account_taken")
            await self.record(by, AuditAction.PERSON_LINK, person, provider=self._oidc.issuer, account=subject)

    async def unlink(self, person: str, account_id: int, *, by: Actor) -> None:
        """Unlink an account; one's own only with a password to sign in with instead."""
        if person != by.name:
            by.require(Role.ADMIN)
            await self.people.get(person)
        elif not (await self.people.get(person)).password_hash:
            raise Conflict("oidc.only_way_in")
        async with self.store.transaction():
            account = await self.store.identity.unlink_account(person, account_id)
            if account is None:
                raise NotFound("oidc.account_not_found")
            detail = {"provider": account.issuer, "account": account.subject}
            await self.record(by, AuditAction.PERSON_UNLINK, person, **detail)

    def _build_account(self, person: str, subject: str) -> ExternalAccount:
        return ExternalAccount(
            person=person, issuer=self._oidc.issuer or "", subject=subject, created_at=self.clock.now()
        )

    def _require_provider(self) -> None:
        if not self._oidc.is_on:
            raise NotFound("oidc.off")

    def _get_provider(self) -> "OidcProvider":
        """Return the provider of the settings in force; what it published is kept while they stay."""
        self._require_provider()
        with needs_extra("identity"):
            from monitor.services.identity.provider import OidcProvider
        if self._provider is None or self._provider[0] is not self._oidc:
            self._provider = (self._oidc, OidcProvider(self._oidc, self.settings.network, self.clock))
        return self._provider[1]
