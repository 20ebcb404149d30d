"""Deadlines over HTTP: the list, one with its history, and calendars that programs subscribe to."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from monitor.db.sessions import sanitize_text
from monitor.policies.calendar import DeadlineEntry
from monitor.services.cursors import cut_page, decode_cursor
from monitor.services.deadlines import DeadlineDetail, DeadlineQuery
from monitor.vocabulary import DeadlineKind
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.api.search import Day
from monitor.web.auth import AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

_Name = Annotated[str, Field(max_length=200)]

router = APIRouter(prefix="/api/v1/deadlines", tags=["deadlines"], responses=PROBLEM_RESPONSES)


class DeadlineParameters(BaseModel):
    """Which deadlines are meant; what is not given does not narrow."""

    since: Day | None = Field(None, description="The first day; default today, in a calendar 90 days ago")
    until: Day | None = Field(None, description="The last day")
    kind: list[DeadlineKind] = Field(default_factory=list, max_length=len(DeadlineKind))
    source: list[_Name] = Field(default_factory=list, max_length=50, description="Names of sources")
    topic: str | None = Field(None, max_length=200, description="The name of a topic that their items fit")
    policy: int | None = Field(None, ge=1, le=2**31 - 1, description="The number of a policy")

    def to_query(self) -> DeadlineQuery:
        return DeadlineQuery(
            since=self.since,
            until=self.until,
            kinds=self.kind,
            topic=None if self.topic is None else sanitize_text(self.topic),
            policy=self.policy,
            sources=[sanitize_text(name) for name in self.source],
        )


class DeadlineListParameters(DeadlineParameters):
    cursor: Cursor = None
    limit: Limit = 50


class DeadlineListSchema(BaseModel):
    """A page of the list, the nearest first; `next` is the cursor with which it goes on."""

    deadlines: list[DeadlineEntry]
    next: str | None


@router.get("", summary="List deadlines")
async def list_deadlines(
    app: AppDep, principal: Reader, asked: Annotated[DeadlineListParameters, Query()]
) -> DeadlineListSchema:
    """The deadlines that are still to come, or those of a period, the nearest first.

    What several documents of one policy state is one deadline; a day that was moved shows what it was before.
    """
    del principal
    entries = await app.deadlines.list(asked.to_query())
    after = decode_cursor(asked.cursor, dt.date, int)
    if after is not None:
        entries = [entry for entry in entries if (entry.day, entry.id) > after]
    page, following = cut_page(entries, asked.limit, lambda entry: (entry.day, entry.id))
    return DeadlineListSchema(deadlines=page, next=following)


@router.get("/{deadline_id}", summary="Show a deadline")
async def get_deadline(
    app: AppDep, principal: Reader, deadline_id: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> DeadlineDetail:
    """A deadline with the passage that states it, and every move that was seen."""
    del principal
    return await app.deadlines.get(deadline_id)
