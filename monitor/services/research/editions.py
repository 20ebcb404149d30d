"""Researches that go on from another: editions on a schedule, by the same plan, and follow-up questions."""

import datetime as dt
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.db.tables.research import Research, ResearchStatus
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.research.editions import EditionNews
from monitor.research.shapes import CamelCaseSchema, PlanParagraph, StepType
from monitor.research.state import ParagraphState, State
from monitor.services.cursors import cut_list
from monitor.services.research.dependencies import detect_language, dump_state


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

    def build_page(self, limit: int, cursor: str | None) -> "EditionPageView":
        """Return so many of the editions after the cursor."""
        page, following = cut_list(self.editions, limit, cursor, _build_key, dt.datetime, str, newest_first=True)
        return EditionPageView(**{**dict(self), "editions": page, "next": following})


class EditionPageView(EditionsView):
    """A page of the editions, and the cursor with which they go on."""

    next: str | None


def _build_key(edition: EditionView) -> tuple[dt.datetime, str]:
    return edition.created_at, edition.task_id


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
        team_id=first.team_id,
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


def build_follow_up(about: Research, question: str, *, asked_by: str, now: dt.datetime) -> Research:
    """Return a question about a finished report; whoever may read the report may read its answer."""
    return Research(
        id=f"{about.id}-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}",
        parent_id=about.id,
        team_id=about.team_id,
        query=question,
        language=detect_language(question),
        config=about.config,
        options=about.options | {"review_plan": False},
        asked_by=asked_by,
        visibility=about.visibility,
        created_at=now,
    )
