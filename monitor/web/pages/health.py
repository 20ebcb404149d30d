"""Health: alarms, cadence, blocks and costs, in pictures and words."""

import datetime as dt
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

from babel.dates import format_timedelta
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse

from monitor.app.blocks import HostBlock
from monitor.app.condition import Machine
from monitor.bootstrap import App
from monitor.briefing.wording import wording_for
from monitor.domain.alarms import AlarmNote
from monitor.web.cursors import decode, encode
from monitor.web.gate import Reader
from monitor.web.picturing import Pictures
from monitor.web.rendering import Look

SPANS = (7, 30, 90)
_PER_PAGE = 50
_PAST = 20
_BLOCK_DAYS = 30

Days = Annotated[int, Query(ge=1, le=366)]


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter(prefix="/health")

    @routes.get("")
    async def overview(
        request: Request, visitor: Reader, cursor: Annotated[str | None, Query(max_length=400)] = None
    ) -> HTMLResponse:
        """What the work stands on, the open alarms, and every source's cadence, those in trouble first."""
        after = decode(cursor, int)
        skip = max(0, after[0]) if after else 0
        count, sources = await app.health.watch(skip=skip, limit=_PER_PAGE)
        alarms = await app.health.alarms(is_open=True, limit=_PER_PAGE)
        machine, pictures = await app.condition.machine(), Pictures(look, visitor, app.costs.today())
        return look.page(
            request,
            visitor,
            "health/overview.html",
            section="health",
            alarms=alarms,
            alarmed={alarm.source for alarm in alarms},
            ids=await _ids(app),
            said=wording_for(visitor.language).said,
            sources=[
                (source, pictures.cadence_of_source(source), pictures.usual(source.sections)) for source in sources
            ],
            next_url=f"/health?cursor={encode(skip + _PER_PAGE)}#sources" if skip + _PER_PAGE < count else None,
            **_machine_words(machine, visitor.language),
        )

    @routes.get("/alarms")
    async def alarms(
        request: Request, visitor: Reader, cursor: Annotated[str | None, Query(max_length=400)] = None
    ) -> HTMLResponse:
        """All alarms that are on record, newest first."""
        after = decode(cursor, int)
        rows = await app.health.alarms(before_id=after[0] if after else None, limit=_PER_PAGE + 1)
        shown = rows[:_PER_PAGE]
        return look.page(
            request,
            visitor,
            "health/alarms.html",
            section="health",
            alarms=shown,
            ids=await _ids(app),
            said=wording_for(visitor.language).said,
            next_url=f"/health/alarms?cursor={encode(shown[-1].id)}" if len(rows) > _PER_PAGE else None,
        )

    @routes.get("/sources/{source_id}")
    async def source(
        request: Request, visitor: Reader, source_id: Annotated[int, Path(ge=1, le=2**31 - 1)]
    ) -> HTMLResponse:
        """How one source fares, section by section."""
        found = await app.health.one(source_id)
        told = await app.health.alarms(source_id=source_id, limit=_PER_PAGE)
        blocks = await app.health.blocks(_BLOCK_DAYS, source_id=source_id)
        pictures = Pictures(look, visitor, app.costs.today())
        return look.page(
            request,
            visitor,
            "health/source.html",
            section="health",
            source=found,
            sections=[
                (section, pictures.cadence_of_section(section), pictures.usual([section])) for section in found.sections
            ],
            open_alarms=_open(told),
            past_alarms=[one for one in told if one.cleared_at][:_PAST],
            blocks=pictures.blocks(blocks, app.costs.dates(_BLOCK_DAYS)) if blocks else None,
            said=wording_for(visitor.language).said,
        )

    _add_totals(routes, app, look)
    return routes


def _add_totals(routes: APIRouter, app: App, look: Look) -> None:
    """What is told of all sources together: blocks and costs."""

    @routes.get("/blocks")
    async def blocks(request: Request, visitor: Reader, days: Days = _BLOCK_DAYS) -> HTMLResponse:
        """Which sites keep us from their pages, and since when."""
        rows = await app.health.blocks(days)
        pictures = Pictures(look, visitor, app.costs.today())
        return look.page(
            request,
            visitor,
            "health/blocks.html",
            section="health",
            days=days,
            spans=SPANS,
            hosts=_by_host(rows),
            chart=pictures.blocks(rows, app.costs.dates(days)) if rows else None,
        )

    @routes.get("/costs")
    async def costs(request: Request, visitor: Reader, days: Days = 30) -> HTMLResponse:
        """Tokens, money and searches by day, by phase, by model and by source."""
        chart, today = await app.costs.chart(days), await app.costs.tokens_today()
        pictures = Pictures(look, visitor, app.costs.today())
        budget = app.settings.llm.daily_token_budget
        return look.page(
            request,
            visitor,
            "health/costs.html",
            section="health",
            days=days,
            spans=SPANS,
            budget=budget,
            tokens_today=today,
            calls=sum(model.calls for model in chart.models),
            tokens=sum(one.tokens for one in chart.models),
            unpriced=sum(one.unpriced_calls for one in chart.models),
            requests=sum(search.requests for search in chart.searches),
            money=pictures.money(chart.cost),
            budget_bar=pictures.budget_bar(today, budget) if budget else "",
            figures=pictures.costs(chart, budget),
            tables=pictures.shares(chart),
        )


async def _ids(app: App) -> dict[str, int]:
    """The numbers of sources by their names, for links."""
    return {source.name: source.id for source in await app.store.outlook.sources()}


def _open(alarms: Sequence[AlarmNote]) -> list[AlarmNote]:
    return [alarm for alarm in alarms if alarm.cleared_at is None]


def _by_host(rows: Sequence[HostBlock]) -> list[tuple[str, str, int, dt.date]]:
    """Host, kind of block, pages and last day, the most pages first."""

    def place(one: HostBlock) -> tuple[str, str]:
        return one.host, one.detail_code

    told = [
        (host, code, sum(one.pages for one in some), max(one.day for one in some))
        for (host, code), group in groupby(sorted(rows, key=place), key=place)
        if (some := list(group))
    ]
    return sorted(told, key=lambda one: (-one[2], one[0], one[1]))


def _machine_words(machine: Machine, language: str) -> dict[str, Any]:
    kinds = [process.kind for process in machine.processes]
    size = machine.database_bytes
    return {
        "machine": machine,
        "kinds": {kind: kinds.count(kind) for kind in ("worker", "scheduler")},
        "waits": format_timedelta(dt.timedelta(seconds=machine.waits_s), locale=language),
        "room": _size(machine.free_bytes),
        "database": _size(size) if size is not None else "",
    }


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
