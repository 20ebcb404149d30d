"""The deadlines of items with their moves, the calendars of those who follow topics, and the alerts."""

import datetime as dt
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Select, String, and_, cast, delete, func, or_, select, update
from sqlalchemy.orm import Mapped, aliased
from sqlmodel import col

from monitor.db.queries.filters import build_bracket_variants, is_hidden
from monitor.db.queries.webhooks import EventFact, add_webhook_events
from monitor.db.sessions import (
    Queries,
    build_insert,
    get_dialect,
    insert_if_new,
    sanitize_text,
    sanitize_value,
    split_batches,
)
from monitor.db.tables.collection import Item
from monitor.db.tables.delivery import Delivery
from monitor.db.tables.people import Person
from monitor.db.tables.policies import (
    Alert,
    AlertKind,
    Deadline,
    DeadlineMove,
    DocumentKey,
    ItemFacts,
    Policy,
    PolicyDocument,
    Topic,
    TopicAlerts,
    TopicFit,
    TopicFollower,
)
from monitor.db.tables.webhooks import WebhookEventType
from monitor.db.visibility import get_unbound_columns, lift_conditions
from monitor.document import DocumentFacts
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import DeadlineKind, KeyRole, PolicyStage, RelationType, Verdict

REPEALING_RELATIONS = (RelationType.REPEALS, RelationType.REPLACES)
_REPEALING_STAGES = (PolicyStage.FINAL, PolicyStage.AMENDMENT, PolicyStage.REPEAL, PolicyStage.IMPLEMENTATION)
_MIN_NAME_CHARS = 8  # documents of several offices have a shorter name in common
MAX_ROWS = 5000
"""So many deadlines a period shows at most, the nearest of them."""


def build_scope(item_id: int, policy_id: int | None) -> str:
    """Return the key of what a deadline is of: the policy, or else the item."""
    return f"i{item_id}" if policy_id is None else f"p{policy_id}"


def is_unique_key(key: str) -> bool:
    """Whether the key of a document says by itself which one is meant.

    Short names, and numbers of a year or of a series as 令第3号, are those of several offices.
    """
    kind, _, words = key.partition(":")
    return len(words) >= _MIN_NAME_CHARS if kind == "name" else "." not in words


class DeadlineMoveView(BaseModel):
    """A move of a deadline: `before` is None where a revision added it, `after` where one dropped it."""

    before: dt.date | None
    after: dt.date | None
    passage: str
    run_id: str
    seen_at: dt.datetime


class DeadlineRow(BaseModel):
    """A deadline with its item and policy; `published_on` is the day of the item, `moves` are the oldest first.

    `repealed_on` is the day from which another document has repealed or replaced the one that states it.
    """

    id: int
    kind: DeadlineKind
    day: dt.date
    subject: str
    passage: str
    verdict: Verdict
    seen_at: dt.datetime
    dropped_at: dt.datetime | None = None
    item_id: int
    title: str
    url: str
    source: str
    published_on: dt.date
    repealed_on: dt.date | None = None
    policy_id: int | None = None
    policy: str | None = None
    stage: PolicyStage | None = None
    moves: list[DeadlineMoveView] = Field(default_factory=list)

    @property
    def scope(self) -> str:
        return build_scope(self.item_id, self.policy_id)

    @property
    def known_since(self) -> dt.datetime:
        """When its present day was first seen."""
        return self.moves[-1].seen_at if self.moves else self.seen_at


class DeadlineFilter(BaseModel):
    """Which deadlines are meant; what is empty or None does not narrow. `since` and `until` are included."""

    since: dt.date | None = None
    until: dt.date | None = None
    kinds: Sequence[DeadlineKind] = ()
    sources: Sequence[str] = ()
    policy_id: int | None = None
    topic_id: int | None = None


class DeadlineStore(Queries):
    async def list_for_item(self, item_id: int) -> list[Deadline]:
        """All deadlines of an item, dropped ones too; in a transaction, nobody else changes them until it ends."""
        async with self._sessions.begin_write() as session:
            await session.scalar(select(col(Item.id)).where(col(Item.id) == item_id).with_for_update())
            query = select(Deadline).where(col(Deadline.item_id) == item_id).order_by(col(Deadline.id))
            return list(await session.scalars(query))

    async def save(self, rows: Sequence[tuple[Deadline, DeadlineMove | None]]) -> list[int]:
        """Store deadlines, each with its move where it made one; returns their ids."""
        async with self._sessions.begin_write() as session:
            ids: list[int] = []
            facts: list[EventFact] = []
            for row, move in rows:
                values = sanitize_value(row.model_dump(exclude={"id"}))
                if row.id is None:
                    kept = Deadline(**values)
                    session.add(kept)
                    await session.flush()
                    ids.append(kept.id or 0)
                else:
                    await session.execute(update(Deadline).where(col(Deadline.id) == row.id).values(**values))
                    ids.append(row.id)
                if move is not None:
                    made = sanitize_value(move.model_dump(exclude={"id"})) | {"deadline_id": ids[-1]}
                    session.add(DeadlineMove(**made))
                if row.id is None or move is not None:
                    facts.append(_build_event_fact(ids[-1], row, move))
            await add_webhook_events(session, facts)
            return ids

    async def count_moves(self, deadline_ids: Sequence[int]) -> dict[int, int]:
        query = select(col(DeadlineMove.deadline_id), func.count()).where(
            col(DeadlineMove.deadline_id).in_(deadline_ids)
        )
        counted = await self._fetch_rows(query.group_by(col(DeadlineMove.deadline_id)))
        return {row[0]: row[1] for row in counted}

    async def list_open(
        self, wanted: DeadlineFilter, *, per_day: int | None = None, limit: int = MAX_ROWS
    ) -> tuple[list[DeadlineRow], set[int]]:
        """The deadlines that are stated still, the nearest first, so many a day; those of hidden items are left out.

        With them come all that their policies have; the ids are those of the deadlines that are meant.
        """
        meant = _select_meant(wanted, col(Deadline.id), col(PolicyDocument.policy_id), with_policies=True)
        if per_day is not None:
            place = func.dense_rank().over(partition_by=col(Deadline.day), order_by=col(Deadline.id)).label("place")
            of_day = meant.add_columns(place).subquery()
            query = select(of_day.c.id, of_day.c.policy_id).where(of_day.c.place <= per_day).limit(limit)
            query = query.execution_options(**meant.get_execution_options())
        else:
            query = meant.order_by(col(Deadline.day), col(Deadline.id)).limit(limit)
        found = await self._fetch_rows(query)
        rows = await self.list_of_policies(policy_id for _, policy_id in found if policy_id is not None)
        for batch in split_batches(number for number, policy_id in found if policy_id is None):
            rows += await self._load_rows([col(Deadline.id).in_(batch)], limit=None)
        return rows, {number or 0 for number, _ in found}

    async def count_by_day(self, wanted: DeadlineFilter) -> dict[dt.date, int]:
        """How many deadlines the documents state by day, of those that `list_open` lists."""
        count, of_policy = func.count(col(Deadline.id).distinct()), wanted.policy_id is not None
        query = _select_meant(wanted, col(Deadline.day), count, with_policies=of_policy)
        return {row[0]: row[1] for row in await self._fetch_rows(query.group_by(col(Deadline.day)))}

    async def list_of_policies(self, policy_ids: Iterable[int]) -> list[DeadlineRow]:
        """All deadlines of the documents of these policies, each once."""
        rows: dict[int, DeadlineRow] = {}
        for batch in split_batches(sorted(set(policy_ids))):
            in_policy = col(PolicyDocument.policy_id).in_(batch)
            members = select(col(PolicyDocument.item_id)).where(in_policy)  # leads the database to the index of items
            for row in await self._load_rows([in_policy, col(Deadline.item_id).in_(members)], limit=None):
                rows.setdefault(row.id, row)
        return list(rows.values())

    async def list_policies(self, item_ids: Sequence[int]) -> list[int]:
        """The policies of those of the items that state a deadline."""
        query = (
            select(col(PolicyDocument.policy_id))
            .join(Deadline, _IN_POLICY)
            .where(col(Deadline.item_id).in_(item_ids), col(Deadline.dropped_at).is_(None))
        )
        return [policy_id for (policy_id,) in await self._fetch_rows(query.distinct())]

    async def get(self, deadline_id: int) -> DeadlineRow | None:
        rows = await self._load_rows([col(Deadline.id) == deadline_id], with_dropped=True)
        return rows[0] if rows else None

    async def list_of_item(self, item_id: int) -> list[DeadlineRow]:
        """All deadlines of an item with their moves, by day; those that it states no more end with a move to None."""
        return await self._load_rows([col(Deadline.item_id) == item_id], with_dropped=True, limit=None)

    async def list_moves(self, item_ids: Sequence[int]) -> list[tuple[Deadline, DeadlineMove]]:
        """The moves of the deadlines of items, those of each item oldest first."""
        query = (
            select(Deadline, DeadlineMove)
            .join(DeadlineMove, col(DeadlineMove.deadline_id) == col(Deadline.id))
            .order_by(col(DeadlineMove.id))
        )
        moves: list[tuple[Deadline, DeadlineMove]] = []
        for batch in split_batches(item_ids):
            rows = await self._fetch_rows(query.where(col(Deadline.item_id).in_(batch)))
            moves += [(deadline, move) for deadline, move in rows]
        return moves

    async def find_calendar(self, key: str) -> tuple[Topic, Person] | None:
        """The topic that a calendar is of, and whose it is; None for a key that nobody has who may sign in."""
        query = (
            select(Topic, Person)
            .join(TopicFollower, col(TopicFollower.topic_id) == col(Topic.id))
            .join(Person, col(Person.name) == col(TopicFollower.person))
            .where(col(TopicFollower.calendar_key) == sanitize_text(key), col(Person.is_shut_out).is_(False))
        )
        rows = await self._fetch_rows(query)
        return (rows[0][0], rows[0][1]) if rows else None

    async def find_topic(self, name: str) -> Topic | None:
        return await self._fetch_first(select(Topic).where(col(Topic.name) == sanitize_text(name)))

    async def _load_rows(
        self, conditions: Sequence[ColumnElement[bool]], *, with_dropped: bool = False, limit: int | None = MAX_ROWS
    ) -> list[DeadlineRow]:
        query = _SELECT_ROWS.where(*conditions).order_by(col(Deadline.day), col(Deadline.id)).limit(limit)
        if not with_dropped:
            query = query.where(col(Deadline.dropped_at).is_(None))
        rows: dict[int, DeadlineRow] = {}
        for row in await self._fetch_as(DeadlineRow, query):
            known = rows.setdefault(row.id, row)
            if (row.policy_id or 0) < (known.policy_id or 0):
                rows[row.id] = row  # a document in two policies counts for the first of them
        for batch in split_batches(rows):
            moves = _SELECT_MOVES.where(col(DeadlineMove.deadline_id).in_(batch)).order_by(col(DeadlineMove.id))
            for deadline_id, before, after, passage, run_id, seen_at in await self._fetch_rows(moves):
                move = DeadlineMoveView(before=before, after=after, passage=passage, run_id=run_id, seen_at=seen_at)
                rows[deadline_id].moves.append(move)
        await self._find_repeals(rows.values())
        return list(rows.values())

    async def _find_repeals(self, rows: Iterable[DeadlineRow]) -> None:
        """Note in rows since when their documents are repealed: by a document that has their name or number."""
        by_item: dict[int, list[DeadlineRow]] = {}
        for row in rows:
            by_item.setdefault(row.item_id, []).append(row)
        repeals = [row async for row in self._iter_repeals(sorted(by_item))]
        in_policies = col(PolicyDocument.item_id).in_([item_id for _, _, item_id, *_ in repeals])
        members = select(col(PolicyDocument.policy_id), col(PolicyDocument.item_id)).where(
            in_policies, col(PolicyDocument.removed_at).is_(None)
        )
        policies = {tuple(row) for row in await self._fetch_rows(members)} if repeals else set()
        for repealed_id, key, item_id, day, since in repeals:
            for row in by_item[repealed_id]:
                if (is_unique_key(key) or (row.policy_id, item_id) in policies) and row.published_on <= day:
                    row.repealed_on = min(row.repealed_on or since, since)

    async def _iter_repeals(self, item_ids: Sequence[int]) -> AsyncIterator[tuple[int, str, int, dt.date, dt.date]]:
        """Yield item, key, the item that repeals it under that key, the day of that, and from when it does."""
        for batch in split_batches(item_ids):
            query = _SELECT_REPEALS.where(col(_OWN.item_id).in_(batch))
            for repealed_id, key, written, item_id, day, facts in await self._fetch_rows(query):
                read = DocumentFacts.model_validate(facts)
                acts = [relation for relation in read.relations if relation.type in REPEALING_RELATIONS]
                is_meant = any(written in (relation.number, relation.title) for relation in acts)
                if is_meant and read.stage in _REPEALING_STAGES:  # drafts only propose it, others only tell of it
                    yield repealed_id, key, item_id, day, read.in_force or day


_SELECT_MOVES = select(
    col(DeadlineMove.deadline_id),
    col(DeadlineMove.before),
    col(DeadlineMove.after),
    col(DeadlineMove.passage),
    col(DeadlineMove.run_id),
    col(DeadlineMove.seen_at),
).execution_options(**lift_conditions(DeadlineMove))
"""To be asked for deadlines that were found."""

_IN_POLICY = and_(col(PolicyDocument.item_id) == col(Deadline.item_id), col(PolicyDocument.removed_at).is_(None))
_OF_ITEM = col(Item.id) == col(Deadline.item_id)
_IS_SHOWN = ~is_hidden(col(Deadline.item_id))
_SELECT_ROWS = (
    select(
        *(
            getattr(Deadline, name)
            for name in ("id", "kind", "day", "subject", "passage", "verdict", "seen_at", "dropped_at", "item_id")
        ),
        col(Item.title),
        col(Item.url),
        col(Item.source),
        col(Item.day).label("published_on"),
        col(PolicyDocument.policy_id),
        col(PolicyDocument.stage),
        col(Policy.name).label("policy"),
    )
    .select_from(Deadline)
    .join(Item, _OF_ITEM)
    .join(PolicyDocument, _IN_POLICY, isouter=True)
    .join(Policy, col(Policy.id) == col(PolicyDocument.policy_id), isouter=True)
    .where(_IS_SHOWN)
    .execution_options(**lift_conditions(Deadline, PolicyDocument, Policy))
)


_OWN, _CITED = aliased(DocumentKey), aliased(DocumentKey)
_FACTS_TEXT = cast(ItemFacts.facts, String)
_SELECT_REPEALS = (
    select(
        col(_OWN.item_id), col(_OWN.key), col(_CITED.written), col(_CITED.item_id), col(Item.day), col(ItemFacts.facts)
    )
    .join(_CITED, and_(col(_CITED.key) == col(_OWN.key), col(_CITED.item_id) != col(_OWN.item_id)))
    .join(Item, col(Item.id) == col(_CITED.item_id))
    .join(ItemFacts, col(ItemFacts.item_id) == col(_CITED.item_id))
    .where(
        col(_OWN.role) == KeyRole.OWN,
        col(_CITED.role) == KeyRole.CITED,
        or_(*(col(_OWN.key).startswith(kind) for kind in ("name:", "number:"))),
        or_(*(_FACTS_TEXT.contains(f'"{kind}"') for kind in REPEALING_RELATIONS)),
    )
    .execution_options(**lift_conditions(ItemFacts))
)


def _build_event_fact(deadline_id: int, row: Deadline, move: DeadlineMove | None) -> EventFact:
    if move is not None and move.after is None:
        kind = WebhookEventType.DEADLINE_DROPPED
    else:
        kind = WebhookEventType.DEADLINE_CREATED if row.id is None else WebhookEventType.DEADLINE_MOVED
    return EventFact(kind, f"deadline:{deadline_id}", row.seen_at if move is None else move.seen_at)


def _strip_marks(title: str) -> str:
    return title.strip().removeprefix("《").removesuffix("》")


def _select_meant(
    wanted: DeadlineFilter, *columns: ColumnElement[Any] | Mapped[Any], with_policies: bool
) -> Select[*tuple[Any, ...]]:
    """Select of the deadlines that are meant and stated still, each once for every policy of its document."""
    query: Select[*tuple[Any, ...]] = select(*columns).select_from(Deadline).join(Item, _OF_ITEM)
    if with_policies:
        query = query.join(PolicyDocument, _IN_POLICY, isouter=True)
    query = query.execution_options(**lift_conditions(Deadline, PolicyDocument))
    return query.where(*_build_conditions(wanted), _IS_SHOWN, col(Deadline.dropped_at).is_(None))


def _build_conditions(wanted: DeadlineFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if wanted.since is not None:
        conditions.append(col(Deadline.day) >= wanted.since)
    if wanted.until is not None:
        conditions.append(col(Deadline.day) <= wanted.until)
    if wanted.kinds:
        conditions.append(col(Deadline.kind).in_(wanted.kinds))
    if wanted.sources:
        conditions.append(col(Item.source).in_([sanitize_text(name) for name in wanted.sources]))
    if wanted.policy_id is not None:
        conditions.append(col(PolicyDocument.policy_id) == wanted.policy_id)
    if wanted.topic_id is not None:
        fit = get_unbound_columns(TopicFit)
        fits = (fit.topic_id == wanted.topic_id, fit.is_match.is_(True))
        conditions.append(col(Deadline.item_id).in_(select(fit.item_id).where(*fits)))
    return conditions


class AlertView(MessageModel):
    """An alert with its item, and the name of the topic that it is of."""

    id: int
    target: str
    kind: AlertKind
    key: str
    message: Message
    item_id: int
    title: str
    url: str
    source: str
    topic: str | None = None
    raised_at: dt.datetime


class AlertStore(Queries):
    async def add(self, alerts: Sequence[Alert]) -> list[Alert]:
        """Store the alerts of which their target was not told yet; returns those."""
        fresh: list[Alert] = []
        if not alerts:
            return fresh
        targets, keys = {alert.target for alert in alerts}, {alert.key for alert in alerts}
        query = select(col(Alert.target), col(Alert.key))
        query = query.where(col(Alert.target).in_(targets), col(Alert.key).in_(keys))
        stored = {(target, key) for target, key in await self._fetch_rows(query)}
        if all((alert.target, alert.key) in stored for alert in alerts):
            return fresh
        async with self._sessions.begin_write() as session:
            for alert in alerts:
                values = sanitize_value(alert.model_dump(exclude={"id"}))
                insert = build_insert(get_dialect(session), Alert).values(**values)
                new = insert.on_conflict_do_nothing(index_elements=["target", "key"]).returning(col(Alert.id))
                if await session.scalar(new) is not None:
                    fresh.append(alert)
        return fresh

    async def list_waiting(self, limit: int = 1000) -> list[Alert]:
        """The alerts that are in no delivery yet, oldest first."""
        query = select(Alert).where(col(Alert.delivery_id).is_(None)).order_by(col(Alert.raised_at), col(Alert.id))
        return await self._fetch_all(query.limit(limit))

    async def release(self, alert_ids: Sequence[int], delivery: Delivery) -> bool:
        """Store the delivery that carries these alerts and note that in them, in one transaction.

        False, and nothing is done, where the delivery is there already or one of the alerts travels with another.
        """
        waiting = (col(Alert.id).in_(alert_ids), col(Alert.delivery_id).is_(None))
        async with self._sessions.begin_write() as session:
            found = await session.scalars(select(col(Alert.id)).where(*waiting).with_for_update())
            if {*found} != {*alert_ids} or not await insert_if_new(session, delivery):
                return False
            await session.execute(update(Alert).where(*waiting).values(delivery_id=delivery.id))
            return True

    async def delete_waiting(self, target: str) -> None:
        """Forget the alerts of a target that is gone."""
        await self._execute(delete(Alert).where(col(Alert.target) == target, col(Alert.delivery_id).is_(None)))

    async def list_for_delivery(self, delivery_id: str) -> list[AlertView]:
        """The alerts that a delivery carries, in the order in which they were raised."""
        names = ("id", "target", "kind", "key", "message", "item_id", "raised_at")
        query = (
            select(
                *(getattr(Alert, name) for name in names),
                col(Item.title),
                col(Item.url),
                col(Item.source),
                col(Topic.name).label("topic"),
            )
            .select_from(Alert)
            .join(Item, col(Item.id) == col(Alert.item_id))
            .join(Topic, col(Topic.id) == col(Alert.topic_id), isouter=True)
            .where(col(Alert.delivery_id) == delivery_id)
        )
        return await self._fetch_as(AlertView, query.order_by(col(Alert.id)))

    async def list_topic_targets(self, item_ids: Sequence[int]) -> list[tuple[int, Topic]]:
        """The topics that items fit and whose followers hear of it at once, each with the item."""
        query = (
            select(col(TopicFit.item_id), Topic)
            .join(Topic, col(Topic.id) == col(TopicFit.topic_id))
            .where(
                col(TopicFit.item_id).in_(list(item_ids)),
                col(TopicFit.is_match).is_(True),
                col(Topic.alerts) == TopicAlerts.AT_ONCE,
            )
            .order_by(col(Topic.id))
        )
        return [(item_id, topic) for item_id, topic in await self._fetch_rows(query)]

    async def find_documents(self, number: str | None, title: str | None) -> list[Item]:
        """The items of the document with this number, or else with exactly this title, oldest first."""
        if number:
            of_number = col(Item.document_number).in_(build_bracket_variants(sanitize_text(number)))
            if found := await self._fetch_all(select(Item).where(of_number).order_by(col(Item.day), col(Item.id))):
                return found
        if not title:
            return []
        plain = _strip_marks(sanitize_text(title))
        of_title = col(Item.title).in_([plain, f"《{plain}》"])
        return await self._fetch_all(select(Item).where(of_title).order_by(col(Item.day), col(Item.id)).limit(20))

    async def list_owners(self, key: str) -> list[Item]:
        """The items of the documents that have this name or number themselves, oldest first."""
        query = select(Item).join(DocumentKey, col(DocumentKey.item_id) == col(Item.id))
        query = query.where(col(DocumentKey.key) == key, col(DocumentKey.role) == KeyRole.OWN)
        return await self._fetch_all(query.order_by(col(Item.day), col(Item.id)).limit(20))

    async def find_policy(self, item_id: int) -> int | None:
        """The policy that an item belongs to; of several the first."""
        mine = (col(PolicyDocument.item_id) == item_id, col(PolicyDocument.removed_at).is_(None))
        return await self._fetch_first(select(func.min(PolicyDocument.policy_id)).where(*mine))
