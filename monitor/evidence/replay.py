"""Replay of a run from its records: the pages that it fetched, and the answers that the model gave."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from monitor.clock import Clock
from monitor.db.tables.evidence import EvidenceRecord, ModelAnswer
from monitor.errors import ModelFailed, ModelUnavailable, RecordLost
from monitor.evidence.records import EvidenceArchive
from monitor.fetch.result import FetchResult, Recorder
from monitor.i18n.message import Message as FailureMessage
from monitor.llm.chat import ChatModel, Completion, CompletionRequest
from monitor.vocabulary import FetchMode


class ReplayTransport:
    """A transport that returns what a run fetched, without network, browser or waiting.

    A url that was fetched more than once returns its results in order, then the last one again. Of an interrupted run
    it returns those of the last attempt.
    """

    def __init__(self, archive: EvidenceArchive, records: Sequence[EvidenceRecord], *, can_render: bool) -> None:
        self._archive = archive
        self._run_records = list(records)
        self._can_render = can_render
        self._records_by_request: dict[tuple[str, FetchMode], list[EvidenceRecord]] = defaultdict(list)
        for row in records:
            latest = self._records_by_request[row.url, row.way]
            if latest and latest[0].attempt != row.attempt:
                latest.clear()
            latest.append(row)
        self.used_record_ids: set[str] = set()

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        """Return the recorded result; `RecordLost` for a url that the run did not fetch."""
        rows = self._records_by_request.get((url, mode))
        if not rows:
            raise RecordLost("replay.page_not_recorded", url=url, mode=str(mode))
        row = rows.pop(0) if len(rows) > 1 else rows[0]
        self.used_record_ids.add(row.id)
        return await self._archive.load(row)

    def can_render(self) -> bool:
        """Whether the run had a browser."""
        return self._can_render

    def renders_first(self, url: str) -> bool:
        """Whether the run went to the browser at once."""
        return (url, FetchMode.RENDERED) in self._records_by_request and (
            url,
            FetchMode.HTTP,
        ) not in self._records_by_request

    def mark_rendered(self, url: str) -> None:
        """Do nothing: what the run learned about a site is in its records."""

    def for_run(self, recorder: Recorder | None) -> "ReplayTransport":
        """The same records from their beginning; nothing is recorded again."""
        del recorder
        return ReplayTransport(self._archive, self._run_records, can_render=self._can_render)

    async def close(self) -> None:
        pass


def hash_request(request: CompletionRequest) -> str:
    """Return the key of a model request: a hash of its messages, tools, phase and place."""
    hashed = {
        "messages": [message.model_dump() for message in request.messages],
        "tools": [tool.model_dump() for tool in request.tools],
        "phase": str(request.phase),
        "place": request.place,
    }
    return hashlib.sha256(json.dumps(hashed, ensure_ascii=True, sort_keys=True).encode()).hexdigest()


class RecordingModel:
    """A `ChatModel` that records each answer or failure before it returns it."""

    def __init__(
        self,
        model: ChatModel,
        *,
        run_id: str,
        attempt: int,
        save_answer: Callable[[ModelAnswer], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self._model = model
        self._run_id = run_id
        self._attempt = attempt
        self._save_answer = save_answer
        self._clock = clock

    async def complete(self, request: CompletionRequest) -> Completion:
        answer = ModelAnswer(
            run_id=self._run_id,
            attempt=self._attempt,
            request=hash_request(request),
            phase=request.phase,
            place=request.place,
            at=self._clock.now(),
        )
        try:
            completion = await self._model.complete(request)
        except ModelFailed as error:
            is_final = isinstance(error, ModelUnavailable)
            answer.failure = {"outcome": error.outcome, "message": error.message.to_json(), "is_final": is_final}
            await self._save_answer(answer)
            raise
        answer.completion = completion.model_dump()
        await self._save_answer(answer)
        return completion


class ReplayModel:
    """A `ChatModel` that returns the recorded answers of a run.

    A request that was made more than once gets its answers in order, then the last one again. Of an interrupted run it
    returns those of the last attempt; where a conversation was cut off, the model fails.
    """

    def __init__(self, answers: Sequence[ModelAnswer]) -> None:
        self._was_interrupted = len({answer.attempt for answer in answers}) > 1
        self._answers: dict[str, list[ModelAnswer]] = defaultdict(list)
        for answer in answers:
            latest = self._answers[answer.request]
            if latest and latest[0].attempt != answer.attempt:
                latest.clear()
            latest.append(answer)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded answer in one piece.

        `RecordLost` for a request that the run, if it was not interrupted, did not make.
        """
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
        raise kind(_load_failure_message(failure.get("message")), outcome=str(failure.get("outcome")))


def _load_failure_message(value: object) -> FailureMessage:
    """Read a recorded failure; earlier versions kept its English sentence."""
    return FailureMessage.from_json(value) if isinstance(value, dict) else FailureMessage.other(str(value))
