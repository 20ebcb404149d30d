"""Researches on a schedule: each planned time begins an edition by the same plan."""

import datetime as dt
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.db.tables.research import Research, ResearchStatus
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.research.editions import EditionNews
from monitor.research.shapes import CamelCaseSchema, PlanParagraph, StepType
from monitor.research.state import ParagraphState, State
from monitor.services.research.dependencies import dump_state


class EditionView(CamelCaseSchema):
    task_id: str
    status: ResearchStatus
    created_at: dt.datetime
    ended_at: dt.datetime | None


class EditionsView(CamelCaseSchema, MessageModel):
    """The editions of a research, newest first, and when the next one begins; `first` is the one that has the schedule.

    `schedule` is cron, None where it is off; `news` is what the research that was asked for says and the edition before
    it did not.
    """

    first: str
    schedule: str | None
    schedule_text: Message
    timezone: str
    next_at: dt.datetime | None
    editions: list[EditionView]
    news: EditionNews | None


def build_edition(
    first: Research, paragraphs: Sequence[Mapping[str, Any]], *, planned_at: dt.datetime, now: dt.datetime
) -> tuple[Research, list[dict[str, Any]]]:
    """Return a queued research by the plan of the first one, and its paragraphs.

    Its id is made of both the first one and the planned time, so that it is begun once.
    """
    at = f"{planned_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"
    planned = [ParagraphState.model_validate(paragraph) for paragraph in paragraphs]
    state = State.create(first.query, at=now)
    title = str((first.state or {}).get("report_title") or first.query)
    state.apply_plan(title, [PlanParagraph(title=entry.title, content=entry.content) for entry in planned])
    state_row, rows = dump_state(state)
    plan = first.outputs.get(StepType.PLAN)
    edition = Research(
        id=f"r-{at}-{hashlib.sha256(f'{first.id}@{at}'.encode()).hexdigest()[:8]}",
        edition_of=first.id,
        query=first.query,
        language=first.language,
        config=first.config,
        options=first.options | {"review_plan": False},
        outputs={} if plan is None else {str(StepType.PLAN): plan},
        state=state_row,
        is_plan_approved=True,
        asked_by=first.asked_by,
        visibility=first.visibility,
        created_at=now,
    )
    return edition, rows
