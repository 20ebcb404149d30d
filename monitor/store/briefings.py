"""The briefings that people composed and keep."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from sqlalchemy import select
from sqlmodel import col

from monitor.domain.desk import SavedBriefing
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, storable


class BriefingRow(BaseModel):
    """A saved briefing as a list shows it, without what stands in it."""

    id: int
    title: str
    size: int
    language: str
    since: dt.date
    until: dt.date
    version: int
    created_by: str
    created_at: dt.datetime
    edited_by: str | None
    edited_at: dt.datetime | None
    archived_at: dt.datetime | None


@patient
class Briefings:
    """Saved briefings; those that are archived stay, out of the way."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, saved: SavedBriefing) -> SavedBriefing:
        """Keep a new one; answers it with its number."""
        kept = SavedBriefing(**{name: _storable(value) for name, value in saved.model_dump(exclude={"id"}).items()})
        async with self._sessions.writing() as session:
            session.add(kept)
            await session.flush()
        return kept

    async def get(self, briefing_id: int) -> SavedBriefing | None:
        async with self._sessions.reading() as session:
            return await session.get(SavedBriefing, briefing_id)

    async def rows(
        self, *, is_archived: bool = False, before_id: int | None = None, limit: int = 50
    ) -> list[BriefingRow]:
        """A page of the list, newest first, from behind the number `before_id` on."""
        columns = [getattr(SavedBriefing, name) for name in BriefingRow.model_fields]
        archived_at = col(SavedBriefing.archived_at)
        query = select(*columns).where(archived_at.is_not(None) if is_archived else archived_at.is_(None))
        if before_id is not None:
            query = query.where(col(SavedBriefing.id) < before_id)
        async with self._sessions.reading() as session:
            rows = await session.execute(query.order_by(col(SavedBriefing.id).desc()).limit(limit))
            return [BriefingRow.model_validate(dict(row)) for row in rows.mappings()]

    async def edit(self, briefing_id: int, *, version: int, changes: Mapping[str, Any]) -> bool:
        """Put an edit of that version on record; False where another one came first, or the briefing is gone."""
        async with self._sessions.writing() as session:
            saved = await session.get(SavedBriefing, briefing_id, with_for_update=True)
            if saved is None or saved.version != version:
                return False
            saved.version = version + 1
            for name, value in changes.items():
                setattr(saved, name, _storable(value))
            return True

    async def archive(self, briefing_id: int, at: dt.datetime | None) -> bool:
        """Put a briefing out of the way, or back with None; False where it is there already."""
        async with self._sessions.writing() as session:
            saved = await session.get(SavedBriefing, briefing_id, with_for_update=True)
            if saved is None or (saved.archived_at is None) == (at is None):
                return False
            saved.archived_at = at
            return True


def _storable(value: Any) -> Any:
    """The value without what a database refuses, however deep that stands in it."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {key: _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value
