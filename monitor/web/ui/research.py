"""Research: asking, the history, and one research: live while it goes on, and the same page afterwards."""

import datetime as dt
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.registry import REPORT_FORMATS
from monitor.i18n.catalogue import get_words
from monitor.i18n.message import Message
from monitor.research.appendix import translate_relationship_type
from monitor.research.shapes import ResearchOptions, SearchConfig, StepType
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor
from monitor.web.api.events import TaskId
from monitor.web.api.research import NoteIndex, ResearchOptionsSchema
from monitor.web.auth import RUN_SCOPE, AppDep, Editor, Reader
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import FormText, PageRenderer, Renderer
from monitor.web.ui.research_view import (
    SOURCE_HEADINGS,
    PlanForm,
    build_paragraph_views,
    build_plan_form,
    build_report_view,
    build_step_views,
    group_notes_by_topic,
    list_reasons,
    list_warnings,
    rearrange_plan,
    render_graph,
)

_PAGE_SIZE = 20
_VOCABULARIES = {"tools": "research_tool", "steps": "research_step", "states": "phase_state"}
"""The words that the script needs for the events of a research."""

_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
Cursor = Annotated[str, Query(max_length=400)]
QueryText = Annotated[str, Query(max_length=200)]

router = APIRouter(prefix="/research")


@router.get("")
async def researches(
    app: AppDep, renderer: Renderer, _: Reader, q: QueryText = "", cursor: Cursor = ""
) -> HTMLResponse:
    return await _render_list(app, renderer, q=q, cursor=cursor)


@router.post("", dependencies=[RUN_SCOPE])
async def ask(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    query: FormText = "",
    review_plan: Annotated[bool, Form()] = False,
    options: Annotated[str, Form(max_length=4000)] = "",
) -> Response:
    """Begin a research, and show it; `options` is the object of the settings panel, empty without scripts."""
    try:
        chosen = _parse_options(options).model_copy(update={"review_plan": review_plan})
        task_id = await app.research.enqueue(query, config=SearchConfig(), options=chosen, by=principal.actor)
    except UsageError as error:
        return await _render_list(app, renderer, asked=query, review_plan=review_plan, trouble=error.message)
    return renderer.redirect(f"/research/{task_id}")


def _parse_options(given: str) -> ResearchOptions:
    try:
        return ResearchOptionsSchema.model_validate_json(given) if given else ResearchOptions()
    except ValidationError as error:
        raise UsageError("research.wrong_options", reason=describe_invalid_fields(error)) from error


async def _render_list(
    app: App,
    renderer: PageRenderer,
    *,
    q: str = "",
    cursor: str = "",
    asked: str = "",
    review_plan: bool = True,
    trouble: Message | None = None,
) -> HTMLResponse:
    after = decode_cursor(cursor, dt.datetime, str)
    found = await app.research.list(after=after, text=q.strip(), limit=_PAGE_SIZE + 1)
    rows, following = cut_page(found, _PAGE_SIZE, lambda row: (row.created_at, row.task_id))
    return renderer.render(
        "research/list.html",
        status=400 if trouble else 200,
        rows=rows,
        next_url=build_next_url("/research", {"q": q}, following),
        q=q,
        is_first=not cursor,
        asked=asked,
        trouble=trouble,
        review_plan=review_plan,
        is_served=await app.research.has_worker(),
        panel=_build_settings_panel(app),
        is_moving=any(row.status in _ACTIVE_STATUSES for row in rows),
        is_by_rule=not app.settings.llm.is_on,
        is_without_search=set(app.settings.search.backend_names) <= {"stub", "archive"},
    )


def _build_settings_panel(app: App) -> dict[str, Any]:
    """The settings of the service for a research, in the seed's shape: where the settings panel begins."""
    llm = app.settings.llm
    return {
        "enabled": llm.is_on,
        "models": {name: llm.models.get(name, llm.model) for name in ("search", "modeling", "report")},
        "sampling": {"temperature": llm.temperature, "topP": llm.top_p},
    }


@router.get("/{task_id}")
async def show(app: AppDep, renderer: Renderer, _: Reader, task_id: TaskId) -> HTMLResponse:
    return renderer.render("research/show.html", **await _load_context(app, renderer, task_id))


@router.get("/{task_id}/notes/{note_index}")
async def note(
    app: AppDep,
    renderer: Renderer,
    _: Reader,
    task_id: TaskId,
    note_index: NoteIndex,
    quote: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> HTMLResponse:
    page = await app.research.get_note_snapshot(task_id, note_index, quote)
    view = await app.research.get(task_id)
    return renderer.render(
        "research/note.html", page=page, view=view, note=view.notes[note_index], note_index=note_index, quote=quote
    )


async def _load_context(app: App, renderer: PageRenderer, task_id: str) -> dict[str, Any]:
    """Load what the page of a research shows; raise `NotFound` where there is none of that id."""
    view = await app.research.get(task_id)
    row = await app.research.load_research(task_id)
    state = await app.research.load_state(task_id)
    title = renderer.gettext("Model of the topic")
    words = {name: dict(get_words(renderer.language, kind)) for name, kind in _VOCABULARIES.items()}
    return {
        "view": view,
        "steps": build_step_views(row, state),
        "paragraphs": build_paragraph_views(row, state),
        "is_searching": not view.status.is_final and str(StepType.DEEP_SEARCH) not in row.outputs,
        "plan_form": build_plan_form(state),
        "topics": group_notes_by_topic(view.notes),
        "report": build_report_view(view, renderer.href(f"/research/{task_id}/notes")),
        "graph": render_graph(view.blueprint, view.language, title),
        "relation": translate_relationship_type,
        "remarks": await app.research.list_remarks(task_id),
        "warnings": list_warnings(view),
        "why": list_reasons,
        "words": {**words, "end": SOURCE_HEADINGS},
        "formats": REPORT_FORMATS,
        "is_nobody_at_work": view.status is ResearchStatus.QUEUED and not await app.research.has_worker(),
        "most_paragraphs": app.settings.research.max_paragraphs,
        "trouble": None,
    }


@router.post("/{task_id}/plan", dependencies=[RUN_SCOPE])
async def plan(app: AppDep, renderer: Renderer, request: Request, principal: Editor, task_id: TaskId) -> Response:
    """Put the plan's paragraphs in order, or begin the search by it."""
    form = PlanForm.parse(await request.form())
    facts = await _load_context(app, renderer, task_id)
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
    return renderer.render("research/show.html", status=400 if trouble else 200, **context)


@router.post("/{task_id}/remarks")
async def remark(
    app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId, text: FormText = ""
) -> RedirectResponse:
    try:
        await app.research.add_remark(task_id, text, by=principal.actor)
    except Conflict:
        return renderer.redirect(f"/research/{task_id}", notice="research_over")
    return renderer.redirect(f"/research/{task_id}", notice="remark_kept")


@router.post("/{task_id}/cancel", dependencies=[RUN_SCOPE])
async def cancel(app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId) -> RedirectResponse:
    try:
        await app.research.cancel(task_id, by=principal.actor)
    except Conflict:
        return renderer.redirect(f"/research/{task_id}", notice="research_over")
    return renderer.redirect(f"/research/{task_id}", notice="research_stopping")
