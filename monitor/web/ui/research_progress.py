"""How a research goes: its steps, paragraphs and searches as its page shows them, and why something went wrong."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from monitor.db.tables.research import Research, ResearchStatus
from monitor.i18n.message import Message
from monitor.research.document import SECTION_BY_RULE
from monitor.research.node import NO_MODEL_FAILURE
from monitor.research.shapes import StepType
from monitor.research.state import ParagraphState, SearchRound, State
from monitor.services.research.views import ResearchView
from monitor.services.runs import PhaseState

_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_IN_PARAGRAPH, _NOTHING_FOUND = "research.paragraph_problem", "research.nothing_found"


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


def _list_reasons(metadata: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the reasons of a step's fallback; those of an earlier version are one sentence."""
    if stored := metadata.get("reasonMessage"):
        reason = Message.from_json(stored)
        return tuple(reason.args["reasons"]) if reason.code == "research.reasons" else (reason,)
    return (Message.other(metadata["reason"]),) if metadata.get("reason") else ()


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
