"""The audit: who changed what."""

from sqlalchemy import insert, select
from sqlmodel import col

from monitor.domain.desk import AuditEntry
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, storable


@patient
class Audit:
    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, entry: AuditEntry) -> None:
        values = entry.model_dump(exclude={"id"}) | {"subject": storable(entry.subject)}
        async with self._sessions.writing() as session:
            await session.execute(insert(AuditEntry), [values])

    async def entries(
        self, *, person: str | None, action: str | None, subject: str | None, before_id: int | None, limit: int
    ) -> list[AuditEntry]:
        """Newest first; `action` also finds those that begin with it and a dot, `subject` those that hold it."""
        query = select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(limit)
        if person:
            query = query.where(col(AuditEntry.person) == storable(person))
        if action:
            is_group = col(AuditEntry.action).startswith(f"{storable(action)}.", autoescape=True)
            query = query.where((col(AuditEntry.action) == storable(action)) | is_group)
        if subject:
            query = query.where(col(AuditEntry.subject).icontains(storable(subject), autoescape=True))
        if before_id is not None:
            query = query.where(col(AuditEntry.id) < before_id)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def people(self) -> list[str]:
        """Everybody who has changed something, by name."""
        query = select(col(AuditEntry.person)).distinct().order_by(col(AuditEntry.person))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def actions(self) -> list[str]:
        """All that was done, by its word."""
        query = select(col(AuditEntry.action)).distinct().order_by(col(AuditEntry.action))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())
