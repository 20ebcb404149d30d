"""What people say of items: stars, notes, what is hidden, and whether a rank was right."""

import datetime as dt
from typing import NamedTuple

from pydantic import BaseModel
from sqlalchemy import Column, ForeignKey, Integer, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import instant_field, word_field
from monitor.domain.words import ItemType, RankWish


class Wish(BaseModel):
    """What a person said of the rank of an item, with what tells which other items are like it."""

    item_id: int
    source_id: int | None
    section: str
    type: ItemType
    person: str
    wish: RankWish
    at: dt.datetime


class Placed(NamedTuple):
    """Where a ranking put an item: its rank (1 = most important), its tier (1-5), and how feedback moved it."""

    rank: int
    tier: int
    moved: RankWish | None = None


class ItemStar(SQLModel, table=True):
    """A person's own star on an item."""

    __tablename__ = "item_star"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = Field(
        sa_column=Column(Integer, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True, index=True)
    )
    at: dt.datetime = instant_field(is_required=True)


class ItemNote(SQLModel, table=True):
    """A note on an item, for everybody to read."""

    __tablename__ = "item_note"

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE", index=True)
    person: str = Field(max_length=100)
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class HiddenItem(SQLModel, table=True):
    """An item that lists and briefings leave out, and why; it is never forgotten."""

    __tablename__ = "item_hidden"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    person: str = Field(max_length=100)
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class RankFeedback(SQLModel, table=True):
    """A person's word that an item was placed too low or too high; the next ranking honours it."""

    __tablename__ = "rank_feedback"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = Field(
        sa_column=Column(Integer, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True, index=True)
    )
    wish: RankWish = word_field(RankWish, RankWish.HIGHER)
    at: dt.datetime = instant_field(is_required=True)
