"""Client profiles: what the briefings of a client are of, kept under a name, and the targets that they go to."""

import builtins
import datetime as dt
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from monitor.briefing.compose import GroupBy
from monitor.config.model import Settings
from monitor.db.tables.people import ClientProfile
from monitor.db.visibility import see_as
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.briefings import BriefingConditions, check_sources
from monitor.services.dispatch import find_target
from monitor.services.teams import TeamService, choose_eyes, list_seen_targets
from monitor.vocabulary import Role

MAX_PROFILES = 500
MAX_PROFILE_NAME_CHARS = 100


class ClientProfileForm(BriefingConditions):
    """A profile as it is typed, as a whole. A `team` of yours sees it, and its briefings are composed for that team."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "北方电力", "topic": "储能", "days": 7, "top": 15, "targets": ["weekly"]}]
        },
    )

    name: str = Field(min_length=1, max_length=MAX_PROFILE_NAME_CHARS)
    days: int = Field(default=1, ge=1, le=366, strict=True)
    top: int = Field(default=20, ge=1, le=200, strict=True)
    group: GroupBy = "theme"
    targets: list[str] = Field(default_factory=list, max_length=50)
    team: str | None = Field(default=None, max_length=60)


class ClientProfileSchema(BaseModel):
    """A profile as it stands: the fields of a briefing that is composed, and the targets that it goes to."""

    id: int
    name: str
    conditions: BriefingConditions
    days: int
    top: int
    group: GroupBy
    targets: list[str]
    team_id: int | None
    created_by: str
    created_at: dt.datetime

    @property
    def compose_fields(self) -> dict[str, Any]:
        """What stands in the form of a briefing when the profile is chosen, but for its team."""
        return self.conditions.model_dump(mode="json", exclude_none=True) | self.model_dump(
            include={"days", "top", "group"}
        )


@dataclass(kw_only=True)
class ClientProfileService(AuditedService):
    settings: Settings
    teams: TeamService

    async def list(self) -> list[ClientProfileSchema]:
        return [_build_schema(row) for row in await self.store.client_profiles.list()]

    async def get(self, profile_id: int) -> ClientProfileSchema:
        return _build_schema(await self._load(profile_id))

    async def add(self, form: ClientProfileForm, *, by: Actor) -> ClientProfileSchema:
        """Keep a profile; `UsageError` for a source, topic or target that is not there, `Conflict` for a taken name."""
        by.require(Role.EDITOR)
        row = ClientProfile(**await self._check(form, by), created_by=by.name, created_at=self.clock.now())
        async with self.store.transaction():
            stored = await self._save(row)
            await self.record(by, AuditAction.CLIENT_PROFILE_ADD, stored.name, after=form.model_dump(mode="json"))
        return _build_schema(stored)

    async def edit(self, profile_id: int, form: ClientProfileForm, *, by: Actor) -> ClientProfileSchema:
        """Change a profile as a whole; what was composed of it stays as it is. Errors as those of `add`."""
        by.require(Role.EDITOR)
        before = await self._load(profile_id)
        values = await self._check(form, by)
        async with self.store.transaction():
            stored = await self._save(ClientProfile(**before.model_dump() | values))
            was = _build_schema(before).model_dump(mode="json", exclude={"id", "created_by", "created_at"})
            await self.record(
                by, AuditAction.CLIENT_PROFILE_EDIT, stored.name, before=was, after=form.model_dump(mode="json")
            )
        return _build_schema(stored)

    async def remove(self, profile_id: int, *, by: Actor) -> None:
        """Remove a profile; its briefings stay."""
        by.require(Role.EDITOR)
        async with self.store.transaction():
            row = await self._load(profile_id)
            await self.store.client_profiles.remove(profile_id)
            before = _build_schema(row).model_dump(mode="json", exclude={"id", "created_by", "created_at"})
            await self.record(by, AuditAction.CLIENT_PROFILE_REMOVE, row.name, before=before)

    async def _load(self, profile_id: int) -> ClientProfile:
        row = await self.store.client_profiles.get(profile_id)
        if row is None:
            raise NotFound("client_profile.not_found", profile=profile_id)
        return row

    async def _save(self, row: ClientProfile) -> ClientProfile:
        stored = await self.store.client_profiles.save(row, limit=MAX_PROFILES)
        if stored is None:
            raise Conflict("client_profile.name_taken", name=row.name, limit=MAX_PROFILES)
        return stored

    async def _check(self, form: ClientProfileForm, by: Actor) -> dict[str, Any]:
        """Return the fields of the row, and refuse what no briefing of it could ever have."""
        name, team_id = normalize_line(form.name), await self.teams.resolve(form.team, by)
        if not name:
            raise UsageError("client_profile.no_name")
        seen = await list_seen_targets(self.settings, self.store)
        for target in form.targets:
            find_target(seen, target)
        with see_as(choose_eyes(team_id)):  # a briefing is composed with the eyes of its team
            await check_sources(form.sources, self.store)
            if form.topic is not None and form.topic not in (known := await self.store.briefing_facts.list_topics()):
                raise UsageError("briefing.unknown_topic", topic=form.topic, known=known or [Message("target.none")])
        conditions = form.model_dump(mode="json", include=set(BriefingConditions.model_fields))
        plain = form.model_dump(include={"days", "top", "group"})
        targets = builtins.list(dict.fromkeys(form.targets))
        return plain | {"name": name, "team_id": team_id, "conditions": conditions, "targets": targets}


def _build_schema(row: ClientProfile) -> ClientProfileSchema:
    return ClientProfileSchema.model_validate(row, from_attributes=True)
