"""Research: asking, the history, and one research: live while it goes on, and the same page afterwards."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

from fastapi import APIRouter, Form, Query, Request, Response
from markupsafe import Markup
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.db.tables.research import Research, ResearchStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.registry import REPORT_FORMATS
from monitor.i18n.catalogue import get_words
from monitor.i18n.message import Message
from monitor.research.appendix import draw_blueprint, translate_relationship_type
from monitor.research.document import SECTION_BY_RULE, find_gaps
from monitor.research.node import NO_MODEL_FAILURE
from monitor.research.shapes import ModelBlueprint, PlanParagraph, ResearchNote, ResearchOptions, SearchConfig, StepType
from monitor.research.state import ParagraphState, SearchRound, State
from monitor.services.audit import AuditAction
from monitor.services.research.views import ResearchView
from monitor.services.runs import PhaseState
from monitor.vocabulary import Visibility
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor
from monitor.web.api.events import TaskId
from monitor.web.api.research import NoteIndex, ResearchOptionsSchema
from monitor.web.auth import RUN_SCOPE, AppDep, Editor, Principal, Reader, record_token_read
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import FilterText, FormFlag, FormText, PageRenderer, Renderer
from monitor.web.ui.research_report import build_exchange_view, build_report_view, list_source_headings
from monitor.web.ui.schedules import parse_schedule_fields

_PAGE_SIZE = 20
_VOCABULARIES = {"tools": "research_tool", "steps": "research_step", "states": "phase_state"}
"""The words that the script needs for the events of a research."""

_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
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
    query: FormText = "",
    review_plan: FormFlag = False,
    is_open: FormFlag = False,
    options: Annotated[str, Form(max_length=4000)] = "",
) -> Response:
    """Begin a research, and show it; `options` is the object of the settings panel, empty without scripts."""
    try:
        chosen = _parse_options(options).model_copy(update={"review_plan": review_plan})
        task_id = await app.research.enqueue(
            query,
            config=SearchConfig(),
            options=chosen,
            visibility=Visibility.OPEN if is_open else Visibility.PRIVATE,
            by=principal,
        )
    except UsageError as error:
        return await _render_list(
            app, renderer, principal, asked=query, review_plan=review_plan, is_open=is_open, trouble=error.message
        )
    return renderer.redirect(f"/research/{task_id}")


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
        is_served=await app.research.has_worker(),
        panel=_build_settings_panel(app),
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
async def show(app: AppDep, renderer: Renderer, principal: Reader, task_id: TaskId) -> Response:
    research = await app.research.load_readable(task_id, by=principal)
    if research.parent_id is not None:
        return renderer.redirect(f"/research/{research.parent_id}#question-{task_id}")
    context = await _load_context(app, renderer, principal, task_id)
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
        "research/note.html", page=page, view=view, note=view.notes[note_index], note_index=note_index, quote=quote
    )


async def _load_context(app: App, renderer: PageRenderer, principal: Principal, task_id: str) -> dict[str, Any]:
    """Load what the page of a research shows; raise `NotFound` where there is none of that id."""
    view = await app.research.get(task_id, by=principal)
    row = await app.research.load_readable(task_id, by=principal)
    state = await app.research.load_state(task_id, by=principal)
    asked = await app.research.list_follow_ups(task_id, by=principal)
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
        "report": build_report_view(view, renderer.href(f"/research/{task_id}/notes"), editions.news),
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


@router.post("/{task_id}/cancel", dependencies=[RUN_SCOPE])
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


def list_reasons(reasons: Iterable[Message]) -> list[Message]:
    """Return each reason once, in order, without that there is no model: the page says so above."""
    shown: list[Message] = []
    for reason in map(_unwrap, reasons):
        if reason != NO_MODEL_FAILURE and reason not in shown:
            shown.append(reason)
    return shown


def _unwrap(reason: Message) -> Message:
    """Return the reason itself, without the node that it is about."""
    inner = reason.args.get("reason" if reason.code == "research.fallback" else "problem")
    is_wrapper = reason.code in ("research.fallback", "research.correction")
    return inner if is_wrapper and isinstance(inner, Message) else reason


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


@dataclass(frozen=True)
class StepView:
    """A step; `done` of `total` counts paragraphs. `is_by_rule`: a rule did the model's work, for these `reasons`."""

    step: StepType
    state: PhaseState
    done: int | None = None
    total: int | None = None
    seconds: float | None = None
    is_by_rule: bool = False
    reasons: tuple[Message, ...] = ()


@dataclass(frozen=True)
class SearchView:
    """One search of a paragraph, and how many results of it were taken up; None while it is under way."""

    round: SearchRound
    results: int | None


@dataclass(frozen=True)
class ParagraphView:
    """A paragraph with its searches; `node` is what is being done for it."""

    paragraph: ParagraphState
    node: str
    searches: list[SearchView]


def build_step_views(row: Research, state: State | None) -> list[StepView]:
    order = list(StepType)
    at = next((place for place, step in enumerate(order) if str(step) not in row.outputs), len(order))
    views = []
    for place, step in enumerate(order):
        output = row.outputs.get(str(step), {}).get("told", {})
        done, total = None, None
        if step is StepType.DEEP_SEARCH and state is not None and place <= at:
            done, total = sum(paragraph.is_complete for paragraph in state.paragraphs), len(state.paragraphs)
        views.append(
            StepView(
                step,
                _get_step_state(row.status, place, at),
                done,
                total,
                seconds=output.get("durationMs", 0) / 1000 or None,
                is_by_rule=bool(output.get("isFallback")),
                reasons=_list_reasons(output),
            )
        )
    return views


def _list_reasons(metadata: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the reasons of a step's fallback; those of an earlier version are one sentence."""
    if stored := metadata.get("reasonMessage"):
        reason = Message.from_json(stored)
        return tuple(reason.args["reasons"]) if reason.code == "research.reasons" else (reason,)
    return (Message.other(metadata["reason"]),) if metadata.get("reason") else ()


def _get_step_state(status: ResearchStatus, place: int, at: int) -> PhaseState:
    if place < at:
        return PhaseState.DONE
    if status.is_final:
        return PhaseState.STOPPED if place == at else PhaseState.NOT_REACHED
    return PhaseState.NOW if place == at and status is ResearchStatus.RUNNING else PhaseState.WAITING


def build_paragraph_views(row: Research, state: State | None) -> list[ParagraphView]:
    views = []
    for paragraph in state.paragraphs if state else []:
        taken = Counter(entry.query_id for entry in paragraph.research.search_history)
        searches = [
            SearchView(search, taken[search.query_id] if search.is_searched else None)
            for search in paragraph.research.rounds
        ]
        views.append(ParagraphView(paragraph, _get_current_node(row.status, paragraph), searches))
    return views


def _get_current_node(status: ResearchStatus, paragraph: ParagraphState) -> str:
    """Return what is done for a paragraph now, in the words of the event stream."""
    if paragraph.research.is_completed:
        return "done"
    if status.is_final:
        return "stopped"
    if not paragraph.research.rounds:
        return "waiting"
    last = paragraph.research.rounds[-1]
    if last.is_summarised:
        return "reflection"
    if last.is_searched:
        return "reflection_summary" if last.number else "first_summary"
    return "reading"


def list_warnings(view: ResearchView) -> list[Message]:
    """Return the warnings about the whole; those about a paragraph's searches stand beside these.

    Of a report, the sections without an answer are named apart (`find_gaps`).
    """
    count = len(view.plan.metadata.paragraphs) if view.plan else 0
    by_rule = [warning.args["title"] for warning in view.warnings if warning.code == SECTION_BY_RULE]
    said = (SECTION_BY_RULE, _IN_PARAGRAPH, *([_NOTHING_FOUND] if view.report else []))
    whole = [warning for warning in view.warnings if warning.code not in said]
    # Where all sections were written by rule, the report says so itself.
    return [*whole, Message(SECTION_BY_RULE, {"title": by_rule})] if 0 < len(by_rule) < count else whole


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
