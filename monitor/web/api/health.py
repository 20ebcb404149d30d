"""The API of today's summary, health, alarms, blocks, costs and the audit."""

import datetime as dt
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.db.tables.delivery import AlarmView
from monitor.services.alarms import SourceHealth
from monitor.services.health import HostBlock, ServiceStatus
from monitor.services.today import TodaySummary
from monitor.services.usage import CostLedger
from monitor.web.api.cursors import cut_page, decode_id
from monitor.web.auth import Admin, Reader
from monitor.web.problems import PROBLEM_RESPONSES

_EXAMPLE_DAYS = {"a week": {"value": 7}, "a quarter": {"value": 90}}
_IS_OPEN_BY_STATE = {"open": True, "past": False, "all": None}


class HealthSchema(BaseModel):
    """How everything fares: the sources, the open alarms, newest first, and what the work stands on."""

    sources: list[SourceHealth]
    alarms: list[AlarmView]
    machine: ServiceStatus


class AlarmListSchema(BaseModel):
    """Alarms, newest first; `next` is the cursor of those that were raised before them."""

    alarms: list[AlarmView]
    next: str | None = Field(examples=[None])


class BlockListSchema(BaseModel):
    """Pages that sites kept from us, by day, host and kind of block."""

    blocks: list[HostBlock]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["health"], responses=PROBLEM_RESPONSES)

    @routes.get("/today", summary="What is new, what ran, what needs attention")
    async def today(principal: Reader) -> TodaySummary:
        """The day as the Today page shows it; asking for it does not move the mark of the last visit."""
        return await app.today.get_summary(principal.name)

    @routes.get("/health", summary="How sources and service fare")
    async def health(_: Reader) -> HealthSchema:
        """Every source with its sections and their cadence, the open alarms, processes, queue and disk."""
        found = await app.alarms.get_report()
        return HealthSchema(
            sources=found.sources, alarms=found.alarms, machine=await app.readiness.get_service_status()
        )

    @routes.get("/alarms", summary="Alarms, newest first")
    async def alarms(
        _: Reader,
        state: Annotated[Literal["open", "past", "all"], Query(description="Open ones, past ones, or all.")] = "open",
        cursor: Annotated[str | None, Query(description="The `next` of the page before.", max_length=400)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> AlarmListSchema:
        """What was out of the ordinary, and what still is."""
        rows = await app.alarms.list_alarms(
            is_open=_IS_OPEN_BY_STATE[state], before_id=decode_id(cursor), limit=limit + 1
        )
        page, following = cut_page(rows, limit, lambda row: row.id)
        return AlarmListSchema(alarms=page, next=following)

    @routes.get("/blocks", summary="Pages that sites kept from us")
    async def blocks(
        _: Reader, days: Annotated[int, Query(ge=1, le=366, openapi_examples=_EXAMPLE_DAYS)] = 30
    ) -> BlockListSchema:
        """By day, host and kind of block, the newest day first."""
        return BlockListSchema(blocks=await app.alarms.list_blocks(days))

    @routes.get("/costs", summary="Tokens, searches and money by day")
    async def costs(
        _: Reader, days: Annotated[int, Query(ge=1, le=366, openapi_examples=_EXAMPLE_DAYS)] = 7
    ) -> CostLedger:
        """The ledger of so many days, today included, newest first."""
        return await app.costs.get_ledger(days)

    return routes


FilterText = Annotated[str | None, Query(max_length=200)]


class AuditEntrySchema(BaseModel):
    """A change: who made it, what it was, to what, and what was before and after."""

    id: int
    at: dt.datetime
    person: str = Field(examples=["lilei"])
    action: str = Field(examples=["source.edit"])
    subject: str = Field(examples=["国家能源局"])
    detail: dict[str, Any] = Field(examples=[{"before": {"max_items": 20}, "after": {"max_items": 30}}])


class AuditListSchema(BaseModel):
    entries: list[AuditEntrySchema]
    next: str | None = Field(examples=[None])


def audit_router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["audit"], responses=PROBLEM_RESPONSES)

    @routes.get("/audit", summary="Who changed what")
    async def audit(
        _: Admin,
        person: FilterText = None,
        action: FilterText = None,
        subject: FilterText = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: str | None = None,
    ) -> AuditListSchema:
        """By person, by action (`source` finds every action on sources), by a word of the subject."""
        found = await app.audit.list_entries(
            person=person, action=action, subject=subject, before_id=decode_id(cursor), limit=limit + 1
        )
        page, following = cut_page(found, limit, lambda entry: entry.id)
        return AuditListSchema(entries=[AuditEntrySchema(**entry.model_dump()) for entry in page], next=following)

    return routes
