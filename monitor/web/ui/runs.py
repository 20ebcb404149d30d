"""The run history, and one run: live while it is at work, and the same page afterwards."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Response

from monitor.db.queries.history import LedgerRow
from monitor.db.tables.collection import RunSection
from monitor.errors import Conflict
from monitor.i18n.catalogue import get_word, get_words
from monitor.services.cursors import cut_page, decode_cursor
from monitor.services.runs import PhaseState, RunQuery, build_phase_views
from monitor.vocabulary import SWEEP_PHASES, Disposition, RunStatus, SectionEnd
from monitor.web.api.cursors import Cursor, build_next_url
from monitor.web.api.runs import RunId
from monitor.web.auth import RUN_SCOPE, STOP_SCOPE, AppDep, Editor, Reader
from monitor.web.ui.rendering import FilterText, Renderer

ROWS_PER_PAGE = 25
_PAGE_SIZE = 50
_REPLAYED_EVENTS = 60
"""So many events from before the page was made are sent again: what a watcher sees first."""

_VOCABULARIES = {"phase": [*SWEEP_PHASES, "revisit"], "phase_state": list(PhaseState), "ended": list(SectionEnd)}
"""The words that the script needs for the events of a run."""

DISPOSITION_MARKS = {
    Disposition.SAVED: "✓",
    Disposition.KNOWN: "=",
    Disposition.OUT_OF_RANGE: "–",
    Disposition.FILTERED: "×",
    Disposition.OVER_LIMIT: "+",
    Disposition.REFUSED: "!",
    Disposition.LEFT: "○",
}
"""The sign in a square says what its colour says."""

router = APIRouter(prefix="/runs")


class LedgerFilter(NamedTuple):
    """Which candidates of a ledger are wanted; `at` is the number of the one whose row is to be shown."""

    disposition: Disposition | None = None
    section: int | None = None
    text: str = ""
    at: int | None = None

    @property
    def is_active(self) -> bool:
        return self.disposition is not None or self.section is not None or bool(self.text)

    def matches(self, row: LedgerRow) -> bool:
        if self.disposition not in (None, row.disposition) or self.section not in (None, row.section):
            return False
        text = self.text.casefold()
        return text in row.title.casefold() or text in row.url.casefold()


class SectionCells(NamedTuple):
    """The candidates of one section in the order of its pages, each with whether it matches."""

    section: RunSection
    cells: list[tuple[LedgerRow, bool]]


class LedgerView(NamedTuple):
    """A ledger as it is drawn; `rows` is one page, `before` and `after` lead to its neighbours."""

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
    """Return every candidate in its place, and the page of matching rows that has the wanted candidate."""
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


@router.get("")
async def list_runs(
    app: AppDep,
    renderer: Renderer,
    _: Reader,
    source: FilterText = "",
    status: FilterText = "",
    day: FilterText = "",
    cursor: Cursor = None,
) -> Response:
    wanted = RunStatus(status) if status in set(RunStatus) else None
    filters = RunQuery(source=source or None, status=wanted, day=_parse_day(day))
    names = await app.runs.list_sources()
    after = decode_cursor(cursor, dt.datetime, str)
    found = await app.runs.list_rows(filters, after=after, limit=_PAGE_SIZE + 1)
    rows, following = cut_page(found, _PAGE_SIZE, lambda row: (row.run.planned_at, row.run.id))
    return renderer.render(
        "runs/list.html",
        rows=rows,
        filters=filters,
        next_url=build_next_url("/runs", {"source": source, "status": status, "day": day}, following),
        is_first=cursor is None,
        source_options=[("", renderer.gettext("All sources")), *((name, name) for name in names)],
        status_options=[
            ("", renderer.gettext("Any status")),
            *((str(status), get_word(renderer.language, "status", status)) for status in RunStatus),
        ],
        is_moving=any(not row.run.status.is_final for row in rows),
    )


@router.get("/{run_id}")
async def show(
    app: AppDep,
    renderer: Renderer,
    _: Reader,
    run_id: RunId,
    disposition: FilterText = "",
    section: FilterText = "",
    q: FilterText = "",
    at: FilterText = "",
) -> Response:
    ledger_filter = LedgerFilter(
        disposition=Disposition(disposition) if disposition in set(Disposition) else None,
        section=_parse_number(section),
        text=q.strip(),
        at=_parse_number(at),
    )
    picture = await app.runs.get_detail(run_id)
    run = picture.run
    asked = {
        "disposition": ledger_filter.disposition,
        "section": ledger_filter.section,
        "q": ledger_filter.text or None,
    }
    narrowed = urlencode({name: value for name, value in asked.items() if value is not None})
    here = renderer.href(f"/runs/{run.id}")
    return renderer.render(
        "runs/show.html",
        run=run,
        picture=picture,
        ledger=build_ledger_view(picture.ledger, picture.sections, ledger_filter),
        marks=DISPOSITION_MARKS,
        here=here,
        to_row=f"{here}?{narrowed}{'&' if narrowed else ''}at=",
        phases=build_phase_views(run, last=picture.phase, sections=picture.sections, items=picture.items),
        pages_read=sum(section.pages for section in picture.sections),
        names={section.ordinal: section.name for section in picture.sections},
        source=await app.store.sources.get_by_id(run.source_id or 0),
        since=max(0, picture.last_event_id - _REPLAYED_EVENTS),
        timezone=app.settings.timezone,
        vocabularies={**_VOCABULARIES, "outcome": list(get_words(renderer.language, "outcome"))},
        is_nobody_at_work=run.status is RunStatus.QUEUED and not await app.sweeps.has_worker(),
    )


@router.post("/{run_id}/cancel", dependencies=[STOP_SCOPE])
async def cancel(app: AppDep, renderer: Renderer, principal: Editor, run_id: RunId) -> Response:
    try:
        await app.sweeps.cancel(run_id, by=principal)
    except Conflict:
        return renderer.redirect(f"/runs/{run_id}", notice="run_over")
    return renderer.redirect(f"/runs/{run_id}", notice="run_stopping")


@router.post("/{run_id}/retry", dependencies=[RUN_SCOPE])
async def retry(app: AppDep, renderer: Renderer, principal: Editor, run_id: RunId) -> Response:
    again = await app.sweeps.enqueue_retry(run_id, by=principal)
    return renderer.redirect(f"/runs/{again}", notice="run_again")


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _parse_day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
