"""The tables of teams: who is in one, and which tokens are confined to one."""

import datetime as dt
from typing import Any

from sqlalchemy import Column, ForeignKey, Integer, String, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import instant_field, owner_field


class Team(SQLModel, table=True):
    """People who see what belongs to them; ids are not given twice, so that nobody inherits what a removed one saw."""

    __table_args__ = (UniqueConstraint("name", name="uq_team_name"), {"sqlite_autoincrement": True})

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(max_length=60)
    created_at: dt.datetime = instant_field(is_required=True)


class TeamMember(SQLModel, table=True):
    __tablename__ = "team_member"

    team_id: int = owner_field("team.id", Integer(), is_key=True)
    person: str = owner_field("person.name", String(100), is_key=True, index=True)


class TeamToken(SQLModel, table=True):
    """A team to which a token is confined; one without any sees what the person sees who made it."""

    __tablename__ = "team_token"

    team_id: int = owner_field("team.id", Integer(), is_key=True)
    token: str = owner_field("token.name", String(100), is_key=True, index=True)


def team_field(table: str) -> Any:
    """A field with the team that a row belongs to, None for all; a team that owns something cannot be deleted."""
    owner = ForeignKey("team.id", name=f"fk_{table}_team")
    return Field(default=None, sa_column=Column(Integer, owner, nullable=True))
