"""What the search box finds beside items, by its words alone; recent queries; and questions to the archive."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    and_,
    cast,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    tuple_,
    union_all,
)
from sqlmodel import col

from monitor.db.queries.filters import is_hidden, match_words, order_by_newest
from monitor.db.sessions import Queries, build_insert, get_dialect, sanitize_text, sanitize_value
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.people import ItemNote, SavedBriefing
from monitor.db.tables.policies import Policy, PolicyDocument, PolicyNote, Topic
from monitor.db.tables.questions import ArchiveQuestion, QuestionStatus, RecentQuery
from monitor.db.tables.research import Research
from monitor.vocabulary import Visibility

MAX_COUNTED = 1000
MAX_RECENT_QUERIES = 20
MAX_QUESTIONS = 200
_NEWEST_TITLES = 3000


class MatchRow(BaseModel):
    """Something that was found: its number or name, what it is called, what to know beside that, and its day."""

    key: str
    title: str
    about: str = ""
    at: dt.datetime | dt.date | None = None


@dataclass(frozen=True)
class Matches:
    """The newest that were found; `total` is counted up to 1,000, and None where it was not asked for."""

    rows: Sequence[MatchRow]
    total: int | None = None


class GlobalSearchStore(Queries):
    """Everything is found by all of the words; `counts` asks for the total too."""

    async def find_policies(self, text: str, *, limit: int, counts: bool) -> Matches:
        """The policies with documents, those that changed last first."""
        placed = and_(col(PolicyDocument.policy_id) == col(Policy.id), col(PolicyDocument.removed_at).is_(None))
        name, at = col(Policy.name), col(Policy.updated_at)
        query = _select(col(Policy.id), name, "", at).where(match_words(text, name), exists().where(placed))
        return await self._find(query.order_by(at.desc(), col(Policy.id).desc()), limit, counts=counts)

    async def find_topics(self, text: str, *, limit: int, counts: bool) -> Matches:
        name, sentence = col(Topic.name), col(Topic.sentence)
        query = _select(col(Topic.id), name, sentence, None)
        query = query.where(match_words(text, name, sentence, col(Topic.words)))
        return await self._find(query.order_by(name), limit, counts=counts)

    async def find_briefings(self, text: str, *, limit: int, counts: bool) -> Matches:
        """The saved briefings that were not archived, by their titles."""
        title, author = col(SavedBriefing.title), col(SavedBriefing.created_by)
        query = _select(col(SavedBriefing.id), title, author, col(SavedBriefing.until))
        query = query.where(match_words(text, title), col(SavedBriefing.archived_at).is_(None))
        return await self._find(query.order_by(col(SavedBriefing.id).desc()), limit, counts=counts)

    async def find_notes(self, text: str, *, reader: str, limit: int, counts: bool) -> Matches:
        """The notes on items and policies that are open or of this person; `key` is as `items/7`."""
        mine = or_(col(ItemNote.visibility) == Visibility.OPEN, col(ItemNote.person) == sanitize_text(reader))
        of_items = _select(literal("items/") + cast(col(ItemNote.item_id), String), *_describe_note(ItemNote)).where(
            mine, match_words(text, col(ItemNote.text))
        )
        of_policies = _select(
            literal("policies/") + cast(col(PolicyNote.policy_id), String), *_describe_note(PolicyNote)
        ).where(match_words(text, col(PolicyNote.text)))
        both = union_all(of_items, of_policies).subquery()
        return await self._find(select(both).order_by(both.c.at.desc()), limit, counts=counts)

    async def find_sources(self, text: str, *, limit: int, counts: bool) -> Matches:
        name, url = col(Source.name), col(Source.url)
        query = _select(col(Source.id), name, url, None)
        query = query.where(match_words(text, name, url, col(Source.tags)))
        return await self._find(query.order_by(name), limit, counts=counts)

    async def find_researches(self, text: str, *, reader: str | None, limit: int, counts: bool) -> Matches:
        """The researches that are open or of `reader` by their questions, without follow-ups; None reads all."""
        question, at = col(Research.query), col(Research.created_at)
        query = _select(col(Research.id), question, col(Research.asked_by), at)
        query = query.where(match_words(text, question), col(Research.parent_id).is_(None))
        if reader is not None:
            is_open = col(Research.visibility) == Visibility.OPEN
            query = query.where(is_open | (col(Research.asked_by) == sanitize_text(reader)))
        return await self._find(query.order_by(at.desc(), col(Research.id).desc()), limit, counts=counts)

    async def find_newest_titles(self, text: str, *, limit: int) -> list[Item]:
        """Items whose titles have the words, begun ones too, among the newest 3,000: for somebody who still types."""
        newest = select(col(Item.id)).order_by(*order_by_newest()).limit(_NEWEST_TITLES)
        query = select(Item).where(col(Item.id).in_(newest), ~is_hidden(col(Item.id)))
        return await self._fetch_all(
            query.where(match_words(text, col(Item.title))).order_by(*order_by_newest()).limit(limit)
        )

    async def _find(self, query: Select[*tuple[Any, ...]], limit: int, *, counts: bool) -> Matches:
        rows = await self._fetch_as(MatchRow, query.limit(limit))
        if not counts or len(rows) < limit:
            return Matches(rows, len(rows) if counts else None)
        among = query.order_by(None).limit(MAX_COUNTED).subquery()
        return Matches(rows, await self._fetch_first(select(func.count()).select_from(among)))

    # Recent queries.

    async def add_recent(self, query: RecentQuery) -> None:
        """Store a query as the person's newest; of each person only so many stay."""
        row = sanitize_value(query.model_dump())
        async with self._sessions.begin_write() as session:
            insert = build_insert(get_dialect(session), RecentQuery).values(row)
            again = insert.on_conflict_do_update(index_elements=["person", "text"], set_={"at": row["at"]})
            await session.execute(again)
            mine = col(RecentQuery.person) == row["person"]
            kept = select(col(RecentQuery.text)).where(mine).order_by(col(RecentQuery.at).desc())
            old = col(RecentQuery.text).not_in(list(await session.scalars(kept.limit(MAX_RECENT_QUERIES))))
            await session.execute(delete(RecentQuery).where(mine, old))

    async def list_recent(self, person: str) -> list[RecentQuery]:
        mine = select(RecentQuery).where(col(RecentQuery.person) == sanitize_text(person))
        return await self._fetch_all(mine.order_by(col(RecentQuery.at).desc(), col(RecentQuery.text)))

    async def remove_recent(self, person: str, text: str | None) -> None:
        """Remove one query of a person, or with None all of them."""
        mine = delete(RecentQuery).where(col(RecentQuery.person) == sanitize_text(person))
        await self._execute(mine if text is None else mine.where(col(RecentQuery.text) == sanitize_text(text)))


class QuestionStore(Queries):
    async def add(self, question: ArchiveQuestion) -> None:
        """Store a question; of each person the newest 200 stay."""
        async with self._sessions.begin_write() as session:
            session.add(ArchiveQuestion(**sanitize_value(question.model_dump())))
            await session.flush()
            mine = col(ArchiveQuestion.person) == sanitize_text(question.person)
            kept = select(col(ArchiveQuestion.id)).where(mine).order_by(col(ArchiveQuestion.asked_at).desc())
            old = col(ArchiveQuestion.id).not_in(list(await session.scalars(kept.limit(MAX_QUESTIONS))))
            await session.execute(delete(ArchiveQuestion).where(mine, old))

    async def get(self, question_id: str) -> ArchiveQuestion | None:
        return await self._get(ArchiveQuestion, question_id)

    async def list_of(
        self, person: str, *, limit: int, after: tuple[dt.datetime, str] | None = None
    ) -> list[ArchiveQuestion]:
        """The questions of a person, newest first, those after one of this instant and id."""
        mine = select(ArchiveQuestion).where(col(ArchiveQuestion.person) == sanitize_text(person))
        if after is not None:
            mine = mine.where(tuple_(col(ArchiveQuestion.asked_at), col(ArchiveQuestion.id)) < after)
        newest = mine.order_by(col(ArchiveQuestion.asked_at).desc(), col(ArchiveQuestion.id).desc())
        return await self._fetch_all(newest.limit(limit))

    async def touch(self, question_id: str, at: dt.datetime) -> None:
        """Record that a question is still being answered."""
        async with self._lock(ArchiveQuestion, question_id) as (_, question):
            if question is not None:
                question.updated_at = at

    async def end(self, question_id: str, status: QuestionStatus, at: dt.datetime, **ended: Any) -> None:
        """Store the `answer`, or the `error`; a question that was removed meanwhile stays removed."""
        async with self._lock(ArchiveQuestion, question_id) as (_, question):
            if question is not None:
                question.status, question.updated_at = status, at
                question.sqlmodel_update(sanitize_value(ended))

    async def remove(self, question_id: str) -> None:
        await self._execute(delete(ArchiveQuestion).where(col(ArchiveQuestion.id) == question_id))


def _select(key: Any, title: Any, about: Any, at: Any) -> Select[*tuple[Any, ...]]:
    columns: list[ColumnElement[Any]] = [cast(key, String).label("key"), title.label("title")]
    columns.append((literal(about) if isinstance(about, str) else about).label("about"))
    return select(*columns) if at is None else select(*columns, at.label("at"))


def _describe_note(table: type[ItemNote | PolicyNote]) -> tuple[Any, Any, Any]:
    return col(table.text), col(table.person), col(table.at)
