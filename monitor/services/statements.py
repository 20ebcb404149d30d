"""Statements that somebody hands in with the page that they speak of: each is judged as our own sentences are."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS
from monitor.logs import get_logger
from monitor.services.audit import Actor
from monitor.services.prompts import PromptsLoader
from monitor.verify.judge import judge_statements
from monitor.verify.prose import is_chinese
from monitor.verify.second_reader import review_statements
from monitor.verify.statements import Judgement, Reason, SourceText
from monitor.vocabulary import JudgedBy, Role, Verdict

MAX_STATEMENT_CHARS = 4000
_MAX_PLACE_CHARS = 80
LineId = str | int | float | None


def _parse_published(given: Any) -> Any:
    """Take the day of an instant, and an empty text for none; pydantic would take a number for seconds."""
    if not isinstance(given, str):
        if given is None or isinstance(given, dt.date):
            return given
        raise ValueError("statement.no_day")
    try:
        return dt.date.fromisoformat(given.strip()[:10]) if given.strip() else None
    except ValueError:
        raise ValueError("statement.no_day") from None


PublicationDay = Annotated[dt.date | None, BeforeValidator(_parse_published)]
"""The day on which a page was published: a day, an instant of it, or nothing."""


class StatementInput(BaseModel):
    """A sentence, and the page that it may rest on with the facts of its record."""

    id: LineId = None
    title: str = Field(max_length=MAX_STATEMENT_CHARS, examples=["关于完善绿色电价的通知"])
    page: str = Field(examples=["通知自2026年7月1日起施行。"])
    sentence: Annotated[str, StringConstraints(strip_whitespace=True)] = Field(
        min_length=1, max_length=MAX_STATEMENT_CHARS, examples=["通知自2026年7月1日起施行。"]
    )
    published: PublicationDay = Field(None, examples=["2026-06-20"])
    publisher: str = Field("", max_length=MAX_STATEMENT_CHARS, examples=["国家发展改革委"])
    section: str = Field("", max_length=MAX_STATEMENT_CHARS, examples=["通知公告"])

    @property
    def source(self) -> SourceText:
        return SourceText(
            text=self.page,
            title=self.title,
            section=self.section,
            publisher=self.publisher,
            published_on=self.published,
        )


class CheckedStatement(BaseModel):
    """The verdict on a statement, with the passage that bears it or speaks against it."""

    id: LineId
    verdict: Verdict
    by: JudgedBy
    passage: str
    reasons: list[Reason]

    @classmethod
    def build(cls, statement_id: LineId, judgement: Judgement) -> Self:
        return cls(
            id=statement_id,
            verdict=judgement.verdict,
            by=judgement.by,
            passage=judgement.passage,
            reasons=list(judgement.reasons),
        )


@dataclass(kw_only=True)
class StatementService:
    """Judges by code in `workers`, all statements of a page at once.

    `new_model` gives the model that is asked as a second reader, or None where none is set.
    """

    workers: WorkerPool
    new_model: Callable[[], Awaitable[ChatModel | None]] | None = None
    new_prompts: PromptsLoader | None = None

    async def build_second_reader(self, *, by: Actor) -> ChatModel | None:
        """Return the model for `verify`, with a budget of its own, or None where none is set; for editors."""
        by.require(Role.EDITOR)
        return await self.new_model() if self.new_model is not None else None

    async def verify(
        self, statements: Sequence[StatementInput], *, model: ChatModel | None = None
    ) -> list[CheckedStatement]:
        """Return the verdicts in the order of the statements; one whose page cannot be read in time is unchecked."""
        judgements = await self._judge_all(statements)
        if model is not None:
            judgements = await self._ask_second_reader(statements, judgements, model)
        return [
            CheckedStatement.build(statement.id, judgement)
            for statement, judgement in zip(statements, judgements, strict=True)
        ]

    async def _ask_second_reader(
        self, statements: Sequence[StatementInput], judgements: Sequence[Judgement], model: ChatModel
    ) -> list[Judgement]:
        """Return the judgements after the model was asked about those that are open, once for each page."""
        prompts = await self.new_prompts() if self.new_prompts is not None else DEFAULT_PROMPTS
        by_page = _group_by_page(statements)
        reviews = [
            review_statements(
                model,
                [statements[place].sentence for place in places],
                [judgements[place] for place in places],
                place=source.title[:_MAX_PLACE_CHARS],
                language="zh" if is_chinese(statements[places[0]].sentence) else "en",
                prompts=prompts,
            )
            for source, places in by_page.items()
        ]
        settled = list(judgements)
        for places, reviewed in zip(by_page.values(), await asyncio.gather(*reviews), strict=True):
            for place, judgement in zip(places, reviewed, strict=True):
                settled[place] = judgement
        return settled

    async def _judge_all(self, statements: Sequence[StatementInput]) -> list[Judgement]:
        judgements = [Judgement(verdict=Verdict.UNCHECKED)] * len(statements)
        for source, places in _group_by_page(statements).items():
            sentences = [statements[place].sentence for place in places]
            try:
                judged = await self.workers.run(judge_statements, [source], sentences)
            except IsolatedWorkFailed as error:
                get_logger("statements").warning("not checked", title=source.title, reason=str(error))
                continue
            for place, judgement in zip(places, judged, strict=True):
                judgements[place] = judgement
        return judgements


def _group_by_page(statements: Sequence[StatementInput]) -> dict[SourceText, list[int]]:
    """Return the places of the statements by their pages."""
    by_page: dict[SourceText, list[int]] = {}
    for place, statement in enumerate(statements):
        by_page.setdefault(statement.source, []).append(place)
    return by_page
