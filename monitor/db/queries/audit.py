"""Who changed what, and the settings and prompts that were changed on the desk."""

import datetime as dt
from collections.abc import Iterable, Sequence

from sqlalchemy import delete, insert, select
from sqlmodel import col

from monitor.db.sessions import Queries, sanitize_text, upsert_rows
from monitor.db.tables.people import AuditEntry, StoredPrompt, StoredSetting


class AuditStore(Queries):
    async def add(self, entry: AuditEntry) -> None:
        values = entry.model_dump(exclude={"id"}) | {"subject": sanitize_text(entry.subject)}
        await self._execute(insert(AuditEntry).values(values))

    async def list_entries(
        self, *, person: str | None, action: str | None, subject: str | None, before_id: int | None, limit: int
    ) -> list[AuditEntry]:
        """Newest first; `action` also finds those that begin with it and a dot, `subject` those that hold it."""
        query = select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(limit)
        if person:
            query = query.where(col(AuditEntry.person) == sanitize_text(person))
        if action:
            is_group = col(AuditEntry.action).startswith(f"{sanitize_text(action)}.", autoescape=True)
            query = query.where((col(AuditEntry.action) == sanitize_text(action)) | is_group)
        if subject:
            query = query.where(col(AuditEntry.subject).icontains(sanitize_text(subject), autoescape=True))
        if before_id is not None:
            query = query.where(col(AuditEntry.id) < before_id)
        return await self._fetch_all(query)

    async def list_people(self) -> list[str]:
        """Everybody who has changed something, by name."""
        query = select(col(AuditEntry.person)).distinct().order_by(col(AuditEntry.person))
        return await self._fetch_all(query)

    async def list_actions(self) -> list[str]:
        """All that was done, by its word."""
        query = select(col(AuditEntry.action)).distinct().order_by(col(AuditEntry.action))
        return await self._fetch_all(query)


class SettingsStore(Queries, retries=False):
    """Stored settings by path. What a value means, and whether it is encrypted, is nobody's business here."""

    async def list_all(self) -> list[StoredSetting]:
        async with self._sessions.begin_read() as session:
            return list(await session.scalars(select(StoredSetting).order_by(col(StoredSetting.path))))

    async def load_timestamps(self) -> dict[str, dt.datetime]:
        """When each was stored: two answers that are equal mean that nothing was changed."""
        async with self._sessions.begin_read() as session:
            rows = await session.execute(select(col(StoredSetting.path), col(StoredSetting.at)))
            return {row[0]: row[1] for row in rows}

    async def change(self, rows: Sequence[StoredSetting], *, deleted_paths: Iterable[str] = ()) -> None:
        """Keep the rows in place of earlier ones and forget others, all of it or nothing."""
        async with self._sessions.begin_write() as session:
            await upsert_rows(
                session,
                StoredSetting,
                [row.model_dump() for row in rows],
                key=["path"],
                update=["value", "is_secret", "by", "at"],
            )
            await session.execute(delete(StoredSetting).where(col(StoredSetting.path).in_(list(deleted_paths))))


class PromptStore(Queries, retries=False):
    """The wordings that stand in place of ours, by name."""

    async def list_all(self) -> list[StoredPrompt]:
        async with self._sessions.begin_read() as session:
            return list(await session.scalars(select(StoredPrompt).order_by(col(StoredPrompt.name))))

    async def save(self, row: StoredPrompt) -> None:
        """Keep a wording in place of an earlier one."""
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, StoredPrompt, [row.model_dump()], key=["name"], update=["text", "by", "at"])

    async def delete(self, name: str) -> bool:
        """Let ours hold again; False where it did."""
        async with self._sessions.begin_write() as session:
            row = await session.get(StoredPrompt, name)
            if row is not None:
                await session.delete(row)
            return row is not None
