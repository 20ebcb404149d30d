"""Full-text search over the items and the texts of their pages, the same on SQLite and PostgreSQL.

The index tells which items have the terms of a query; whether its words stand there, and side by side where they have
to, is then seen in the texts themselves. So both databases give the same answer in the same order.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Text, cast, func, literal, literal_column, or_, select, text, union_all
from sqlalchemy import column as column_of
from sqlalchemy import table as table_of
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.domain.fulltext import ItemTerms
from monitor.domain.revisions import ChangeKind, ItemSight
from monitor.domain.tables import Item, ItemText
from monitor.domain.terms import TextQuery, folded
from monitor.domain.urls import is_on_site
from monitor.store.indexing import IN_TITLE, INDEX
from monitor.store.items import ItemFilter, conditions_of, newest_first
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches, dialect_of

_AT_ONCE = 200
_MOST_READ = 4000
_MOST_TERMS = 48


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which items are searched: those of a filter, on a site and in a language.

    `site` is a host whose pages, and those of the hosts beneath it, are meant. An item that does not say its language
    is in every one.
    """

    items: ItemFilter
    site: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class Match:
    """An item in which a query was found: for each of its clauses, whether it stands in the title, and how often below.

    `body` is what is searched below the title: the summary, then the text of the page.
    """

    item: Item
    body: str
    in_title: tuple[bool, ...]
    in_body: tuple[int, ...]
    is_withdrawn: bool


@patient
class FullText:
    """Asks the index; of more than 4,000 items that have the terms of a query, the newest are looked into."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def find(
        self, query: TextQuery, scope: Scope, *, limit: int | None, is_in_title: bool = False
    ) -> list[Match]:
        """The items in which enough of the query stands: those with most of it first, among equals the newest.

        `is_in_title`: it stands in the title.
        """
        found: list[Match] = []
        if not query.clauses:
            return found
        async with self._sessions.reading() as session:
            await _use_the_index(session)
            asked = await _asked(session, query, scope, is_in_title=is_in_title)
            async for row in _rows(session, asked):
                match = _looked_into(*row, query=query)
                if _holds(match, query, scope, is_in_title=is_in_title):
                    found.append(match)
                    if limit is not None and len(found) >= limit:
                        break
        return found


async def _use_the_index(session: AsyncSession) -> None:
    """Keep PostgreSQL from reading all lines instead: it does not count that they are long and lie apart."""
    if dialect_of(session) == "postgresql":
        await session.execute(text("SET LOCAL enable_seqscan = off"))


async def _asked(session: AsyncSession, query: TextQuery, scope: Scope, *, is_in_title: bool) -> Any:
    """The numbers of the items that may be meant, in their order."""
    having = _having(session, query, is_in_title=is_in_title).subquery()
    conditions = await conditions_of(session, scope.items)
    if scope.site is not None:
        conditions.append(col(Item.url).icontains(scope.site, autoescape=True))
    if scope.language is not None:
        language = col(Item.language)
        conditions.append(or_(language.is_(None), language.istartswith(_tongue(scope.language), autoescape=True)))
    return (
        select(col(Item.id))
        .join(having, having.c.item_id == col(Item.id))
        .where(*conditions)
        .order_by(having.c.hits.desc(), *newest_first())
    )


def _having(session: AsyncSession, query: TextQuery, *, is_in_title: bool) -> Any:
    """The numbers of the items that the index has for the query, each with how many of the clauses it has there."""
    mark = IN_TITLE if is_in_title else ""
    if query.needed == len(query.clauses):
        terms = dict.fromkeys(mark + term for clause in query.clauses for term in clause.terms)
        return _with_terms(session, list(terms)[:_MOST_TERMS])
    each = [_with_terms(session, [mark + term for term in clause.terms]) for clause in query.clauses]
    rows = union_all(*each).subquery()
    hits = func.count()
    return select(rows.c.item_id, hits.label("hits")).group_by(rows.c.item_id).having(hits >= query.needed)


def _with_terms(session: AsyncSession, terms: Sequence[str]) -> Any:
    one: ColumnElement[int] = literal_column("1").label("hits")
    if dialect_of(session) == "sqlite":
        # A term is made of letters and digits only: in quotes, nothing in it has a meaning to FTS5.
        wanted = " AND ".join(f'"{term}"' for term in terms)
        index = table_of(INDEX, column_of("rowid"))
        return select(index.c.rowid.label("item_id"), one).where(literal_column(INDEX).op("MATCH")(literal(wanted)))
    # Written like the expression that is indexed, or the index is not used.
    line = func.string_to_array(col(ItemTerms.terms), literal_column("' '"))
    return select(col(ItemTerms.item_id).label("item_id"), one).where(line.op("@>")(cast(list(terms), ARRAY(Text))))


async def _rows(session: AsyncSession, asked: Any) -> AsyncIterator[Any]:
    """The items with what is looked into, a few at once: texts are long, and are not carried through the sorting."""
    numbers = (await session.scalars(asked.limit(_MOST_READ))).all()
    for some in batches(numbers, _AT_ONCE):
        query = (
            select(Item, col(ItemText.text), col(ItemSight.standing))
            .outerjoin(ItemText, col(ItemText.item_id) == col(Item.id))
            .outerjoin(ItemSight, col(ItemSight.item_id) == col(Item.id))
            .where(col(Item.id).in_(some))
        )
        rows = {row[0].id: row for row in await session.execute(query)}
        for number in some:
            yield rows[number]


def _looked_into(item: Item, page: str | None, standing: ChangeKind | None, *, query: TextQuery) -> Match:
    body = f"{item.summary}\n{page or ''}".strip()
    title, below = folded(item.title), folded(body)
    return Match(
        item=item,
        body=body,
        in_title=tuple(clause.pattern.search(title) is not None for clause in query.clauses),
        in_body=tuple(sum(1 for _ in clause.pattern.finditer(below)) for clause in query.clauses),
        is_withdrawn=standing is ChangeKind.WITHDRAWN,
    )


def _holds(match: Match, query: TextQuery, scope: Scope, *, is_in_title: bool) -> bool:
    """Whether enough of the query stands where it has to, in an item that is meant."""
    below = [False] * len(match.in_body) if is_in_title else [count > 0 for count in match.in_body]
    found = sum(title or body for title, body in zip(match.in_title, below, strict=True))
    return found >= query.needed and (scope.site is None or is_on_site(match.item.url, scope.site))


def _tongue(language: str) -> str:
    return language.partition("-")[0]
