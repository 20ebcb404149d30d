"""Forgetting what nobody asks for any more; never the urls that are known, nor the items."""

import datetime as dt
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Text, cast, delete, select, update
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from monitor.domain.alarms import Alarm
from monitor.domain.deliveries import Delivery, DeliveryStatus
from monitor.domain.evidence import Record
from monitor.domain.live import RunEvent
from monitor.domain.research import Research, ResearchStatus
from monitor.domain.revisions import ItemSight, Revision
from monitor.domain.searches import SearchCall
from monitor.domain.tables import Item, ItemText, ModelCall, Run
from monitor.domain.words import RunStatus
from monitor.store.indexing import index_without_texts
from monitor.store.patience import patient
from monitor.store.sessions import BATCH_SIZE, Sessions

_UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)
_AT_WORK = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_SETTLED = (DeliveryStatus.SENT, DeliveryStatus.QUIET, DeliveryStatus.FAILED)


class Pruned(BaseModel):
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


@patient
class Retention:
    """Deletes old records in many short transactions, so that nobody waits for it."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def prune(self, before: dt.datetime) -> Pruned:
        """Forget what is older than an instant. Items, and all urls that were ever seen, stay."""
        old_items = select(col(Item.id)).where(col(Item.first_seen) < before)
        is_old = (col(Run.planned_at) < before, col(Run.status).not_in(_UNDER_WAY))
        old_runs = select(col(Run.id)).where(*is_old)
        is_past = (col(Research.created_at) < before, col(Research.status).not_in(_AT_WORK))
        past = select(col(Research.id)).where(*is_past)
        pruned = Pruned(
            records=await self._delete(Record, col(Record.id), col(Record.run_id).in_(old_runs))
            + await self._delete(Record, col(Record.id), col(Record.research_id).in_(past)),
            runs=await self._delete(Run, col(Run.id), *is_old, batch=20),
            researches=await self._delete(Research, col(Research.id), *is_past, batch=20),
            texts=await self._delete(ItemText, col(ItemText.item_id), col(ItemText.item_id).in_(old_items)),
            revisions=await self._delete(Revision, col(Revision.id), col(Revision.seen_at) < before),
            model_calls=await self._delete(ModelCall, col(ModelCall.id), col(ModelCall.at) < before),
            alarms=await self._delete(Alarm, col(Alarm.id), col(Alarm.cleared_at) < before),
            deliveries=await self._delete(
                Delivery, col(Delivery.id), col(Delivery.planned_at) < before, col(Delivery.status).in_(_SETTLED)
            ),
        )
        await self._delete(SearchCall, col(SearchCall.id), col(SearchCall.at) < before)
        await self._delete(ItemSight, col(ItemSight.item_id), col(ItemSight.item_id).in_(old_items))
        await self._forget_names(before)
        return pruned

    async def forget_events(self, before: dt.datetime) -> int:
        """Forget what runs told of themselves before an instant; what they brought stays."""
        return await self._delete(RunEvent, col(RunEvent.id), col(RunEvent.at) < before)

    async def _forget_names(self, before: dt.datetime) -> None:
        """Items name no records that are gone."""
        kept = select(col(Run.id)).where(col(Run.id) == col(Item.run_id)).exists()
        names_some = cast(col(Item.evidence), Text) != "[]"
        async with self._sessions.writing() as session:
            await session.execute(
                update(Item).where(col(Item.first_seen) < before, names_some, ~kept).values(evidence=[])
            )

    async def _delete(
        self,
        table: type[SQLModel],
        key: Mapped[Any],
        *which: ColumnElement[bool],
        batch: int = BATCH_SIZE,
    ) -> int:
        count = 0
        while True:
            async with self._sessions.writing() as session:
                keys = (await session.scalars(select(key).where(*which).limit(batch))).all()
                if keys:
                    await session.execute(delete(table).where(key.in_(keys)))
                    if table is ItemText:
                        await index_without_texts(session, keys)
            count += len(keys)
            if len(keys) < batch:
                return count
