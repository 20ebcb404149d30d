"""The audit over HTTP."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.web.cursors import decode, encode
from monitor.web.gate import Admin
from monitor.web.problems import PROBLEMS

Asked = Annotated[str | None, Query(max_length=200)]


class AuditEntryWire(BaseModel):
    """A change: who made it, what it was, to what, and what was before and after."""

    id: int
    at: dt.datetime
    person: str = Field(examples=["lilei"])
    action: str = Field(examples=["source.edit"])
    subject: str = Field(examples=["国家能源局"])
    detail: dict[str, Any] = Field(examples=[{"before": {"max_items": 20}, "after": {"max_items": 30}}])


class AuditWire(BaseModel):
    entries: list[AuditEntryWire]
    next: str | None = Field(examples=[None])


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["audit"], responses=PROBLEMS)

    @routes.get("/audit", summary="Who changed what")
    async def audit(
        visitor: Admin,
        person: Asked = None,
        action: Asked = None,
        subject: Asked = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: str | None = None,
    ) -> AuditWire:
        """By person, by action (`source` finds every action on sources), by a word of the subject."""
        del visitor
        (before_id,) = decode(cursor, int) or (None,)
        found = await app.audit.entries(
            person=person, action=action, subject=subject, before_id=before_id, limit=limit + 1
        )
        rows = [AuditEntryWire(**one.model_dump()) for one in found[:limit]]
        return AuditWire(entries=rows, next=encode(rows[-1].id) if len(found) > limit else None)

    return routes
