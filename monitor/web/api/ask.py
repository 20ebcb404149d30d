"""The API of questions to the archive: asking, following, and what the reader asked before."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from monitor.services.asking import MAX_ASKED_CHARS, AskFilters, QuestionSchema
from monitor.web.auth import RUN_SCOPE, AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

QuestionId = Annotated[
    str, Path(max_length=64, description="The id of a question", examples=["q-20260203T080000Z-1a2b"])
]

router = APIRouter(prefix="/api/ask", tags=["ask"], responses=PROBLEM_RESPONSES)


class AskRequest(BaseModel, extra="forbid"):
    """A question in a sentence or two, and which items may answer it."""

    question: str = Field(min_length=1, max_length=MAX_ASKED_CHARS, examples=["储能电站的容量电价从何时起执行？"])
    filters: AskFilters = Field(default_factory=AskFilters)


class QuestionListSchema(BaseModel):
    """Your questions, the newest first; the list is whole, so `next` is null."""

    questions: list[QuestionSchema]
    next: None = None


@router.post("", status_code=202, summary="Ask the archive", dependencies=[RUN_SCOPE])
async def ask(app: AppDep, principal: Reader, asked: AskRequest) -> QuestionSchema:
    """The answer is made in the background: ask for the question again until it does not run any more."""
    question_id = await app.asking.start(asked.question, asked.filters, by=principal)
    return await app.asking.get(question_id, by=principal)


@router.get("", summary="List your questions")
async def questions(app: AppDep, principal: Reader) -> QuestionListSchema:
    return QuestionListSchema(questions=await app.asking.list(by=principal))


@router.get("/{question_id}", summary="Read the answer to a question")
async def question(app: AppDep, principal: Reader, question_id: QuestionId) -> QuestionSchema:
    """One of yours: sentences with the numbers of the passages that bear them, or the nearest passages as quotes."""
    return await app.asking.get(question_id, by=principal)


@router.delete("/{question_id}", status_code=204, summary="Delete a question")
async def remove(app: AppDep, principal: Reader, question_id: QuestionId) -> None:
    """One of yours, with its answer; one that is being answered is stopped."""
    await app.asking.remove(question_id, by=principal)
