"""Forgetting what nobody asks for any more; never the urls that are known, nor the items."""

import datetime as dt
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from monitor.domain.alarms import Alarm
from monitor.domain.tables import Item, ItemText, ModelCall, Run
from monitor.domain.words import RunStatus
from monitor.store.patience import patient
from monitor.store.sessions import BATCH_SIZE, Sessions

_UNDER_WAY = (RunStatus.QUEUED, RunStatus.RUNNING)


class Pruned(BaseModel):
    """How much was forgotten: runs with their ledgers, texts of items, model calls, alarms that are over."""

    runs: int
    texts: int
    model_calls: int
    alarms: int


@patient
class Retention:
    """Deletes old records in many short transactions, so that nobody waits for it."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def prune(self, before: dt.datetime) -> Pruned:
        """Forget what is older than an instant. Items, and all urls that were ever seen, stay."""
        old_items = select(col(Item.id)).where(col(Item.first_seen) < before)
        return Pruned(
            runs=await self._delete(
                Run, col(Run.id), col(Run.planned_at) < before, col(Run.status).not_in(_UNDER_WAY), batch=20
            ),
            texts=await self._delete(ItemText, col(ItemText.item_id), col(ItemText.item_id).in_(old_items)),
            model_calls=await self._delete(ModelCall, col(ModelCall.id), col(ModelCall.at) < before),
            alarms=await self._delete(Alarm, col(Alarm.id), col(Alarm.cleared_at) < before),
        )

    async def _delete(
        self, table: type[SQLModel], key: Mapped[Any], *which: ColumnElement[bool],
        batch: int = BATCH_SIZE,
    ) -> int:  # fmt: skip
        count = 0
        while True:
            async with self._sessions.writing() as session:
                keys = (await session.scalars(select(key).where(*which).limit(batch))).all()
                if keys:
                    await session.execute(delete(table).where(key.in_(keys)))
            count += len(keys)
            if len(keys) < batch:
                return count
