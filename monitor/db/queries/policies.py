"""The facts of documents, the policies that they belong to, and what people say of these."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel
from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update
from sqlmodel import col

from monitor.db.queries.filters import match_words
from monitor.db.sessions import Queries, lock_decisions, sanitize_value, split_batches, upsert_rows
from monitor.db.tables.collection import Item, ItemPageText
from monitor.db.tables.evidence import Revision
from monitor.db.tables.policies import Deadline, DocumentKey, ItemFacts, Policy, PolicyDocument, PolicyNote
from monitor.document import DocumentFacts
from monitor.vocabulary import DeadlineKind, KeyRole, PolicyStage

_MAX_RELATED = 400  # documents with a key in common that are looked at, the newest first


@dataclass(frozen=True)
class KeyedDocument:
    """A document as it is joined to others: `policies` are those that it is in, `removed` those it was taken out of."""

    item_id: int
    title: str
    day: dt.date | None
    facts: DocumentFacts
    keys: Sequence[DocumentKey]
    policies: frozenset[int]
    removed: frozenset[int]


class PolicyReference(BaseModel):
    """The policy that an item is in."""

    id: int
    name: str


class PolicyRow(BaseModel):
    """A policy as a list shows it; `next_deadline` is the first day to come that one of its documents states."""

    id: int
    name: str
    stage: PolicyStage | None
    stage_on: dt.date | None
    documents: int
    next_deadline: dt.date | None = None
    created_at: dt.datetime
    updated_at: dt.datetime


class PolicyDeadlineRow(BaseModel):
    """A day that a document of a policy states; `dropped_at`: a later revision states it no more."""

    item: int
    kind: DeadlineKind
    day: dt.date
    subject: str
    passage: str
    dropped_at: dt.datetime | None


@dataclass(frozen=True)
class PolicyFilter:
    """Which policies are meant: all words of `text` stand in the name; `after` is the key of the last one shown."""

    text: str = ""
    stages: Sequence[PolicyStage] = ()
    source: str = ""
    after: tuple[dt.datetime, int] | None = None


class PolicyStore(Queries):
    async def lock(self) -> None:
        """Let no other process join documents before this transaction ends."""
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)

    # Facts.

    async def list_run_items(self, run_id: str) -> list[int]:
        """The items with a text that a run saved, or whose pages it found changed, the oldest first."""
        has_text = exists().where(col(ItemPageText.item_id) == col(Item.id))
        revised = select(col(Revision.item_id)).where(col(Revision.run_id) == run_id)
        mine = or_(col(Item.run_id) == run_id, col(Item.id).in_(revised))
        found = await self._fetch_all(select(col(Item.id)).where(mine, has_text).order_by(col(Item.id)))
        return [item_id for item_id in found if item_id is not None]

    async def list_items_with_text(self, *, after: int, limit: int) -> list[int]:
        """The items whose text is kept, by number from the one behind `after` on."""
        query = select(col(ItemPageText.item_id)).where(col(ItemPageText.item_id) > after)
        return await self._fetch_all(query.order_by(col(ItemPageText.item_id)).limit(limit))

    async def list_unjoined(self) -> list[int]:
        """The items with facts that were never in a policy, in the order of their days."""
        joined = exists().where(col(PolicyDocument.item_id) == col(ItemFacts.item_id))
        query = select(col(ItemFacts.item_id)).join(Item, col(Item.id) == col(ItemFacts.item_id)).where(~joined)
        return await self._fetch_all(query.order_by(col(Item.day), col(Item.id)))

    async def load_items(self, item_ids: Iterable[int]) -> list[Item]:
        return await self._fetch_in(select(Item), col(Item.id), item_ids)

    async def load_facts(self, item_ids: Iterable[int]) -> dict[int, ItemFacts]:
        rows = await self._fetch_in(select(ItemFacts), col(ItemFacts.item_id), item_ids)
        return {row.item_id: row for row in rows}

    async def save_facts(self, facts: ItemFacts, keys: Sequence[DocumentKey]) -> None:
        """Store the facts of an item and the keys by which others find it, in place of what it had."""
        row = sanitize_value(facts.model_dump())
        rows = [sanitize_value(key.model_dump()) for key in keys]
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, ItemFacts, [row], key=["item_id"], update=[*row.keys() - {"item_id"}])
            await session.execute(delete(DocumentKey).where(col(DocumentKey.item_id) == facts.item_id))
            if rows:
                await upsert_rows(session, DocumentKey, rows, key=["item_id", "key"])

    async def load_documents(self, item_ids: Iterable[int]) -> list[KeyedDocument]:
        """The documents with these numbers that have facts."""
        wanted = list(item_ids)
        keys: defaultdict[int, list[DocumentKey]] = defaultdict(list)
        rows = await self._fetch_in(select(DocumentKey), col(DocumentKey.item_id), wanted)
        for key in rows:
            keys[key.item_id].append(key)
        placed: defaultdict[bool, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for row in await self._fetch_in(select(PolicyDocument), col(PolicyDocument.item_id), wanted):
            placed[row.removed_at is None][row.item_id].add(row.policy_id)
        facts = await self.load_facts(wanted)
        return [
            KeyedDocument(
                item_id=item.id or 0,
                title=item.title,
                day=item.date or found.document.made_on or item.first_seen.date(),
                facts=found.document,
                keys=keys[item.id or 0],
                policies=frozenset(placed[True][item.id or 0]),
                removed=frozenset(placed[False][item.id or 0]),
            )
            for item in await self.load_items(facts)
            if (found := facts.get(item.id or 0)) is not None
        ]

    async def find_related(self, document: KeyedDocument) -> list[int]:
        """The numbers of documents that refer to this one or that it refers to, or that have a name much like its."""
        own = [key.key for key in document.keys if key.role is KeyRole.OWN or key.key.startswith("like:")]
        others = [key.key for key in document.keys if key.role is not KeyRole.OWN]
        found: set[int] = set()
        async with self._sessions.begin_read() as session:
            for keys, of_role in ((own, []), (others, [col(DocumentKey.role) == KeyRole.OWN])):
                for batch in split_batches(keys):
                    shared = (col(DocumentKey.key).in_(batch), col(DocumentKey.item_id) != document.item_id, *of_role)
                    query = select(col(DocumentKey.item_id)).where(*shared).distinct()
                    newest = query.order_by(col(DocumentKey.item_id).desc()).limit(_MAX_RELATED)
                    found.update(await session.scalars(newest))
        return sorted(found)

    # Policies and their documents.

    async def add(self, policy: Policy) -> int:
        kept = Policy(**sanitize_value(policy.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            session.add(kept)
            await session.flush()
            return kept.id or 0

    async def get(self, policy_id: int) -> Policy | None:
        return await self._get(Policy, policy_id)

    async def update(self, policy_id: int, **changes: object) -> None:
        values = {name: sanitize_value(value) for name, value in changes.items()}
        await self._execute(update(Policy).where(col(Policy.id) == policy_id).values(**values))

    async def remove(self, policy_id: int) -> None:
        await self._execute(delete(Policy).where(col(Policy.id) == policy_id))

    async def save_document(self, document: PolicyDocument) -> None:
        """Put a document into a policy, or change why it is there, or take it out again."""
        row = sanitize_value(document.model_dump())
        key = ["policy_id", "item_id"]
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, PolicyDocument, [row], key=key, update=[*row.keys() - {*key}])

    async def get_document(self, policy_id: int, item_id: int) -> PolicyDocument | None:
        return await self._get(PolicyDocument, (policy_id, item_id))

    async def list_documents(self, policy_id: int) -> list[tuple[PolicyDocument, Item]]:
        """The documents that are in a policy now, with their items."""
        query = (
            select(PolicyDocument, Item)
            .join(Item, col(Item.id) == col(PolicyDocument.item_id))
            .where(col(PolicyDocument.policy_id) == policy_id, col(PolicyDocument.removed_at).is_(None))
            .order_by(col(Item.day), col(Item.id))
        )
        return [(document, item) for document, item in await self._fetch_rows(query)]

    async def find_policy_of(self, item_id: int) -> PolicyReference | None:
        """The policy that an item is in; of several the one that it joined first."""
        query = (
            select(col(Policy.id), col(Policy.name))
            .join(PolicyDocument, col(PolicyDocument.policy_id) == col(Policy.id))
            .where(col(PolicyDocument.item_id) == item_id, col(PolicyDocument.removed_at).is_(None))
            .order_by(col(PolicyDocument.joined_at), col(Policy.id))
        )
        return next(iter(await self._fetch_as(PolicyReference, query.limit(1))), None)

    async def list_rows(self, wanted: PolicyFilter, *, today: dt.date, limit: int) -> list[PolicyRow]:
        """The policies that are meant, with documents, those that changed last first."""
        placed = and_(col(PolicyDocument.policy_id) == col(Policy.id), col(PolicyDocument.removed_at).is_(None))
        conditions: list[ColumnElement[bool]] = [exists().where(placed)]
        if wanted.text:
            conditions.append(match_words(wanted.text, col(Policy.name)))
        if wanted.stages:
            conditions.append(col(Policy.stage).in_(wanted.stages))
        if wanted.source:
            of_source = select(col(Item.id)).where(col(Item.source) == wanted.source)
            conditions.append(exists().where(placed, col(PolicyDocument.item_id).in_(of_source)))
        if wanted.after is not None:
            at, policy_id = wanted.after
            later = and_(col(Policy.updated_at) == at, col(Policy.id) < policy_id)
            conditions.append(or_(col(Policy.updated_at) < at, later))
        query = select(Policy).where(*conditions).order_by(col(Policy.updated_at).desc(), col(Policy.id).desc())
        policies = await self._fetch_all(query.limit(limit))
        return await self.build_rows(policies, today=today)

    async def build_rows(self, policies: Sequence[Policy], *, today: dt.date) -> list[PolicyRow]:
        ids = [policy.id or 0 for policy in policies]
        counts = await self._count_documents(ids)
        days = await self._find_next_deadlines(ids, today)
        return [
            PolicyRow.model_validate(
                policy.model_dump()
                | {"documents": counts.get(policy.id or 0, 0), "next_deadline": days.get(policy.id or 0)}
            )
            for policy in policies
        ]

    async def _count_documents(self, policy_ids: Sequence[int]) -> Mapping[int, int]:
        query = (
            select(col(PolicyDocument.policy_id), func.count())
            .where(col(PolicyDocument.policy_id).in_(policy_ids), col(PolicyDocument.removed_at).is_(None))
            .group_by(col(PolicyDocument.policy_id))
        )
        return {policy_id: int(count) for policy_id, count in await self._fetch_rows(query)}

    async def _find_next_deadlines(self, policy_ids: Sequence[int], today: dt.date) -> Mapping[int, dt.date]:
        query = (
            select(col(PolicyDocument.policy_id), func.min(col(Deadline.day)))
            .join(Deadline, col(Deadline.item_id) == col(PolicyDocument.item_id))
            .where(col(PolicyDocument.policy_id).in_(policy_ids), col(PolicyDocument.removed_at).is_(None))
            .where(col(Deadline.day) >= today, col(Deadline.dropped_at).is_(None))
            .group_by(col(PolicyDocument.policy_id))
        )
        return {policy_id: day for policy_id, day in await self._fetch_rows(query) if day is not None}

    async def list_deadlines(self, policy_id: int) -> list[PolicyDeadlineRow]:
        """The days that the documents of a policy state, in their order."""
        query = (
            select(
                col(Deadline.item_id).label("item"),
                *(getattr(Deadline, name) for name in ("kind", "day", "subject", "passage", "dropped_at")),
            )
            .join(PolicyDocument, col(PolicyDocument.item_id) == col(Deadline.item_id))
            .where(col(PolicyDocument.policy_id) == policy_id, col(PolicyDocument.removed_at).is_(None))
            .order_by(col(Deadline.day), col(Deadline.id))
        )
        return await self._fetch_as(PolicyDeadlineRow, query)

    # Notes.

    async def add_note(self, note: PolicyNote) -> PolicyNote:
        kept = PolicyNote(**sanitize_value(note.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            session.add(kept)
            await session.flush()
            return kept

    async def list_notes(self, policy_id: int) -> list[PolicyNote]:
        query = select(PolicyNote).where(col(PolicyNote.policy_id) == policy_id)
        return await self._fetch_all(query.order_by(col(PolicyNote.id)))
