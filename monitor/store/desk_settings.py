"""What administrators stored on the pages: settings, secrets among them, and the wording of prompts."""

import datetime as dt
from collections.abc import Iterable, Sequence

from sqlalchemy import delete, select
from sqlmodel import col

from monitor.domain.desk import StoredPrompt, StoredSetting
from monitor.store.sessions import Sessions, insert_or


class DeskSettings:
    """Stored settings by path. What a value means, and whether it is encrypted, is nobody's business here."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def all(self) -> list[StoredSetting]:
        async with self._sessions.reading() as session:
            return list(await session.scalars(select(StoredSetting).order_by(col(StoredSetting.path))))

    async def stamps(self) -> dict[str, dt.datetime]:
        """When each was stored: two answers that are equal mean that nothing was changed."""
        async with self._sessions.reading() as session:
            rows = await session.execute(select(col(StoredSetting.path), col(StoredSetting.at)))
            return {row[0]: row[1] for row in rows}

    async def change(self, rows: Sequence[StoredSetting], *, forgotten: Iterable[str] = ()) -> None:
        """Keep the rows in place of earlier ones and forget others, all of it or nothing."""
        async with self._sessions.writing() as session:
            await insert_or(
                session,
                StoredSetting,
                [row.model_dump() for row in rows],
                key=["path"],
                update=["value", "is_secret", "by", "at"],
            )
            await session.execute(delete(StoredSetting).where(col(StoredSetting.path).in_(list(forgotten))))


class Prompts:
    """The wordings that stand in place of ours, by name."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def all(self) -> list[StoredPrompt]:
        async with self._sessions.reading() as session:
            return list(await session.scalars(select(StoredPrompt).order_by(col(StoredPrompt.name))))

    async def put(self, row: StoredPrompt) -> None:
        """Keep a wording in place of an earlier one."""
        async with self._sessions.writing() as session:
            await insert_or(session, StoredPrompt, [row.model_dump()], key=["name"], update=["text", "by", "at"])

    async def forget(self, name: str) -> bool:
        """Let ours hold again; False where it did."""
        async with self._sessions.writing() as session:
            row = await session.get(StoredPrompt, name)
            if row is not None:
                await session.delete(row)
            return row is not None
