"""A plan as a person looked at it: checked, put in the place of the one that was made, and told."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from monitor.domain.research import Research, ResearchEvent
from monitor.errors import UsageError
from monitor.research.events import LABELS, STEP_IDS, StepEvent, StepType
from monitor.research.shapes import Plan, PlanParagraph
from monitor.research.state import State

_TITLE_CHARS, _CONTENT_CHARS = 200, 2000


def plan_anew(state: State, title: str, paragraphs: Sequence[PlanParagraph], *, most: int) -> None:
    """Put a person's plan into the state; without a title the one that was there stays.

    `UsageError` where it has no paragraph, more than `most`, or one without a title.
    """
    kept = [
        PlanParagraph(title=paragraph.title.strip()[:_TITLE_CHARS], content=paragraph.content.strip()[:_CONTENT_CHARS])
        for paragraph in paragraphs
    ]
    if not 0 < len(kept) <= most or not all(one.title for one in kept):
        raise UsageError(f"A plan has 1 to {most} paragraphs, each with a title.")
    state.plan(title.strip()[:_TITLE_CHARS] or state.report_title, kept)


def output_of(state: State, output: dict[str, Any]) -> dict[str, Any]:
    """What the plan's step gave, as a person left it."""
    plan = Plan.model_validate(output["result"])
    paragraphs = [PlanParagraph(title=paragraph.title, content=paragraph.content) for paragraph in state.paragraphs]
    if (plan.metadata.report_title, plan.metadata.paragraphs) != (state.report_title, paragraphs):
        plan.content = "\n".join(f"{number}. {one.title}: {one.content}" for number, one in enumerate(paragraphs, 1))
        plan.metadata.report_title, plan.metadata.paragraphs = state.report_title, paragraphs
    told = {name: value for name, value in output["told"].items() if name != "awaitsApproval"}
    return output | {"result": plan.wire(), "told": told}


def approval(research: Research, output: dict[str, Any], *, progress: float, at: dt.datetime) -> ResearchEvent:
    """The message that tells the plan by which it goes on."""
    event = StepEvent(
        step_id=STEP_IDS[StepType.PLAN],
        step_type=StepType.PLAN,
        status="complete",
        progress=progress,
        label=LABELS[StepType.PLAN][research.language],
        payload={"result": output["result"], "metadata": output["told"]},
    )
    return ResearchEvent(task_id=research.id, at=at, data=event.wire())
