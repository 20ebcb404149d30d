"""Today, and health: alarms, cadence, blocks and costs, in pictures and words."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

from babel.dates import format_date, format_timedelta
from babel.numbers import format_decimal, format_percent
from fastapi import APIRouter, Depends, Query, Response
from markupsafe import Markup

from monitor.briefing.item import describe_statements
from monitor.db.queries.sections import MAX_ARRIVAL_DAYS
from monitor.db.queries.usage import RESEARCH_SOURCE, NamedSpending
from monitor.i18n.catalogue import get_word
from monitor.services.alarms import SectionHealth
from monitor.services.cursors import cut_page, decode_id, encode_cursor
from monitor.services.health import STATEMENT_DAYS, HostBlock
from monitor.services.today import AHEAD_DAYS, MAX_SHOWN_ITEMS, TodaySummary
from monitor.services.usage import CostChart
from monitor.vocabulary import Phase
from monitor.web.api.cursors import build_next_url
from monitor.web.api.sources import SourceId
from monitor.web.auth import Admin, AppDep, Reader
from monitor.web.ui.charts import (
    Chart,
    Series,
    StripLabels,
    Threshold,
    build_bar_chart,
    render_cadence_strip,
    render_share_bar,
    render_sparkline,
)
from monitor.web.ui.items import list_open_briefings
from monitor.web.ui.rendering import PageRenderer, Renderer

DAY_SPANS = (7, 30, 90)
_PAGE_SIZE = 50
_MAX_ROWS = 20
_MAX_HOST_ROWS = 500
_MAX_PAST_ALARMS = 20
_MAX_MATTERS = 12
_BLOCK_DAYS = 30
_MIN_TREND_DAYS = 7
Days = Annotated[int, Query(ge=1, le=366)]
Cursor = Annotated[str | None, Query(max_length=400)]
ShareRow = tuple[str, int, int, Markup, str, str]

router = APIRouter()


@dataclass(frozen=True, kw_only=True)
class HealthCharts:
    """Draws charts in the reader's language on one day of the service."""

    renderer: PageRenderer
    today: dt.date

    def render_cadence(self, name: str, sections: Sequence[SectionHealth]) -> Markup:
        """Draw the cadence of some sections together; silence begins with the first of them that is silent."""
        gettext = self.renderer.gettext
        arrivals = [day for section in sections for day in section.arrivals]
        limits = [
            section.last_new_on + dt.timedelta(days=section.silent_after_days)
            for section in sections
            if section.silent_after_days is not None and section.last_new_on is not None
        ]
        silent_on = min(limits, default=None)
        within = sum(day > self.today - dt.timedelta(days=90) for day in set(arrivals))
        facts = [gettext("something new on {} of the last 90 days").format(within)]
        if arrivals:
            facts.append(gettext("last on {}").format(max(arrivals)))
        if silent_on is not None:
            facts.append(gettext("silent from {}").format(silent_on))
        forgotten = [section.arrivals[0] for section in sections if len(section.arrivals) >= MAX_ARRIVAL_DAYS]
        return render_cadence_strip(
            arrivals,
            today=self.today,
            silent_on=silent_on,
            known_since=max(forgotten, default=None),
            labels=StripLabels(
                title=name,
                summary=gettext("; ").join(facts),
                now=gettext("today, {}").format(self.today),
                silent=gettext("silent from {}").format(silent_on),
            ),
        )

    def format_usual_interval(self, sections: Sequence[SectionHealth]) -> str:
        """Return how many days usually lie between two arrivals in the liveliest of the sections."""
        gettext = self.renderer.gettext
        known = [section.usual_days for section in sections if section.usual_days is not None]
        if not known:
            return gettext("not known yet")
        return gettext("{} days").format(f"{min(known):g}") if min(known) != 1 else gettext("1 day")

    def build_block_chart(self, rows: Sequence[HostBlock], days: Sequence[dt.date]) -> Chart:
        pages: Counter[tuple[str, dt.date]] = Counter()
        for row in rows:
            pages[row.detail_code, row.day] += row.pages
        series = [
            Series(get_word(self.renderer.language, "block", code), [pages[code, day] for day in days])
            for code in sorted({row.detail_code for row in rows})
        ]
        title = self.renderer.gettext("Pages that sites kept from us, by day")
        return self._build_bar_chart("blocks", title, days, series)

    def build_cost_charts(self, chart: CostChart, budget: int | None) -> list[Chart]:
        """Draw tokens by phase, money and searches by day; what did not happen has no chart."""
        gettext, charts = self.renderer.gettext, []
        tokens = Counter({(row.phase, row.day): row.tokens for row in chart.phases})
        by_phase = [
            Series(get_word(self.renderer.language, "phase", phase), [tokens[phase, day] for day in chart.days])
            for phase in Phase
            if any(row.phase is phase for row in chart.phases)
        ]
        if by_phase:
            limit = Threshold(gettext("daily budget"), budget) if budget else None
            title = gettext("Tokens by day and phase")
            charts.append(self._build_bar_chart("tokens", title, chart.days, by_phase, limit=limit))
        money = [chart.sum_cost_on(day) or 0.0 for day in chart.days]
        if any(money):
            title, series = gettext("Money by day"), [Series(gettext("Money"), money)]
            charts.append(self._build_bar_chart("money", title, chart.days, series, format_value=self.format_money))
        asked = Counter({(row.backend, row.day): row.requests for row in chart.searches})
        by_backend = [
            Series(name, [asked[name, day] for day in chart.days])
            for name in sorted({row.backend for row in chart.searches})
        ]
        if by_backend:
            title = gettext("Search requests by day and service")
            charts.append(self._build_bar_chart("searches", title, chart.days, by_backend))
        return charts

    def _build_bar_chart(
        self,
        name: str,
        title: str,
        days: Sequence[dt.date],
        series: Sequence[Series],
        *,
        limit: Threshold | None = None,
        format_value: Callable[[float], str] | None = None,
    ) -> Chart:
        shown = format_value or (lambda value: format_decimal(round(value), locale=self.renderer.language))
        total = sum(sum(line.values) for line in series)
        return build_bar_chart(
            name,
            days,
            series,
            title=title,
            summary=self.renderer.gettext("{} to {}, {} in all").format(days[0], days[-1], shown(total)),
            day_label=self.renderer.gettext("Day"),
            format_value=shown,
            threshold=limit,
        )

    def build_share_tables(self, chart: CostChart) -> list[tuple[str, str, list[ShareRow]]]:
        gettext = self.renderer.gettext
        return [
            (gettext("By model"), gettext("Model"), self._build_share_rows(chart.models)),
            (gettext("By source"), gettext("Source"), self._build_share_rows(chart.sources)),
        ]

    def _build_share_rows(self, spent: Sequence[NamedSpending]) -> list[ShareRow]:
        gettext = self.renderer.gettext
        total = sum(entry.tokens for entry in spent)
        unknown = gettext("briefings and runs that are no longer on record")
        return [
            (
                gettext("Research") if entry.name == RESEARCH_SOURCE else entry.name or unknown,
                entry.calls,
                entry.tokens,
                render_share_bar(entry.tokens, total),
                format_percent(entry.tokens / total if total else 0, locale=self.renderer.language),
                self.format_money(entry.cost),
            )
            for entry in spent[:_MAX_ROWS]
        ]

    def format_money(self, cost: float | None) -> str:
        return "–" if cost is None else format_decimal(cost, format="#,##0.00##", locale=self.renderer.language)


async def get_charts(app: AppDep, renderer: Renderer) -> HealthCharts:
    return HealthCharts(renderer=renderer, today=app.costs.get_today())


Charts = Annotated[HealthCharts, Depends(get_charts)]


@router.get("/")
async def today(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    """Show the day at a glance; the visit is remembered, and the next one begins where this one was."""
    seen = await app.today.get_summary(principal.name, record_visit=principal.session_id is not None)
    if not principal.is_editor:
        seen = seen.without_operation()
    ahead = [entry.item_id for entry in seen.ahead.deadlines]
    return renderer.render(
        "today/today.html" if seen.has_run or seen.items else "today/begin.html",
        seen=seen,
        ahead_days=AHEAD_DAYS,
        topics=await app.topics.list_fits([*(item.id or 0 for item in seen.items), *ahead]),
        drafts=await list_open_briefings(app, principal),
        shown=MAX_SHOWN_ITEMS,
        most=_MAX_MATTERS,
        trend=_render_trend(seen, renderer.gettext("New items a day, the last 30 days"), principal.language),
        day_name=format_date(seen.day, "full", locale=principal.language),
        is_by_rule=not app.settings.llm.is_on,
        is_without_search=set(app.settings.search.backend_names) <= {"stub"},
    )


def _render_trend(seen: TodaySummary, title: str, language: str) -> tuple[Markup, str] | None:
    """Draw new items by day, and tell what is usual; None where there is not enough to compare with."""
    before = seen.new_by_day[:-1]
    if sum(count > 0 for count in before) < _MIN_TREND_DAYS:
        return None
    usual = format_decimal(round(median(before)), locale=language)
    return render_sparkline(seen.new_by_day, title=title, summary=f"{min(before)} – {max(before)}"), usual


@router.get("/health")
async def overview(
    app: AppDep, renderer: Renderer, charts: Charts, principal: Reader, cursor: Cursor = None
) -> Response:
    """Show what the work stands on, the open alarms, and every source's cadence, those in trouble first."""
    skip = max(0, decode_id(cursor) or 0)
    ids, sources = await app.alarms.list_source_health(skip=skip, limit=_PAGE_SIZE)
    alarms = await app.alarms.list_alarms(is_open=True, limit=_PAGE_SIZE)
    machine = await app.readiness.get_service_status()
    kinds = [process.kind for process in machine.processes]
    return renderer.render(
        "health/overview.html",
        alarms=alarms,
        alarmed={alarm.source for alarm in alarms},
        ids=ids,
        sources=[
            (
                source,
                charts.render_cadence(source.source, source.sections),
                charts.format_usual_interval(source.sections),
            )
            for source in sources
        ],
        next_url=f"/health?cursor={encode_cursor(skip + _PAGE_SIZE)}#sources" if skip + _PAGE_SIZE < len(ids) else None,
        machine=machine,
        exports=await app.archive_exports.list_failing() if principal.is_admin else [],
        statements=describe_statements(machine.statements) if machine.statements.shown else None,
        statement_days=STATEMENT_DAYS,
        kinds={"worker": kinds.count("worker"), "scheduler": kinds.count("scheduler")},
        waits=format_timedelta(dt.timedelta(seconds=machine.waits_s), locale=renderer.language),
        room=_format_bytes(machine.free_bytes),
        database=_format_bytes(machine.database_bytes) if machine.database_bytes is not None else "",
    )


@router.get("/health/alarms")
async def alarms(app: AppDep, renderer: Renderer, _: Reader, cursor: Cursor = None) -> Response:
    rows = await app.alarms.list_alarms(before_id=decode_id(cursor), limit=_PAGE_SIZE + 1)
    shown, following = cut_page(rows, _PAGE_SIZE, lambda alarm: alarm.id)
    return renderer.render(
        "health/alarms.html",
        alarms=shown,
        ids={source.name: source.id for source in await app.store.sources.list_heads()},
        next_url=build_next_url("/health/alarms", {}, following),
    )


@router.get("/health/sources/{source_id}")
async def source(app: AppDep, renderer: Renderer, charts: Charts, _: Reader, source_id: SourceId) -> Response:
    found = await app.alarms.get_source_health(source_id)
    alarms = await app.alarms.list_alarms(source_id=source_id, limit=_PAGE_SIZE)
    blocks = await app.alarms.list_blocks(_BLOCK_DAYS, source_id=source_id)
    return renderer.render(
        "health/source.html",
        source=found,
        sections=[
            (section, charts.render_cadence(section.name, [section]), charts.format_usual_interval([section]))
            for section in found.sections
        ],
        open_alarms=[alarm for alarm in alarms if alarm.cleared_at is None],
        past_alarms=[alarm for alarm in alarms if alarm.cleared_at][:_MAX_PAST_ALARMS],
        blocks=charts.build_block_chart(blocks, app.costs.list_dates(_BLOCK_DAYS)) if blocks else None,
    )


@router.get("/health/blocks")
async def blocks(app: AppDep, renderer: Renderer, charts: Charts, _: Reader, days: Days = _BLOCK_DAYS) -> Response:
    rows = await app.alarms.list_blocks(days)
    return renderer.render(
        "health/blocks.html",
        days=days,
        spans=DAY_SPANS,
        hosts=_group_by_host(rows),
        chart=charts.build_block_chart(rows, app.costs.list_dates(days)) if rows else None,
    )


@router.get("/health/hosts")
async def hosts(app: AppDep, renderer: Renderer, _: Admin, days: Days = 7) -> Response:
    return renderer.render(
        "health/hosts.html",
        days=days,
        spans=DAY_SPANS,
        rows=(await app.host_traffic.list_traffic(days))[:_MAX_HOST_ROWS],
        limit=app.settings.pages.daily_requests,
    )


@router.get("/health/costs")
async def costs(app: AppDep, renderer: Renderer, charts: Charts, _: Reader, days: Days = 30) -> Response:
    chart = await app.costs.get_chart(days)
    tokens_today = await app.costs.count_tokens_today()
    budget = app.settings.llm.daily_token_budget
    return renderer.render(
        "health/costs.html",
        days=days,
        spans=DAY_SPANS,
        budget=budget,
        tokens_today=tokens_today,
        calls=sum(model.calls for model in chart.models),
        tokens=sum(model.tokens for model in chart.models),
        unpriced=sum(model.unpriced_calls for model in chart.models),
        requests=sum(search.requests for search in chart.searches),
        money=charts.format_money(chart.cost),
        budget_bar=render_share_bar(tokens_today, budget) if budget else "",
        figures=charts.build_cost_charts(chart, budget),
        tables=charts.build_share_tables(chart),
    )


def _group_by_host(rows: Sequence[HostBlock]) -> list[tuple[str, str, int, dt.date]]:
    """Return host, kind of block, pages and last day, the most pages first."""
    pages: Counter[tuple[str, str]] = Counter()
    last_days: dict[tuple[str, str], dt.date] = {}
    for row in rows:
        key = row.host, row.detail_code
        pages[key] += row.pages
        last_days[key] = max(row.day, last_days.get(key, row.day))
    return [(*key, pages[key], last_days[key]) for key in sorted(pages, key=lambda key: (-pages[key], key))]


def _format_bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
