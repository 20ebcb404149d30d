"""Deliveries and their targets: the log, sending and retrying by hand, and the targets of the settings."""

import asyncio
import datetime as dt
import re
import secrets
from collections.abc import Sequence
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.briefing.compose import Briefing
from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.stored import SECRET_PREFIX
from monitor.config.targets import WEBHOOK_SCHEMES, TargetSettings
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.delivery import BriefingRecord, Delivery, DeliveryKind, DeliveryStatus
from monitor.errors import Conflict, NotFound, UsageError, WorkFailed
from monitor.exports.registry import BRIEFING_FORMATS, get_format
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel, describe_validation_error
from monitor.services.audit import Actor, AuditAction, AuditRecord, AuditService
from monitor.services.dispatch import DeliveryDispatcher, parse_briefing_record
from monitor.services.drafts import BriefingDraft, format_subject
from monitor.services.runtime import WorkerRegistry, has_worker
from monitor.services.schedules import check_schedule, find_next_fire_time
from monitor.services.settings import InvalidSettings, SettingsService
from monitor.steps import StepRunner
from monitor.vocabulary import ItemType, Role

_POLL_INTERVAL_S = 0.5
_SERVICE_TIMEOUT_S = 60.0
_COMMAND_LEASE = dt.timedelta(minutes=10)
"""So long a delivery that a command has in hand is left to it; after that, whoever works takes it up."""

_PROBLEM_WINDOW = dt.timedelta(days=30)
_MIN_FAILED_ATTEMPTS = 3


class DeliverySchema(MessageModel):
    """A delivery as it is shown; nothing of its address but the target's name."""

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


class DeliveryService:
    """Lists deliveries and sends those that a person asks for, through the service where one is at work."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        presence: WorkerRegistry,
        dispatch: DeliveryDispatcher,
        steps: StepRunner,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._presence = presence
        self._dispatch = dispatch
        self._steps = steps
        self._audit = AuditService(store=store, clock=clock)

    async def send_test(self, target_name: str, *, by: Actor) -> DeliverySchema:
        """Send a test notification now, with a single attempt."""
        by.require(Role.ADMIN)
        delivery = self._create_delivery(target_name, DeliveryKind.TEST)
        delivery.next_try_at, delivery.attempts_allowed = None, 1
        async with self._store.transaction():
            await self._store.deliveries.create(delivery)
            await self._audit.record(by, AuditAction.TARGET_TEST, target_name, delivery=delivery.id)
        await self._dispatch.attempt_delivery(delivery.id, 0, self._steps)
        return await self._get_schema(delivery.id)

    async def send_now(self, target_name: str, day: dt.date | None = None, *, by: Actor) -> DeliverySchema:
        """Send the briefing of a day, by default today, without waiting for sources; what is planned stays planned."""
        by.require(Role.EDITOR)
        is_served = await has_worker(self._presence)
        delivery = self._create_delivery(target_name, DeliveryKind.TYPED)
        timezone = self._dispatch.get_target(target_name).timezone or self._settings.timezone
        delivery.day = day or delivery.planned_at.astimezone(ZoneInfo(timezone)).date()
        delivery.next_try_at = self._lease(is_served=is_served)
        async with self._store.transaction():
            await self._store.deliveries.create(delivery)
            await self._audit.record(by, AuditAction.TARGET_SEND, target_name, delivery=delivery.id)
        return await self._attempt(delivery, is_served=is_served)

    async def send_saved(self, target_name: str, draft: BriefingDraft, *, by: Actor) -> DeliverySchema:
        """Send a saved briefing as it stands; where a service is at work, that does it, and this does not wait."""
        by.require(Role.EDITOR)
        briefing, row = draft.briefing, draft.row
        is_served = await has_worker(self._presence)
        delivery = self._create_delivery(target_name, DeliveryKind.TYPED)
        delivery.day, delivery.saved_id = briefing.period.until, row.id
        delivery.next_try_at = self._lease(is_served=is_served)
        record = BriefingRecord(
            delivery_id=delivery.id, composed_at=briefing.generated_at, briefing=briefing.model_dump(mode="json")
        )
        async with self._store.transaction():
            await self._store.deliveries.create(delivery, record)
            subject = format_subject(row.id, row.title)
            await self._audit.record(by, AuditAction.BRIEFING_SEND, subject, target=target_name)
        return await self._attempt(delivery, is_served=is_served, wait=False)

    async def retry(self, delivery_id: str, *, by: Actor, wait: bool = True) -> DeliverySchema:
        """Try a failed delivery again, with the briefing, the key and the Message-ID that it had."""
        by.require(Role.EDITOR)
        delivery = await self._load_delivery(delivery_id)
        self._dispatch.get_target(delivery.target)
        is_served = await has_worker(self._presence)
        async with self._store.transaction():
            if not await self._store.deliveries.retry(delivery_id, at=self._lease(is_served=is_served)):
                raise Conflict("delivery.not_failed", delivery=delivery_id, status=delivery.status)
            await self._audit.record(by, AuditAction.DELIVERY_RETRY, delivery_id)
        return await self._attempt(delivery, is_served=is_served, wait=wait)

    def _create_delivery(self, target_name: str, kind: DeliveryKind) -> Delivery:
        target, now = self._dispatch.get_target(target_name), self._clock.now()
        prefix = "test-" if kind is DeliveryKind.TEST else ""
        name = f"{prefix}{format_planned_time(now)}-{secrets.token_hex(2)}"
        return create_delivery(target, kind, name=name, planned_at=now, now=now)

    def _lease(self, *, is_served: bool) -> dt.datetime:
        """Return from when a worker may take a delivery: at once, or after this process had its try."""
        now = self._clock.now()
        return now if is_served else now + _COMMAND_LEASE

    async def get_sent_briefing(self, delivery_id: str) -> Briefing:
        """Return the briefing that was composed for a delivery; `NotFound` where it has none."""
        await self._load_delivery(delivery_id)
        briefing = parse_briefing_record(await self._store.deliveries.get_briefing(delivery_id))
        if briefing is None:
            raise NotFound("delivery.no_briefing", delivery=delivery_id)
        return briefing

    async def list_problems(self) -> list[DeliverySchema]:
        """Return the deliveries of the last 30 days that failed, or were tried several times in vain."""
        rows = await self._store.deliveries.list(status=[DeliveryStatus.FAILED, DeliveryStatus.QUEUED], limit=1000)
        since = self._clock.now() - _PROBLEM_WINDOW
        return [
            _build_delivery_schema(row)
            for row in rows
            if row.planned_at >= since and (row.status is DeliveryStatus.FAILED or row.attempts >= _MIN_FAILED_ATTEMPTS)
        ]

    async def list(
        self,
        *,
        target: str | None = None,
        saved_id: int | None = None,
        before: tuple[dt.datetime, str] | None = None,
        limit: int = 50,
    ) -> list[DeliverySchema]:
        """Return the log, newest first, behind `before`, the planned time and id of the last delivery that was seen.

        `UsageError` for a target that neither the configuration nor the log knows.
        """
        name = None if target is None else sanitize_text(target)
        rows = await self._store.deliveries.list(target=name, saved_id=saved_id, before=before, limit=limit)
        if target is not None and not rows and before is None:
            self._dispatch.get_target(target)
        return [_build_delivery_schema(row) for row in rows]

    async def _attempt(self, delivery: Delivery, *, is_served: bool, wait: bool = True) -> DeliverySchema:
        if not is_served:
            await self._dispatch.attempt_delivery(delivery.id, delivery.attempts, self._steps)
        if not is_served or not wait:
            return await self._get_schema(delivery.id)
        last_seen_s = asyncio.get_running_loop().time()
        while True:
            schema = await self._get_schema(delivery.id)
            if schema.attempts > delivery.attempts:
                return schema
            now_s = asyncio.get_running_loop().time()
            if await has_worker(self._presence):
                last_seen_s = now_s
            elif now_s - last_seen_s > _SERVICE_TIMEOUT_S:
                raise WorkFailed("delivery.service_gone", delivery=delivery.id)
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _get_schema(self, delivery_id: str) -> DeliverySchema:
        return _build_delivery_schema(await self._load_delivery(delivery_id))

    async def _load_delivery(self, delivery_id: str) -> Delivery:
        delivery = await self._store.deliveries.get(sanitize_text(delivery_id))
        if delivery is None:
            raise NotFound("delivery.not_found", delivery=delivery_id)
        return delivery


def check_targets(settings: Settings) -> None:
    """Raise `UsageError` for the first target whose schedule, formats or types are wrong."""
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
    top: int | None
    alarms: bool
    last: DeliverySchema | None = None


class TargetService:
    """Shows the targets of the settings."""

    def __init__(
        self, *, settings: Settings, dispatch: DeliveryDispatcher, deliveries: DeliveryService, clock: Clock
    ) -> None:
        self._settings = settings
        self._dispatch = dispatch
        self._deliveries = deliveries
        self._clock = clock

    def list_names(self) -> list[str]:
        return [target.name for target in self._dispatch.targets]

    async def list(self) -> list[TargetSchema]:
        """All targets, in the order of the settings."""
        return [await self._build_schema(target) for target in self._dispatch.targets]

    async def _build_schema(self, target: TargetSettings) -> TargetSchema:
        zone = target.timezone or self._settings.timezone
        next_at = find_next_fire_time(target.schedule, zone, self._clock.now()) if target.schedule else None
        last = await self._deliveries.list(target=target.name, limit=1)
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
    schedule: str | None = Field(default=None, max_length=100)
    timezone: str | None = Field(default=None, max_length=100)
    days: int = Field(default=1, strict=True, ge=1, le=100_000)
    sources: list[str] = Field(default_factory=list, max_length=500)
    tags: list[str] = Field(default_factory=list, max_length=100)
    keywords: list[str] = Field(default_factory=list, max_length=200)
    types: list[str] = Field(default_factory=list, max_length=20)
    formats: list[str] = Field(default_factory=list, max_length=20)
    language: Literal["zh", "en"] = "zh"
    top: int | None = Field(default=None, strict=True, ge=1, le=100_000)
    quiet: Literal["none", "note"] = "none"
    deadline_minutes: int = Field(default=60, strict=True, ge=0, le=1440)
    alarms: bool = Field(default=False, strict=True)


class TargetChange(BaseModel):
    """What was changed of a target, without the secrets of its url."""

    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class TargetEditingService:
    """Adds, changes and removes targets. The first change copies those of the file into the stored settings."""

    def __init__(self, *, settings_service: SettingsService) -> None:
        self._settings_service = settings_service

    def get(self, name: str) -> TargetSettings:
        target = next((target for target in self._targets if target.name == name), None)
        if target is None:
            known = [target.name for target in self._targets]
            raise NotFound("target.not_found", target=name, known=known or [Message("target.none")])
        return target

    async def put(self, name: str, form: TargetForm, *, by: Actor) -> TargetChange:
        """Add a target, or change the one of that name."""
        is_known = any(target.name == name for target in self._targets)
        return await (self.edit(name, form, by=by) if is_known else self.add(name, form, by=by))

    async def add(self, name: str, form: TargetForm, *, by: Actor) -> TargetChange:
        """Add a target; `InvalidSettings` says by field what is wrong, `Conflict` that the name is taken."""
        by.require(Role.ADMIN)
        await self._settings_service.reload_if_changed()
        if any(target.name == name for target in self._targets):
            raise Conflict("target.name_taken", target=name)
        target = self._build_target(name, form, None)
        change = TargetChange(name=name, before=None, after=_dump_public(target))
        await self._save(AuditAction.TARGET_ADD, change, [*self._targets, target], by=by, secret=form.secret)
        return change

    async def edit(self, name: str, form: TargetForm, *, by: Actor) -> TargetChange:
        """Change a target; its deliveries so far stay its own."""
        by.require(Role.ADMIN)
        await self._settings_service.reload_if_changed()
        known = self.get(name)
        target = self._build_target(name, form, known)
        change = TargetChange(name=name, before=_dump_public(known), after=_dump_public(target))
        targets = [target if other.name == name else other for other in self._targets]
        await self._save(AuditAction.TARGET_EDIT, change, targets, by=by, secret=form.secret)
        return change

    async def remove(self, name: str, *, by: Actor) -> TargetChange:
        """Remove a target; the log keeps its deliveries."""
        by.require(Role.ADMIN)
        await self._settings_service.reload_if_changed()
        change = TargetChange(name=name, before=_dump_public(self.get(name)), after=None)
        targets = [target for target in self._targets if target.name != name]
        await self._save(AuditAction.TARGET_REMOVE, change, targets, by=by)
        return change

    @property
    def _targets(self) -> list[TargetSettings]:
        return self._settings_service.current.deliver.targets

    def _build_target(self, name: str, form: TargetForm, known: TargetSettings | None) -> TargetSettings:
        url = form.url or (known.url if known is not None else "")
        values = form.model_dump(exclude={"url", "secret"}, exclude_defaults=True) | {"name": name, "url": url}
        if url.split("://", 1)[0].lower() in WEBHOOK_SCHEMES:
            own = known.secret_env if known is not None else None
            values["secret_env"] = own or (_build_secret_variable(name) if form.secret else None)
        try:
            return TargetSettings.model_validate(values)
        except ValidationError as error:
            # Of several complaints about a field the first one stands beside it.
            raise InvalidSettings(
                {
                    str(detail["loc"][0]) if detail["loc"] else "": describe_validation_error(detail)
                    for detail in reversed(error.errors())
                }
            ) from None

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
        await self._settings_service.store(values, AuditRecord(action, change.name, detail), by=by)


def _build_secret_variable(name: str) -> str:
    """Return the name under which a target's secret is stored; different targets have different names."""
    plain = re.sub(r"[^A-Za-z0-9]", lambda sign: f"_{ord(sign[0]):X}_", name)
    return f"TARGET_{plain}"[:80]


def _dump_public(target: TargetSettings) -> dict[str, Any]:
    return target.model_dump(mode="json", exclude_unset=True) | {"url": target.shown}
