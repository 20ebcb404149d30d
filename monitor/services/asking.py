"""Questions to the archive: asked, answered in the background of this process, and kept for the person who asked."""

import asyncio
import contextlib
import datetime as dt
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.questions import ArchiveQuestion, QuestionStatus
from monitor.errors import MonitorError, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatModel
from monitor.logs import get_logger
from monitor.research.archive_answer import AnswerForm, ArchiveAnswer, ArchiveAnswerer, StoredText
from monitor.search.backends.archive import ArchiveSearch
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.items import ItemQuery, build_scope
from monitor.services.prompts import PromptsLoader
from monitor.services.research.dependencies import detect_language

MAX_ASKED_CHARS = 500
_MAX_ITEMS = 10  # whose texts are read for one question
_STALE_AFTER = dt.timedelta(minutes=1)  # without a sign of life the answering was interrupted
_SIGN_OF_LIFE_S = 15.0
_MAX_AT_ONCE = 2
_log = get_logger("asking")


class AskFilters(BaseModel, extra="forbid"):
    """Which items a question is asked of; days are of publication, both included."""

    source: str | None = Field(default=None, max_length=200)
    topic: str | None = Field(default=None, max_length=200)
    tiers: list[Annotated[int, Field(ge=1, le=5)]] = Field(default_factory=list, max_length=5)
    since: dt.date | None = None
    until: dt.date | None = None

    def to_item_query(self) -> ItemQuery:
        sources = [self.source] if self.source else []
        return ItemQuery(
            sources=sources, topic=self.topic or None, tiers=self.tiers, since=self.since, until=self.until
        )


class QuestionSchema(MessageModel):
    """A question with its filters and, once it ended, its answer or its error; both where the model failed."""

    id: str
    text: str
    language: str
    filters: AskFilters
    status: QuestionStatus
    asked_at: dt.datetime
    error: Message | None = None
    answer: ArchiveAnswer | None = None


@dataclass(kw_only=True)
class AskService:
    """Answers at most two questions at a time; what a person asked, only that person and the command line read."""

    store: Store
    clock: Clock
    settings: Settings
    workers: WorkerPool
    archive_search: ArchiveSearch
    new_model: Callable[[str, Store], Awaitable[ChatModel | None]]
    new_prompts: PromptsLoader
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_AT_ONCE), init=False)

    async def start(self, text: str, filters: AskFilters, *, by: Actor) -> str:
        """Put a question on record and begin to answer it; return its id.

        `UsageError` for an empty or too long question, an unknown source, or days reversed.
        """
        question = await self._create(text, filters, by)
        task = self._tasks[question.id] = asyncio.create_task(self._answer_and_keep(question))
        task.add_done_callback(lambda _: self._tasks.pop(question.id, None))
        return question.id

    async def ask(self, text: str, filters: AskFilters, *, by: Actor) -> QuestionSchema:
        """Ask and wait for the answer."""
        question_id = await self.start(text, filters, by=by)
        await asyncio.wait([self._tasks[question_id]])
        return await self.get(question_id, by=by)

    async def get(self, question_id: str, *, by: Actor) -> QuestionSchema:
        """Return the question; `NotFound` where it is not there or of another person."""
        return self._describe(await self._load(question_id, by))

    async def list(
        self, *, by: Actor, limit: int = 50, after: tuple[dt.datetime, str] | None = None
    ) -> list[QuestionSchema]:
        """The person's questions, the newest first; `after` is when the last one before was asked, and its id."""
        return [self._describe(row) for row in await self.store.questions.list_of(by.owner, limit=limit, after=after)]

    async def remove(self, question_id: str, *, by: Actor) -> None:
        question = await self._load(question_id, by)
        if (task := self._tasks.get(question.id)) is not None:
            task.cancel()
        await self.store.questions.remove(question.id)

    async def close(self) -> None:
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _load(self, question_id: str, by: Actor) -> ArchiveQuestion:
        question = await self.store.questions.get(sanitize_text(question_id))
        if question is None or (question.person != by.owner and by.name != COMMAND_LINE.name):
            raise NotFound("ask.not_found", question=question_id)
        return question

    async def _create(self, text: str, filters: AskFilters, by: Actor) -> ArchiveQuestion:
        text = " ".join(text.split())
        if not text or len(text) > MAX_ASKED_CHARS:
            raise UsageError("ask.bad_question", limit=MAX_ASKED_CHARS)
        await build_scope(filters.to_item_query(), self.store)
        now = self.clock.now()
        question = ArchiveQuestion(
            id=f"q-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
            person=by.owner,
            text=text,
            language=detect_language(text),
            filters=filters.model_dump(mode="json", exclude_defaults=True),
            asked_at=now,
            updated_at=now,
        )
        await self.store.questions.add(question)
        return question

    def _describe(self, row: ArchiveQuestion) -> QuestionSchema:
        status, error = row.status, row.error
        is_alive = row.id in self._tasks or row.updated_at > self.clock.now() - _STALE_AFTER
        if status is QuestionStatus.RUNNING and not is_alive:
            status, error = QuestionStatus.FAILED, Message.of("ask.interrupted")
        return QuestionSchema(
            id=row.id,
            text=row.text,
            language=row.language,
            filters=AskFilters.model_validate(row.filters),
            status=status,
            asked_at=row.asked_at,
            error=error,
            answer=None if row.answer is None else ArchiveAnswer.model_validate(row.answer),
        )

    async def _answer_and_keep(self, question: ArchiveQuestion) -> None:
        try:
            async with self._slots:
                answer, problem = await self._answer_with_signs_of_life(question)
        except MonitorError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001 -- what breaks in the background is told to whoever looks
            _log.error("unexpected error", question=question.id, error=type(error).__name__, exc_info=error)
            reason = Message.of("cause.unforeseen", error=type(error).__name__)
        else:
            is_refused = answer.kind is AnswerForm.NONE
            status = QuestionStatus.REFUSED if is_refused else QuestionStatus.ANSWERED
            document = answer.model_dump(mode="json")
            await self.store.questions.end(question.id, status, self.clock.now(), answer=document, error=problem)
            return
        await self.store.questions.end(question.id, QuestionStatus.FAILED, self.clock.now(), error=reason)

    async def _answer_with_signs_of_life(self, question: ArchiveQuestion) -> tuple[ArchiveAnswer, Message | None]:
        task = asyncio.create_task(self._answer(question))
        try:
            while not (await asyncio.wait({task}, timeout=_SIGN_OF_LIFE_S))[0]:
                await self.store.questions.touch(question.id, self.clock.now())
            return await task
        finally:
            task.cancel()

    async def _answer(self, question: ArchiveQuestion) -> tuple[ArchiveAnswer, Message | None]:
        query = AskFilters.model_validate(question.filters).to_item_query()
        scope = await build_scope(query, self.store)
        found = await self.archive_search.search(question.text, scope, limit=_MAX_ITEMS, allow_partial_match=True)
        texts = await self.store.items.load_texts([match.item.id or 0 for match in found.items])
        pages = [
            StoredText(
                item=item.id or 0,
                title=item.title,
                url=item.url,
                source=item.source,
                day=item.day,
                text=text,
                issuer=item.issuer or "",
                section=item.section,
            )
            for item in (match.item for match in found.items)
            if (text := texts.get(item.id or 0))
        ]
        answerer = ArchiveAnswerer(
            workers=self.workers,
            model=await self.new_model(question.id, self.store),
            prompts=await self.new_prompts(),
            language=question.language,
            today=self.clock.now().astimezone(ZoneInfo(self.settings.timezone)).date(),
        )
        return await answerer.answer(question.text, pages), answerer.problem
