"""What a briefing needs to know of its items, and the briefings that are kept of what people look at."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from sqlalchemy import delete, func, update
from sqlmodel import col, select

from monitor.db.sessions import Queries, insert_if_new, lock_decisions, sanitize_value
from monitor.db.tables.collection import Item
from monitor.db.tables.people import ClientProfile, ComposeStage, KeptBriefing
from monitor.db.tables.policies import (
    Deadline,
    DeadlineMove,
    ItemFacts,
    Policy,
    PolicyDocument,
    Topic,
    TopicFit,
    TopicJudgement,
)
from monitor.document import DocumentFacts
from monitor.i18n.message import Message


@dataclass(frozen=True, kw_only=True)
class BriefingFacts:
    """Facts, deadlines, names of policies and fits by the ids of items.

    `topic` is for whom the briefing is, `off_topic` counts the items that do not concern it and were left out.
    `moved_from` has the day before the first move of the period, by the ids of deadlines.
    """

    topic: str | None = None
    off_topic: int = 0
    facts: Mapping[int, DocumentFacts] = field(default_factory=dict)
    deadlines: Mapping[int, Sequence[Deadline]] = field(default_factory=dict)
    moved_from: Mapping[int, dt.date] = field(default_factory=dict)
    policies: Mapping[int, str] = field(default_factory=dict)
    fits: Mapping[int, TopicFit] = field(default_factory=dict)


class BriefingFactsQueries(Queries):
    async def get_topic(self, name: str) -> Topic | None:
        return await self._fetch_first(select(Topic).where(col(Topic.name) == name))

    async def list_topics(self) -> list[str]:
        """The names of the topics, in their order."""
        return await self._fetch_all(select(col(Topic.name)).order_by(col(Topic.name)))

    async def load_fits(self, topic: Topic, item_ids: Sequence[int]) -> dict[int, TopicFit]:
        query = select(TopicFit).where(col(TopicFit.topic_id) == topic.id)
        return {fit.item_id: fit for fit in await self._fetch_in(query, col(TopicFit.item_id), item_ids)}

    async def list_unjudged(self, topic: Topic, item_ids: Sequence[int]) -> set[int]:
        """Return those of these items that came since the topic is there, and that nothing has judged yet.

        An item that was judged and does not fit at all has no fit either; so has one of before, which the topic was
        held against when it was made.
        """
        judged = select(col(TopicJudgement.item_id))
        query = select(col(Item.id)).where(col(Item.first_seen) >= topic.created_at, col(Item.id).not_in(judged))
        return {item_id for item_id in await self._fetch_in(query, col(Item.id), item_ids) if item_id is not None}

    async def load(
        self,
        item_ids: Sequence[int],
        *,
        since: dt.datetime,
        until: dt.datetime,
        topic: Topic | None = None,
        off_topic: int = 0,
    ) -> BriefingFacts:
        """Return what is known of these items; moves are those that were seen in the period."""
        facts: dict[int, DocumentFacts] = {}
        for row in await self._fetch_in(select(ItemFacts), col(ItemFacts.item_id), item_ids):
            try:
                facts[row.item_id] = row.document
            except ValidationError:
                continue  # written by another version; the next run of the item reads them anew
        standing = select(Deadline).where(col(Deadline.dropped_at).is_(None))
        deadlines: dict[int, list[Deadline]] = {}
        for deadline in await self._fetch_in(standing, col(Deadline.item_id), item_ids):
            deadlines.setdefault(deadline.item_id, []).append(deadline)
        ids = [deadline.id or 0 for group in deadlines.values() for deadline in group]
        seen = select(DeadlineMove).where(col(DeadlineMove.seen_at) >= since, col(DeadlineMove.seen_at) < until)
        moves = await self._fetch_in(seen, col(DeadlineMove.deadline_id), ids)
        first = sorted(moves, key=lambda move: (move.seen_at, move.id or 0), reverse=True)
        return BriefingFacts(
            topic=topic.name if topic is not None else None,
            off_topic=off_topic,
            facts=facts,
            deadlines=deadlines,
            moved_from={move.deadline_id: move.before for move in first if move.before is not None},
            policies=await self._load_policies(item_ids),
            fits=await self.load_fits(topic, item_ids) if topic is not None else {},
        )

    async def _load_policies(self, item_ids: Sequence[int]) -> dict[int, str]:
        standing = select(PolicyDocument).where(col(PolicyDocument.removed_at).is_(None))
        documents = await self._fetch_in(standing, col(PolicyDocument.item_id), item_ids)
        ids = {document.policy_id for document in documents}
        names = {policy.id: policy.name for policy in await self._fetch_in(select(Policy), col(Policy.id), ids)}
        return {document.item_id: names[document.policy_id] for document in documents if document.policy_id in names}


class ClientProfileStore(Queries):
    async def list(self) -> list[ClientProfile]:
        return await self._fetch_all(select(ClientProfile).order_by(col(ClientProfile.name), col(ClientProfile.id)))

    async def get(self, profile_id: int) -> ClientProfile | None:
        return await self._get(ClientProfile, profile_id)

    async def save(self, profile: ClientProfile, *, limit: int) -> ClientProfile | None:
        """Store a new profile, or what a stored one is now; None where another one has the name, or too many are there.

        Whoever stores it learns of no name that they do not see.
        """
        values = sanitize_value(profile.model_dump(exclude={"id"}))
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            named = select(col(ClientProfile.id)).where(col(ClientProfile.name) == values["name"])
            if any(found != profile.id for found in await session.scalars(named)):
                return None
            if profile.id is None:
                if (await session.scalar(select(func.count(col(ClientProfile.id)))) or 0) >= limit:
                    return None
                stored = ClientProfile(**values)
                session.add(stored)
                await session.flush()
                return stored
            change = update(ClientProfile).where(col(ClientProfile.id) == profile.id).values(**values)
            await session.execute(change)
            return ClientProfile(**values, id=profile.id)

    async def remove(self, profile_id: int) -> None:
        await self._execute(delete(ClientProfile).where(col(ClientProfile.id) == profile_id))


class KeptBriefingStore(Queries):
    """The briefing of each scope that somebody looked at, composed once."""

    async def get(self, key: str) -> KeptBriefing | None:
        return await self._get(KeptBriefing, key)

    async def begin(self, row: KeptBriefing, *, stale_before: dt.datetime) -> bool:
        """Put a scope on record as being composed; False where that is under way since `stale_before`.

        What was composed of it before stays until the new one is there.
        """
        async with self._lock(KeptBriefing, row.key) as (session, kept):
            if kept is None:
                return await insert_if_new(session, row, key="key")
            if kept.stage is not ComposeStage.DONE and kept.error is None and kept.updated_at > stale_before:
                return False
            kept.stage, kept.error, kept.updated_at = row.stage, None, row.updated_at
            return True

    async def report(self, key: str, stage: ComposeStage, at: dt.datetime, error: Message | None = None) -> None:
        async with self._lock(KeptBriefing, key) as (_, kept):
            if kept is not None:
                kept.stage, kept.updated_at, kept.error = stage, at, error

    async def touch(self, key: str, at: dt.datetime) -> None:
        """Record that a scope is still being composed."""
        async with self._lock(KeptBriefing, key) as (_, kept):
            if kept is not None:
                kept.updated_at = at

    async def finish(self, key: str, briefing: dict[str, Any], composed_at: dt.datetime, at: dt.datetime) -> None:
        async with self._lock(KeptBriefing, key) as (_, kept):
            if kept is not None:
                kept.briefing, kept.composed_at = sanitize_value(briefing), composed_at
                kept.stage, kept.updated_at, kept.error = ComposeStage.DONE, at, None

    async def prune(self, before: dt.datetime) -> None:
        await self._execute(delete(KeptBriefing).where(col(KeptBriefing.updated_at) < before))
