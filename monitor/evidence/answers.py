"""What the model said in a run: kept, and said again when the run is replayed."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

from monitor.domain.chat import Completion, Message, OnToken, Tool
from monitor.domain.evidence import Answer
from monitor.domain.words import Phase
from monitor.errors import ModelFailed, ModelUnavailable, RecordLost
from monitor.ports import ChatModel, Clock


def request_hash(messages: Sequence[Message], *, phase: Phase, place: str, tools: Sequence[Tool]) -> str:
    """What tells one request from another: all that the model is told, and by whom."""
    request = {
        "messages": [message.model_dump() for message in messages],
        "tools": [tool.model_dump() for tool in tools],
        "phase": str(phase),
        "place": place,
    }
    return hashlib.sha256(json.dumps(request, ensure_ascii=True, sort_keys=True).encode()).hexdigest()


class RecordedModel:
    """A `ChatModel` whose answers, refusals among them, are kept before they are acted on."""

    def __init__(
        self, model: ChatModel, *, run_id: str, attempt: int, keep: Callable[[Answer], Awaitable[None]], clock: Clock
    ) -> None:
        self._model = model
        self._run_id = run_id
        self._attempt = attempt
        self._keep = keep
        self._clock = clock

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        request = request_hash(messages, phase=phase, place=place, tools=tools)
        answer = Answer(
            run_id=self._run_id, attempt=self._attempt, request=request, phase=phase, place=place, at=self._clock.now()
        )
        try:
            completion = await self._model.complete(messages, phase=phase, place=place, tools=tools, on_token=on_token)
        except ModelFailed as error:
            is_final = isinstance(error, ModelUnavailable)
            answer.failure = {"outcome": error.outcome, "message": str(error), "is_final": is_final}
            await self._keep(answer)
            raise
        answer.completion = completion.model_dump()
        await self._keep(answer)
        return completion


class ReplayedModel:
    """A `ChatModel` that says what was said in a run.

    To a request that was made more than once it gives the answers in their order, and the last one again after that;
    where the run was interrupted, those of the attempt that asked last. An interruption in the middle of a conversation
    leaves it without its end: there the model fails.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._was_interrupted = len({answer.attempt for answer in answers}) > 1
        self._answers: dict[str, list[Answer]] = defaultdict(list)
        for answer in answers:
            latest = self._answers[answer.request]
            if latest and latest[0].attempt != answer.attempt:
                latest.clear()
            latest.append(answer)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        """The recorded answer, told in one piece.

        `RecordLost` for a request that the run, if it was not interrupted, did not make.
        """
        answers = self._answers.get(request_hash(messages, phase=phase, place=place, tools=tools))
        if not answers and self._was_interrupted:
            raise ModelFailed("The run was interrupted here; no answer is recorded.", outcome="not_recorded")
        if not answers:
            raise RecordLost(f"The run did not ask the model this: {phase}, {place}; no answer to it is recorded.")
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer.completion is not None:
            completion = Completion.model_validate(answer.completion)
            if on_token is not None and completion.text:
                await on_token(completion.text)
            return completion
        failure = answer.failure or {}
        kind = ModelUnavailable if failure.get("is_final") else ModelFailed
        raise kind(str(failure.get("message")), outcome=str(failure.get("outcome")))
