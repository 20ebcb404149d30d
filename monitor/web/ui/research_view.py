"""What the page of a research shows: its steps, paragraphs, plan form, report, sources and warnings."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from markupsafe import Markup
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.db.tables.research import Research, ResearchStatus
from monitor.exports.document import Block
from monitor.i18n.catalogue import LANGUAGES, get_word, get_words, translate
from monitor.i18n.message import Message
from monitor.research.appendix import APPENDIX_WORDS, draw_blueprint, translate_relationship_type
from monitor.research.document import parse_report_blocks
from monitor.research.findings import NoteBasis
from monitor.research.node import NO_MODEL_FAILURE
from monitor.research.shapes import ModelBlueprint, PlanParagraph, ResearchNote, ResearchReport, StepType
from monitor.research.state import ParagraphState, SearchRound, State
from monitor.services.research.views import ResearchView
from monitor.services.run_report import PhaseState


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


_ACTION_PATTERN = re.compile(r"(up|down|remove)-(\d{1,3})")


@dataclass(frozen=True)
class PlanForm:
    """A plan as it is typed; `do` is what was pressed, `focus` the paragraph that it was about, counted from 0."""

    title: str
    paragraphs: list[PlanParagraph]
    do: str = ""
    focus: int | None = None

    @classmethod
    def parse(cls, form: FormData) -> Self:
        """What was typed; paragraphs in the order in which they stand on the page."""
        titles, contents = (_list_texts(form, name) for name in ("paragraph_title", "paragraph_content"))
        paragraphs = [
            PlanParagraph(title=title, content=content) for title, content in zip(titles, contents, strict=False)
        ]
        return cls(str(form.get("title", "")).strip(), paragraphs, str(form.get("do", "")))


def rearrange_plan(form: PlanForm, *, max_paragraphs: int) -> PlanForm:
    """The plan after what was pressed: a paragraph moved, removed, or an empty one added; at most so many."""
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


def _list_texts(form: FormData, name: str) -> list[str]:
    return [str(value).replace("\r\n", "\n").strip() for value in form.getlist(name)]


_SECTION_BY_RULE, _IN_PARAGRAPH = "research.section_by_rule", "research.paragraph_problem"
_VOCABULARIES = {"tools": "research_tool", "steps": "research_step", "states": "phase_state"}
"""The words that the script needs for what a research tells."""


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


@dataclass(frozen=True)
class SourceView:
    """A page that a report cites, with the numbers under which it does and the places of their notes."""

    title: str
    url: str
    published_on: dt.date | None
    cited: list[tuple[int, int]]


@dataclass(frozen=True)
class ReportView:
    """A report as its page draws it."""

    title: str
    blocks: list[Block]
    sources: list[SourceView]


def build_step_views(row: Research, state: State | None) -> list[StepView]:
    """The steps in their order, each with how it stands."""
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
    """What is done for each paragraph."""
    return [_build_paragraph_view(row, paragraph) for paragraph in (state.paragraphs if state else [])]


def _build_paragraph_view(row: Research, paragraph: ParagraphState) -> ParagraphView:
    taken = Counter(entry.query_id for entry in paragraph.research.search_history)
    searches = [
        SearchView(search, taken[search.query_id] if search.is_searched else None)
        for search in paragraph.research.rounds
    ]
    return ParagraphView(paragraph, _get_current_node(row.status, paragraph), searches)


def _get_current_node(status: ResearchStatus, paragraph: ParagraphState) -> str:
    """What is done for a paragraph now, as the messages of the stream call it."""
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


async def load_research_context(app: App, task_id: str, language: str, *, notes_url: str) -> dict[str, Any]:
    """What the page of a research shows of it; `NotFound` where there is none of that id."""
    view = await app.research.get(task_id)
    row = await app.research.load_research(task_id)
    state = await app.research.load_state(task_id)
    is_searching = not view.status.is_final and str(StepType.DEEP_SEARCH) not in row.outputs
    return {
        "view": view,
        "steps": build_step_views(row, state),
        "paragraphs": build_paragraph_views(row, state),
        "is_searching": is_searching,
        "plan_form": build_plan_form(state),
        "topics": group_notes_by_topic(view.notes),
        "report": build_report_view(view, notes_url),
        "graph": render_graph(view.blueprint, view.language, translate(language, "Model of the topic")),
        "relation": translate_relationship_type,
        "remarks": await app.research.list_remarks(task_id),
        "warnings": list_warnings(view),
        "why": list_reasons,
        "words": {name: dict(get_words(language, kind)) for name, kind in _VOCABULARIES.items()}
        | {"end": list_source_headings()},
    }


def list_source_headings() -> list[str]:
    """Return the headings of a report's sources, in every language: on the page the sources stand beside it."""
    return [f"## {get_word(language, APPENDIX_WORDS, 'sources')}" for language in LANGUAGES]


def list_warnings(view: ResearchView) -> list[Message]:
    """Return the warnings about the whole; those about a paragraph's searches stand beside these."""
    count = len(view.plan.metadata.paragraphs) if view.plan else 0
    by_rule = [warning.args["title"] for warning in view.warnings if warning.code == _SECTION_BY_RULE]
    whole = [warning for warning in view.warnings if warning.code not in (_SECTION_BY_RULE, _IN_PARAGRAPH)]
    # Where all sections were written by rule, the report says so itself.
    return [*whole, Message(_SECTION_BY_RULE, {"title": by_rule})] if 0 < len(by_rule) < count else whole


def build_plan_form(state: State | None) -> PlanForm:
    """The plan as it stands, to be changed."""
    if state is None:
        return PlanForm("", [])
    paragraphs = [PlanParagraph(title=paragraph.title, content=paragraph.content) for paragraph in state.paragraphs]
    return PlanForm(state.report_title, paragraphs)


def build_report_view(view: ResearchView, notes_url: str) -> ReportView | None:
    """The report without the list of its sources, each citation a link to its note's page."""
    if view.report is None:
        return None
    links = [f"{notes_url}/{source.note_index}" for source in view.report.sources]
    lines = view.report.markdown.splitlines()
    headings = list_source_headings()
    end = next((place for place, line in enumerate(lines) if line in headings), len(lines))
    blocks = parse_report_blocks(
        "\n".join(lines[1:end]), lambda number: links[number - 1] if 0 < number <= len(links) else None
    )
    return ReportView(lines[0].removeprefix("# ") if lines else "", blocks, build_source_views(view.report, view.bases))


def build_source_views(report: ResearchReport, bases: Sequence[NoteBasis]) -> list[SourceView]:
    """The pages that a report cites, each once, in the order of their first citation."""
    pages: dict[str, SourceView] = {}
    for number, source in enumerate(report.sources, start=1):
        known = SourceView(source.title, source.url, bases[source.note_index].published_on, [])
        pages.setdefault(source.url, known).cited.append((number, source.note_index))
    return list(pages.values())


def group_notes_by_topic(notes: Sequence[ResearchNote]) -> list[tuple[str, list[tuple[int, ResearchNote]]]]:
    """The notes with their places, paragraph by paragraph."""
    topics: dict[str, list[tuple[int, ResearchNote]]] = {}
    for place, note in enumerate(notes):
        topics.setdefault(note.topic, []).append((place, note))
    return list(topics.items())


def render_graph(blueprint: ModelBlueprint | None, language: str, title: str) -> Markup:
    """The model of the topic as a drawing; empty where nothing hangs together."""
    if blueprint is None or not blueprint.relationships:
        return Markup()
    drawing = draw_blueprint(blueprint, title=title, language=language)
    return Markup(drawing)  # noqa: S704 -- every text in it is escaped
