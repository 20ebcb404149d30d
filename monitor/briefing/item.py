"""An item as it leaves the program, each field declared once with how tables show it, and the words for all of it."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import Field

from monitor.db.tables.collection import Item
from monitor.exports.document import Cell, Span
from monitor.i18n.catalogue import get_word, render, translate
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.page import Attachment
from monitor.verify.statements import StatementCounts
from monitor.vocabulary import DateSource, ItemType, Phase, SavedBy, SummaryBy


@dataclass(frozen=True)
class BriefingMessages:
    """The words of one language, `zh` or `en`."""

    language: str

    @property
    def locale(self) -> str:
        return "zh-CN" if self.language == "zh" else "en"

    def __call__(self, name: str, **args: Any) -> str:
        """Return the sentence `briefing.<name>`, or that of another subject where the name has a dot."""
        return render(Message(name if "." in name else f"briefing.{name}", args), self.language)

    def get_word(self, kind: str, value: object) -> str:
        """Return the word for a value of a vocabulary, such as `type`, `status` or `gap`."""
        return get_word(self.language, kind, value)

    def get_title(self, column: str) -> str:
        """Return the title of a column: that of an item's field, or `sheet_column.<column>` for another."""
        shown = ITEM_COLUMNS.get(column)
        return self(f"sheet_column.{column}") if shown is None else translate(self.language, shown.title)

    def translate(self, reason: Message | None) -> str:
        """Return a reason of the record as a sentence; the empty string for none."""
        return "" if reason is None else render(reason, self.language)


@cache
def get_briefing_messages(language: str) -> BriefingMessages:
    """Return the words of a language: Chinese for any kind of it, English for all others."""
    return BriefingMessages("zh" if language.lower().startswith("zh") else "en")


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """How a field of an item is shown to people, under an English title that the catalogue translates.

    `position` orders the columns from left to right, `width` counts Latin letters. `vocabulary` names the words of its
    values, `is_link` makes it lead to the item's page, `is_detail` lists it among the facts on the desk's page of the
    item.
    """

    title: str
    position: int
    width: int
    vocabulary: str = ""
    is_link: bool = False
    is_detail: bool = False


class ItemSchema(MessageModel):
    """One item, the fields of contracts, section 1, in their order.

    `evidence` names the records that were kept. `date_conflict` is the date that the article states, where it differs
    from the item's. `statements` counts the sentences of the summary by verdict; None where nothing judged it.
    `rank_reason` says why the item has its rank.
    """

    id: int | None
    source: Annotated[str, ItemColumn("Source", 6, 18)]
    section: Annotated[str, ItemColumn("Section", 10, 16)]
    title: Annotated[str, ItemColumn("Title", 4, 72, is_link=True)]
    url: Annotated[str, ItemColumn("Web address", 100, 48, is_link=True)]
    date: Annotated[dt.date | None, ItemColumn("Date", 3, 12)]
    date_source: Annotated[DateSource, ItemColumn("Date from", 12, 11, vocabulary="date_source")]
    type: Annotated[ItemType, ItemColumn("Type", 5, 13, vocabulary="type")]
    summary: Annotated[str, ItemColumn("Summary", 8, 64)]
    summary_by: Annotated[SummaryBy, ItemColumn("Summary by", 9, 11, vocabulary="summary")]
    rank: Annotated[int | None, ItemColumn("No.", 1, 6)]
    tier: int | None
    by: SavedBy
    late: Annotated[bool, ItemColumn("Late", 13, 8)]
    document_number: Annotated[str | None, ItemColumn("Document number", 7, 22)]
    issuer: Annotated[str | None, ItemColumn("Issuer", 11, 20, is_detail=True)]
    language: str | None
    first_seen: Annotated[dt.datetime, ItemColumn("First seen", 15, 17)]
    attachments: Annotated[list[Attachment], ItemColumn("Attachments", 14, 36)] = Field(default_factory=list)
    evidence: list[str] = Field(default_factory=list)
    date_conflict: dt.date | None = None
    statements: Annotated[StatementCounts | None, ItemColumn("Sentences verified", 9, 36)] = None
    rank_reason: Message | None = None


ITEM_COLUMNS: dict[str, ItemColumn] = dict(
    sorted(
        (
            (name, column)
            for name, field in ItemSchema.model_fields.items()
            for column in field.metadata
            if isinstance(column, ItemColumn)
        ),
        key=lambda entry: entry[1].position,
    )
)
"""The fields that tables show, from left to right."""


def build_item_cell(item: ItemSchema, name: str, words: BriefingMessages, zone: dt.tzinfo) -> Cell:
    """Return a field as a table for people shows it: in words, with instants as the zone's clocks show them."""
    column, value = ITEM_COLUMNS[name], getattr(item, name)
    if isinstance(value, list):
        # A cell has one link only, which leads to the first.
        text = " · ".join(f"{attachment.title} {attachment.url}" for attachment in value)
        return Span(text=text, url=value[0].url) if value else None
    if isinstance(value, StatementCounts):
        return words.translate(describe_statements(value)) if value.shown else None
    if isinstance(value, bool):
        return words(name) if value else ""
    if isinstance(value, dt.datetime):
        return value.astimezone(zone)
    if column.vocabulary:
        return words.get_word(column.vocabulary, value)
    return Span(text=value, url=item.url) if column.is_link else value


def list_item_details(item: ItemSchema, words: BriefingMessages, zone: dt.tzinfo) -> list[tuple[str, Cell]]:
    """Return the facts that a page about the item lists, each under its title."""
    names = [name for name, column in ITEM_COLUMNS.items() if column.is_detail]
    cells = [(words.get_title(name), build_item_cell(item, name, words, zone)) for name in names]
    return [(title, cell) for title, cell in cells if cell not in (None, "")]


UNCHECKED_MARK = "†"
"""Stands behind a sentence that nothing could verify."""

_COUNTED = ("supported_by_code", "supported_by_model", "unchecked", "contradicted", "unsupported")


def describe_statements(counts: StatementCounts) -> Message:
    """Return how many sentences are shown, and how many have which verdict; none of those that no sentence has."""
    parts = [Message.of(f"statements.{name}", number=number) for name in _COUNTED if (number := getattr(counts, name))]
    return Message.of("statements.shown", count=counts.shown, parts=parts)


def mark_sentences(text: str, unchecked: Sequence[str]) -> str:
    """Return the text with a mark behind each of these sentences."""
    for sentence in unchecked:
        text = text.replace(sentence, f"{sentence}{UNCHECKED_MARK}", 1)
    return text


class FallbackSchema(MessageModel):
    """Something of a run that fell back, was cut short or failed."""

    phase: Phase
    where: str
    reason: Message


def build_item_schema(item: Item) -> ItemSchema:
    return ItemSchema.model_validate(item, from_attributes=True)
