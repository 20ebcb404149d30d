"""Research: asking, the history, and one research: live while it goes on, and the same page afterwards."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.briefing.words import get_briefing_messages
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.registry import REPORT_FORMATS
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.web.api.cursors import decode_instant_cursor, encode_cursor
from monitor.web.api.events import TaskId
from monitor.web.api.research import ResearchOptionsSchema
from monitor.web.auth import Editor, Principal, Reader, require_scope
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


def _add_index_routes(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    @routes.get("")
    async def researches(request: Request, visitor: Reader, q: QueryText = "", cursor: Cursor = "") -> HTMLResponse:
        """The form for a question, and the history, latest first."""
        return look.render_page(
            request,
            visitor,
            "research/list.html",
            section=_SECTION,
            **await _load_list_context(app, q=q, cursor=cursor),
        )

    @routes.post("", dependencies=_RUN_SCOPE)
    async def ask(
        request: Request,
        visitor: Editor,
        query: Annotated[str, Form()] = "",
        review_plan: Annotated[bool, Form()] = False,
        options: Annotated[str, Form(max_length=4000)] = "",
    ) -> Response:
        """Begin a research, and show it; `options` is the object of the settings panel, empty without scripts."""
        try:
            chosen = _parse_options(options).model_copy(update={"review_plan": review_plan})
            task_id = await app.research.enqueue(query, config=SearchConfig(), options=chosen, by=visitor.name)
        except UsageError as error:
            front = await _load_list_context(app, asked=query, review_plan=review_plan, trouble=str(error))
            return look.render_page(request, visitor, "research/list.html", section=_SECTION, status=400, **front)
        await app.audit.record(visitor.name, "research.start", task_id, query=query)
        return look.redirect(f"/research/{task_id}")


def _parse_options(given: str) -> ResearchOptions:
    try:
        return ResearchOptionsSchema.model_validate_json(given) if given else ResearchOptions()
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise UsageError(
            f"The settings of the research are not understood ({place}): open them and save again."
        ) from error


async def _load_list_context(
    app: App, *, q: str = "", cursor: str = "", asked: str = "", review_plan: bool = True, trouble: str = ""
) -> dict[str, Any]:
    """All that the first page of research is made of."""
    found = await app.research.list(after=decode_instant_cursor(cursor or None), text=q.strip(), limit=_PAGE_SIZE + 1)
    rows, following = found[:_PAGE_SIZE], None
    if len(found) > _PAGE_SIZE:
        goes_on = {"q": q, "cursor": encode_cursor(rows[-1].created_at.isoformat(), rows[-1].task_id)}
        following = f"/research?{urlencode({name: value for name, value in goes_on.items() if value})}"
    return {
        "rows": rows,
        "next_url": following,
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


def _add_detail_routes(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    @routes.get("/{task_id}")
    async def show(request: Request, visitor: Reader, task_id: TaskId) -> HTMLResponse:
        return look.render_page(
            request, visitor, "research/show.html", section=_SECTION, **await _load_context(app, look, visitor, task_id)
        )

    @routes.get("/{task_id}/notes/{note_index}")
    async def note(
        request: Request,
        visitor: Reader,
        task_id: TaskId,
        note_index: Annotated[int, Path(ge=0, le=2**31 - 1)],
        quote: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    ) -> HTMLResponse:
        """The saved page that a note rests on, as plain text, with the passage marked."""
        page = await app.research.get_note_snapshot(task_id, note_index, quote)
        view = await app.research.get(task_id)
        return look.render_page(
            request,
            visitor,
            "research/note.html",
            section=_SECTION,
            page=page,
            view=view,
            note=view.notes[note_index],
            note_index=note_index,
            quote=quote,
        )


async def _load_context(app: App, look: TemplateRenderer, visitor: Principal, task_id: str) -> dict[str, Any]:
    """All that the page of a research is made of."""
    facts = await load_research_context(
        app, task_id, visitor.language, notes_url=look.href(f"/research/{task_id}/notes")
    )
    return {
        **facts,
        "said": get_briefing_messages(visitor.language).translate,
        "formats": REPORT_FORMATS,
        "is_nobody_at_work": facts["view"].status is ResearchStatus.QUEUED and not await app.research.has_worker(),
        "most_paragraphs": app.settings.research.max_paragraphs,
        "trouble": "",
    }


def _add_action_routes(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    @routes.post("/{task_id}/plan", dependencies=_RUN_SCOPE)
    async def plan(request: Request, visitor: Editor, task_id: TaskId) -> Response:
        """Put the plan's paragraphs in order, or begin the search by it."""
        form = PlanForm.parse(await request.form())
        facts = await _load_context(app, look, visitor, task_id)
        if facts["view"].status is not ResearchStatus.AWAITING_PLAN:
            return look.redirect(f"/research/{task_id}", notice="research_plan_over")
        trouble = ""
        if form.do == "start":
            try:
                await app.research.approve(task_id, form.title, form.paragraphs, visitor.name)
            except UsageError as error:
                trouble = str(error)
            else:
                await app.audit.record(
                    visitor.name,
                    "research.plan",
                    task_id,
                    paragraphs=[paragraph.title for paragraph in form.paragraphs],
                )
                return look.redirect(f"/research/{task_id}")
        changed = rearrange_plan(form, max_paragraphs=app.settings.research.max_paragraphs)
        context = {**facts, "plan_form": changed, "trouble": trouble}
        return look.render_page(
            request, visitor, "research/show.html", section=_SECTION, status=400 if trouble else 200, **context
        )

    @routes.post("/{task_id}/remarks")
    async def remark(visitor: Editor, task_id: TaskId, text: Annotated[str, Form()] = "") -> RedirectResponse:
        """Say something to a research that is under way."""
        try:
            await app.research.add_remark(task_id, text, visitor.name)
        except Conflict:
            return look.redirect(f"/research/{task_id}", notice="research_over")
        await app.audit.record(visitor.name, "research.remark", task_id, text=text)
        return look.redirect(f"/research/{task_id}", notice="remark_kept")

    @routes.post("/{task_id}/cancel", dependencies=_RUN_SCOPE)
    async def cancel(visitor: Editor, task_id: TaskId) -> RedirectResponse:
        """Ask the research to stop, and show it."""
        try:
            await app.research.cancel(task_id, visitor.name)
        except Conflict:
            return look.redirect(f"/research/{task_id}", notice="research_over")
        await app.audit.record(visitor.name, "research.cancel", task_id)
        return look.redirect(f"/research/{task_id}", notice="research_stopping")
