"""Forgetting what nobody asks for any more; never the urls that are known, nor the items."""

import datetime as dt
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Text, cast, delete, select, update
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from monitor.db.fulltext_index import reindex_without_texts
from monitor.db.sessions import BATCH_SIZE, Queries
from monitor.db.tables.collection import Item, ItemPageText, ModelCall, Run
from monitor.db.tables.delivery import Alarm, Delivery, DeliveryStatus
from monitor.db.tables.evidence import EvidenceRecord, ItemSnapshot, Revision
from monitor.db.tables.research import Research, ResearchStatus, RunEvent, SearchCall
from monitor.vocabulary import RunStatus

_ACTIVE_RUN_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING)
_ACTIVE_RESEARCH_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_FINAL_DELIVERY_STATUSES = (DeliveryStatus.SENT, DeliveryStatus.QUIET, DeliveryStatus.FAILED)


class PruneResult(BaseModel):
    """How much was forgotten: runs with ledgers and records, researches, texts, revisions, calls, alarms, letters.

    `files` are those of records, as far as no other record needs them, and those of bundles.
    """

    runs: int
    researches: int
    records: int
    files: int = 0
    texts: int
    revisions: int
    model_calls: int
    alarms: int
    deliveries: int


class RetentionStore(Queries):
    """Deletes old records in many short transactions, so that nobody waits for it."""

    async def prune(self, before: dt.datetime) -> PruneResult:
        """Forget what is older than an instant. Items, and all urls that were ever seen, stay."""
        old_items = select(col(Item.id)).where(col(Item.first_seen) < before)
        is_old = (col(Run.planned_at) < before, col(Run.status).not_in(_ACTIVE_RUN_STATUSES))
        old_runs = select(col(Run.id)).where(*is_old)
        is_past = (col(Research.created_at) < before, col(Research.status).not_in(_ACTIVE_RESEARCH_STATUSES))
        past = select(col(Research.id)).where(*is_past)
        pruned = PruneResult(
            records=await self._delete_in_batches(
                EvidenceRecord, col(EvidenceRecord.id), col(EvidenceRecord.run_id).in_(old_runs)
            )
            + await self._delete_in_batches(
                EvidenceRecord, col(EvidenceRecord.id), col(EvidenceRecord.research_id).in_(past)
            ),
            runs=await self._delete_in_batches(Run, col(Run.id), *is_old, batch=20),
            researches=await self._delete_in_batches(Research, col(Research.id), *is_past, batch=20),
            texts=await self._delete_in_batches(
                ItemPageText, col(ItemPageText.item_id), col(ItemPageText.item_id).in_(old_items)
            ),
            revisions=await self._delete_in_batches(Revision, col(Revision.id), col(Revision.seen_at) < before),
            model_calls=await self._delete_in_batches(ModelCall, col(ModelCall.id), col(ModelCall.at) < before),
            alarms=await self._delete_in_batches(Alarm, col(Alarm.id), col(Alarm.cleared_at) < before),
            deliveries=await self._delete_in_batches(
                Delivery,
                col(Delivery.id),
                col(Delivery.planned_at) < before,
                col(Delivery.status).in_(_FINAL_DELIVERY_STATUSES),
            ),
        )
        await self._delete_in_batches(SearchCall, col(SearchCall.id), col(SearchCall.at) < before)
        await self._delete_in_batches(ItemSnapshot, col(ItemSnapshot.item_id), col(ItemSnapshot.item_id).in_(old_items))
        await self._clear_evidence_ids(before)
        return pruned

    async def prune_events(self, before: dt.datetime) -> int:
        """Forget what runs told of themselves before an instant; what they brought stays."""
        return await self._delete_in_batches(RunEvent, col(RunEvent.id), col(RunEvent.at) < before)

    async def _clear_evidence_ids(self, before: dt.datetime) -> None:
        """Items name no records that are gone."""
        kept = select(col(Run.id)).where(col(Run.id) == col(Item.run_id)).exists()
        names_some = cast(col(Item.evidence), Text) != "[]"
        async with self._sessions.begin_write() as session:
            await session.execute(
                update(Item).where(col(Item.first_seen) < before, names_some, ~kept).values(evidence=[])
            )

    async def _delete_in_batches(
        self, table: type[SQLModel], key: Mapped[Any], *which: ColumnElement[bool], batch: int = BATCH_SIZE
    ) -> int:
        count = 0
        while True:
            async with self._sessions.begin_write() as session:
                keys = (await session.scalars(select(key).where(*which).limit(batch))).all()
                if keys:
                    await session.execute(delete(table).where(key.in_(keys)))
                    if table is ItemPageText:
                        await reindex_without_texts(session, keys)
            count += len(keys)
            if len(keys) < batch:
                return count
