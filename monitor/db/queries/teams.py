"""The teams: who is in them, what belongs to them."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import and_, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.sessions import Queries, sanitize_text
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.delivery import Delivery
from monitor.db.tables.exports import ScheduledExport
from monitor.db.tables.people import ClientProfile, ItemNote, Person, SavedBriefing, Token
from monitor.db.tables.policies import Topic
from monitor.db.tables.research import Research
from monitor.db.tables.teams import Team, TeamMember, TeamToken
from monitor.db.tables.webhooks import WebhookEndpoint, WebhookEvent

_OWNED_TABLES: tuple[type[SQLModel], ...] = (
    Source,
    Topic,
    SavedBriefing,
    ClientProfile,
    Research,
    ItemNote,
    Item,
    Run,
    Delivery,
    WebhookEndpoint,
    WebhookEvent,
    ScheduledExport,
)


class TeamRow(NamedTuple):
    team: Team
    members: list[str]


class TeamStore(Queries):
    async def list_all(self) -> list[TeamRow]:
        """All teams by name, each with its members by name."""
        members: dict[int, list[str]] = {}
        async with self._sessions.begin_read() as session:
            teams = (await session.scalars(select(Team).order_by(col(Team.name)))).all()
            for member in await session.scalars(select(TeamMember).order_by(col(TeamMember.person))):
                members.setdefault(member.team_id, []).append(member.person)
        return [TeamRow(team, members.get(team.id or 0, [])) for team in teams]

    async def list_names(self) -> dict[int, str]:
        """The names of all teams by their ids, in the order of the names."""
        teams = await self._fetch_all(select(Team).order_by(col(Team.name)))
        return {team.id or 0: team.name for team in teams}

    async def list_of_person(self, person: str) -> frozenset[int] | None:
        """The teams of a person; None where there is no team at all, so that nothing has to be left out."""
        is_member = (col(TeamMember.team_id) == col(Team.id), col(TeamMember.person) == sanitize_text(person))
        rows = await self._fetch_rows(
            select(col(Team.id), col(TeamMember.person)).outerjoin(TeamMember, and_(*is_member))
        )
        return frozenset(number or 0 for number, member in rows if member is not None) if rows else None

    async def list_of_token(self, token: str) -> frozenset[int]:
        """The teams that a token is confined to."""
        return frozenset(await self._fetch_all(select(col(TeamToken.team_id)).where(col(TeamToken.token) == token)))

    async def add(self, name: str, at: dt.datetime) -> Team | None:
        """Add a team; None where its name is taken."""
        async with self._sessions.begin_write() as session:
            if await _find(session, name) is not None:
                return None
            team = Team(name=name, created_at=at)
            session.add(team)
            await session.flush()
            return team

    async def rename(self, team_id: int, name: str) -> bool:
        """Give a team another name; False where that is taken."""
        async with self._sessions.begin_write() as session:
            other = await _find(session, name)
            if other is not None and other.id != team_id:
                return False
            await session.execute(update(Team).where(col(Team.id) == team_id).values(name=name))
            return True

    async def count_owned(self, team_id: int) -> dict[str, int]:
        """How many rows belong to a team, by table; one without any is left out."""
        async with self._sessions.begin_read() as session:
            counts = {
                str(table.__tablename__): await session.scalar(select(func.count()).where(_owner_of(table) == team_id))
                for table in _OWNED_TABLES
            }
        return {name: count for name, count in counts.items() if count}

    async def remove(self, team_id: int, *, heir: int | None) -> Sequence[str]:
        """Delete a team; what belongs to it goes to another team, or to all.

        Tokens that are confined to it alone go with it, for nothing would confine them; their names are returned.
        """
        mine = select(col(TeamToken.token)).where(col(TeamToken.team_id) == team_id)
        others = select(col(TeamToken.token)).where(col(TeamToken.team_id) != team_id)
        async with self._sessions.begin_write() as session:
            tokens = (await session.scalars(mine.where(col(TeamToken.token).not_in(others)))).all()
            await session.execute(delete(Token).where(col(Token.name).in_(tokens)))
            for table in _OWNED_TABLES:
                await session.execute(update(table).where(_owner_of(table) == team_id).values(team_id=heir))
            await session.execute(delete(Team).where(col(Team.id) == team_id))
            return tokens

    async def set_members(self, team_id: int, people: Iterable[str]) -> None:
        async with self._sessions.begin_write() as session:
            await session.execute(delete(TeamMember).where(col(TeamMember.team_id) == team_id))
            known = await session.scalars(select(col(Person.name)).where(col(Person.name).in_(set(people))))
            session.add_all([TeamMember(team_id=team_id, person=name) for name in known.all()])

    async def set_memberships(self, person: str, team_ids: Iterable[int]) -> None:
        async with self._sessions.begin_write() as session:
            await session.execute(delete(TeamMember).where(col(TeamMember.person) == person))
            session.add_all([TeamMember(team_id=team_id, person=person) for team_id in set(team_ids)])

    async def confine_token(self, token: str, team_ids: Iterable[int]) -> None:
        async with self._sessions.begin_write() as session:
            await session.execute(delete(TeamToken).where(col(TeamToken.token) == token))
            session.add_all([TeamToken(team_id=team_id, token=token) for team_id in set(team_ids)])

    async def list_token_teams(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for row in await self._fetch_all(select(TeamToken)):
            found.setdefault(row.token, []).append(row.team_id)
        return found

    async def get_owned(self, table: type[SQLModel], key: int | str) -> Any:
        """Return the row of a table with that key; None where there is none to see."""
        return await self._get(table, key)

    async def assign(self, table: type[SQLModel], key: int | str, team_id: int | None) -> None:
        """Give a row to a team, or to all; items and runs go with their source, questions with their report."""
        async with self._sessions.begin_write() as session:
            row = SQLModel.metadata.tables[str(table.__tablename__)].c
            await session.execute(update(table).where(row.id == key).values(team_id=team_id))
            if table is Source:
                for follower in (Item, Run):
                    mine = col(follower.source_id) == key
                    await session.execute(update(follower).where(mine).values(team_id=team_id))
            if table is Research:
                await session.execute(update(Research).where(col(Research.parent_id) == key).values(team_id=team_id))


async def load_source_teams(session: AsyncSession, source_ids: Iterable[int | None]) -> dict[int | None, int | None]:
    """The teams of sources, by their ids."""
    query = select(col(Source.id), col(Source.team_id)).where(col(Source.id).in_(set(source_ids) - {None}))
    return {row[0]: row[1] for row in await session.execute(query)}


async def _find(session: AsyncSession, name: str) -> Team | None:
    return await session.scalar(select(Team).where(func.lower(col(Team.name)) == name.lower()))


def _owner_of(table: type[SQLModel]) -> Any:
    return SQLModel.metadata.tables[str(table.__tablename__)].c.team_id
