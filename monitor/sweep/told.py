"""A model that says when it is asked and what came of it, so that whoever watches a run knows what it waits for."""

import time
from collections.abc import Sequence

from monitor.domain.chat import Completion, Message, OnToken, Tool
from monitor.domain.words import EventKind, Phase
from monitor.errors import ModelFailed
from monitor.ports import ChatModel, Progress, ProgressCallback


class ToldModel:
    """A `ChatModel` whose calls are told of; the time of a call includes that in which it waited for its turn."""

    def __init__(self, model: ChatModel, tell: ProgressCallback) -> None:
        self._model = model
        self._tell = tell

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        asked = Progress(phase=phase, place=place, kind=EventKind.ASKED)
        self._tell(asked)
        began = time.perf_counter()
        tokens, outcome = 0, "cancelled"
        try:
            completion = await self._model.complete(messages, phase=phase, place=place, tools=tools, on_token=on_token)
            tokens, outcome = completion.prompt_tokens + completion.completion_tokens, "ok"
        except ModelFailed as error:
            outcome = error.outcome
            raise
        finally:
            facts = {"ms": round((time.perf_counter() - began) * 1000), "tokens": tokens, "outcome": outcome}
            self._tell(asked.model_copy(update={"kind": EventKind.ANSWERED, **facts}))
        return completion
