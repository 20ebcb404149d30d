"""What a node is: one thing that is asked of the model, the check of its answer, and what is done without it.

A node keeps nothing between two runs: everything that it knows is what it is given.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, Field

from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.research.dependencies import ResearchDependencies
from monitor.research.state import State

NO_MODEL_FAILURE = Message.of("research.no_model")
UNUSABLE_ANSWER_FAILURE = Message.of("research.answer_unusable")
EMPTY_ANSWER_FAILURE = Message.of("research.answer_empty")
MAX_ANSWER_CHARS = 200_000
"""How far an answer is read: no plan, paragraph or report is a tenth as long."""

_MAX_ATTEMPTS = 2
_MAX_ECHOED_CHARS = 2_000


class NodeResult(BaseModel):
    """How the work went: the tokens of its calls, and why a rule did the model's work, if it did.

    `refused` counts what of the answers was rejected, by kind.
    """

    tokens: int = 0
    fallback: Message | None = None
    refused: dict[str, int] = Field(default_factory=dict)

    @property
    def is_usable(self) -> bool:
        return True


InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")
ResultT = TypeVar("ResultT", bound=NodeResult)


class NodeAnswer(BaseModel):
    """The model's answer, or why there is none; `is_cut` where it broke off."""

    text: str = ""
    tokens: int = 0
    failure: Message | None = None
    is_cut: bool = False


@dataclass
class Node(ABC, Generic[InputT, OutputT]):
    """One step of work. `run` never raises for what a model says or fails to say."""

    deps: ResearchDependencies

    @abstractmethod
    async def run(self, given: InputT) -> OutputT: ...

    @abstractmethod
    def validate_input(self, given: InputT) -> None:
        """Raise `UsageError` for input with which the node cannot work."""

    @abstractmethod
    def process_output(self, answer: str, given: InputT) -> OutputT | None:
        """Return the result that an answer means, None where it means none."""

    async def ask_model(self, request: CompletionRequest) -> NodeAnswer:
        if self.deps.model is None:
            return NodeAnswer(failure=NO_MODEL_FAILURE)
        try:
            completion = await self.deps.model.complete(request)
        except ModelFailed as error:
            return NodeAnswer(failure=Message.of("research.model_failed", outcome=error.outcome, reason=error.message))
        tokens = completion.prompt_tokens + completion.completion_tokens
        failure = None if completion.text.strip() else EMPTY_ANSWER_FAILURE
        text = completion.text[:MAX_ANSWER_CHARS]
        return NodeAnswer(text=text, tokens=tokens, failure=failure, is_cut=completion.is_cut)


class StateMutationNode(Node[InputT, OutputT]):
    @abstractmethod
    def mutate_state(self, out: OutputT, state: State, order: int) -> State:
        """Return the state with the result in it; `order` is the paragraph's, where it is about one."""


class PromptNode(Node[InputT, ResultT]):
    """A node whose result is the model's where that can be used, else a rule's."""

    unsupported_failure: ClassVar[Message] = UNUSABLE_ANSWER_FAILURE

    async def run(self, given: InputT) -> ResultT:
        """Ask the model, once more where `build_correction` says what was wrong with its first answer."""
        self.validate_input(given)
        request = self.build_request(given)
        refused: Counter[str] = Counter()
        tokens, failure = 0, None
        for _ in range(_MAX_ATTEMPTS):
            answer = await self.ask_model(request)
            tokens += answer.tokens
            failure = answer.failure
            if failure:
                break
            try:
                out = await self.read_answer(answer.text, given)
            except IsolatedWorkFailed as error:  # of the same pages another answer fares no better
                failure = error.message
                break
            refused.update(out.refused if out else {})
            if out is not None and out.is_usable:
                return out.model_copy(update={"tokens": tokens, "refused": dict(refused)})
            failure = UNUSABLE_ANSWER_FAILURE if out is None else self.unsupported_failure
            correction = self.build_correction(out)
            if correction is None:
                break
            echo = ChatMessage(role="assistant", content=answer.text[:_MAX_ECHOED_CHARS])
            request = replace(request, messages=[*request.messages, echo, correction])
        by_rule = await self.run_by_rule(given)
        return by_rule.model_copy(
            update={"tokens": tokens, "refused": dict(refused), "fallback": by_rule.fallback or failure}
        )

    async def read_answer(self, answer: str, given: InputT) -> ResultT | None:
        """Return the result that an answer means; a node that has a second reader asks it here."""
        return await asyncio.to_thread(self.process_output, answer, given)

    @abstractmethod
    def build_request(self, given: InputT) -> CompletionRequest: ...

    @abstractmethod
    async def run_by_rule(self, given: InputT) -> ResultT: ...

    def build_correction(self, out: ResultT | None) -> ChatMessage | None:
        del out
        return None


def describe_node_fallback(node: str, reason: Message) -> Message:
    return Message.of("research.fallback", node=Message.of(f"research.node_{node}"), reason=reason)
