"""The use cases of changing the targets of delivery: they are stored settings, each edited by itself."""

import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.app.configuring import Refused, SettingsDesk
from monitor.errors import Conflict, NotFound
from monitor.settings.complaints import reason_of
from monitor.settings.places import SECRETS
from monitor.settings.targets import WEBHOOK_SCHEMES, TargetSettings

_PATH = "deliver.targets"


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


class TargetEditing:
    """Adds, changes and removes targets. The first change copies those of the file into the stored settings."""

    def __init__(self, *, configuring: SettingsDesk) -> None:
        self._configuring = configuring

    def get(self, name: str) -> TargetSettings:
        """The target of that name; `NotFound` where there is none."""
        found = next((target for target in self._targets if target.name == name), None)
        if found is None:
            raise NotFound(f"There is no target {name!r}; there are {', '.join(one.name for one in self._targets)}.")
        return found

    async def add(self, name: str, form: TargetForm, *, by: str) -> TargetChange:
        """A new target; `Refused` says by field what is wrong, `Conflict` where the name is taken."""
        await self._configuring.follow()
        if any(target.name == name for target in self._targets):
            raise Conflict(f"There is a target {name!r} already: choose another name.")
        made = self._made(name, form, None)
        await self._store([*self._targets, made], form, made, by)
        return TargetChange(name=name, before=None, after=_shown(made))

    async def edit(self, name: str, form: TargetForm, *, by: str) -> TargetChange:
        """Change a target; its deliveries so far stay its own."""
        await self._configuring.follow()
        known = self.get(name)
        made = self._made(name, form, known)
        await self._store([made if target.name == name else target for target in self._targets], form, made, by)
        return TargetChange(name=name, before=_shown(known), after=_shown(made))

    async def remove(self, name: str, *, by: str) -> TargetChange:
        """No delivery goes there any more; the log keeps those that did."""
        await self._configuring.follow()
        known = self.get(name)
        await self._configuring.change(
            {_PATH: _dumped(target for target in self._targets if target.name != name)}, by=by
        )
        return TargetChange(name=name, before=_shown(known), after=None)

    @property
    def _targets(self) -> list[TargetSettings]:
        return self._configuring.current.deliver.targets

    def _made(self, name: str, form: TargetForm, known: TargetSettings | None) -> TargetSettings:
        url = form.url or (known.url if known is not None else "")
        values = form.model_dump(exclude={"url", "secret"}, exclude_defaults=True) | {"name": name, "url": url}
        if url.split("://", 1)[0].lower() in WEBHOOK_SCHEMES:
            own = known.secret_env if known is not None else None
            values["secret_env"] = own or (_variable_for(name) if form.secret else None)
        try:
            return TargetSettings.model_validate(values)
        except ValidationError as error:
            complaints = {str(one["loc"][0]) if one["loc"] else "": one for one in reversed(error.errors())}
            raise Refused(
                {
                    field: reason_of(complaint, is_told=field != "url", has_place=False)
                    for field, complaint in complaints.items()
                }
            ) from None

    async def _store(self, targets: list[TargetSettings], form: TargetForm, made: TargetSettings, by: str) -> None:
        values: dict[str, Any] = {_PATH: _dumped(targets)}
        if form.secret and made.secret_env:
            values[f"{SECRETS}{made.secret_env}"] = form.secret
        await self._configuring.change(values, by=by)


def _variable_for(name: str) -> str:
    """The name under which a target's secret is kept; names that differ in other letters than ours stay apart."""
    plain = re.sub(r"[^A-Za-z0-9]", lambda sign: f"_{ord(sign[0]):X}_", name)
    return f"TARGET_{plain}"[:80]


def _dumped(targets: Any) -> list[dict[str, Any]]:
    return [target.model_dump(mode="json", exclude_unset=True) for target in targets]


def _shown(target: TargetSettings) -> dict[str, Any]:
    return target.model_dump(mode="json", exclude_unset=True) | {"url": target.shown}
