"""Erasing a person: what was theirs alone is deleted, and everything else names a number from then on."""

import json
from typing import Any

from sqlalchemy import ColumnElement, String, cast, delete, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.sessions import Queries, lock_decisions, sanitize_text, sanitize_value
from monitor.db.tables.delivery import Delivery, Subscription
from monitor.db.tables.evaluation import Evaluation, PairChoice
from monitor.db.tables.people import (
    AuditEntry,
    BriefingShare,
    ClientProfile,
    HiddenItem,
    ItemLater,
    ItemNote,
    ItemRead,
    ItemStar,
    Person,
    RankFeedback,
    SavedBriefing,
    SavedView,
    SignInTry,
    StoredPrompt,
    StoredSetting,
    Token,
)
from monitor.db.tables.policies import Topic
from monitor.db.tables.questions import ArchiveQuestion, RecentQuery
from monitor.db.tables.research import ReportEdit, Research, ResearchRemark, ResearchStatus
from monitor.vocabulary import Visibility

ERASED_PREFIX = "erased-"

_COLUMNS: tuple[tuple[type[SQLModel], str], ...] = (
    (ItemNote, "person"),
    (HiddenItem, "person"),
    (RankFeedback, "person"),
    (SavedBriefing, "created_by"),
    (SavedBriefing, "edited_by"),
    (BriefingShare, "created_by"),
    (ClientProfile, "created_by"),
    (StoredSetting, "by"),
    (StoredPrompt, "by"),
    (Research, "asked_by"),
    (ResearchRemark, "person"),
    (ReportEdit, "edited_by"),
    (Evaluation, "asked_by"),
    (PairChoice, "person"),
    (Topic, "created_by"),
    (Delivery, "person"),
    (Subscription, "ended_by"),
)
"""Where a person is named beside what everybody may read."""


class ErasureStore(Queries, retries=False):
    async def find_open_researches(self, name: str) -> list[str]:
        mine = select(col(Research.id)).where(col(Research.asked_by) == sanitize_text(name))
        ended = [status for status in ResearchStatus if status.is_final]
        return await self._fetch_all(mine.where(col(Research.status).not_in(ended)).order_by(col(Research.id)))

    async def erase_person(self, name: str) -> tuple[str, list[str]]:
        """Erase a person in one transaction; return what names them now, and the researches that were deleted.

        Deleted are sessions, tokens, private notes and researches, and what only the person sees: stars, views, recent
        queries, questions to the archive, and what was read or kept for later.
        """
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            alias = f"{ERASED_PREFIX}{await self._count_erased(session) + 1}"
            private = (col(Research.asked_by) == name, col(Research.visibility) == Visibility.PRIVATE)
            researches = list(await session.scalars(select(col(Research.id)).where(*private)))
            follow_ups = select(col(Research.id)).where(col(Research.parent_id).in_(researches))
            researches = list(dict.fromkeys([*researches, *await session.scalars(follow_ups)]))
            await session.execute(delete(Research).where(*private))
            await session.execute(
                delete(ItemNote).where(col(ItemNote.person) == name, col(ItemNote.visibility) == Visibility.PRIVATE)
            )
            for private_table in (ItemStar, ItemRead, ItemLater, SavedView, RecentQuery, ArchiveQuestion):
                await session.execute(delete(private_table).where(col(private_table.person) == name))
            await session.execute(delete(Token).where(col(Token.created_by) == name))
            await session.execute(delete(SignInTry).where(col(SignInTry.key).endswith(f" {name}", autoescape=True)))
            await session.execute(delete(Person).where(col(Person.name) == name))
            addresses: dict[str, Any] = {"accepted": [], "last_error": None}  # whoever refuses an address repeats it
            await session.execute(update(Delivery).where(col(Delivery.person) == name).values(addresses))
            for table, column in _COLUMNS:
                is_named = getattr(table, column) == name
                await session.execute(update(table).where(is_named).values({column: alias}))
            await self._rename_in_audit(session, name, alias)
            await self._rename_in_briefings(session, name, alias)
            return alias, researches

    async def _count_erased(self, session: AsyncSession) -> int:
        erased = select(func.count()).where(col(AuditEntry.action) == "person.erase")
        return int(await session.scalar(erased) or 0)

    async def _rename_in_audit(self, session: AsyncSession, name: str, alias: str) -> None:
        """What the person did, from where, and what was done to them; the hashes of the entries stay as they were."""
        is_named = or_(
            col(AuditEntry.person) == name, col(AuditEntry.subject) == name, _may_hold(col(AuditEntry.detail), name)
        )
        for entry in (await session.scalars(select(AuditEntry).where(is_named))).all():
            erased: dict[str, Any] = {"person": alias, "address": ""} if entry.person == name else {}
            erased |= {"subject": alias} if entry.subject == name else {}
            detail = _replace_name(entry.detail, name, alias)
            entry.erase(**erased | ({"detail": detail} if detail != entry.detail else {}))

    async def _rename_in_briefings(self, session: AsyncSession, name: str, alias: str) -> None:
        """Notes in a briefing are signed, in its own words and in the edit."""
        named = _may_hold(col(SavedBriefing.edit), name) | _may_hold(col(SavedBriefing.briefing), name)
        for saved in (await session.scalars(select(SavedBriefing).where(named))).all():
            saved.edit = _replace_signature(saved.edit, name, alias)
            saved.briefing = _replace_signature(saved.briefing, name, alias)


def _may_hold(column: Any, name: str) -> ColumnElement[bool]:
    """Whether a column of JSON holds a text, written as it is or with the escapes of JSON."""
    text = cast(column, String)
    return or_(*(text.contains(form, autoescape=True) for form in {name, json.dumps(name)[1:-1]}))


def _replace_name(value: Any, name: str, alias: str) -> Any:
    if isinstance(value, dict):
        return {key: _replace_name(entry, name, alias) for key, entry in value.items()}
    if isinstance(value, list):
        return [_replace_name(entry, name, alias) for entry in value]
    return alias if value == name else value


def _replace_signature(value: Any, name: str, alias: str) -> Any:
    """Replace the name where it signs, under `by` or `edited_by`, and nowhere else in what was written."""
    if isinstance(value, dict):
        return sanitize_value(
            {
                key: alias if key in ("by", "edited_by") and entry == name else _replace_signature(entry, name, alias)
                for key, entry in value.items()
            }
        )
    if isinstance(value, list):
        return [_replace_signature(entry, name, alias) for entry in value]
    return value
