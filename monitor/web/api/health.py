"""The API of today's summary, health, alarms, blocks, costs and the audit, and what monitoring asks."""

import datetime as dt
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from monitor.db.tables.delivery import AlarmView
from monitor.services.alarms import SourceHealth
from monitor.services.cursors import cut_list, cut_page, decode_id
from monitor.services.health import HostBlock, ReadinessSchema, ServiceStatus
from monitor.services.host_traffic import HostTrafficSchema
from monitor.services.today import TodaySummary
from monitor.services.usage import CostLedger
from monitor.web.api.cursors import DEFAULT_LONG_LIMIT, Cursor, Limit
from monitor.web.api.search import Day
from monitor.web.auth import Admin, AppDep, Reader, load_principal
from monitor.web.problems import PROBLEM_RESPONSES

FilterText = Annotated[str | None, Query(max_length=200)]
_EXAMPLE_DAYS = {"a week": {"value": 7}, "a quarter": {"value": 90}}
Days = Annotated[int, Query(ge=1, le=366, openapi_examples=_EXAMPLE_DAYS)]
_LINES_TYPE = "application/x-ndjson"
_IS_OPEN_BY_STATE = {"open": True, "past": False, "all": None}

router = APIRouter(prefix="/api/v1", tags=["health"], responses=PROBLEM_RESPONSES)
audit_router = APIRouter(prefix="/api/v1", tags=["audit"], responses=PROBLEM_RESPONSES)
service_router = APIRouter(tags=["service"])


class HealthSchema(BaseModel):
    """How everything fares: the sources, the open alarms, newest first, and what the work stands on."""

    sources: list[SourceHealth]
    alarms: list[AlarmView]
    machine: ServiceStatus


class AlarmListSchema(BaseModel):
    """Alarms, newest first; `next` is the cursor of those that were raised before them."""

    alarms: list[AlarmView]
    next: str | None = Field(examples=[None])


class HostListSchema(BaseModel):
    """What was asked of each host, the newest day first, and the cursor with which the list goes on."""

    hosts: list[HostTrafficSchema]
    next: str | None


class BlockListSchema(BaseModel):
    """Pages that sites kept from us, by day, host and kind of block, and the cursor with which the list goes on."""

    blocks: list[HostBlock]
    next: str | None


@router.get("/today", summary="What is new, what ran, what needs attention")
async def get_today(app: AppDep, principal: Reader) -> TodaySummary:
    """The day as the Today page shows it; asking for it does not move the mark of the last visit."""
    return await app.today.get_summary(principal.name)


@router.get("/health", summary="How sources and service fare")
async def get_health(app: AppDep, _: Reader) -> HealthSchema:
    """Every source with its sections and their cadence, the open alarms, processes, queue and disk."""
    found = await app.alarms.get_report()
    return HealthSchema(sources=found.sources, alarms=found.alarms, machine=await app.readiness.get_service_status())


@router.get("/alarms", summary="Alarms, newest first")
async def list_alarms(
    app: AppDep,
    _: Reader,
    state: Annotated[Literal["open", "past", "all"], Query(description="Open ones, past ones, or all.")] = "open",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> AlarmListSchema:
    """What was out of the ordinary, and what still is."""
    rows = await app.alarms.list_alarms(is_open=_IS_OPEN_BY_STATE[state], before_id=decode_id(cursor), limit=limit + 1)
    page, following = cut_page(rows, limit, lambda row: row.id)
    return AlarmListSchema(alarms=page, next=following)


@router.get("/blocks", summary="Pages that sites kept from us")
async def list_blocks(
    app: AppDep, _: Reader, days: Days = 30, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> BlockListSchema:
    """By day, host and kind of block, the newest day first."""
    page, following = cut_list(
        await app.alarms.list_blocks(days),
        limit,
        cursor,
        lambda block: (-block.day.toordinal(), block.host, block.detail_code),
        int,
        str,
        str,
    )
    return BlockListSchema(blocks=page, next=following)


@router.get("/hosts", summary="Requests by host and day")
async def list_hosts(
    app: AppDep, _: Admin, days: Days = 7, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> HostListSchema:
    """How often each host was asked, and what was not asked because `pages.daily_requests` was reached."""
    # Not by their requests, which go on while somebody reads the list.
    found = await app.host_traffic.list_traffic(days)
    page, following = cut_list(found, limit, cursor, lambda row: (-row.day.toordinal(), row.host), int, str)
    return HostListSchema(hosts=page, next=following)


@router.get("/costs", summary="Tokens, searches and money by day")
async def get_costs(app: AppDep, _: Reader, days: Days = 7) -> CostLedger:
    """The ledger of so many days, today included, newest first."""
    return await app.costs.get_ledger(days)


class AuditEntrySchema(BaseModel, from_attributes=True):
    """An act: who did it and from where, what it was, to what, and what was before and after."""

    id: int
    at: dt.datetime
    person: str = Field(examples=["lilei"])
    address: str = Field(description="Empty: by command.", examples=["192.0.2.7"])
    action: str = Field(examples=["source.edit"])
    subject: str = Field(examples=["国家能源局"])
    detail: dict[str, Any] = Field(examples=[{"before": {"max_items": 20}, "after": {"max_items": 30}}])


class AuditListSchema(BaseModel):
    entries: list[AuditEntrySchema]
    next: str | None = Field(examples=[None])


@audit_router.get("/audit", summary="Who did what")
async def list_audit_entries(
    app: AppDep,
    _: Admin,
    person: FilterText = None,
    action: FilterText = None,
    subject: FilterText = None,
    address: FilterText = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> AuditListSchema:
    """By person, by action (`source` finds every action on sources), by a word of the subject, by address."""
    found = await app.audit.list_entries(
        person=person, action=action, subject=subject, address=address, before_id=decode_id(cursor), limit=limit + 1
    )
    page, following = cut_page(found, limit, lambda entry: entry.id)
    return AuditListSchema(entries=[AuditEntrySchema.model_validate(entry) for entry in page], next=following)


@audit_router.get(
    "/audit/export",
    summary="Export the audit",
    response_class=Response,
    responses={200: {"description": "An entry a line.", "content": {_LINES_TYPE: {"schema": {"type": "string"}}}}},
)
async def export_audit_entries(
    app: AppDep, principal: Admin, since: Day | None = None, until: Day | None = None
) -> Response:
    """All entries of these days, oldest first, as JSON lines in the fields of the list."""
    batches = await app.audit.export(since=since, until=until, by=principal)
    lines = ("".join(f"{entry.to_json()}\n" for entry in entries) async for entries in batches)
    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(lines, media_type=_LINES_TYPE, headers=headers)


@service_router.get("/healthz", summary="Is the process alive?")
async def check_liveness() -> dict[str, str]:
    """Answers as long as the process does."""
    return {"status": "ok"}


@service_router.get(
    "/readyz",
    summary="Can work be done?",
    response_model_exclude_none=True,
    responses={503: {"model": ReadinessSchema}},
)
async def check_readiness(app: AppDep, request: Request, response: Response) -> ReadinessSchema:
    """503 where work cannot be done. Whoever has a role also learns about database, queue and browser."""
    readiness = await app.readiness.check()
    response.status_code = 200 if readiness.is_ready else 503
    # Without the database nobody is known, and whoever asks for a person waits until it is back.
    is_known = readiness.database == "ok" and await load_principal(request) is not None
    return readiness if is_known else ReadinessSchema(is_ready=readiness.is_ready)
