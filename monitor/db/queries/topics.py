"""Topics with who follows them, and how well items fit them."""

import builtins
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.queries.filters import is_hidden, order_by_newest
from monitor.db.sessions import (
    Queries,
    build_insert,
    get_dialect,
    lock_decisions,
    sanitize_text,
    sanitize_value,
    split_batches,
    upsert_rows,
)
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import ItemFacts, Topic, TopicFit, TopicFollower, TopicJudgement
from monitor.db.visibility import get_eyes, get_unbound_columns, is_of_other_team, see_as
from monitor.document import DocumentFacts
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import JudgedBy, RankDirection

MAX_TOPICS = 500
_CHANGING = ("score", "is_match", "reason", "passage", "by", "judged_at")


class ItemTopic(MessageModel):
    """A topic that an item fits: how well, 0 to 1, why, and the words of the item that show it."""

    id: int
    name: str
    score: float
    reason: Message
    passage: str
    by: JudgedBy = JudgedBy.CODE
    wish: RankDirection | None = None


class TopicCount(BaseModel):
    """How many items fit a topic, and the day of the one that came last."""

    topic_id: int
    matches: int
    newest: dt.date | None


class TopicCalendar(NamedTuple):
    """A topic that somebody follows, with the key of their calendar of it."""

    id: int
    name: str
    calendar_key: str


class TopicStore(Queries):
    async def list(self) -> list[Topic]:
        return await self._fetch_all(select(Topic).order_by(col(Topic.name), col(Topic.id)).limit(MAX_TOPICS))

    async def get(self, topic_id: int) -> Topic | None:
        return await self._get(Topic, topic_id)

    async def find(self, name: str) -> Topic | None:
        return await self._fetch_first(select(Topic).where(col(Topic.name) == sanitize_text(name)))

    async def add(self, topic: Topic) -> Topic | None:
        """Store a new topic; returns it with its id, None where the name is taken."""
        values = sanitize_value(topic.model_dump(exclude={"id"}))
        async with self._sessions.begin_write() as session:
            insert = build_insert(get_dialect(session), Topic).values(**values)
            new_id = await session.scalar(
                insert.on_conflict_do_nothing(index_elements=["name"]).returning(col(Topic.id))
            )
            return None if new_id is None else Topic(**values, id=new_id)

    async def change(self, topic: Topic) -> bool:
        """Store what a topic is, but for the weights that feedback moves; False where another one has the name."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            others = select(col(Topic.id)).where(
                col(Topic.name) == sanitize_text(topic.name), col(Topic.id) != topic.id
            )
            if await session.scalar(others) is not None:
                return False
            values = sanitize_value(topic.model_dump(exclude={"id", "weights", "created_at", "created_by"}))
            await session.execute(update(Topic).where(col(Topic.id) == topic.id).values(**values))
            return True

    async def remove(self, topic_id: int) -> None:
        await self._execute(delete(Topic).where(col(Topic.id) == topic_id))

    async def move_weights(self, topic_id: int, factors: Mapping[str, float]) -> None:
        """Multiply the weights of words, each by its factor."""
        async with self._lock(Topic, topic_id) as (session, topic):
            if topic is None:
                return
            weights = dict(topic.weights)
            for word, factor in factors.items():
                weights[word] = round(weights.get(word, 1.0) * factor, 6)
            moved = {word: weight for word, weight in weights.items() if abs(weight - 1.0) > 1e-4}
            await session.execute(update(Topic).where(col(Topic.id) == topic_id).values(weights=sanitize_value(moved)))

    # Who follows.

    async def follow(self, follower: TopicFollower) -> TopicFollower:
        """Store who follows a topic; somebody who does already keeps their row, which is returned."""
        async with self._sessions.begin_write() as session:
            key = (follower.topic_id, follower.person)
            known = await session.get(TopicFollower, key)
            if known is not None:
                return known
            insert = build_insert(get_dialect(session), TopicFollower).values(**follower.model_dump())
            await session.execute(insert.on_conflict_do_nothing(index_elements=["topic_id", "person"]))
            return await session.get_one(TopicFollower, key)

    async def unfollow(self, topic_id: int, person: str) -> bool:
        """Remove who follows a topic; False where they did not."""
        mine = (col(TopicFollower.topic_id) == topic_id, col(TopicFollower.person) == sanitize_text(person))
        async with self._sessions.begin_write() as session:
            gone = await session.scalars(
                delete(TopicFollower).where(*mine).returning(col(TopicFollower.person)),
                execution_options={"synchronize_session": False},
            )
            return bool(gone.all())

    async def list_followers(self, topic_ids: Iterable[int]) -> builtins.list[TopicFollower]:
        query = select(TopicFollower).order_by(col(TopicFollower.person))
        return await self._fetch_in(query, col(TopicFollower.topic_id), topic_ids)

    # What fits.

    async def load_judged(self, item_ids: Iterable[int]) -> dict[int, str]:
        """The hashes of the texts from which items were judged."""
        rows = await self._fetch_in(select(TopicJudgement), col(TopicJudgement.item_id), item_ids)
        return {row.item_id: row.sha256 for row in rows}

    async def load_items(self, item_ids: Iterable[int]) -> builtins.list[Item]:
        return await self._fetch_in(select(Item).order_by(col(Item.id)), col(Item.id), item_ids)

    async def load_facts(self, item_ids: Iterable[int]) -> dict[int, DocumentFacts]:
        rows = await self._fetch_in(select(ItemFacts), col(ItemFacts.item_id), item_ids)
        return {row.item_id: row.document for row in rows}

    async def list_recent(self, since: dt.date, *, sources: Sequence[str] = (), limit: int) -> builtins.list[int]:
        """The ids of items of these days, newest first, of all sources or of some."""
        query = select(col(Item.id)).where(col(Item.day) >= since)
        if sources:
            query = query.where(col(Item.source).in_([sanitize_text(name) for name in sources]))
        return [found or 0 for found in await self._fetch_all(query.order_by(*order_by_newest()).limit(limit))]

    async def save_fits(
        self,
        fits: Sequence[TopicFit],
        *,
        topic_ids: Sequence[int],
        item_ids: Sequence[int],
        judgements: Sequence[TopicJudgement] = (),
    ) -> None:
        """Make these the fits of these topics and items: others are deleted, and what people said of one stays.

        What was removed meanwhile, a topic or an item, is passed over.
        """
        async with self._sessions.begin_write() as session:
            topics = await _list_existing(session, col(Topic.id), topic_ids)
            items = await _list_existing(session, col(Item.id), item_ids)
            kept = [fit for fit in fits if fit.topic_id in topics and fit.item_id in items]
            rows = [sanitize_value(fit.model_dump()) for fit in kept]
            await upsert_rows(session, TopicFit, rows, key=["topic_id", "item_id"], update=_CHANGING)
            held = {(fit.topic_id, fit.item_id) for fit in kept}
            for some in split_batches(items):
                query = select(col(TopicFit.topic_id), col(TopicFit.item_id)).where(
                    col(TopicFit.item_id).in_(some), col(TopicFit.topic_id).in_(topics), col(TopicFit.wish).is_(None)
                )
                for topic_id, item_id in (await session.execute(query)).all():
                    if (topic_id, item_id) not in held:
                        mine = (col(TopicFit.topic_id) == topic_id, col(TopicFit.item_id) == item_id)
                        await session.execute(delete(TopicFit).where(*mine))
            judged = [row.model_dump() for row in judgements if row.item_id in items]
            await upsert_rows(session, TopicJudgement, judged, key=["item_id"], update=["sha256", "judged_at"])

    async def clear_fits(self, topic_id: int) -> None:
        """Delete the fits of a topic but for those of which people said something."""
        mine = (col(TopicFit.topic_id) == topic_id, col(TopicFit.wish).is_(None))
        await self._execute(delete(TopicFit).where(*mine))

    async def load_fits(self, item_ids: Iterable[int]) -> builtins.list[TopicFit]:
        """All fits of items, weak ones too."""
        return await self._fetch_in(select(TopicFit), col(TopicFit.item_id), item_ids)

    async def get_fit(self, topic_id: int, item_id: int) -> TopicFit | None:
        return await self._get(TopicFit, (topic_id, item_id))

    async def put_fit(self, fit: TopicFit) -> None:
        """Store a fit with its wish."""
        rows = [sanitize_value(fit.model_dump())]
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, TopicFit, rows, key=["topic_id", "item_id"], update=[*_CHANGING, "wish"])

    async def remove_fit(self, topic_id: int, item_id: int) -> None:
        mine = (col(TopicFit.topic_id) == topic_id, col(TopicFit.item_id) == item_id)
        await self._execute(delete(TopicFit).where(*mine))

    async def list_matches(self, item_ids: Iterable[int]) -> dict[int, builtins.list[ItemTopic]]:
        """The topics that items fit, the best first; items that fit none are left out."""
        query = (
            select(TopicFit, col(Topic.name))
            .join(Topic, col(Topic.id) == col(TopicFit.topic_id))
            .where(col(TopicFit.is_match).is_(True))
            .order_by(col(TopicFit.score).desc(), col(Topic.name))
        )
        found: dict[int, builtins.list[ItemTopic]] = {}
        async with self._sessions.begin_read() as session:
            for some in split_batches(item_ids):
                for fit, name in (await session.execute(query.where(col(TopicFit.item_id).in_(some)))).all():
                    found.setdefault(fit.item_id, []).append(build_item_topic(fit, name))
        return found

    async def list_items(
        self, topic_id: int, *, limit: int, after: tuple[dt.date, int] | None = None
    ) -> builtins.list[tuple[Item, TopicFit]]:
        """The items that fit a topic, newest first, but for hidden ones."""
        fit = get_unbound_columns(TopicFit)
        fitting = select(fit.item_id).where(fit.topic_id == topic_id, fit.is_match.is_(True))
        newest = select(col(Item.id)).where(col(Item.id).in_(fitting), ~is_hidden(col(Item.id)))
        if after is not None:
            day, last_id = after
            newest = newest.where((col(Item.day) < day) | ((col(Item.day) == day) & (col(Item.id) < last_id)))
        ids = await self._fetch_all(
            newest.order_by(*order_by_newest()).limit(limit)
        )  # whole rows of all would be sorted
        query = select(Item, TopicFit).join(TopicFit, col(TopicFit.item_id) == col(Item.id))
        query = query.where(col(TopicFit.topic_id) == topic_id, col(Item.id).in_(ids))
        rows = await self._fetch_rows(query.order_by(*order_by_newest()))
        return [(item, found) for item, found in rows]

    async def count_matches(self, topic_ids: Iterable[int]) -> dict[int, TopicCount]:
        """How many items fit topics; those of which none fits are left out.

        All fits are counted from their index alone, and what is hidden of them, which is little, is taken off.
        """
        ids, eyes = list(topic_ids), get_eyes()
        topic_id = col(TopicFit.topic_id)
        counted = select(topic_id, func.count()).where(col(TopicFit.is_match).is_(True)).group_by(topic_id)
        hidden: dict[int, int] = {}
        with see_as(None):
            counts = {row[0]: row[1] for row in await self._fetch_rows(counted.where(topic_id.in_(ids)))}
            if eyes is not None:
                of_others = select(col(Item.id)).where(is_of_other_team(col(Item.team_id), eyes))
                rows = await self._fetch_rows(counted.where(col(TopicFit.item_id).in_(of_others)))
                hidden = {row[0]: row[1] for row in rows}
        newest = await self._fetch_rows(_SELECT_NEWEST.where(col(Topic.id).in_(ids)))
        return {
            number: TopicCount(topic_id=number, matches=counts[number] - hidden.get(number, 0), newest=day)
            for number, day in newest
            if number is not None
        }

    async def list_followed(self, person: str) -> builtins.list[TopicCalendar]:
        """The topics that a person follows, by name."""
        query: Select[*tuple[Any, ...]] = (
            select(col(Topic.id), col(Topic.name), col(TopicFollower.calendar_key))
            .join(TopicFollower, col(TopicFollower.topic_id) == col(Topic.id))
            .where(col(TopicFollower.person) == person)
            .order_by(col(Topic.name))
        )
        return [TopicCalendar(*row) for row in await self._fetch_rows(query)]


_LAST_FIT = (
    select(col(TopicFit.item_id))
    .where(col(TopicFit.topic_id) == col(Topic.id), col(TopicFit.is_match).is_(True))
    .order_by(col(TopicFit.item_id).desc())
    .limit(1)
    .correlate(Topic)
    .scalar_subquery()
)
_SELECT_NEWEST = select(col(Topic.id), col(Item.day)).join(Item, col(Item.id) == _LAST_FIT)


def build_item_topic(fit: TopicFit, name: str) -> ItemTopic:
    fields = fit.model_dump(include={"score", "passage", "by", "wish"})
    return ItemTopic(id=fit.topic_id, name=name, reason=fit.reason, **fields)


async def _list_existing(session: AsyncSession, column: object, ids: Sequence[int]) -> list[int]:
    found: list[int] = []
    for some in split_batches(ids):
        found += [number or 0 for number in await session.scalars(select(column).where(column.in_(some)))]  # type: ignore[attr-defined,call-overload]
    return found
