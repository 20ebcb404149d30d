"""Filters of items, and the order of lists."""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel
from sqlalchemy import JSON, ColumnElement, Select, Text, and_, cast, func, or_, select, true, tuple_
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from monitor.db.sessions import sanitize_text
from monitor.db.tables.collection import Item, ItemPageText, Source
from monitor.db.tables.evidence import Revision
from monitor.db.tables.people import HiddenItem, ItemLater, ItemRead, ItemStar, Person
from monitor.db.tables.policies import PolicyDocument, TopicFit
from monitor.db.terms import split_query
from monitor.db.visibility import get_unbound_columns
from monitor.vocabulary import ItemOrder, ItemType, PolicyStage

_LOWEST_TIER = 9
"""Where items without a tier stand in the order of importance."""


async def list_distinct_values(
    session: AsyncSession, column: ColumnElement[Any] | Mapped[Any], *conditions: ColumnElement[bool]
) -> list[Any]:
    """The distinct values of a column that an index of such rows begins with, in order: one index lookup for each."""
    first = select(func.min(column).label("word")).where(*conditions).cte("words", recursive=True)
    following = select(func.min(column)).where(column > first.c.word, *conditions).scalar_subquery()
    words = first.union_all(select(following).where(first.c.word.is_not(None)))
    return list((await session.scalars(select(words.c.word).where(words.c.word.is_not(None)))).all())


_BRACKETS = (("〔", "〕"), ("[", "]"), ("［", "］"), ("(", ")"), ("（", "）"))
_OPENING_BRACKET, _CLOSING_BRACKET = (
    re.compile(f"[{re.escape(''.join(signs))}]") for signs in zip(*_BRACKETS, strict=True)
)


ItemOrderKey: TypeAlias = tuple[dt.date, int] | tuple[int, dt.date, int]
"""Where an item stands in an order: its day and its id, behind its tier in the order of importance."""


class ItemFilter(BaseModel):
    """Which items are meant; what is empty or None does not narrow.

    `sources` are names, `tags` those of the sources. One of the `keywords` has to occur in the title, the summary or
    the text. `since` and `until`, both included, are days of publication, or of first sight for an item whose date is
    unknown; `first_seen_until` is not included. `section` is a part of the section's name. A `document_number` matches
    with brackets of any kind; `language` `zh` is every Chinese; `topic_id` is a topic that they fit; `stage` is the
    one that the document has in a policy. `unread_by`, `later_by` and `starred_by` are persons. Hidden items are left
    out unless `is_hidden` is None (both) or True (only those). `after` is the key of the item before the first.
    """

    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    keywords: Sequence[str] = ()
    ids: Sequence[int] | None = None
    since: dt.date | None = None
    until: dt.date | None = None
    first_seen_since: dt.datetime | None = None
    first_seen_until: dt.datetime | None = None
    run_id: str | None = None
    section: str | None = None
    document_number: str | None = None
    language: str | None = None
    topic_id: int | None = None
    late: bool | None = None
    tiers: Sequence[int] = ()
    stage: PolicyStage | None = None
    is_changed: bool | None = None
    unread_by: str | None = None
    later_by: str | None = None
    starred_by: str | None = None
    is_hidden: bool | None = False
    order: ItemOrder = ItemOrder.NEWEST
    after: ItemOrderKey | None = None


class ColumnValues(BaseModel):
    """The values that an item's columns may have; None where the filter does not say."""

    source: list[str] | None = None
    section: list[str] | None = None
    language: list[str] | None = None
    type: list[ItemType] | None = None

    @classmethod
    async def resolve(cls, session: AsyncSession, wanted: ItemFilter) -> "ColumnValues":
        """Look up the sources of tags, and the sections and languages that match."""
        words = cls(type=list(wanted.types) or None)
        if wanted.sources or wanted.tags:
            words.source = await _resolve_source_names(session, wanted)
        if section := _clean_text(wanted.section):
            names = await list_distinct_values(session, get_item_column("section"))
            words.section = [name for name in names if section.lower() in name.lower()]
        if tongue := _clean_text(wanted.language).partition("-")[0].lower():
            tongues = await list_distinct_values(session, get_item_column("language"))
            words.language = [language for language in tongues if language.lower().partition("-")[0] == tongue]
        return words

    def list_columns(self) -> list[tuple[ColumnElement[Any], list[Any]]]:
        """The filtered columns with their values, the column with the fewest first."""
        wanted = {name: words for name, words in iter(self) if words is not None}
        columns = [(get_item_column(name), list(dict.fromkeys(words))) for name, words in wanted.items()]
        return sorted(columns, key=lambda column: len(column[1]))


def get_item_column(name: str) -> ColumnElement[Any]:
    column: ColumnElement[Any] = getattr(Item, name)  # the mapped one: a column of the table would show hidden rows
    return column


def order_items(order: ItemOrder) -> tuple[ColumnElement[Any], ...]:
    return order_by_newest() if order is ItemOrder.NEWEST else (col(Item.tier).asc().nulls_last(), *order_by_newest())


def get_order_key(item: Item, order: ItemOrder) -> ItemOrderKey:
    key = item.day, item.id or 0
    return key if order is ItemOrder.NEWEST else (item.tier or _LOWEST_TIER, *key)


def _get_tier() -> ColumnElement[int]:
    return func.coalesce(col(Item.tier), _LOWEST_TIER)


def order_by_newest() -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """The order of items by publication, or by first sight where that is unknown."""
    return col(Item.day).desc(), col(Item.id).desc()


def build_conditions(wanted: ItemFilter, words: ColumnValues, *, is_scan: bool = False) -> list[ColumnElement[bool]]:
    """The conditions of a filter; `is_scan`: items are read in their order, until there are enough of them."""
    return list(_iter_conditions(wanted, words, is_scan=is_scan))


def list_id_queries(wanted: ItemFilter) -> list[Select[int]]:
    """The queries of the ids among which those of the items that are meant have to be."""
    return list(_iter_id_queries(wanted))


def _iter_id_queries(wanted: ItemFilter) -> Iterator[Select[int]]:
    for marks, person in ((ItemStar, wanted.starred_by), (ItemLater, wanted.later_by)):
        if person is not None:
            yield _select_marked(marks, sanitize_text(person))
    if wanted.stage is not None:
        member = get_unbound_columns(PolicyDocument)
        yield select(member.item_id).where(member.stage == wanted.stage, member.removed_at.is_(None))
    if wanted.is_changed:
        yield _select_changed()
    if wanted.topic_id is not None:
        fit = get_unbound_columns(TopicFit)
        yield select(fit.item_id).where(fit.topic_id == wanted.topic_id, fit.is_match.is_(True))


def _select_changed() -> Select[int]:
    return select(get_unbound_columns(Revision).item_id)


def _select_marked(table: type[SQLModel], person: str) -> Select[int]:
    mark = get_unbound_columns(table)
    return select(mark.item_id).where(mark.person == person)


def _iter_conditions(wanted: ItemFilter, words: ColumnValues, *, is_scan: bool) -> Iterator[ColumnElement[bool]]:
    for column, values in words.list_columns():
        # With `=` an index that is also in order of age can serve.
        yield column == values[0] if len(values) == 1 else column.in_(values)
    comparisons: list[tuple[Any, Callable[[Any], ColumnElement[bool]]]] = [
        (wanted.since, col(Item.day).__ge__),
        (wanted.until, col(Item.day).__le__),
        (wanted.first_seen_since, col(Item.first_seen).__ge__),
        (wanted.first_seen_until, col(Item.first_seen).__lt__),
        (wanted.after, _is_behind),
        (wanted.ids, col(Item.id).in_),
        (wanted.run_id, col(Item.run_id).__eq__),
        (wanted.late, col(Item.late).is_),
    ]
    yield from (compare(value) for value, compare in comparisons if value is not None)
    if wanted.tiers:
        yield col(Item.tier).in_(wanted.tiers)
    if wanted.unread_by is not None:
        yield is_unread(sanitize_text(wanted.unread_by))
    # With `+ 0` SQLite does not look items up by their numbers.
    yield from ((col(Item.id) + 0 if is_scan else col(Item.id)).in_(ids) for ids in list_id_queries(wanted))
    if wanted.is_changed is False:
        yield col(Item.id).not_in(_select_changed())
    if wanted.is_hidden is not None:
        yield is_hidden(col(Item.id)) if wanted.is_hidden else ~is_hidden(col(Item.id))
    if keywords := [word for given in wanted.keywords if (word := _clean_text(given))]:
        yield or_(*map(_match_keyword, keywords))
    if number := _clean_text(wanted.document_number):
        yield col(Item.document_number).in_(build_bracket_variants(number))


def _is_behind(after: tuple[Any, ...]) -> ColumnElement[bool]:
    """Whether an item comes after the one of that key in its order."""
    *tier, day, item_id = after
    is_older = tuple_(col(Item.day), col(Item.id)) < (day, item_id)
    return or_(_get_tier() > tier[0], and_(_get_tier() == tier[0], is_older)) if tier else is_older


def is_hidden(item_id: ColumnElement[Any] | Mapped[Any]) -> ColumnElement[bool]:
    """Whether an item is left out of lists: hidden for all, by whomever."""
    return item_id.in_(select(get_unbound_columns(HiddenItem).item_id))


def has_mark(table: type[SQLModel], person: str) -> ColumnElement[bool]:
    """Whether an item has a mark of this person."""
    return col(Item.id).in_(_select_marked(table, person))


def is_unread(person: str) -> ColumnElement[bool]:
    """Whether this person has not read an item: neither it itself nor all that was seen up to an instant."""
    seen = get_unbound_columns(ItemRead)
    mine = select(seen.item_id).where(seen.person == person, seen.item_id == col(Item.id))
    read, unread = (mine.where(seen.is_read.is_(is_read)).exists() for is_read in (True, False))
    read_until = select(col(Person.read_until)).where(col(Person.name) == person).scalar_subquery()
    is_recent = or_(read_until.is_(None), col(Item.first_seen) > read_until)
    return or_(and_(is_recent, ~read), unread)


async def _resolve_source_names(session: AsyncSession, wanted: ItemFilter) -> list[str]:
    names = [sanitize_text(name) for name in wanted.sources]
    if not wanted.tags:
        return names
    # The tags are looked for in their JSON as well, so that not every source has to be read.
    texts = [cast(col(Source.tags), Text).contains(json.dumps(tag), autoescape=True) for tag in wanted.tags]
    sources = await session.execute(select(col(Source.name), col(Source.tags)).where(or_(*texts)))
    tagged = [name for name, tags in sources if set(tags) & set(wanted.tags)]
    return [name for name in tagged if name in names] if names else tagged


def build_bracket_variants(number: str) -> list[str]:
    """Return a document number as it is, and with brackets of every kind."""
    variants = [_CLOSING_BRACKET.sub(closing, _OPENING_BRACKET.sub(opening, number)) for opening, closing in _BRACKETS]
    return list(dict.fromkeys([number, *variants]))


def match_words(text: str, *columns: Any) -> ColumnElement[bool]:
    """Whether all words of a query, and what it has in quotes whole, occur in one of the columns or another."""
    words = split_query(sanitize_text(text))
    return and_(true(), *(or_(*(_contains(column, word) for column in columns)) for word in words))


def _contains(column: Any, word: str) -> ColumnElement[bool]:
    """Whether a word occurs in a text, or in the texts of a list, which is stored with the escapes of JSON."""
    if isinstance(column.type, JSON):
        return cast(column, Text).icontains(json.dumps(word)[1:-1], autoescape=True)
    return or_(column.icontains(word, autoescape=True))


def _match_keyword(word: str) -> ColumnElement[bool]:
    texts = select(col(ItemPageText.item_id)).where(col(ItemPageText.text).icontains(word, autoescape=True))
    places = (col(Item.title), col(Item.summary))
    return or_(*(place.icontains(word, autoescape=True) for place in places), col(Item.id).in_(texts))


def _clean_text(text: str | None) -> str:
    return sanitize_text(text or "").strip()
