"""What the day brought and how the service fares, for programs."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from monitor.app.blocks import HostBlock
from monitor.app.condition import Machine
from monitor.app.costs import Costs
from monitor.app.health import SourceHealth
from monitor.app.today import Today
from monitor.bootstrap import App
from monitor.domain.alarms import AlarmNote
from monitor.web.cursors import decode, encode
from monitor.web.gate import Reader
from monitor.web.problems import PROBLEMS

_EXAMPLE_DAYS = {"a week": {"value": 7}, "a quarter": {"value": 90}}
_OPEN = {"open": True, "past": False, "all": None}


class HealthWire(BaseModel):
    """How everything fares: the sources, the open alarms, newest first, and what the work stands on."""

    sources: list[SourceHealth]
    alarms: list[AlarmNote]
    machine: Machine


class AlarmsWire(BaseModel):
    """Alarms, newest first; `next` is the cursor of those that were raised before them."""

    alarms: list[AlarmNote]
    next: str | None = Field(examples=[None])


class BlocksWire(BaseModel):
    """Pages that sites kept from us, by day, host and kind of block."""

    blocks: list[HostBlock]


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["health"], responses=PROBLEMS)

    @routes.get("/today", summary="What is new, what ran, what needs attention")
    async def today(visitor: Reader) -> Today:
        """The day as the Today page shows it; asking for it does not move the mark of the last visit."""
        return await app.today.look(visitor.name)

    @routes.get("/health", summary="How sources and service fare")
    async def health(visitor: Reader) -> HealthWire:
        """Every source with its sections and their cadence, the open alarms, processes, queue and disk."""
        del visitor
        found = await app.health.look()
        return HealthWire(sources=found.sources, alarms=found.alarms, machine=await app.condition.machine())

    @routes.get("/alarms", summary="Alarms, newest first")
    async def alarms(
        visitor: Reader,
        state: Annotated[Literal["open", "past", "all"], Query(description="Open ones, past ones, or all.")] = "open",
        cursor: Annotated[str | None, Query(description="The `next` of the page before.", max_length=400)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> AlarmsWire:
        """What was out of the ordinary, and what still is."""
        del visitor
        after = decode(cursor, int)
        rows = await app.health.alarms(is_open=_OPEN[state], before_id=after[0] if after else None, limit=limit + 1)
        return AlarmsWire(alarms=rows[:limit], next=encode(rows[limit - 1].id) if len(rows) > limit else None)

    @routes.get("/blocks", summary="Pages that sites kept from us")
    async def blocks(
        visitor: Reader, days: Annotated[int, Query(ge=1, le=366, openapi_examples=_EXAMPLE_DAYS)] = 30
    ) -> BlocksWire:
        """By day, host and kind of block, the newest day first."""
        del visitor
        return BlocksWire(blocks=await app.health.blocks(days))

    @routes.get("/costs", summary="Tokens, searches and money by day")
    async def costs(
        visitor: Reader, days: Annotated[int, Query(ge=1, le=366, openapi_examples=_EXAMPLE_DAYS)] = 7
    ) -> Costs:
        """The ledger of so many days, today included, newest first."""
        del visitor
        return await app.costs.ledger(days)

    return routes
