"""Deliveries and their targets: the log, sending and retrying by hand, and the targets of the settings."""

import asyncio
import datetime as dt
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.briefing.compose import Briefing, drop_gaps
from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.secrets import SecretBindings, StoredSecret
from monitor.config.stored import SECRET_PREFIX
from monitor.config.targets import WEBHOOK_SCHEMES, TargetSettings, convert_chat_webhook, is_mail_address
from monitor.db.sessions import sanitize_text
from monitor.db.tables.delivery import BriefingRecord, Delivery, DeliveryKind, DeliveryStatus
from monitor.errors import Conflict, NotFound, UsageError, WorkFailed
from monitor.exports.registry import BRIEFING_FORMATS, get_format
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel, describe_validation_error
from monitor.services.audit import SERVICE, Actor, AuditAction, AuditedService, AuditRecord
from monitor.services.dispatch import DeliveryDispatcher, find_target, parse_briefing_record
from monitor.services.drafts import BriefingDraft, format_subject
from monitor.services.runtime import ServiceWatch, WorkerRegistry, has_worker
from monitor.services.schedules import check_schedule, find_next_fire_time
from monitor.services.settings import InvalidSettings, SettingsService
from monitor.services.teams import find_target_team, list_seen_targets
from monitor.steps import StepRunner
from monitor.vocabulary import ItemType, Role

_POLL_INTERVAL_S = 0.5
_COMMAND_LEASE = dt.timedelta(minutes=10)
"""So long a delivery that a command has in hand is left to it; after that, whoever works takes it up."""

_PROBLEM_WINDOW = dt.timedelta(days=30)
_MIN_FAILED_ATTEMPTS = 3


class DeliverySchema(MessageModel):
    id: str
    target: str
    kind: DeliveryKind
    status: DeliveryStatus
    planned_at: dt.datetime
    day: dt.date | None
    attempts: int
    next_try_at: dt.datetime | None
    sent_at: dt.datetime | None
    last_error: Message | None
    message_id: str
    key: str
    saved_id: int | None = None
    test_to: str | None = None


@dataclass(kw_only=True)
class DeliveryService(AuditedService):
    settings: Settings
    presence: WorkerRegistry
    dispatch: DeliveryDispatcher
    steps: StepRunner

    async def find_target(self, name: str) -> TargetSettings:
        """Return a target that whoever asks may see; `NotFound` names those that there are."""
        return find_target(await list_seen_targets(self.settings, self.store), name)

    async def send_test(self, target_name: str, *, by: Actor) -> DeliverySchema:
        by.require(Role.ADMIN)
        delivery = await self._create_delivery(target_name, DeliveryKind.TEST)
        delivery.next_try_at, delivery.attempts_allowed = None, 1
        async with self.store.transaction():
            await self.store.deliveries.create(delivery)
            await self.record(by, AuditAction.TARGET_TEST, target_name, delivery=delivery.id)
        await self.dispatch.attempt_delivery(delivery.id, 0, self.steps)
        return await self._get_schema(delivery.id)

    async def try_target(self, target: TargetSettings, *, by: Actor) -> Message | None:
        """Send a test to a target that need not be stored; return what went wrong. No delivery is kept of it."""
        by.require(Role.ADMIN)
        async with self.store.transaction():
            await self.record(by, AuditAction.TARGET_TEST, target.name, address=target.shown)
        now = self.clock.now()
        delivery = create_delivery(target, DeliveryKind.TEST, name="try", planned_at=now, now=now, team_id=None)
        return await self.dispatch.send_once(delivery, target)

    async def send_now(self, target_name: str, day: dt.date | None = None, *, by: Actor) -> DeliverySchema:
        """Send the briefing of a day, by default today, without waiting for sources; what is planned stays planned."""
        by.require(Role.EDITOR)
        delivery = await self._create_delivery(target_name, DeliveryKind.TYPED)
        timezone = (await self.find_target(target_name)).timezone or self.settings.timezone
        delivery.day = day or delivery.planned_at.astimezone(ZoneInfo(timezone)).date()
        record = AuditRecord(AuditAction.TARGET_SEND, target_name, {"delivery": delivery.id})
        return await self._send(delivery, None, record, by=by)

    async def send_saved(
        self,
        target_name: str,
        draft: BriefingDraft,
        *,
        by: Actor,
        include_gaps: bool | None = None,
        test_to: str | None = None,
    ) -> DeliverySchema:
        """Send a saved briefing as it stands; where a service is at work, that does it, and this does not wait.

        Without `include_gaps` it is the copy for a client, by default as the target wants it. With `test_to` it goes
        to that address alone, as a test of the mail.
        """
        by.require(Role.EDITOR)
        target = await self.find_target(target_name)
        briefing, row = draft.briefing, draft.row
        if not (target.include_gaps if include_gaps is None else include_gaps):
            briefing = drop_gaps(briefing)
        if test_to is not None and (target.kind != "mail" or not is_mail_address(test_to)):
            raise UsageError("delivery.no_test_address", target=target_name, address=test_to)
        delivery = await self._create_delivery(target_name, DeliveryKind.TYPED)
        delivery.day, delivery.saved_id, delivery.test_to = briefing.period.until, row.id, test_to
        delivery.team_id = row.team_id  # as it stands: the target's readers are who it is sent to
        composed = BriefingRecord(
            delivery_id=delivery.id, composed_at=briefing.generated_at, briefing=briefing.model_dump(mode="json")
        )
        detail = {"target": target_name, "include_gaps": briefing.include_gaps}
        if test_to is not None:
            detail["test_to"] = test_to
        record = AuditRecord(AuditAction.BRIEFING_SEND, format_subject(row.id, row.title), detail)
        return await self._send(delivery, composed, record, by=by, wait=False)

    async def send_saved_to_all(
        self, target_names: Sequence[str], draft: BriefingDraft, *, by: Actor, include_gaps: bool | None = None
    ) -> Sequence[DeliverySchema]:
        """Send a saved briefing to several targets, each by a delivery of its own, which says what became of it.

        `NotFound` for an unknown target, before anything is sent. Arguments as those of `send_saved`.
        """
        by.require(Role.EDITOR)
        names = dict.fromkeys(target_names)
        for name in names:
            await self.find_target(name)
        return [await self.send_saved(name, draft, by=by, include_gaps=include_gaps) for name in names]

    async def _send(
        self, delivery: Delivery, composed: BriefingRecord | None, record: AuditRecord, *, by: Actor, wait: bool = True
    ) -> DeliverySchema:
        is_served = await has_worker(self.presence)
        delivery.next_try_at = self._lease(is_served=is_served)
        async with self.store.transaction():
            await self.store.deliveries.create(delivery, composed)
            await self.record(by, record.action, record.subject, **record.detail)
        return await self._attempt(delivery, is_served=is_served, wait=wait)

    async def retry(self, delivery_id: str, *, by: Actor, wait: bool = True) -> DeliverySchema:
        """Try a failed delivery again, with the briefing, the key and the Message-ID that it had."""
        by.require(Role.EDITOR)
        delivery = await self._load_delivery(delivery_id, by=by)
        await self.dispatch.load_recipient(delivery)
        is_served = await has_worker(self.presence)
        async with self.store.transaction():
            if not await self.store.deliveries.retry(delivery_id, at=self._lease(is_served=is_served)):
                raise Conflict("delivery.not_failed", delivery=delivery_id, status=delivery.status)
            await self.record(by, AuditAction.DELIVERY_RETRY, delivery_id)
        return await self._attempt(delivery, is_served=is_served, wait=wait)

    async def _create_delivery(self, target_name: str, kind: DeliveryKind) -> Delivery:
        target, now = await self.find_target(target_name), self.clock.now()
        prefix = "test-" if kind is DeliveryKind.TEST else ""
        name = f"{prefix}{format_planned_time(now)}-{secrets.token_hex(2)}"
        team_id = await find_target_team(target, self.store)
        return create_delivery(target, kind, name=name, planned_at=now, now=now, team_id=team_id)

    def _lease(self, *, is_served: bool) -> dt.datetime:
        """Return from when a worker may take a delivery: at once, or after this process had its try."""
        now = self.clock.now()
        return now if is_served else now + _COMMAND_LEASE

    async def get_sent_briefing(self, delivery_id: str, *, by: Actor) -> Briefing:
        await self._load_delivery(delivery_id, by=by)
        briefing = parse_briefing_record(await self.store.deliveries.get_briefing(delivery_id))
        if briefing is None:
            raise NotFound("delivery.no_briefing", delivery=delivery_id)
        return briefing

    async def list_problems(self) -> list[DeliverySchema]:
        """Return the deliveries of the last 30 days that failed, or were tried several times in vain."""
        tried = await self.store.deliveries.list_open_failures(
            [DeliveryStatus.FAILED, DeliveryStatus.QUEUED], limit=1000
        )
        since = self.clock.now() - _PROBLEM_WINDOW
        rows = [row for row in tried if row.planned_at >= since]
        problems = [row for row in rows if row.status is DeliveryStatus.FAILED or row.attempts >= _MIN_FAILED_ATTEMPTS]
        return [_build_delivery_schema(row) for row in problems]

    async def list(
        self,
        *,
        by: Actor,
        target: str | None = None,
        saved_id: int | None = None,
        before: tuple[dt.datetime, str] | None = None,
        limit: int = 50,
    ) -> list[DeliverySchema]:
        """Return the log, newest first, behind `before`: planned time and id. `UsageError` for an unknown target.

        What goes to subscribers is seen by administrators and by themselves.
        """
        name = None if target is None else sanitize_text(target)
        seen_by = None if by.has_role(Role.ADMIN) else by.owner
        rows = await self.store.deliveries.list(
            target=name, saved_id=saved_id, before=before, seen_by=seen_by, limit=limit
        )
        if target is not None and not rows and before is None:
            await self.find_target(target)
        return [_build_delivery_schema(row) for row in rows]

    async def _attempt(self, delivery: Delivery, *, is_served: bool, wait: bool = True) -> DeliverySchema:
        if not is_served:
            await self.dispatch.attempt_delivery(delivery.id, delivery.attempts, self.steps)
        if not is_served or not wait:
            return await self._get_schema(delivery.id)
        service = ServiceWatch(self.presence)
        while True:
            schema = await self._get_schema(delivery.id)
            if schema.attempts > delivery.attempts:
                return schema
            if await service.is_gone():
                raise WorkFailed("delivery.service_gone", delivery=delivery.id)
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _get_schema(self, delivery_id: str) -> DeliverySchema:
        return _build_delivery_schema(await self._load_delivery(delivery_id))

    async def _load_delivery(self, delivery_id: str, *, by: Actor = SERVICE) -> Delivery:
        delivery = await self.store.deliveries.get(sanitize_text(delivery_id))
        if delivery is None or not (delivery.person in (None, by.owner) or by.has_role(Role.ADMIN)):
            raise NotFound("delivery.not_found", delivery=delivery_id)
        return delivery


def check_targets(settings: Settings) -> None:
    words = [str(word) for word in ItemType]
    for target in settings.deliver.targets:
        try:
            if target.schedule is not None:
                check_schedule(target.schedule, target.timezone or settings.timezone)
            for name in target.formats:
                get_format(name, BRIEFING_FORMATS)
        except UsageError as error:
            raise UsageError("target.wrong", target=target.name, reason=error.message) from None
        unknown = [word for word in target.types if word not in words]
        if unknown:
            raise UsageError("target.unknown_type", target=target.name, type=unknown[0], known=" ".join(words))


def _build_delivery_schema(delivery: Delivery) -> DeliverySchema:
    return DeliverySchema.model_validate(delivery, from_attributes=True)


class TargetSchema(BaseModel):
    """A target without the secrets of its url; `channel` is mail, chat or webhook, `last` the newest delivery to it."""

    name: str
    channel: str
    address: str
    to: list[str]
    bcc: list[str]
    schedule: str | None
    timezone: str
    next_at: dt.datetime | None
    days: int
    language: str
    formats: list[str]
    sources: list[str]
    tags: list[str]
    types: list[str]
    keywords: list[str]
    topic: str | None
    team: str | None
    top: int | None
    include_gaps: bool
    alarms: bool
    alerts: bool
    subscriptions: bool
    last: DeliverySchema | None = None


@dataclass(kw_only=True)
class TargetService:
    settings: Settings
    deliveries: DeliveryService
    clock: Clock

    async def list_names(self) -> list[str]:
        """Return the names of the targets that whoever asks may see."""
        return [target.name for target in await list_seen_targets(self.settings, self.deliveries.store)]

    async def list(self) -> list[TargetSchema]:
        return [await self._build_schema(target) for target in self.settings.deliver.targets]

    async def _build_schema(self, target: TargetSettings) -> TargetSchema:
        zone = target.timezone or self.settings.timezone
        next_at = find_next_fire_time(target.schedule, zone, self.clock.now()) if target.schedule else None
        last = await self.deliveries.list(by=SERVICE, target=target.name, limit=1)
        fields = target.model_dump(include=set(TargetSchema.model_fields) - {"timezone"})
        return TargetSchema(
            **fields,
            channel=target.kind,
            address=target.shown,
            timezone=zone,
            next_at=next_at,
            last=next(iter(last), None),
        )


_SETTING_PATH = "deliver.targets"


class TargetForm(BaseModel):
    """A target as it is typed. `url` and `secret` are never returned; null keeps the present ones."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "url": "smtps://user:password@mail.example.org",
                    "sender": "Monitor <monitor@example.org>",
                    "to": ["analysts@example.org"],
                    "schedule": "30 7 * * 1-5",
                    "formats": ["docx"],
                }
            ]
        },
    )

    url: str | None = Field(default=None, max_length=2000)
    secret: str | None = Field(default=None, max_length=4000, description="A webhook's: what signs.")
    sender: str | None = Field(default=None, max_length=300)
    to: list[str] = Field(default_factory=list, max_length=200)
    bcc: list[str] = Field(default_factory=list, max_length=200)
    schedule: str | None = Field(default=None, max_length=100)
    timezone: str | None = Field(default=None, max_length=100)
    days: int = Field(default=1, strict=True, ge=1, le=100_000)
    sources: list[str] = Field(default_factory=list, max_length=500)
    tags: list[str] = Field(default_factory=list, max_length=100)
    keywords: list[str] = Field(default_factory=list, max_length=200)
    types: list[str] = Field(default_factory=list, max_length=20)
    formats: list[str] = Field(default_factory=list, max_length=20)
    language: Literal["zh", "en"] = "zh"
    topic: str | None = Field(default=None, max_length=200)
    team: str | None = Field(default=None, max_length=60)
    top: int | None = Field(default=None, strict=True, ge=1, le=100_000)
    include_gaps: bool = Field(default=True, strict=True)
    quiet: Literal["none", "note"] = "none"
    deadline_minutes: int = Field(default=60, strict=True, ge=0, le=1440)
    alarms: bool = Field(default=False, strict=True)
    alerts: bool = Field(default=False, strict=True)
    subscriptions: bool = Field(default=False, strict=True)


class TargetChange(BaseModel):
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(kw_only=True)
class TargetEditingService:
    """Adds, changes and removes targets. The first change copies those of the file into the stored settings."""

    settings_service: SettingsService

    def get(self, name: str) -> TargetSettings:
        return find_target(self.settings_service.current.deliver.targets, name)

    def build(self, name: str, form: TargetForm) -> TargetSettings:
        """Build a target that is not stored; `InvalidSettings` says by field what is wrong.

        It has the secret that is entered with it, and reads nothing of the environment or of what is stored.
        """
        target = self._build_target(name, form, None)
        entered = {}
        if form.secret and target.secret_env and target.host:
            entered[target.secret_env] = StoredSecret(form.secret, frozenset({target.host}))
        return target.bind_secrets(SecretBindings(stored=entered, environment={}))

    async def put(self, name: str, form: TargetForm, *, by: Actor) -> TargetChange:
        is_known = any(target.name == name for target in self._targets)
        return await (self.edit(name, form, by=by) if is_known else self.add(name, form, by=by))

    async def add(self, name: str, form: TargetForm, *, by: Actor) -> TargetChange:
        """Add a target; `InvalidSettings` says by field what is wrong, `Conflict` that the name is taken."""
        by.require(Role.ADMIN)
        await self.settings_service.reload_if_changed()
        if any(target.name == name for target in self._targets):
            raise Conflict("target.name_taken", target=name)
        target = self._build_target(name, form, None)
        await self._check_team(target)
        change = TargetChange(name=name, before=None, after=await self._describe(target, form.secret))
        await self._save(AuditAction.TARGET_ADD, change, [*self._targets, target], by=by, secret=form.secret)
        return change

    async def edit(self, name: str, form: TargetForm, *, by: Actor) -> TargetChange:
        by.require(Role.ADMIN)
        await self.settings_service.reload_if_changed()
        known = self.get(name)
        target = self._build_target(name, form, known)
        await self._check_team(target)
        after = await self._describe(target, form.secret)
        change = TargetChange(name=name, before=await self._describe(known), after=after)
        targets = [target if other.name == name else other for other in self._targets]
        await self._save(AuditAction.TARGET_EDIT, change, targets, by=by, secret=form.secret)
        return change

    async def remove(self, name: str, *, by: Actor) -> TargetChange:
        by.require(Role.ADMIN)
        await self.settings_service.reload_if_changed()
        change = TargetChange(name=name, before=await self._describe(self.get(name)), after=None)
        targets = [target for target in self._targets if target.name != name]
        await self._save(AuditAction.TARGET_REMOVE, change, targets, by=by)
        return change

    async def _check_team(self, target: TargetSettings) -> None:
        if target.team is not None and await find_target_team(target, self.settings_service.store) is None:
            raise InvalidSettings({"team": Message.of("team.not_found", team=target.team)})

    @property
    def _targets(self) -> list[TargetSettings]:
        return self.settings_service.current.deliver.targets

    async def _describe(self, target: TargetSettings, secret: str | None = None) -> dict[str, Any]:
        """Return the target as the audit may keep it, with the fingerprint of a secret that is entered with it."""
        service = self.settings_service
        described = await asyncio.to_thread(service.describe_target, target)
        if secret and target.secret_env:
            described["secret_fingerprint"] = await asyncio.to_thread(service.secret_box.compute_fingerprint, secret)
        return described

    def _build_target(self, name: str, form: TargetForm, known: TargetSettings | None) -> TargetSettings:
        url = form.url or (known.url if known is not None else "")
        url = convert_chat_webhook(url) or url
        values = form.model_dump(exclude={"url", "secret"}, exclude_defaults=True) | {"name": name, "url": url}
        if url.split("://", 1)[0].lower() in WEBHOOK_SCHEMES:
            own = known.secret_env if known is not None else None
            values["secret_env"] = own or (_build_secret_variable(name) if form.secret else None)
        try:
            return TargetSettings.model_validate(values)
        except ValidationError as error:
            # Of several complaints about a field the first one stands beside it.
            complaints = {
                str(detail["loc"][0]) if detail["loc"] else "": describe_validation_error(detail)
                for detail in reversed(error.errors())
            }
            raise InvalidSettings(complaints) from None

    async def _save(
        self,
        action: AuditAction,
        change: TargetChange,
        targets: Sequence[TargetSettings],
        *,
        by: Actor,
        secret: str | None = None,
    ) -> None:
        values: dict[str, Any] = {
            _SETTING_PATH: [target.model_dump(mode="json", exclude_unset=True) for target in targets]
        }
        variable = next((target.secret_env for target in targets if target.name == change.name), None)
        if secret and variable:
            values[f"{SECRET_PREFIX}{variable}"] = secret
        detail = change.model_dump(exclude={"name"}, exclude_none=True)
        await self.settings_service.update(values, by=by, record=AuditRecord(action, change.name, detail))


def _build_secret_variable(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9]", lambda sign: f"_{ord(sign[0]):X}_", name)
    return f"TARGET_{plain}"[:80]
