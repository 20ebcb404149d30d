"""The run history, and one run: live while it is at work, and the same page afterwards."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from monitor.bootstrap import App
from monitor.db.queries.history import LedgerRow
from monitor.db.tables.collection import RunSection
from monitor.errors import Conflict
from monitor.i18n.catalogue import get_word
from monitor.services.runs import PhaseState, RunQuery, build_phase_views
from monitor.vocabulary import SWEEP_PHASES, Disposition, RunStatus, SectionEnd
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor
from monitor.web.api.runs import Cursor, RunId
from monitor.web.auth import Editor, Reader, require_scope
from monitor.web.ui.rendering import TemplateRenderer

ROWS_PER_PAGE = 25

DISPOSITION_MARKS = {
    Disposition.SAVED: "✓",
    Disposition.KNOWN: "=",
    Disposition.OUT_OF_RANGE: "–",
    Disposition.FILTERED: "×",
    Disposition.OVER_LIMIT: "+",
    Disposition.REFUSED: "!",
    Disposition.LEFT: "○",
}
"""The sign in a square: what colour tells some, it tells all."""


class LedgerFilter(NamedTuple):
    """What of a ledger somebody looks for; `at` is the number of the candidate whose row is wanted."""

    disposition: Disposition | None = None
    section: int | None = None
    text: str = ""
    at: int | None = None

    @property
    def is_active(self) -> bool:
        """Whether some candidates are not meant."""
        return self.disposition is not None or self.section is not None or bool(self.text)

    def matches(self, row: LedgerRow) -> bool:
        if self.disposition not in (None, row.disposition) or self.section not in (None, row.section):
            return False
        text = self.text.casefold()
        return text in row.title.casefold() or text in row.url.casefold()


class SectionCells(NamedTuple):
    """The candidates of one section in the order of its pages, each with whether it is meant."""

    section: RunSection
    cells: list[tuple[LedgerRow, bool]]


class LedgerView(NamedTuple):
    """A ledger as it is drawn; `rows` are those around the wanted one, `before` and `after` the way to the others."""

    ledger_filter: LedgerFilter
    groups: list[SectionCells]
    counts: dict[Disposition, int]
    total: int
    meant: int
    rows: list[LedgerRow]
    first: int
    before: int | None
    after: int | None


def build_ledger_view(
    rows: Sequence[LedgerRow], sections: Sequence[RunSection], ledger_filter: LedgerFilter
) -> LedgerView:
    """Every candidate in its place, and a page of rows of those that are meant: the one with the wanted candidate."""
    meant = [row for row in rows if ledger_filter.matches(row)]
    numbers = {row.id for row in meant}
    place = next((place for place, row in enumerate(meant) if row.id == ledger_filter.at), 0)
    first = place - place % ROWS_PER_PAGE
    counts = Counter(row.disposition for row in rows)
    cells: dict[int, list[tuple[LedgerRow, bool]]] = {section.ordinal: [] for section in sections}
    for row in rows:
        cells.setdefault(row.section, []).append((row, row.id in numbers))
    return LedgerView(
        ledger_filter=ledger_filter,
        groups=[SectionCells(section, cells[section.ordinal]) for section in sections],
        counts={disposition: counts[disposition] for disposition in Disposition if counts[disposition]},
        total=len(rows),
        meant=len(meant),
        rows=meant[first : first + ROWS_PER_PAGE],
        first=first,
        before=meant[first - ROWS_PER_PAGE].id if first else None,
        after=meant[first + ROWS_PER_PAGE].id if len(meant) > first + ROWS_PER_PAGE else None,
    )


_PAGE_SIZE = 50
_REPLAYED_EVENTS = 60
"""So many events from before the page was made are told once more: what a watcher sees when he comes."""

_VOCABULARIES = {
    "phase": [*SWEEP_PHASES, "revisit"],
    "phase_state": list(PhaseState),
    "ended": list(SectionEnd),
    "outcome": [
        "ok",
        "cut",
        "empty",
        "error",
        "timeout",
        "network",
        "auth",
        "malformed",
        "budget",
        "circuit",
        "cancelled",
    ],
}
"""The words that the script needs for what a run tells."""

FilterText = Annotated[str, Query(max_length=200)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/runs` and what lies under it."""
    routes = APIRouter(prefix="/runs")
    _add_view_routes(routes, app, renderer)
    _add_action_routes(routes, app, renderer)
    return routes


def _add_view_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("")
    async def list_runs(
        request: Request,
        principal: Reader,
        source: FilterText = "",
        status: FilterText = "",
        day: FilterText = "",
        cursor: Cursor = None,
    ) -> HTMLResponse:
        filters = RunQuery(source=source or None, status=_parse_status(status), day=_parse_day(day))
        after = decode_cursor(cursor, dt.datetime, str)
        found = await app.runs.list_rows(filters, after=after, limit=_PAGE_SIZE + 1)
        rows, following = cut_page(found, _PAGE_SIZE, lambda row: (row.run.planned_at, row.run.id))
        return renderer.render_page(
            request,
            principal,
            "runs/list.html",
            section="runs",
            rows=rows,
            filters=filters,
            next_url=build_next_url("/runs", {"source": source, "status": status, "day": day}, following),
            is_first=cursor is None,
            source_options=_build_options(renderer.translate(principal, "All sources"), await app.runs.list_sources()),
            status_options=_build_options(renderer.translate(principal, "Any status"), RunStatus, principal.language),
            is_moving=any(not row.run.status.is_final for row in rows),
        )

    @routes.get("/{run_id}")
    async def show(
        request: Request,
        principal: Reader,
        run_id: RunId,
        disposition: FilterText = "",
        section: FilterText = "",
        q: FilterText = "",
        at: FilterText = "",
    ) -> HTMLResponse:
        ledger_filter = LedgerFilter(
            disposition=Disposition(disposition) if disposition in set(Disposition) else None,
            section=_parse_number(section),
            text=q.strip(),
            at=_parse_number(at),
        )
        return renderer.render_page(
            request,
            principal,
            "runs/show.html",
            section="runs",
            **await _load_run_context(app, renderer, run_id, ledger_filter),
        )


def _add_action_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.post("/{run_id}/cancel", dependencies=[Depends(require_scope("run"))])
    async def cancel(principal: Editor, run_id: RunId) -> RedirectResponse:
        """Ask the run to stop, and show it."""
        try:
            await app.sweeps.cancel(run_id, by=principal.actor)
        except Conflict:
            return renderer.redirect(f"/runs/{run_id}", notice="run_over")
        return renderer.redirect(f"/runs/{run_id}", notice="run_stopping")

    @routes.post("/{run_id}/retry", dependencies=[Depends(require_scope("run"))])
    async def retry(principal: Editor, run_id: RunId) -> RedirectResponse:
        """Have the run done again, and show the one that does it."""
        again = await app.sweeps.enqueue_retry(run_id, by=principal.actor)
        return renderer.redirect(f"/runs/{again}", notice="run_again")


def _build_options(every: str, values: Iterable[str], language: str | None = None) -> list[tuple[str, str]]:
    """The options of a filter; in a language the values are words for statuses, else names."""
    shown = [(str(value), get_word(language, "status", value) if language else str(value)) for value in values]
    return [("", every), *shown]


async def _load_run_context(
    app: App, renderer: TemplateRenderer, run_id: str, ledger_filter: LedgerFilter
) -> dict[str, Any]:
    """All that the page of a run is made of."""
    picture = await app.runs.get_detail(run_id)
    run = picture.run
    view = build_ledger_view(picture.ledger, picture.sections, ledger_filter)
    asked = {
        "disposition": ledger_filter.disposition,
        "section": ledger_filter.section,
        "q": ledger_filter.text or None,
    }
    narrowed = urlencode({name: value for name, value in asked.items() if value is not None})
    here = renderer.href(f"/runs/{run.id}")
    return {
        "run": run,
        "picture": picture,
        "ledger": view,
        "marks": DISPOSITION_MARKS,
        "here": here,
        "to_row": f"{here}?{narrowed}{'&' if narrowed else ''}at=",
        "phases": build_phase_views(run, last=picture.phase, sections=picture.sections, items=picture.items),
        "pages_read": sum(section.pages for section in picture.sections),
        "names": {section.ordinal: section.name for section in picture.sections},
        "source": await app.store.sources.get_by_id(run.source_id or 0),
        "briefing": f"/briefings/now?source={quote(run.source)}&days=1",
        "since": max(0, picture.last_event_id - _REPLAYED_EVENTS),
        "timezone": app.settings.timezone,
        "vocabularies": _VOCABULARIES,
        "is_nobody_at_work": run.status is RunStatus.QUEUED and not await app.sweeps.has_worker(),
    }


def _parse_status(text: str) -> RunStatus | None:
    return RunStatus(text) if text in set(RunStatus) else None


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _parse_day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
