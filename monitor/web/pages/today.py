"""Today: what an analyst looks at first."""

from statistics import median

from babel.dates import format_date
from babel.numbers import format_decimal
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from monitor.app.today import SHOWN, NewItem, Today
from monitor.bootstrap import App
from monitor.briefing.wording import wording_for
from monitor.settings import Settings
from monitor.web.charts import spark
from monitor.web.gate import Reader
from monitor.web.rendering import Look

_SHOWN_MATTERS = 12
_LEAST_DAYS = 7


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter()

    @routes.get("/")
    async def today(request: Request, visitor: Reader) -> HTMLResponse:
        """The day at a glance; looking at it is remembered, so that the next look begins where this one was."""
        seen = await app.today.look(visitor.name, is_kept=visitor.session_id is not None)
        template = "today/today.html" if seen.has_run or seen.items else "today/begin.html"
        return look.page(
            request,
            visitor,
            template,
            section="today",
            seen=seen,
            groups=_by_tier(seen),
            shown=SHOWN,
            most=_SHOWN_MATTERS,
            said=wording_for(visitor.language).said,
            trend=_trend(seen, look.text(visitor, "New items a day, the last 30 days"), visitor.language),
            day_name=format_date(seen.day, "full", locale=visitor.language),
            **_manner(app.settings),
        )

    return routes


def _trend(seen: Today, title: str, language: str) -> tuple[Markup, str] | None:
    """The line of new items by day, and what is usual; None where there is not enough to compare with."""
    before = seen.new_by_day[:-1]
    if sum(count > 0 for count in before) < _LEAST_DAYS:
        return None
    usual = format_decimal(round(median(before)), locale=language)
    return spark(seen.new_by_day, title=title, summary=f"{min(before)} – {max(before)}"), usual


def _by_tier(seen: Today) -> list[tuple[int | None, int, list[NewItem]]]:
    """The items that are shown under their tiers, each with how many there are."""
    return [
        (tier.tier, tier.count, some)
        for tier in seen.tiers
        if (some := [item for item in seen.items if item.tier == tier.tier])
    ]


def _manner(settings: Settings) -> dict[str, bool]:
    """What works by rule here, for want of a model or of a search service."""
    backends = settings.search.backend
    named = [backends] if isinstance(backends, str) else backends
    return {"is_by_rule": not settings.llm.is_on, "is_without_search": set(named) <= {"stub"}}
