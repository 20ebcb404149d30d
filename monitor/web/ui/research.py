"""Research: asking, the history, and one research: live while it goes on, and the same page afterwards."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from fastapi import APIRouter, Form, Query, Request, Response
from markupsafe import Markup
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.registry import REPORT_FORMATS
from monitor.i18n.catalogue import get_words
from monitor.i18n.message import Message
from monitor.research.appendix import draw_blueprint, translate_relationship_type
from monitor.research.document import find_gaps
from monitor.research.report_edit import list_source_headings
from monitor.research.shapes import ModelBlueprint, PlanParagraph, ResearchNote, ResearchOptions, SearchConfig, StepType
from monitor.research.state import State
from monitor.search.registry import ARCHIVE_ONLY_WARNING
from monitor.services.audit import AuditAction
from monitor.services.cursors import cut_page, decode_cursor
from monitor.vocabulary import Visibility
from monitor.web.api.cursors import build_next_url
from monitor.web.api.events import TaskId
from monitor.web.api.research import (
    NoteIndex,
    ReportTextChoice,
    ResearchOptionsSchema,
    SearchConfigSchema,
    read_uploads,
)
from monitor.web.auth import RUN_SCOPE, STOP_SCOPE, AppDep, Editor, Principal, Reader, record_token_read
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import FilterText, FormFlag, FormText, PageRenderer, Renderer
from monitor.web.ui.research_progress import build_paragraph_views, build_step_views, list_reasons, list_warnings
from monitor.web.ui.research_report import build_exchange_view, build_report_view
from monitor.web.ui.schedules import parse_schedule_fields

_PAGE_SIZE = 20
_VOCABULARIES = {"tools": "research_tool", "steps": "research_step", "states": "phase_state"}
"""The words that the script needs for the events of a research."""

_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_WISHES = ("engine", "max_results", "timeout_s")
"""The fields of the form that are wishes for the search."""

Cursor = Annotated[str, Query(max_length=400)]
QuoteIndex = Annotated[int, Query(ge=0, le=2**31 - 1)]

_ACTION_PATTERN = re.compile(r"(up|down|remove)-(\d{1,3})")
_IN_PARAGRAPH, _NOTHING_FOUND = "research.paragraph_problem", "research.nothing_found"

router = APIRouter(prefix="/research")


@router.get("")
async def researches(
    app: AppDep, renderer: Renderer, principal: Reader, q: FilterText = "", cursor: Cursor = ""
) -> Response:
    return await _render_list(app, renderer, principal, q=q, cursor=cursor)


@router.post("", dependencies=[RUN_SCOPE])
async def ask(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    request: Request,
    query: FormText = "",
    review_plan: FormFlag = False,
    is_open: FormFlag = False,
    options: Annotated[str, Form(max_length=4000)] = "",
    team: FormText = "",
) -> Response:
    """Begin a research, and show it; `options` is the object of the settings panel, empty without scripts."""
    form = await request.form()
    wishes = {name: [str(value) for value in form.getlist(name)] for name in _WISHES}
    try:
        files = await read_uploads(form, app.settings.research)
        chosen = _parse_options(options).model_copy(update={"review_plan": review_plan})
        task_id = await app.research.enqueue(
            query,
            config=_parse_wishes(wishes),
            options=chosen,
            visibility=Visibility.OPEN if is_open else Visibility.PRIVATE,
            team_id=await app.teams.resolve(team, principal),
            by=principal,
            files=files,
        )
    except UsageError as error:
        return await _render_list(
            app,
            renderer,
            principal,
            asked=query,
            review_plan=review_plan,
            is_open=is_open,
            wishes=wishes,
            trouble=error.message,
        )
    return renderer.redirect(f"/research/{task_id}")


def _parse_wishes(wishes: Mapping[str, Sequence[str]]) -> SearchConfig:
    """Return what was wished for the search: what is left empty is as the service has it."""
    max_results, timeout_s = ("".join(wishes[name][:1]).strip() for name in ("max_results", "timeout_s"))
    given = {"engines": wishes["engine"], "maxResults": max_results or None}
    try:
        return SearchConfigSchema.model_validate(given | {"timeoutMs": f"{timeout_s}000" if timeout_s else None})
    except ValidationError as error:
        raise UsageError("research.wrong_options", reason=describe_invalid_fields(error)) from error


def _parse_options(given: str) -> ResearchOptions:
    try:
        return ResearchOptionsSchema.model_validate_json(given) if given else ResearchOptions()
    except ValidationError as error:
        raise UsageError("research.wrong_options", reason=describe_invalid_fields(error)) from error


async def _render_list(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    *,
    q: str = "",
    cursor: str = "",
    asked: str = "",
    review_plan: bool = True,
    is_open: bool = False,
    wishes: Mapping[str, Sequence[str]] | None = None,
    trouble: Message | None = None,
) -> Response:
    after = decode_cursor(cursor, dt.datetime, str)
    found = await app.research.list(by=principal, after=after, text=q.strip(), limit=_PAGE_SIZE + 1)
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
        is_open=is_open,
        wishes=wishes or dict.fromkeys(_WISHES, ()),
        engines=app.search.list_engines() if principal.is_editor else [],
        is_served=await app.research.has_worker(),
        panel=_build_settings_panel(app),
        limits=app.settings.research,
        offered=app.models.list_offered_models() if principal.is_editor else [],
        is_moving=any(row.status in _ACTIVE_STATUSES for row in rows),
        is_by_rule=not app.settings.llm.is_on,
        is_without_search=set(app.settings.search.backend_names) <= {"stub", "archive"},
    )


def _build_settings_panel(app: App) -> dict[str, Any]:
    """Return the service's settings for a research, in the shape of the settings panel."""
    llm = app.settings.llm
    return {
        "enabled": llm.is_on,
        "models": {name: llm.models.get(name, llm.model) for name in ("search", "modeling", "report")},
        "sampling": {"temperature": llm.temperature, "topP": llm.top_p},
    }


@router.get("/{task_id}")
async def show(
    app: AppDep, renderer: Renderer, principal: Reader, task_id: TaskId, text: ReportTextChoice = "edited"
) -> Response:
    """Show a research; `text` chooses the edited or the verified text of its report."""
    research = await app.research.load_readable(task_id, by=principal)
    if research.parent_id is not None:
        return renderer.redirect(f"/research/{research.parent_id}#question-{task_id}")
    context = await _load_context(app, renderer, principal, task_id, is_verified=text == "verified")
    await record_token_read(app, principal, AuditAction.RESEARCH_READ, task_id)
    return renderer.render("research/show.html", **context)


@router.post("/{task_id}/questions", dependencies=[RUN_SCOPE])
async def ask_about(
    app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId, question: FormText = ""
) -> Response:
    """Ask a question about a finished report; its answer comes to the page of the report."""
    try:
        asked = await app.research.ask(task_id, question, by=principal)
    except (UsageError, Conflict) as error:
        context = await _load_context(app, renderer, principal, task_id)
        context |= {"question_trouble": error.message, "typed_question": question}
        return renderer.render("research/show.html", status=400, **context)
    return renderer.redirect(f"/research/{task_id}#question-{asked}")


@router.get("/{task_id}/notes/{note_index}")
async def note(
    app: AppDep, renderer: Renderer, principal: Reader, task_id: TaskId, note_index: NoteIndex, quote: QuoteIndex = 0
) -> Response:
    page = await app.research.get_note_snapshot(task_id, note_index, quote, by=principal)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, task_id)
    view = await app.research.get(task_id, by=principal)
    return renderer.render(
        "research/note.html",
        page=page,
        view=view,
        note=view.notes[note_index],
        note_index=note_index,
        quote=quote,
        own_document=view.bases[note_index].document,
    )


async def _load_context(
    app: App, renderer: PageRenderer, principal: Principal, task_id: str, *, is_verified: bool = False
) -> dict[str, Any]:
    """Load what the page of a research shows; raise `NotFound` where there is none of that id."""
    view = await app.research.get(task_id, by=principal)
    row = await app.research.load_readable(task_id, by=principal)
    state = await app.research.load_state(task_id, by=principal)
    asked = await app.research.list_follow_ups(task_id, by=principal)
    edited = await app.research.find_edited(row)
    shown = None if is_verified else edited
    read = view
    if shown is not None and view.report is not None:
        read = view.model_copy(update={"report": shown.replace_in(view.report, view.language)})
    editions = await app.research.list_editions(task_id, by=principal)
    title = renderer.gettext("Model of the topic")
    words = {name: dict(get_words(renderer.language, kind)) for name, kind in _VOCABULARIES.items()}
    return {
        "view": view,
        "steps": build_step_views(row, state),
        "paragraphs": build_paragraph_views(row, state),
        "is_searching": not view.status.is_final and str(StepType.DEEP_SEARCH) not in row.outputs,
        "plan_form": build_plan_form(state),
        "topics": group_notes_by_topic(view.notes),
        "documents": await app.research.list_documents(task_id, by=principal),
        "report": build_report_view(read, renderer.href(f"/research/{task_id}/notes"), editions.news),
        "is_edited": shown is not None,
        "is_edited_hidden": edited is not None and shown is None,
        "series": editions,
        "has_plan": str(StepType.PLAN) in row.outputs,
        "conversation": [
            build_exchange_view(entry, renderer.href(f"/research/{entry.task_id}/notes")) for entry in asked
        ],
        "is_answering": any(not entry.status.is_final for entry in asked),
        "graph": render_graph(view.blueprint, view.language, title),
        "relation": translate_relationship_type,
        "remarks": await app.research.list_remarks(task_id, by=principal),
        "is_own": principal.is_editor and row.asked_by == principal.owner,
        "warnings": list_warnings(view),
        "archive_only": ARCHIVE_ONLY_WARNING,
        "gaps": find_gaps(view.report, renderer.language) if view.report else None,
        "why": list_reasons,
        "words": {**words, "end": list_source_headings()},
        "formats": REPORT_FORMATS,
        "is_nobody_at_work": view.status is ResearchStatus.QUEUED and not await app.research.has_worker(),
        "most_paragraphs": app.settings.research.max_paragraphs,
        "trouble": None,
        "schedule_trouble": None,
        "question_trouble": None,
        "typed_question": "",
    }


@router.post("/{task_id}/plan", dependencies=[RUN_SCOPE])
async def plan(app: AppDep, renderer: Renderer, request: Request, principal: Editor, task_id: TaskId) -> Response:
    """Put the plan's paragraphs in order, or begin the search by it."""
    form = PlanForm.parse(await request.form())
    facts = await _load_context(app, renderer, principal, task_id)
    if facts["view"].status is not ResearchStatus.AWAITING_PLAN:
        return renderer.redirect(f"/research/{task_id}", notice="research_plan_over")
    trouble = None
    if form.do == "start":
        try:
            await app.research.approve(task_id, form.title, form.paragraphs, by=principal)
        except UsageError as error:
            trouble = error.message
        else:
            return renderer.redirect(f"/research/{task_id}")
    context = {**facts, "plan_form": rearrange_plan(form, max_paragraphs=facts["most_paragraphs"]), "trouble": trouble}
    return renderer.render("research/show.html", status=400 if trouble else 200, **context)


@router.post("/{task_id}/remarks")
async def remark(app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId, text: FormText = "") -> Response:
    try:
        await app.research.add_remark(task_id, text, by=principal)
    except Conflict:
        return renderer.redirect(f"/research/{task_id}", notice="research_over")
    return renderer.redirect(f"/research/{task_id}", notice="remark_kept")


@router.post("/{task_id}/cancel", dependencies=[STOP_SCOPE])
async def cancel(app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId) -> Response:
    try:
        await app.research.cancel(task_id, by=principal)
    except Conflict:
        return renderer.redirect(f"/research/{task_id}", notice="research_over")
    return renderer.redirect(f"/research/{task_id}", notice="research_stopping")


@router.post("/{task_id}/schedule", dependencies=[RUN_SCOPE])
async def schedule(app: AppDep, renderer: Renderer, request: Request, principal: Editor, task_id: TaskId) -> Response:
    """Have the research done again by what was picked; `off` stops that."""
    chosen = parse_schedule_fields(await request.form()) or ""
    try:
        await app.research.schedule(task_id, chosen, by=principal)
    except (UsageError, Conflict) as error:
        context = await _load_context(app, renderer, principal, task_id) | {"schedule_trouble": error.message}
        return renderer.render("research/show.html", status=400, **context)
    return renderer.redirect(f"/research/{task_id}", notice="saved")


@router.post("/{task_id}/share")
async def share(
    app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId, is_open: FormFlag = False
) -> Response:
    visibility = Visibility.OPEN if is_open else Visibility.PRIVATE
    await app.research.share(task_id, visibility, by=principal)
    return renderer.redirect(f"/research/{task_id}", notice=f"research_{visibility}")


@router.post("/{task_id}/delete")
async def delete(app: AppDep, renderer: Renderer, principal: Editor, task_id: TaskId) -> Response:
    await app.research.delete(task_id, by=principal)
    return renderer.redirect("/research", notice="research_deleted")


@dataclass(frozen=True)
class PlanForm:
    """A plan as it is typed; `do` is what was pressed, `focus` the paragraph that it was about, counted from 0."""

    title: str
    paragraphs: list[PlanParagraph]
    do: str = ""
    focus: int | None = None

    @classmethod
    def parse(cls, form: FormData) -> Self:
        titles, contents = (
            [str(value).replace("\r\n", "\n").strip() for value in form.getlist(name)]
            for name in ("paragraph_title", "paragraph_content")
        )
        typed = zip(titles, contents, strict=False)
        paragraphs = [PlanParagraph(title=title, content=content) for title, content in typed]
        return cls(str(form.get("title", "")).strip(), paragraphs, str(form.get("do", "")))


def rearrange_plan(form: PlanForm, *, max_paragraphs: int) -> PlanForm:
    """Return the plan with a paragraph moved or removed, or an empty one added, as `do` says."""
    paragraphs = list(form.paragraphs)
    if form.do == "add" and len(paragraphs) < max_paragraphs:
        return replace(form, paragraphs=[*paragraphs, PlanParagraph(title="", content="")], focus=len(paragraphs))
    match = _ACTION_PATTERN.fullmatch(form.do)
    if match is None or int(match[2]) >= len(paragraphs):
        return form
    at = int(match[2])
    if match[1] == "remove":
        del paragraphs[at]
        return replace(form, paragraphs=paragraphs, focus=min(at, len(paragraphs) - 1))
    to = min(max(at + (1 if match[1] == "down" else -1), 0), len(paragraphs) - 1)
    paragraphs.insert(to, paragraphs.pop(at))
    return replace(form, paragraphs=paragraphs, focus=to)


def build_plan_form(state: State | None) -> PlanForm:
    if state is None:
        return PlanForm("", [])
    paragraphs = [PlanParagraph(title=paragraph.title, content=paragraph.content) for paragraph in state.paragraphs]
    return PlanForm(state.report_title, paragraphs)


def group_notes_by_topic(notes: Sequence[ResearchNote]) -> list[tuple[str, list[tuple[int, ResearchNote]]]]:
    topics: dict[str, list[tuple[int, ResearchNote]]] = {}
    for place, note in enumerate(notes):
        topics.setdefault(note.topic, []).append((place, note))
    return list(topics.items())


def render_graph(blueprint: ModelBlueprint | None, language: str, title: str) -> Markup:
    """Draw the model of the topic; empty where it has no relationships."""
    if blueprint is None or not blueprint.relationships:
        return Markup()
    return Markup(draw_blueprint(blueprint, title=title, language=language))  # noqa: S704 -- every text is escaped
