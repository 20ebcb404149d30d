"""Teams: who is in them, what belongs to them, and who sees what (decision 0098)."""

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from sqlmodel import SQLModel

from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.queries.teams import TeamRow
from monitor.db.sessions import sanitize_text
from monitor.db.tables.collection import Source
from monitor.db.tables.people import ItemNote, Person, SavedBriefing, Token
from monitor.db.tables.policies import Topic
from monitor.db.tables.research import Research
from monitor.db.visibility import EVERYBODY, TeamIds, get_eyes
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.vocabulary import Role

MAX_TEAM_NAME_CHARS = 60


class TeamSubject(StrEnum):
    """What may belong to a team."""

    SOURCE = "source"
    TOPIC = "topic"
    BRIEFING = "briefing"
    RESEARCH = "research"
    NOTE = "note"


_TABLES: dict[TeamSubject, type[SQLModel]] = {
    TeamSubject.SOURCE: Source,
    TeamSubject.TOPIC: Topic,
    TeamSubject.BRIEFING: SavedBriefing,
    TeamSubject.RESEARCH: Research,
    TeamSubject.NOTE: ItemNote,
}


def parse_subject(word: str) -> TeamSubject:
    if word not in set(TeamSubject):
        raise UsageError("team.unknown_subject", subject=word, known=list(TeamSubject))
    return TeamSubject(word)


class TeamSchema(BaseModel):
    """A team with its members, both by name; `owned` counts what belongs to it."""

    id: int
    name: str
    members: list[str]
    owned: dict[str, int]
    created_at: dt.datetime


@dataclass(kw_only=True)
class TeamService(AuditedService):
    settings: Settings

    # Who sees what.

    async def find_eyes(self, person: Person) -> TeamIds | None:
        """Return the teams of a person; None where they see everything."""
        return await find_person_eyes(person, self.store)

    async def find_token_eyes(self, token: Token) -> TeamIds | None:
        """Return what a token sees: what its creator sees now, and of that the teams that it is confined to.

        One of the command line sees everything, as that does; one of a person who is gone sees what belongs to all.
        """
        creator = await self.store.people.get(token.created_by) if token.created_by else None
        eyes = await self.find_eyes(creator) if creator is not None else EVERYBODY if token.created_by else None
        confined = await self.store.teams.list_of_token(token.name)
        if not confined:
            return eyes
        return confined if eyes is None else confined & eyes

    async def list_choices(self, by: Actor) -> dict[int, str]:
        """Return the teams that an actor may give something to, by their ids: their own, or all to an administrator."""
        names = await self.store.teams.list_names()
        return {team_id: name for team_id, name in names.items() if by.teams is None or team_id in by.teams}

    async def resolve(self, name: str | None, by: Actor) -> int | None:
        """Return the id of one of the actor's teams; None for no name, which means everybody."""
        if not name:
            return None
        for team_id, known in (await self.list_choices(by)).items():
            if known == name:
                return team_id
        raise NotFound("team.not_found", team=name)

    async def get_name(self, team_id: int | None) -> str | None:
        return None if team_id is None else (await self.store.teams.list_names()).get(team_id)

    # The teams.

    async def list_teams(self, *, by: Actor) -> list[TeamSchema]:
        by.require(Role.ADMIN)
        return [await self._describe(row) for row in await self.store.teams.list_all()]

    async def get(self, name: str, *, by: Actor) -> TeamSchema:
        by.require(Role.ADMIN)
        return await self._describe(await self._load(name))

    async def create(self, name: str, *, by: Actor) -> TeamSchema:
        by.require(Role.ADMIN)
        name = _check_name(name)
        async with self.store.transaction():
            team = await self.store.teams.add(name, self.clock.now())
            if team is None:
                raise Conflict("team.name_taken", name=name)
            await self.record(by, AuditAction.TEAM_ADD, name)
        return await self._describe(TeamRow(team, []))

    async def rename(self, name: str, new_name: str, *, by: Actor) -> TeamSchema:
        by.require(Role.ADMIN)
        new_name = _check_name(new_name)
        self._forbid_named_by_target(name)
        async with self.store.transaction():
            row = await self._load(name)
            if not await self.store.teams.rename(row.team.id or 0, new_name):
                raise Conflict("team.name_taken", name=new_name)
            await self.record(by, AuditAction.TEAM_RENAME, new_name, before=name, after=new_name)
        return await self.get(new_name, by=by)

    async def remove(self, name: str, *, heir: str | None = None, is_for_all: bool = False, by: Actor) -> None:
        """Remove a team. What belongs to it goes to the team `heir`; that it goes to all has to be said.

        A token that sees this team alone is revoked.
        """
        by.require(Role.ADMIN)
        self._forbid_named_by_target(name)
        async with self.store.transaction():
            row = await self._load(name)
            owned = await self.store.teams.count_owned(row.team.id or 0)
            heir_id = (await self._load(heir)).team.id if heir else None
            if heir_id == row.team.id or (owned and heir_id is None and not is_for_all):
                raise Conflict("team.owns_something", name=name, count=sum(owned.values()))
            tokens = await self.store.teams.remove(row.team.id or 0, heir=heir_id)
            before = {"members": row.members} | ({"tokens": tokens} if tokens else {})
            await self.record(by, AuditAction.TEAM_REMOVE, name, before=before, after=heir)

    async def set_members(self, name: str, people: Collection[str], *, by: Actor) -> TeamSchema:
        by.require(Role.ADMIN)
        async with self.store.transaction():
            row = await self._load(name)
            known = {person.name for person in await self.store.people.list_all()}
            for person in people:
                if person not in known:
                    raise NotFound("person.not_found", name=person)
            after = sorted(set(people))
            if after != sorted(row.members):
                await self.store.teams.set_members(row.team.id or 0, after)
                await self.record(by, AuditAction.TEAM_MEMBERS, name, before=row.members, after=after)
        return await self.get(name, by=by)

    async def add_member(self, name: str, person: str, *, by: Actor) -> TeamSchema:
        by.require(Role.ADMIN)
        return await self.set_members(name, [*(await self._load(name)).members, person], by=by)

    async def remove_member(self, name: str, person: str, *, by: Actor) -> TeamSchema:
        by.require(Role.ADMIN)
        members = (await self._load(name)).members
        return await self.set_members(name, [member for member in members if member != person], by=by)

    async def set_memberships(self, person: str, names: Iterable[str], *, by: Actor) -> list[str]:
        """Put a person into those teams that there are, and out of all others; return the names of those."""
        by.require(Role.ADMIN)
        wanted = set(names)
        async with self.store.transaction():
            known = await self.store.teams.list_names()
            before = await self.store.teams.list_of_person(person) or frozenset()
            after = {team_id for team_id, name in known.items() if name in wanted}
            if after != before:
                await self.store.teams.set_memberships(person, after)
                was, now = (sorted(known[team_id] for team_id in ids) for ids in (before, after))
                await self.record(by, AuditAction.TEAM_MEMBERS, person, before=was, after=now)
        return [name for team_id, name in known.items() if team_id in after]

    async def confine_token(self, token: str, names: Sequence[str], *, by: Actor) -> None:
        """Confine a new token to teams of whoever makes it; it joins the transaction that stores the token."""
        await self.store.teams.confine_token(token, [await self.resolve(name, by) or 0 for name in names])

    # What belongs to them.

    async def assign(self, subject: TeamSubject, key: int | str, name: str | None, *, by: Actor) -> None:
        """Give something that the actor may change to one of their teams, or to all."""
        async with self.store.transaction():
            row = await self._load_subject(subject, key, by)
            before = await self.get_name(row.team_id)
            team_id = await self.resolve(name, by)
            if team_id != row.team_id:
                await self.store.teams.assign(_TABLES[subject], row.id, team_id)
                await self.record(by, AuditAction.TEAM_ASSIGN, f"{subject} {row.id}", before=before, after=name or None)

    async def _load_subject(self, subject: TeamSubject, key: int | str, by: Actor) -> Any:
        table = _TABLES[subject]
        number = key if subject is TeamSubject.RESEARCH else int(key) if str(key).isdecimal() else -1
        row = await self.store.teams.get_owned(table, number)
        if row is None or (isinstance(row, Research | ItemNote) and not by.may_read(row.visibility, _get_owner(row))):
            raise NotFound("team.no_such_subject", subject=str(subject), key=str(key))
        if isinstance(row, Research | ItemNote):
            if _get_owner(row) != by.owner:
                by.require(Role.ADMIN)
        else:
            by.require(Role.EDITOR)
        if isinstance(row, Research) and row.parent_id is not None:
            raise UsageError("team.of_report")
        return row

    def _forbid_named_by_target(self, name: str) -> None:
        targets = [target.name for target in self.settings.deliver.targets if target.team == name]
        if targets:
            raise Conflict("team.has_targets", name=name, targets=targets)

    async def _load(self, name: str) -> TeamRow:
        for row in await self.store.teams.list_all():
            if row.team.name == name:
                return row
        raise NotFound("team.not_found", team=name)

    async def _describe(self, row: TeamRow) -> TeamSchema:
        return TeamSchema(
            id=row.team.id or 0,
            name=row.team.name,
            members=row.members,
            owned=await self.store.teams.count_owned(row.team.id or 0),
            created_at=row.team.created_at,
        )


async def find_person_eyes(person: Person, store: Store) -> TeamIds | None:
    """Return the teams of a person; None for administrators, who see everything, and where nobody made a team."""
    return None if person.role is Role.ADMIN else await store.teams.list_of_person(person.name)


async def find_target_team(target: TargetSettings, store: Store) -> int | None:
    """Return the team of a delivery target; None where it has none, or one that is not there any more."""
    if target.team is None:
        return None
    return next((number for number, name in (await store.teams.list_names()).items() if name == target.team), None)


async def list_seen_targets(settings: Settings, store: Store) -> list[TargetSettings]:
    """Return the delivery targets of all, and of the teams that whoever asks sees."""
    eyes, targets = get_eyes(), settings.deliver.targets
    if eyes is None or all(target.team is None for target in targets):
        return targets
    hidden = {name for number, name in (await store.teams.list_names()).items() if number not in eyes}
    return [target for target in targets if target.team not in hidden]


def get_team_eyes(team_id: int | None) -> TeamIds:
    """Return the eyes with which something is made for a team: it sees what is the team's, and what belongs to all."""
    return EVERYBODY if team_id is None else frozenset({team_id})


def choose_eyes(team_id: int | None) -> TeamIds:
    """Return the eyes for what is made for a team; `NotFound` where whoever asks does not see that team."""
    own = get_eyes()
    if team_id is not None and own is not None and team_id not in own:
        raise NotFound("team.unknown_number", number=team_id)
    return get_team_eyes(team_id)


def _get_owner(row: Research | ItemNote) -> str:
    return row.asked_by if isinstance(row, Research) else row.person


def _check_name(name: str) -> str:
    name = normalize_line(sanitize_text(name))
    if not name or len(name) > MAX_TEAM_NAME_CHARS:
        raise UsageError("team.bad_name", limit=MAX_TEAM_NAME_CHARS)
    return name
