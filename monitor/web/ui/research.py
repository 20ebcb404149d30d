"""Research: asking, the history, and one research: live while it goes on, and the same page afterwards."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.registry import REPORT_FORMATS
from monitor.i18n.message import Message
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor
from monitor.web.api.events import TaskId
from monitor.web.api.research import ResearchOptionsSchema
from monitor.web.auth import Editor, Principal, Reader, require_scope
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import TemplateRenderer
from monitor.web.ui.research_view import PlanForm, load_research_context, rearrange_plan

_PAGE_SIZE = 20
_SECTION = "research"
_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_RUN_SCOPE = [Depends(require_scope("run"))]
Cursor = Annotated[str, Query(max_length=400)]
QueryText = Annotated[str, Query(max_length=200)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/research` and what lies beneath it."""
    routes = APIRouter(prefix="/research")
    _add_index_routes(routes, app, renderer)
    _add_detail_routes(routes, app, renderer)
    _add_action_routes(routes, app, renderer)
    return routes


def _add_index_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("")
    async def researches(request: Request, principal: Reader, q: QueryText = "", cursor: Cursor = "") -> HTMLResponse:
        """The form for a question, and the history, latest first."""
        return renderer.render_page(
            request,
            principal,
            "research/list.html",
            section=_SECTION,
            **await _load_list_context(app, q=q, cursor=cursor),
        )

    @routes.post("", dependencies=_RUN_SCOPE)
    async def ask(
        request: Request,
        principal: Editor,
        query: Annotated[str, Form()] = "",
        review_plan: Annotated[bool, Form()] = False,
        options: Annotated[str, Form(max_length=4000)] = "",
    ) -> Response:
        """Begin a research, and show it; `options` is the object of the settings panel, empty without scripts."""
        try:
            chosen = _parse_options(options).model_copy(update={"review_plan": review_plan})
            task_id = await app.research.enqueue(query, config=SearchConfig(), options=chosen, by=principal.actor)
        except UsageError as error:
            front = await _load_list_context(app, asked=query, review_plan=review_plan, trouble=error.message)
            return renderer.render_page(request, principal, "research/list.html", section=_SECTION, status=400, **front)
        return renderer.redirect(f"/research/{task_id}")


def _parse_options(given: str) -> ResearchOptions:
    try:
        return ResearchOptionsSchema.model_validate_json(given) if given else ResearchOptions()
    except ValidationError as error:
        raise UsageError("research.wrong_options", reason=describe_invalid_fields(error)) from error


async def _load_list_context(
    app: App,
    *,
    q: str = "",
    cursor: str = "",
    asked: str = "",
    review_plan: bool = True,
    trouble: Message | None = None,
) -> dict[str, Any]:
    """All that the first page of research is made of."""
    after = decode_cursor(cursor, dt.datetime, str)
    found = await app.research.list(after=after, text=q.strip(), limit=_PAGE_SIZE + 1)
    rows, following = cut_page(found, _PAGE_SIZE, lambda row: (row.created_at, row.task_id))
    return {
        "rows": rows,
        "next_url": build_next_url("/research", {"q": q}, following),
        "q": q,
        "is_first": not cursor,
        "asked": asked,
        "trouble": trouble,
        "review_plan": review_plan,
        "is_served": await app.research.has_worker(),
        "panel": _build_settings_panel(app),
        "is_moving": any(row.status in _ACTIVE_STATUSES for row in rows),
        **_get_fallback_modes(app),
    }


def _build_settings_panel(app: App) -> dict[str, Any]:
    """The settings of the service for a research, in the seed's shape: where the settings panel begins."""
    llm = app.settings.llm
    return {
        "enabled": llm.is_on,
        "models": {name: llm.models.get(name, llm.model) for name in ("search", "modeling", "report")},
        "sampling": {"temperature": llm.temperature, "topP": llm.top_p},
    }


def _get_fallback_modes(app: App) -> dict[str, bool]:
    """What works by rule here, for want of a model or of a search service."""
    backends = app.settings.search.backend
    named = {backends} if isinstance(backends, str) else set(backends)
    return {"is_by_rule": not app.settings.llm.is_on, "is_without_search": named <= {"stub", "archive"}}


def _add_detail_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/{task_id}")
    async def show(request: Request, principal: Reader, task_id: TaskId) -> HTMLResponse:
        return renderer.render_page(
            request,
            principal,
            "research/show.html",
            section=_SECTION,
            **await _load_context(app, renderer, principal, task_id),
        )

    @routes.get("/{task_id}/notes/{note_index}")
    async def note(
        request: Request,
        principal: Reader,
        task_id: TaskId,
        note_index: Annotated[int, Path(ge=0, le=2**31 - 1)],
        quote: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    ) -> HTMLResponse:
        """The saved page that a note rests on, as plain text, with the passage marked."""
        page = await app.research.get_note_snapshot(task_id, note_index, quote)
        view = await app.research.get(task_id)
        return renderer.render_page(
            request,
            principal,
            "research/note.html",
            section=_SECTION,
            page=page,
            view=view,
            note=view.notes[note_index],
            note_index=note_index,
            quote=quote,
        )


async def _load_context(app: App, renderer: TemplateRenderer, principal: Principal, task_id: str) -> dict[str, Any]:
    """All that the page of a research is made of."""
    facts = await load_research_context(
        app, task_id, principal.language, notes_url=renderer.href(f"/research/{task_id}/notes")
    )
    return {
        **facts,
        "formats": REPORT_FORMATS,
        "is_nobody_at_work": facts["view"].status is ResearchStatus.QUEUED and not await app.research.has_worker(),
        "most_paragraphs": app.settings.research.max_paragraphs,
        "trouble": None,
    }


def _add_action_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.post("/{task_id}/plan", dependencies=_RUN_SCOPE)
    async def plan(request: Request, principal: Editor, task_id: TaskId) -> Response:
        """Put the plan's paragraphs in order, or begin the search by it."""
        form = PlanForm.parse(await request.form())
        facts = await _load_context(app, renderer, principal, task_id)
        if facts["view"].status is not ResearchStatus.AWAITING_PLAN:
            return renderer.redirect(f"/research/{task_id}", notice="research_plan_over")
        trouble = None
        if form.do == "start":
            try:
                await app.research.approve(task_id, form.title, form.paragraphs, by=principal.actor)
            except UsageError as error:
                trouble = error.message
            else:
                return renderer.redirect(f"/research/{task_id}")
        changed = rearrange_plan(form, max_paragraphs=app.settings.research.max_paragraphs)
        context = {**facts, "plan_form": changed, "trouble": trouble}
        return renderer.render_page(
            request, principal, "research/show.html", section=_SECTION, status=400 if trouble else 200, **context
        )

    @routes.post("/{task_id}/remarks")
    async def remark(principal: Editor, task_id: TaskId, text: Annotated[str, Form()] = "") -> RedirectResponse:
        """Say something to a research that is under way."""
        try:
            await app.research.add_remark(task_id, text, by=principal.actor)
        except Conflict:
            return renderer.redirect(f"/research/{task_id}", notice="research_over")
        return renderer.redirect(f"/research/{task_id}", notice="remark_kept")

    @routes.post("/{task_id}/cancel", dependencies=_RUN_SCOPE)
    async def cancel(principal: Editor, task_id: TaskId) -> RedirectResponse:
        """Ask the research to stop, and show it."""
        try:
            await app.research.cancel(task_id, by=principal.actor)
        except Conflict:
            return renderer.redirect(f"/research/{task_id}", notice="research_over")
        return renderer.redirect(f"/research/{task_id}", notice="research_stopping")
