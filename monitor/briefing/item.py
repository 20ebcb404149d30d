"""An item as it leaves the program, the fields of contracts, section 1, in their order; and what fell back."""

import datetime as dt

from pydantic import BaseModel, Field

from monitor.db.tables.collection import Item
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.page import Attachment
from monitor.vocabulary import DateSource, ItemType, Phase, SavedBy, SummaryBy


class ItemSchema(BaseModel):
    """One item. `evidence` names what was seen and kept; it is empty where nothing was.

    `date_conflict` is the date that the article states, where it is another one than the item's.
    """

    id: int | None
    source: str
    section: str
    title: str
    url: str
    date: dt.date | None
    date_source: DateSource
    type: ItemType
    summary: str
    summary_by: SummaryBy
    rank: int | None
    tier: int | None
    by: SavedBy
    late: bool
    document_number: str | None
    issuer: str | None
    language: str | None
    first_seen: dt.datetime
    attachments: list[Attachment] = Field(default_factory=list)
    evidence: list[str] = Field(default_factory=list)
    date_conflict: dt.date | None = None


class FallbackSchema(MessageModel):
    """Something of a run that fell back, was cut short or failed."""

    phase: Phase
    where: str
    reason: Message


def build_item_schema(item: Item) -> ItemSchema:
    return ItemSchema.model_validate(item, from_attributes=True)
