"""The run history, and one run: live while it is at work, and the same page afterwards."""

import datetime as dt
from collections.abc import Iterable
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from monitor.app.phases import PhaseState, phases_of
from monitor.app.runs import RunWish
from monitor.bootstrap import App
from monitor.briefing.wording import wording_for
from monitor.domain.words import SWEEP_PHASES, Disposition, RunStatus, SectionEnd
from monitor.errors import Conflict
from monitor.web.api.runs import Cursor, RunId
from monitor.web.cursors import decode_instant, encode
from monitor.web.gate import Editor, Reader, Visitor, scope
from monitor.web.ledger import MARKS, LedgerWish, ledger_view
from monitor.web.rendering import Look
from monitor.web.words import word

_ROWS = 50
_SHOWN_AGAIN = 60
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

Word = Annotated[str, Query(max_length=200)]


def router(app: App, look: Look) -> APIRouter:
    """`/runs` and what lies under it."""
    routes = APIRouter(prefix="/runs")
    _add_looking(routes, app, look)
    _add_asking(routes, app, look)
    return routes


def _add_looking(routes: APIRouter, app: App, look: Look) -> None:
    @routes.get("")
    async def list_runs(
        request: Request, visitor: Reader, source: Word = "", status: Word = "", day: Word = "", cursor: Cursor = None
    ) -> HTMLResponse:
        wish = RunWish(source=source or None, status=_status(status), day=_day(day))
        found = await app.runs.rows(wish, after=decode_instant(cursor), limit=_ROWS + 1)
        rows = found[:_ROWS]
        asked = {name: value for name, value in (("source", source), ("status", status), ("day", day)) if value}
        following = None
        if len(found) > _ROWS:
            key = encode(rows[-1].run.planned_at.isoformat(), rows[-1].run.id)
            following = f"/runs?{urlencode({**asked, 'cursor': key})}"
        return look.page(
            request,
            visitor,
            "runs/list.html",
            section="runs",
            rows=rows,
            wish=wish,
            next_url=following,
            is_first=cursor is None,
            source_options=_options(look.text(visitor, "All sources"), await app.runs.sources()),
            status_options=_options(look.text(visitor, "Any status"), RunStatus, visitor.language),
            is_moving=any(not row.run.status.is_final for row in rows),
            said=wording_for(visitor.language).said,
        )

    @routes.get("/{run_id}")
    async def show(
        request: Request,
        visitor: Reader,
        run_id: RunId,
        disposition: Word = "",
        section: Word = "",
        q: Word = "",
        at: Word = "",
    ) -> HTMLResponse:
        wish = LedgerWish(
            disposition=Disposition(disposition) if disposition in set(Disposition) else None,
            section=_number(section),
            text=q.strip(),
            at=_number(at),
        )
        return look.page(
            request, visitor, "runs/show.html", section="runs", **await _facts(app, look, visitor, run_id, wish)
        )


def _add_asking(routes: APIRouter, app: App, look: Look) -> None:
    @routes.post("/{run_id}/cancel", dependencies=[Depends(scope("run"))])
    async def cancel(visitor: Editor, run_id: RunId) -> RedirectResponse:
        """Ask the run to stop, and show it."""
        try:
            await app.runs.cancel(run_id)
        except Conflict:
            return look.back(f"/runs/{run_id}", notice="run_over")
        await app.audit.record(visitor.name, "run.cancel", run_id)
        return look.back(f"/runs/{run_id}", notice="run_stopping")

    @routes.post("/{run_id}/retry", dependencies=[Depends(scope("run"))])
    async def retry(visitor: Editor, run_id: RunId) -> RedirectResponse:
        """Have the run done again, and show the one that does it."""
        again = await app.runs.retry(run_id)
        await app.audit.record(visitor.name, "run.retry", run_id, run=again)
        return look.back(f"/runs/{again}", notice="run_again")


def _options(every: str, values: Iterable[str], language: str | None = None) -> list[tuple[str, str]]:
    """The options of a filter; in a language the values are words for statuses, else names."""
    shown = [(str(value), word(language, "status", value) if language else str(value)) for value in values]
    return [("", every), *shown]


async def _facts(app: App, look: Look, visitor: Visitor, run_id: str, wish: LedgerWish) -> dict[str, Any]:
    """All that the page of a run is made of."""
    picture = await app.runs.picture(run_id)
    run = picture.run
    view = ledger_view(picture.ledger, picture.sections, wish)
    asked = {
        "disposition": wish.disposition,
        "section": wish.section,
        "q": wish.text or None,
    }
    narrowed = urlencode({name: value for name, value in asked.items() if value is not None})
    here = look.href(f"/runs/{run.id}")
    return {
        "run": run,
        "picture": picture,
        "ledger": view,
        "marks": MARKS,
        "here": here,
        "to_row": f"{here}?{narrowed}{'&' if narrowed else ''}at=",
        "phases": phases_of(run, last=picture.phase, sections=picture.sections, items=picture.items),
        "pages_read": sum(one.pages for one in picture.sections),
        "names": {section.ordinal: section.name for section in picture.sections},
        "said": wording_for(visitor.language).said,
        "source": await app.store.sources.by_id(run.source_id or 0),
        "briefing": f"/briefings/now?source={quote(run.source)}&days=1",
        "since": max(0, picture.told - _SHOWN_AGAIN),
        "timezone": app.settings.timezone,
        "vocabularies": _VOCABULARIES,
        "is_nobody_at_work": run.status is RunStatus.QUEUED and not await app.sweeps.is_served(),
    }


def _status(text: str) -> RunStatus | None:
    return RunStatus(text) if text in set(RunStatus) else None


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _day(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
