"""What a node is: one thing that is asked of the model, the check of its answer, and what is done without it.

A node keeps nothing between two runs: everything that it knows is what it is given. What it gives says how many tokens
its calls took and, where a rule did the model's work, why.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from pydantic import BaseModel

from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.chat import ChatMessage, CompletionRequest, OnToken
from monitor.research.dependencies import ResearchDependencies
from monitor.research.state import State
from monitor.vocabulary import Phase

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")
NO_MODEL_FAILURE = Message.of("research.no_model")
UNUSABLE_ANSWER_FAILURE = Message.of("research.answer_unusable")
EMPTY_ANSWER_FAILURE = Message.of("research.answer_empty")


class NodeResult(BaseModel):
    """What a node gives beside its own: the tokens of its calls, and why a rule did the model's work, if it did."""

    tokens: int = 0
    fallback: Message | None = None


class NodeAnswer(BaseModel):
    """What came of asking: the text, which may be cut, or why there is none."""

    text: str = ""
    tokens: int = 0
    failure: Message | None = None
    is_cut: bool = False


class Node(ABC, Generic[InputT, OutputT]):
    """One step of work. `run` never raises for what a model says or fails to say: it falls back to a rule of its own.

    `validate_input` raises `UsageError` for input with which the node cannot work; `process_output` gives None for an
    answer that cannot be used.
    """

    def __init__(self, deps: ResearchDependencies) -> None:
        self.deps = deps

    @abstractmethod
    async def run(self, given: InputT) -> OutputT:
        """The result, by the model where there is one and its answer is of use, else by rule."""

    @abstractmethod
    def validate_input(self, given: InputT) -> None:
        """Refuse what the node cannot work with."""

    @abstractmethod
    def process_output(self, answer: str, given: InputT) -> OutputT | None:
        """The result that an answer means."""

    async def ask_model(
        self, messages: Sequence[ChatMessage], *, phase: Phase, place: str, on_token: OnToken | None = None
    ) -> NodeAnswer:
        """The model's answer to a conversation of its own; without a model, or where none came, the reason."""
        if self.deps.model is None:
            return NodeAnswer(failure=NO_MODEL_FAILURE)
        try:
            completion = await self.deps.model.complete(CompletionRequest(messages, phase, place, on_token=on_token))
        except ModelFailed as error:
            return NodeAnswer(failure=Message.of("research.model_failed", outcome=error.outcome, reason=error.message))
        tokens = completion.prompt_tokens + completion.completion_tokens
        failure = None if completion.text.strip() else EMPTY_ANSWER_FAILURE
        return NodeAnswer(text=completion.text, tokens=tokens, failure=failure, is_cut=completion.is_cut)


def describe_node_fallback(node: str, reason: Message) -> Message:
    return Message.of("research.fallback", node=Message.of(f"research.node_{node}"), reason=reason)


class StateMutationNode(Node[InputT, OutputT]):
    """A node whose result is written into the state."""

    @abstractmethod
    def mutate_state(self, out: OutputT, state: State, order: int) -> State:
        """The state with the result in it; `order` is the paragraph's, where it is about one."""
