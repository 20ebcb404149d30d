"""Replay of a run from its records: the pages that it fetched, and the answers that the model gave."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

from monitor.clock import Clock
from monitor.db.tables.evidence import EvidenceRecord, ModelAnswer
from monitor.errors import ModelFailed, ModelUnavailable, RecordLost
from monitor.evidence.records import EvidenceArchive
from monitor.fetch.result import FetchResult, Recorder
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel, Completion, CompletionRequest, fit_chars
from monitor.vocabulary import FetchMode, Phase

RecordedT = TypeVar("RecordedT", EvidenceRecord, ModelAnswer)
KeyT = TypeVar("KeyT", bound=Hashable)


_BESIDE_THE_WORDS: Any = {"extra": True, "tool_calls": {"__all__": {"extra"}}}
_ROOM = "fitted_chars"


class ReplayTransport:
    """A transport that returns what a run fetched, without network, browser or waiting.

    A url that was fetched more than once gets its results in order, then the last one again; of an interrupted run,
    those of the last attempt.
    """

    def __init__(self, archive: EvidenceArchive, records: Sequence[EvidenceRecord], *, can_render: bool) -> None:
        self._archive = archive
        self._run_records = list(records)
        self._can_render = can_render
        self._records_by_request = _group_latest_attempts(records, lambda record: (record.url, record.way))
        self.used_record_ids: set[str] = set()

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        """Return the recorded result; `RecordLost` for a url that the run did not fetch."""
        records = self._records_by_request.get((url, mode))
        if not records:
            raise RecordLost("replay.page_not_recorded", url=url, mode=str(mode))
        record = records.pop(0) if len(records) > 1 else records[0]
        self.used_record_ids.add(record.id)
        return await self._archive.load(record)

    def can_render(self) -> bool:
        return self._can_render

    def list_sitemaps(self, url: str) -> list[str]:
        """Nothing is looked for: a run that is done again knows its source."""
        del url
        return []

    def renders_first(self, url: str) -> bool:
        known = self._records_by_request
        return (url, FetchMode.RENDERED) in known and (url, FetchMode.HTTP) not in known

    def mark_rendered(self, url: str) -> None:
        """Do nothing: what the run learned about a site is in its records."""

    def for_run(self, recorder: Recorder | None) -> "ReplayTransport":
        """The same records from their beginning; nothing is recorded again."""
        del recorder
        return ReplayTransport(self._archive, self._run_records, can_render=self._can_render)

    async def close(self) -> None:
        pass


def hash_request(request: CompletionRequest) -> str:
    """Return what a request is known by: its words, without what came with earlier answers beside them."""
    hashed = {
        "messages": [message.model_dump(exclude=_BESIDE_THE_WORDS) for message in request.messages],
        "tools": [tool.model_dump() for tool in request.tools],
        "phase": str(request.phase),
        "place": request.place,
    }
    return hashlib.sha256(json.dumps(hashed, ensure_ascii=True, sort_keys=True).encode()).hexdigest()


def _group_latest_attempts(
    recorded: Iterable[RecordedT], key: Callable[[RecordedT], KeyT]
) -> dict[KeyT, list[RecordedT]]:
    """Group what a run recorded by its request, in order; of each request only what the last attempt recorded."""
    groups: dict[KeyT, list[RecordedT]] = defaultdict(list)
    for entry in recorded:
        group = groups[key(entry)]
        if group and group[0].attempt != entry.attempt:
            group.clear()
        group.append(entry)
    return groups


@dataclass
class RecordingModel:
    """A `ChatModel` that records each answer or failure before it returns it.

    How much fitted its context is recorded with the answers for which that was asked: a replay cuts its material alike.
    """

    model: ChatModel
    _: KW_ONLY
    run_id: str
    attempt: int
    save_answer: Callable[[ModelAnswer], Awaitable[None]]
    clock: Clock
    _fitted: dict[tuple[Phase, str], int] = field(default_factory=dict, init=False)

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        chars = fit_chars(self.model, phase, limit, place)
        if chars < limit:
            self._fitted[phase, place] = chars
        return chars

    async def complete(self, request: CompletionRequest) -> Completion:
        answer = ModelAnswer(
            run_id=self.run_id,
            attempt=self.attempt,
            request=hash_request(request),
            phase=request.phase,
            place=request.place,
            at=self.clock.now(),
        )
        try:
            completion = await self.model.complete(request)
        except ModelFailed as error:
            is_final = isinstance(error, ModelUnavailable)
            answer.failure = {"outcome": error.outcome, "message": error.message.to_json(), "is_final": is_final}
            await self.save_answer(answer)
            raise
        answer.completion = completion.model_dump()
        if (fitted := self._fitted.get((request.phase, request.place))) is not None:
            answer.completion[_ROOM] = fitted
        await self.save_answer(answer)
        return completion


class ReplayModel:
    """A `ChatModel` that returns the recorded answers of a run.

    A request that was made more than once gets its answers in order, then the last one again; of an interrupted run,
    those of the last attempt. Where a conversation was cut off, the model fails.
    """

    def __init__(self, answers: Sequence[ModelAnswer]) -> None:
        self._was_interrupted = len({answer.attempt for answer in answers}) > 1
        self._answers = _group_latest_attempts(answers, lambda answer: answer.request)
        self._fitted = {
            (answer.phase, answer.place): int(answer.completion[_ROOM])
            for answer in answers
            if answer.completion is not None and _ROOM in answer.completion
        }

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        """Return what fitted when the run was made."""
        return min(limit, self._fitted.get((phase, place), limit))

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded answer in one piece; `RecordLost` for a request that the run did not make."""
        answers = self._answers.get(hash_request(request))
        if not answers and self._was_interrupted:
            raise ModelFailed("replay.interrupted", outcome="not_recorded")
        if not answers:
            raise RecordLost("replay.answer_not_recorded", phase=str(request.phase), place=request.place)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.completion is not None:
            completion = Completion.model_validate(answer.completion)
            if request.on_token is not None and completion.text:
                await request.on_token(completion.text)
            return completion
        failure = answer.failure or {}
        kind = ModelUnavailable if failure.get("is_final") else ModelFailed
        message = failure.get("message")  # earlier versions stored an English sentence
        reason = Message.from_json(message) if isinstance(message, dict) else Message.other(str(message))
        raise kind(reason, outcome=str(failure.get("outcome")))
