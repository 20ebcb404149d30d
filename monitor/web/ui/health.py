"""Health: alarms, cadence, blocks and costs, in pictures and words."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from babel.dates import format_timedelta
from babel.numbers import format_decimal, format_percent
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from monitor.bootstrap import App
from monitor.db.queries.sections import MAX_ARRIVAL_DAYS
from monitor.db.queries.usage import RESEARCH_SOURCE, NamedSpending
from monitor.i18n.catalogue import get_word
from monitor.services.alarms import SectionHealth, SourceHealth
from monitor.services.health import HostBlock, ServiceStatus
from monitor.services.usage import CostChart
from monitor.vocabulary import Phase
from monitor.web.api.cursors import build_next_url, cut_page, decode_id, encode_cursor
from monitor.web.auth import Principal, Reader
from monitor.web.ui.charts import (
    Chart,
    Series,
    StripLabels,
    Threshold,
    build_bar_chart,
    render_cadence_strip,
    render_share_bar,
)
from monitor.web.ui.rendering import TemplateRenderer

_MAX_ROWS = 20
ShareRow = tuple[str, int, int, Markup, str, str]


class HealthCharts:
    """Draws for one principal, on one day of the service."""

    def __init__(self, renderer: TemplateRenderer, principal: Principal, today: dt.date) -> None:
        self._renderer = renderer
        self._principal = principal
        self._language = principal.language
        self._today = today

    def render_source_cadence(self, source: SourceHealth) -> Markup:
        """The cadence of all its sections together; silence begins with the first of them that is silent."""
        return self._render_cadence(source.source, source.sections)

    def render_section_cadence(self, section: SectionHealth) -> Markup:
        return self._render_cadence(section.name, [section])

    def format_usual_interval(self, sections: Sequence[SectionHealth]) -> str:
        """How many days usually lie between two arrivals, in the liveliest of the sections."""
        known = [section.usual_days for section in sections if section.usual_days is not None]
        if not known:
            return self.gettext("not known yet")
        return self.gettext("{} days").format(f"{min(known):g}") if min(known) != 1 else self.gettext("1 day")

    def build_block_chart(self, rows: Sequence[HostBlock], days: Sequence[dt.date]) -> Chart:
        """Pages that were kept from us by day, by kind of block."""
        pages: Counter[tuple[str, dt.date]] = Counter()
        for row in rows:
            pages[row.detail_code, row.day] += row.pages
        series = [
            Series(get_word(self._language, "block", code), [pages[code, day] for day in days])
            for code in sorted({row.detail_code for row in rows})
        ]
        total = sum(row.pages for row in rows)
        return self._build_bar_chart(
            "blocks", days, series, self.gettext("Pages that sites kept from us, by day"), total
        )

    def build_cost_charts(self, chart: CostChart, budget: int | None) -> list[Chart]:
        """Tokens by phase, money and searches, each by day; what did not happen has no chart."""
        tokens = {(spending.phase, spending.day): spending.tokens for spending in chart.phases}
        phases = [
            Series(get_word(self._language, "phase", phase), [tokens.get((phase, day), 0) for day in chart.days])
            for phase in Phase
            if any(spending.phase is phase for spending in chart.phases)
        ]
        limit = Threshold(self.gettext("daily budget"), budget) if budget else None
        figures = []
        if phases:
            total = sum(tokens.values())
            figures.append(
                self._build_bar_chart(
                    "tokens", chart.days, phases, self.gettext("Tokens by day and phase"), total, limit=limit
                )
            )
        money = [chart.sum_cost_on(day) or 0.0 for day in chart.days]
        if any(money):
            series = [Series(self.gettext("Money"), money)]
            figures.append(
                self._build_bar_chart(
                    "money", chart.days, series, self.gettext("Money by day"), sum(money), is_money=True
                )
            )
        asked = {(search.backend, search.day): search.requests for search in chart.searches}
        backends = [
            Series(name, [asked.get((name, day), 0) for day in chart.days])
            for name in sorted({name for name, _ in asked})
        ]
        if backends:
            total = sum(asked.values())
            figures.append(
                self._build_bar_chart(
                    "searches", chart.days, backends, self.gettext("Search requests by day and service"), total
                )
            )
        return figures

    def build_share_tables(self, chart: CostChart) -> list[tuple[str, str, list[ShareRow]]]:
        """The tables by model and by source, each row with its part of all tokens."""
        return [
            (self.gettext("By model"), self.gettext("Model"), self._build_share_rows(chart.models)),
            (self.gettext("By source"), self.gettext("Source"), self._build_share_rows(chart.sources)),
        ]

    def render_budget_bar(self, tokens: int, budget: int) -> Markup:
        """How much of the day's budget is spent."""
        return render_share_bar(tokens, budget)

    def format_money(self, cost: float | None) -> str:
        """An amount; without a price there is none."""
        return "–" if cost is None else format_decimal(cost, format="#,##0.00##", locale=self._language)

    def _render_cadence(self, name: str, sections: Iterable[SectionHealth]) -> Markup:
        sections = list(sections)
        arrivals = [day for section in sections for day in section.arrivals]
        limits = [
            section.last_new_on + dt.timedelta(days=section.silent_after_days)
            for section in sections
            if section.silent_after_days is not None and section.last_new_on is not None
        ]
        silent_on = min(limits, default=None)
        within = sum(day > self._today - dt.timedelta(days=90) for day in set(arrivals))
        facts = [self.gettext("something new on {} of the last 90 days").format(within)]
        if arrivals:
            facts.append(self.gettext("last on {}").format(max(arrivals)))
        if silent_on is not None:
            facts.append(self.gettext("silent from {}").format(silent_on))
        forgotten = [section.arrivals[0] for section in sections if len(section.arrivals) >= MAX_ARRIVAL_DAYS]
        return render_cadence_strip(
            arrivals,
            today=self._today,
            silent_on=silent_on,
            known_since=max(forgotten, default=None),
            labels=StripLabels(
                title=name,
                summary=self.gettext("; ").join(facts),
                now=self.gettext("today, {}").format(self._today),
                silent=self.gettext("silent from {}").format(silent_on),
            ),
        )

    def _build_bar_chart(
        self,
        name: str,
        days: Sequence[dt.date],
        series: Sequence[Series],
        title: str,
        total: float,
        *,
        limit: Threshold | None = None,
        is_money: bool = False,
    ) -> Chart:
        shown = self.format_money if is_money else lambda value: format_decimal(round(value), locale=self._language)
        summary = self.gettext("{} to {}, {} in all").format(days[0], days[-1], shown(total))
        return build_bar_chart(
            name,
            days,
            series,
            title=title,
            summary=summary,
            day_label=self.gettext("Day"),
            format_value=shown,
            threshold=limit,
        )

    def _build_share_rows(self, spent: Sequence[NamedSpending]) -> list[ShareRow]:
        whole = sum(entry.tokens for entry in spent)
        rows = []
        for entry in spent[:_MAX_ROWS]:
            percent = format_percent(entry.tokens / whole if whole else 0, locale=self._language)
            name = entry.name or self.gettext("briefings and runs that are no longer on record")
            name = self.gettext("Research") if name == RESEARCH_SOURCE else name
            rows.append(
                (
                    name,
                    entry.calls,
                    entry.tokens,
                    render_share_bar(entry.tokens, whole),
                    percent,
                    self.format_money(entry.cost),
                )
            )
        return rows

    def gettext(self, english: str) -> str:
        """The sentence in the principal's language."""
        return self._renderer.translate(self._principal, english)


DAY_SPANS = (7, 30, 90)
_PAGE_SIZE = 50
_MAX_PAST_ALARMS = 20
_BLOCK_DAYS = 30
Days = Annotated[int, Query(ge=1, le=366)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter(prefix="/health")

    @routes.get("")
    async def overview(
        request: Request, principal: Reader, cursor: Annotated[str | None, Query(max_length=400)] = None
    ) -> HTMLResponse:
        """What the work stands on, the open alarms, and every source's cadence, those in trouble first."""
        skip = max(0, decode_id(cursor) or 0)
        count, sources = await app.alarms.list_source_health(skip=skip, limit=_PAGE_SIZE)
        alarms = await app.alarms.list_alarms(is_open=True, limit=_PAGE_SIZE)
        machine = await app.readiness.get_service_status()
        pictures = HealthCharts(renderer, principal, app.costs.get_today())
        return renderer.render_page(
            request,
            principal,
            "health/overview.html",
            section="health",
            alarms=alarms,
            alarmed={alarm.source for alarm in alarms},
            ids=await _load_source_ids(app),
            sources=[
                (source, pictures.render_source_cadence(source), pictures.format_usual_interval(source.sections))
                for source in sources
            ],
            next_url=f"/health?cursor={encode_cursor(skip + _PAGE_SIZE)}#sources"
            if skip + _PAGE_SIZE < count
            else None,
            **_format_machine(machine, principal.language),
        )

    @routes.get("/alarms")
    async def alarms(
        request: Request, principal: Reader, cursor: Annotated[str | None, Query(max_length=400)] = None
    ) -> HTMLResponse:
        """All alarms that are on record, newest first."""
        rows = await app.alarms.list_alarms(before_id=decode_id(cursor), limit=_PAGE_SIZE + 1)
        shown, following = cut_page(rows, _PAGE_SIZE, lambda alarm: alarm.id)
        return renderer.render_page(
            request,
            principal,
            "health/alarms.html",
            section="health",
            alarms=shown,
            ids=await _load_source_ids(app),
            next_url=build_next_url("/health/alarms", {}, following),
        )

    @routes.get("/sources/{source_id}")
    async def source(
        request: Request, principal: Reader, source_id: Annotated[int, Path(ge=1, le=2**31 - 1)]
    ) -> HTMLResponse:
        """How one source fares, section by section."""
        found = await app.alarms.get_source_health(source_id)
        alarms = await app.alarms.list_alarms(source_id=source_id, limit=_PAGE_SIZE)
        blocks = await app.alarms.list_blocks(_BLOCK_DAYS, source_id=source_id)
        pictures = HealthCharts(renderer, principal, app.costs.get_today())
        return renderer.render_page(
            request,
            principal,
            "health/source.html",
            section="health",
            source=found,
            sections=[
                (section, pictures.render_section_cadence(section), pictures.format_usual_interval([section]))
                for section in found.sections
            ],
            open_alarms=[alarm for alarm in alarms if alarm.cleared_at is None],
            past_alarms=[alarm for alarm in alarms if alarm.cleared_at][:_MAX_PAST_ALARMS],
            blocks=pictures.build_block_chart(blocks, app.costs.list_dates(_BLOCK_DAYS)) if blocks else None,
        )

    _add_totals(routes, app, renderer)
    return routes


def _add_totals(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    """What is told of all sources together: blocks and costs."""

    @routes.get("/blocks")
    async def blocks(request: Request, principal: Reader, days: Days = _BLOCK_DAYS) -> HTMLResponse:
        """Which sites keep us from their pages, and since when."""
        rows = await app.alarms.list_blocks(days)
        pictures = HealthCharts(renderer, principal, app.costs.get_today())
        return renderer.render_page(
            request,
            principal,
            "health/blocks.html",
            section="health",
            days=days,
            spans=DAY_SPANS,
            hosts=_group_by_host(rows),
            chart=pictures.build_block_chart(rows, app.costs.list_dates(days)) if rows else None,
        )

    @routes.get("/costs")
    async def costs(request: Request, principal: Reader, days: Days = 30) -> HTMLResponse:
        """Tokens, money and searches by day, by phase, by model and by source."""
        chart, today = await app.costs.get_chart(days), await app.costs.count_tokens_today()
        pictures = HealthCharts(renderer, principal, app.costs.get_today())
        budget = app.settings.llm.daily_token_budget
        return renderer.render_page(
            request,
            principal,
            "health/costs.html",
            section="health",
            days=days,
            spans=DAY_SPANS,
            budget=budget,
            tokens_today=today,
            calls=sum(model.calls for model in chart.models),
            tokens=sum(model.tokens for model in chart.models),
            unpriced=sum(model.unpriced_calls for model in chart.models),
            requests=sum(search.requests for search in chart.searches),
            money=pictures.format_money(chart.cost),
            budget_bar=pictures.render_budget_bar(today, budget) if budget else "",
            figures=pictures.build_cost_charts(chart, budget),
            tables=pictures.build_share_tables(chart),
        )


async def _load_source_ids(app: App) -> dict[str, int]:
    """The numbers of sources by their names, for links."""
    return {source.name: source.id for source in await app.store.dashboard.list_sources()}


def _group_by_host(rows: Sequence[HostBlock]) -> list[tuple[str, str, int, dt.date]]:
    """Return host, kind of block, pages and last day, the most pages first."""
    pages: Counter[tuple[str, str]] = Counter()
    last_days: dict[tuple[str, str], dt.date] = {}
    for row in rows:
        key = row.host, row.detail_code
        pages[key] += row.pages
        last_days[key] = max(row.day, last_days.get(key, row.day))
    return [(*key, pages[key], last_days[key]) for key in sorted(pages, key=lambda key: (-pages[key], key))]


def _format_machine(machine: ServiceStatus, language: str) -> dict[str, Any]:
    kinds = [process.kind for process in machine.processes]
    size = machine.database_bytes
    return {
        "machine": machine,
        "kinds": {kind: kinds.count(kind) for kind in ("worker", "scheduler")},
        "waits": format_timedelta(dt.timedelta(seconds=machine.waits_s), locale=language),
        "room": _format_bytes(machine.free_bytes),
        "database": _format_bytes(size) if size is not None else "",
    }


def _format_bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
