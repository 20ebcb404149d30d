"""How far a research came, step by step and paragraph by paragraph, as its page tells it."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from monitor.app.phases import PhaseState
from monitor.app.research_view import ResearchView
from monitor.bootstrap import App
from monitor.domain.research import Research, ResearchStatus
from monitor.formats.document import Block
from monitor.research.appendix import WORDS
from monitor.research.document import report_blocks
from monitor.research.events import StepType
from monitor.research.findings import NoteBasis
from monitor.research.picture import blueprint_picture, word_of
from monitor.research.shapes import ModelBlueprint, Note, PlanParagraph, ResearchReport
from monitor.research.state import Paragraph, Round, State
from monitor.web.language import text
from monitor.web.plan_form import PlanForm
from monitor.web.research_reasons import reasons_said
from monitor.web.words import vocabulary

SOURCES = [f"## {words['sources']}" for words in WORDS.values()]
"""The headings of a report's sources: on the page they stand beside it."""

_BY_RULE = "by rule: "
_VOCABULARIES = {
    "tools": "research_tool",
    "steps": "research_step",
    "states": "phase_state",
}
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
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchView:
    """One search of a paragraph, and how many results of it were taken up; None while it is under way."""

    round: Round
    results: int | None


@dataclass(frozen=True)
class ParagraphView:
    """A paragraph with its searches; `node` is what is being done for it."""

    paragraph: Paragraph
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


def steps_of(row: Research, state: State | None) -> list[StepView]:
    """The steps in their order, each with how it stands."""
    order = list(StepType)
    at = next((place for place, step in enumerate(order) if str(step) not in row.outputs), len(order))
    views = []
    for place, step in enumerate(order):
        told = row.outputs.get(str(step), {}).get("told", {})
        done, total = None, None
        if step is StepType.DEEP_SEARCH and state is not None and place <= at:
            done, total = sum(paragraph.is_complete for paragraph in state.paragraphs), len(state.paragraphs)
        views.append(
            StepView(
                step,
                _state(row.status, place, at),
                done,
                total,
                seconds=told.get("durationMs", 0) / 1000 or None,
                is_by_rule=bool(told.get("isFallback")),
                reasons=tuple(str(told.get("reason", "")).split("; ")),
            )
        )
    return views


def _state(status: ResearchStatus, place: int, at: int) -> PhaseState:
    if place < at:
        return PhaseState.DONE
    if status.is_final:
        return PhaseState.STOPPED if place == at else PhaseState.NOT_REACHED
    return PhaseState.NOW if place == at and status is ResearchStatus.RUNNING else PhaseState.WAITING


def paragraphs_of(row: Research, state: State | None) -> list[ParagraphView]:
    """What is done for each paragraph."""
    return [_paragraph(row, paragraph) for paragraph in (state.paragraphs if state else [])]


def _paragraph(row: Research, one: Paragraph) -> ParagraphView:
    taken = Counter(entry.query_id for entry in one.research.search_history)
    searches = [SearchView(its, taken[its.query_id] if its.is_searched else None) for its in one.research.rounds]
    return ParagraphView(one, _node(row.status, one), searches)


def _node(status: ResearchStatus, one: Paragraph) -> str:
    """What is done for a paragraph now, as the messages of the stream call it."""
    if one.research.is_completed:
        return "done"
    if status.is_final:
        return "stopped"
    if not one.research.rounds:
        return "waiting"
    last = one.research.rounds[-1]
    if last.is_summarised:
        return "reflection"
    if last.is_searched:
        return "reflection_summary" if last.number else "first_summary"
    return "reading"


async def facts_of(app: App, task_id: str, language: str, *, notes_at: str) -> dict[str, Any]:
    """What the page of a research shows of it; `NotFound` where there is none of that id."""
    view = await app.research.get(task_id)
    row = await app.research.row(task_id)
    state = await app.research.state(task_id)
    is_searching = not view.status.is_final and str(StepType.DEEP_SEARCH) not in row.outputs
    return {
        "view": view,
        "steps": steps_of(row, state),
        "paragraphs": paragraphs_of(row, state),
        "is_searching": is_searching,
        "plan_form": plan_form(state),
        "topics": by_topic(view.notes),
        "report": report_of(view, notes_at),
        "graph": graph_of(view.blueprint, view.language, text(language, "Model of the topic")),
        "relation": word_of,
        "remarks": await app.research.remarks(task_id),
        "warnings": warnings_of(view),
        "why": lambda reasons: reasons_said(reasons, language),
        "words": {name: dict(vocabulary(language, kind)) for name, kind in _VOCABULARIES.items()} | {"end": SOURCES},
    }


def warnings_of(view: ResearchView) -> list[str]:
    """What is to be said of the whole: what went wrong within a paragraph stands beside its searches."""
    topics = [paragraph.title for paragraph in view.plan.metadata.paragraphs] if view.plan else []
    within = tuple(f"{title}: " for title in topics)
    told = [
        warning
        for warning in view.warnings
        if not warning.startswith(within) or warning.endswith(": nothing was found")
    ]
    by_rule = [one.removeprefix(_BY_RULE) for one in told if one.startswith(_BY_RULE)]
    whole = [one for one in told if not one.startswith(_BY_RULE)]
    # Where all of it was written so, the report says it itself.
    return [*whole, _BY_RULE + ", ".join(by_rule)] if 0 < len(by_rule) < len(topics) else whole


def plan_form(state: State | None) -> PlanForm:
    """The plan as it stands, to be changed."""
    if state is None:
        return PlanForm("", [])
    paragraphs = [PlanParagraph(title=paragraph.title, content=paragraph.content) for paragraph in state.paragraphs]
    return PlanForm(state.report_title, paragraphs)


def report_of(view: ResearchView, notes_at: str) -> ReportView | None:
    """The report without the list of its sources, each citation a link to its note's page."""
    if view.report is None:
        return None
    links = [f"{notes_at}/{source.note_index}" for source in view.report.sources]
    lines = view.report.markdown.splitlines()
    end = next((place for place, line in enumerate(lines) if line in SOURCES), len(lines))
    blocks = report_blocks(
        "\n".join(lines[1:end]), lambda number: links[number - 1] if 0 < number <= len(links) else None
    )
    return ReportView(lines[0].removeprefix("# ") if lines else "", blocks, sources_of(view.report, view.bases))


def sources_of(report: ResearchReport, bases: Sequence[NoteBasis]) -> list[SourceView]:
    """The pages that a report cites, each once, in the order of their first citation."""
    pages: dict[str, SourceView] = {}
    for number, source in enumerate(report.sources, start=1):
        known = SourceView(source.title, source.url, bases[source.note_index].published_on, [])
        pages.setdefault(source.url, known).cited.append((number, source.note_index))
    return list(pages.values())


def by_topic(notes: Sequence[Note]) -> list[tuple[str, list[tuple[int, Note]]]]:
    """The notes with their places, paragraph by paragraph."""
    topics: dict[str, list[tuple[int, Note]]] = {}
    for place, note in enumerate(notes):
        topics.setdefault(note.topic, []).append((place, note))
    return list(topics.items())


def graph_of(blueprint: ModelBlueprint | None, language: str, title: str) -> Markup:
    """The model of the topic as a drawing; empty where nothing hangs together."""
    if blueprint is None or not blueprint.relationships:
        return Markup()
    drawing = blueprint_picture(blueprint, title=title, language=language)
    return Markup(drawing)  # noqa: S704 -- every text in it is escaped
