"""The use cases around deliveries: look at the log, try a target out, send now, try again."""

import asyncio
import datetime as dt
import re
import secrets
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.briefing.compose import Briefing
from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.group import describe_error_detail
from monitor.config.model import Settings
from monitor.config.stored import SECRET_PREFIX
from monitor.config.targets import WEBHOOK_SCHEMES, TargetSettings
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.delivery import BriefingRecord, Delivery, DeliveryKind, DeliveryStatus
from monitor.errors import Conflict, NotFound, UsageError, WorkFailed
from monitor.exports.registry import BRIEFING_FORMATS, get_format
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.services.dispatch import DeliveryDispatcher, parse_briefing_record
from monitor.services.runtime import CronParser, WorkerRegistry
from monitor.services.settings import InvalidSettings, SettingsService
from monitor.services.sweeps import WORKER_KIND
from monitor.steps import StepRunner
from monitor.vocabulary import ItemType

_POLL_INTERVAL_S = 0.5

_SERVICE_TIMEOUT_S = 60.0

_COMMAND_LEASE = dt.timedelta(minutes=10)
"""So long a delivery that a command has in hand is left to it; after that, whoever works takes it up."""

_PROBLEM_WINDOW = dt.timedelta(days=30)

_MIN_FAILED_ATTEMPTS = 3


class DeliverySchema(MessageModel):
    """A delivery as people and their programs see it; nothing of its address but the target's name."""

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
    """Shows deliveries and makes those that a person asks for, by the service where one is at work."""

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

    async def send_test(self, name: str) -> DeliverySchema:
        """Send a letter that says that it is a test, at once and once."""
        target, now = self._dispatch.get_target(name), self._clock.now()
        name = f"test-{format_planned_time(now)}-{secrets.token_hex(2)}"
        delivery = create_delivery(target, DeliveryKind.TEST, name=name, planned_at=now, now=now)
        delivery.next_try_at, delivery.attempts_allowed = None, 1
        await self._store.deliveries.create(delivery)
        await self._dispatch.attempt_delivery(delivery.id, 0, self._steps)
        return await self._get_schema(delivery.id)

    async def send_now(self, name: str, day: dt.date | None = None) -> DeliverySchema:
        """Send the briefing of a day, by default today, without waiting for sources; what is planned stays planned."""
        target, now = self._dispatch.get_target(name), self._clock.now()
        served = await self._has_worker()
        typed = f"{format_planned_time(now)}-{secrets.token_hex(2)}"
        delivery = create_delivery(target, DeliveryKind.TYPED, name=typed, planned_at=now, now=now)
        delivery.day = day or now.astimezone(ZoneInfo(target.timezone or self._settings.timezone)).date()
        delivery.next_try_at = now if served else now + _COMMAND_LEASE
        await self._store.deliveries.create(delivery)
        return await self._attempt(delivery, has_worker=served)

    async def send_saved(self, name: str, briefing: Briefing, saved_id: int) -> DeliverySchema:
        """Send a saved briefing as it stands; where a service is at work, that does it, and this does not wait."""
        target, now = self._dispatch.get_target(name), self._clock.now()
        served = await self._has_worker()
        typed = f"{format_planned_time(now)}-{secrets.token_hex(2)}"
        delivery = create_delivery(target, DeliveryKind.TYPED, name=typed, planned_at=now, now=now)
        delivery.day, delivery.saved_id = briefing.period.until, saved_id
        delivery.next_try_at = now if served else now + _COMMAND_LEASE
        record = BriefingRecord(
            delivery_id=delivery.id, composed_at=briefing.generated_at, briefing=briefing.model_dump(mode="json")
        )
        await self._store.deliveries.create(delivery, record)
        return await self._attempt(delivery, has_worker=served, wait=False)

    async def retry(self, delivery_id: str, *, wait: bool = True) -> DeliverySchema:
        """Try a failed delivery again, with the briefing, the key and the Message-ID that it had."""
        delivery = await self._load_delivery(delivery_id)
        self._dispatch.get_target(delivery.target)
        served, now = await self._has_worker(), self._clock.now()
        if not await self._store.deliveries.retry(delivery_id, at=now if served else now + _COMMAND_LEASE):
            raise Conflict(f"The delivery {delivery_id} has not failed: it is {delivery.status}.")
        return await self._attempt(delivery, has_worker=served, wait=wait)

    async def get_sent_briefing(self, delivery_id: str) -> Briefing:
        """The briefing of a delivery as it was composed for it; `NotFound` where it has none."""
        await self._load_delivery(delivery_id)
        briefing = parse_briefing_record(await self._store.deliveries.get_briefing(delivery_id))
        if briefing is None:
            raise NotFound(f"The delivery {delivery_id} has no briefing: it is none of one, or it is not composed yet.")
        return briefing

    async def list_problems(self) -> list[DeliverySchema]:
        """The deliveries of the last 30 days that failed, and those that were tried several times in vain."""
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
        """The log, newest first; `UsageError` for a target that neither the configuration nor the log knows.

        It goes on behind `before`, the planned time and the id of the last one that was seen.
        """
        name = None if target is None else sanitize_text(target)
        rows = await self._store.deliveries.list(target=name, saved_id=saved_id, before=before, limit=limit)
        if target is not None and not rows and before is None:
            self._dispatch.get_target(target)
        return [_build_delivery_schema(row) for row in rows]

    async def _attempt(self, delivery: Delivery, *, has_worker: bool, wait: bool = True) -> DeliverySchema:
        if not has_worker:
            await self._dispatch.attempt_delivery(delivery.id, delivery.attempts, self._steps)
        if not has_worker or not wait:
            return await self._get_schema(delivery.id)
        seen = asyncio.get_running_loop().time()
        while True:
            found = await self._get_schema(delivery.id)
            if found.attempts > delivery.attempts:
                return found
            now = asyncio.get_running_loop().time()
            if await self._has_worker():
                seen = now
            elif now - seen > _SERVICE_TIMEOUT_S:
                raise WorkFailed(f"The service that took {delivery.id} is gone; it goes on when the service does.")
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _get_schema(self, delivery_id: str) -> DeliverySchema:
        return _build_delivery_schema(await self._load_delivery(delivery_id))

    async def _load_delivery(self, delivery_id: str) -> Delivery:
        delivery = await self._store.deliveries.get(sanitize_text(delivery_id))
        if delivery is None:
            raise NotFound(f"There is no delivery {delivery_id!r}; `monitor deliver list` names them.")
        return delivery

    async def _has_worker(self) -> bool:
        return WORKER_KIND in (await self._presence.list_alive()).values()


def check_targets(settings: Settings, schedules: CronParser) -> None:
    """`UsageError` for the first target whose schedule, formats or types cannot be meant."""
    words = [str(word) for word in ItemType]
    for target in settings.deliver.targets:
        try:
            if target.schedule is not None:
                schedules.check(target.schedule, target.timezone or settings.timezone)
            for name in target.formats:
                get_format(name, BRIEFING_FORMATS)
        except UsageError as error:
            raise UsageError(f"The target {target.name} in deliver.targets: {error}") from None
        unknown = [word for word in target.types if word not in words]
        if unknown:
            mend = f"there is no type {unknown[0]!r}; choose of {' '.join(words)}"
            raise UsageError(f"The target {target.name} in deliver.targets: {mend}.")


def check_targets_and_secrets(settings: Settings, schedules: CronParser) -> str:
    """The same, and whether every variable that a target needs is set; says what there is."""
    check_targets(settings, schedules)
    targets = settings.deliver.targets
    for target in targets:
        target.expand_url()
        if target.secret_env:
            target.load_secret()
    return ", ".join(f"{target.name} ({target.shown})" for target in targets) or "no target: briefings go nowhere"


def _build_delivery_schema(delivery: Delivery) -> DeliverySchema:
    return DeliverySchema.model_validate(delivery, from_attributes=True)


class TargetSchema(BaseModel):
    """A target as people and their programs see it: nothing of its url but what may be shown to anyone.

    `channel` is mail, chat or webhook; `last` the newest delivery to it.
    """

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
        self,
        *,
        settings: Settings,
        dispatch: DeliveryDispatcher,
        deliveries: DeliveryService,
        schedules: CronParser,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._dispatch = dispatch
        self._deliveries = deliveries
        self._schedules = schedules
        self._clock = clock

    def list_names(self) -> list[str]:
        return [target.name for target in self._dispatch.targets]

    async def list(self) -> list[TargetSchema]:
        """All targets, in the order of the settings."""
        return [await self._build_schema(target) for target in self._dispatch.targets]

    async def _build_schema(self, target: TargetSettings) -> TargetSchema:
        zone = target.timezone or self._settings.timezone
        next_at = self._schedules.next_after(target.schedule, zone, self._clock.now()) if target.schedule else None
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
    """A target as it is typed. `url` and `secret` are taken and never given back: null keeps those that it has."""

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
    """What was changed of a target, for the audit: nothing of its url but where it leads."""

    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class TargetEditingService:
    """Adds, changes and removes targets. The first change copies those of the file into the stored settings."""

    def __init__(self, *, settings_service: SettingsService) -> None:
        self._settings_service = settings_service

    def get(self, name: str) -> TargetSettings:
        """The target of that name; `NotFound` where there is none."""
        found = next((target for target in self._targets if target.name == name), None)
        if found is None:
            raise NotFound(f"There is no target {name!r}; there are {', '.join(one.name for one in self._targets)}.")
        return found

    async def add(self, name: str, form: TargetForm, *, by: str) -> TargetChange:
        """A new target; `InvalidSettings` says by field what is wrong, `Conflict` where the name is taken."""
        await self._settings_service.reload_if_changed()
        if any(target.name == name for target in self._targets):
            raise Conflict(f"There is a target {name!r} already: choose another name.")
        made = self._build_target(name, form, None)
        await self._save_targets([*self._targets, made], form, made, by)
        return TargetChange(name=name, before=None, after=_dump_public(made))

    async def edit(self, name: str, form: TargetForm, *, by: str) -> TargetChange:
        """Change a target; its deliveries so far stay its own."""
        await self._settings_service.reload_if_changed()
        known = self.get(name)
        made = self._build_target(name, form, known)
        await self._save_targets([made if target.name == name else target for target in self._targets], form, made, by)
        return TargetChange(name=name, before=_dump_public(known), after=_dump_public(made))

    async def remove(self, name: str, *, by: str) -> TargetChange:
        """No delivery goes there any more; the log keeps those that did."""
        await self._settings_service.reload_if_changed()
        known = self.get(name)
        await self._settings_service.update(
            {_SETTING_PATH: _dump_targets(target for target in self._targets if target.name != name)}, by=by
        )
        return TargetChange(name=name, before=_dump_public(known), after=None)

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
            complaints = {str(one["loc"][0]) if one["loc"] else "": one for one in reversed(error.errors())}
            raise InvalidSettings(
                {
                    field: render(describe_error_detail(complaint, shows_value=field != "url", shows_place=False), "en")
                    for field, complaint in complaints.items()
                }
            ) from None

    async def _save_targets(
        self, targets: list[TargetSettings], form: TargetForm, target: TargetSettings, by: str
    ) -> None:
        values: dict[str, Any] = {_SETTING_PATH: _dump_targets(targets)}
        if form.secret and target.secret_env:
            values[f"{SECRET_PREFIX}{target.secret_env}"] = form.secret
        await self._settings_service.update(values, by=by)


def _build_secret_variable(name: str) -> str:
    """The name under which a target's secret is kept; names that differ in other letters than ours stay apart."""
    plain = re.sub(r"[^A-Za-z0-9]", lambda sign: f"_{ord(sign[0]):X}_", name)
    return f"TARGET_{plain}"[:80]


def _dump_targets(targets: Any) -> list[dict[str, Any]]:
    return [target.model_dump(mode="json", exclude_unset=True) for target in targets]


def _dump_public(target: TargetSettings) -> dict[str, Any]:
    return target.model_dump(mode="json", exclude_unset=True) | {"url": target.shown}
