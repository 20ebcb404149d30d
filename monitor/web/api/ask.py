"""The API of questions to the archive: asking, following, and what the reader asked before."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from monitor.services.asking import MAX_ASKED_CHARS, AskFilters, QuestionSchema
from monitor.services.cursors import cut_page, decode_cursor
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.api.search import Day
from monitor.web.auth import RUN_SCOPE, AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

QuestionId = Annotated[
    str, Path(max_length=64, description="The id of a question", examples=["q-20260203T080000Z-1a2b"])
]

router = APIRouter(prefix="/api/v1/ask", tags=["ask"], responses=PROBLEM_RESPONSES)


class AskFilterRequest(AskFilters):
    """Which items a question is asked of; days are of publication, both included."""

    since: Day | None = None
    until: Day | None = None


class AskRequest(BaseModel, extra="forbid"):
    """A question in a sentence or two, and which items may answer it."""

    question: str = Field(min_length=1, max_length=MAX_ASKED_CHARS, examples=["储能电站的容量电价从何时起执行？"])
    filters: AskFilterRequest = Field(default_factory=AskFilterRequest)


class QuestionListSchema(BaseModel):
    """Your questions, the newest first, and the cursor with which the list goes on."""

    questions: list[QuestionSchema]
    next: str | None


@router.post("", status_code=202, summary="Ask the archive", dependencies=[RUN_SCOPE])
async def ask_archive(app: AppDep, principal: Reader, asked: AskRequest) -> QuestionSchema:
    """The answer is made in the background: ask for the question again until it does not run any more."""
    question_id = await app.asking.start(asked.question, asked.filters, by=principal)
    return await app.asking.get(question_id, by=principal)


@router.get("", summary="List your questions")
async def list_questions(
    app: AppDep, principal: Reader, limit: Limit = 50, cursor: Cursor = None
) -> QuestionListSchema:
    """The newest first, each with how it stands and its answer."""
    after = decode_cursor(cursor, dt.datetime, str)
    rows = await app.asking.list(by=principal, limit=limit + 1, after=after)
    page, following = cut_page(rows, limit, lambda row: (row.asked_at, row.id))
    return QuestionListSchema(questions=page, next=following)


@router.get("/{question_id}", summary="Read the answer to a question")
async def get_question(app: AppDep, principal: Reader, question_id: QuestionId) -> QuestionSchema:
    """One of yours: sentences with the numbers of the passages that bear them, or the nearest passages as quotes."""
    return await app.asking.get(question_id, by=principal)


@router.delete("/{question_id}", status_code=204, summary="Delete a question")
async def delete_question(app: AppDep, principal: Reader, question_id: QuestionId) -> None:
    """One of yours, with its answer; one that is being answered is stopped."""
    await app.asking.remove(question_id, by=principal)
