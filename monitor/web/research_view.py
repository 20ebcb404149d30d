"""How far a research came, step by step and paragraph by paragraph, as its page tells it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from monitor.app.phases import PhaseState
from monitor.bootstrap import App
from monitor.domain.research import Research, ResearchStatus
from monitor.research.events import StepType
from monitor.research.shapes import ModelBlueprint, Note, PlanParagraph
from monitor.research.state import Paragraph, Round, State
from monitor.web.markdown import Block, blocks_of
from monitor.web.plan_form import PlanForm
from monitor.web.words import vocabulary

_SOURCES = ("来源", "Sources")
"""The part of a report that lists its sources: on the page they stand beside it."""

_VOCABULARIES = {
    "nodes": "research_node", "tools": "research_tool", "steps": "research_step", "states": "phase_state",
}  # fmt: skip
"""The words that the script needs for what a research tells."""


@dataclass(frozen=True)
class StepView:
    """A step; `done` of `total` counts paragraphs. `is_by_rule`: a rule did the model's work, for that `reason`."""

    step: StepType
    state: PhaseState
    done: int | None = None
    total: int | None = None
    seconds: float | None = None
    is_by_rule: bool = False
    reason: str = ""


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


def steps_of(row: Research, state: State | None) -> list[StepView]:
    """The steps in their order, each with how it stands."""
    order = list(StepType)
    at = next((place for place, step in enumerate(order) if str(step) not in row.outputs), len(order))
    views = []
    for place, step in enumerate(order):
        told = row.outputs.get(str(step), {}).get("told", {})
        done, total = None, None
        if step is StepType.DEEP_SEARCH and state is not None and place <= at:
            done, total = sum(one.is_complete for one in state.paragraphs), len(state.paragraphs)
        views.append(
            StepView(
                step, _state(row.status, place, at), done, total, seconds=told.get("durationMs", 0) / 1000 or None,
                is_by_rule=bool(told.get("isFallback")), reason=str(told.get("reason", "")),
            )
        )  # fmt: skip
    return views


def _state(status: ResearchStatus, place: int, at: int) -> PhaseState:
    if place < at:
        return PhaseState.DONE
    if status.is_final:
        return PhaseState.STOPPED if place == at else PhaseState.NOT_REACHED
    return PhaseState.NOW if place == at and status is ResearchStatus.RUNNING else PhaseState.WAITING


def paragraphs_of(row: Research, state: State | None) -> list[ParagraphView]:
    """What is done for each paragraph."""
    return [_paragraph(row, one) for one in (state.paragraphs if state else [])]


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


async def facts_of(app: App, task_id: str, language: str) -> dict[str, Any]:
    """What the page of a research shows of it; `NotFound` where there is none of that id."""
    row, view = await app.research.row(task_id), await app.research.get(task_id)
    state = await app.research.state(task_id)
    return {
        "view": view, "steps": steps_of(row, state),
        "is_searching": not view.status.is_final and str(StepType.DEEP_SEARCH) not in row.outputs, "paragraphs": paragraphs_of(row, state),
        "plan_form": plan_form(state), "blocks": report_blocks(view.report.markdown) if view.report else [],
        "topics": by_topic(view.notes), "remarks": await app.research.remarks(task_id),
        "graph": graph_of(view.blueprint),
        "words": {name: dict(vocabulary(language, kind)) for name, kind in _VOCABULARIES.items()},
    }  # fmt: skip


def plan_form(state: State | None) -> PlanForm:
    """The plan as it stands, to be changed."""
    if state is None:
        return PlanForm("", [])
    paragraphs = [PlanParagraph(title=one.title, content=one.content) for one in state.paragraphs]
    return PlanForm(state.report_title, paragraphs)


def report_blocks(markdown: str) -> list[Block]:
    """The report without the list of its sources."""
    blocks = blocks_of(markdown)
    heads = [place for place, one in enumerate(blocks) if one.kind == "heading" and one.text in _SOURCES]
    return blocks[: heads[-1]] if heads else blocks


def by_topic(notes: Sequence[Note]) -> list[tuple[str, list[tuple[int, Note]]]]:
    """The notes with their places, paragraph by paragraph."""
    topics: dict[str, list[tuple[int, Note]]] = {}
    for place, note in enumerate(notes):
        topics.setdefault(note.topic, []).append((place, note))
    return list(topics.items())


def graph_of(blueprint: ModelBlueprint | None) -> Markup | None:
    """The model of the topic as a drawing; None where nothing hangs together."""
    del blueprint
    return None
