"""Today: what an analyst looks at first."""

from statistics import median

from babel.dates import format_date
from babel.numbers import format_decimal
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from monitor.bootstrap import App
from monitor.config.model import Settings
from monitor.services.today import MAX_SHOWN_ITEMS, NewItem, TodaySummary
from monitor.web.auth import Reader
from monitor.web.ui.charts import render_sparkline
from monitor.web.ui.rendering import TemplateRenderer

_MAX_MATTERS = 12
_MIN_TREND_DAYS = 7


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/")
    async def today(request: Request, principal: Reader) -> HTMLResponse:
        """The day at a glance; looking at it is remembered, so that the next look begins where this one was."""
        seen = await app.today.get_summary(principal.name, record_visit=principal.session_id is not None)
        template = "today/today.html" if seen.has_run or seen.items else "today/begin.html"
        return renderer.render_page(
            request,
            principal,
            template,
            section="today",
            seen=seen,
            groups=_group_by_tier(seen),
            shown=MAX_SHOWN_ITEMS,
            most=_MAX_MATTERS,
            trend=_render_trend(
                seen, renderer.translate(principal, "New items a day, the last 30 days"), principal.language
            ),
            day_name=format_date(seen.day, "full", locale=principal.language),
            **_get_fallback_modes(app.settings),
        )

    return routes


def _render_trend(seen: TodaySummary, title: str, language: str) -> tuple[Markup, str] | None:
    """The line of new items by day, and what is usual; None where there is not enough to compare with."""
    before = seen.new_by_day[:-1]
    if sum(count > 0 for count in before) < _MIN_TREND_DAYS:
        return None
    usual = format_decimal(round(median(before)), locale=language)
    return render_sparkline(seen.new_by_day, title=title, summary=f"{min(before)} – {max(before)}"), usual


def _group_by_tier(seen: TodaySummary) -> list[tuple[int | None, int, list[NewItem]]]:
    """The items that are shown under their tiers, each with how many there are."""
    return [
        (tier.tier, tier.count, some)
        for tier in seen.tiers
        if (some := [item for item in seen.items if item.tier == tier.tier])
    ]


def _get_fallback_modes(settings: Settings) -> dict[str, bool]:
    """What works by rule here, for want of a model or of a search service."""
    backends = settings.search.backend
    named = [backends] if isinstance(backends, str) else backends
    return {"is_by_rule": not settings.llm.is_on, "is_without_search": set(named) <= {"stub"}}
