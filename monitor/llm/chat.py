"""The types of a conversation with a language model, in the shapes of chat completions."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, Field, JsonValue

from monitor.vocabulary import Phase

MessageRole = Literal["system", "user", "assistant", "tool"]
OnToken = Callable[[str], Awaitable[None]]
"""Receives each piece of a streamed answer."""


class ToolCall(BaseModel):
    """A tool call of the model; `arguments` is its unvalidated JSON text, `extra` what else came with it."""

    id: str
    name: str
    arguments: str
    extra: dict[str, JsonValue] = Field(default_factory=dict)


class ChatMessage(BaseModel):
    """A message; `extra` is what came with an answer beside its text and goes back whole, such as its thoughts."""

    role: MessageRole
    content: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None
    extra: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def size_chars(self) -> int:
        """The characters of its content, its tool arguments and what came with them."""
        calls = sum(len(call.arguments) + measure_extra(call.extra) for call in self.tool_calls)
        return len(self.content) + calls + measure_extra(self.extra)


def measure_extra(extra: Mapping[str, JsonValue]) -> int:
    return len(json.dumps(extra, ensure_ascii=False)) if extra else 0


class Tool(BaseModel):
    """A tool that is offered to a model; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class CutReason(StrEnum):
    """Why a server ended an answer before the model did."""

    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


class Completion(BaseModel):
    """A model's answer with its tokens.

    `is_cut` where it broke off before its end; `cut_by` says why, where the server did that on purpose. `extra` goes
    back with the answer's message. `reasoning_chars` counts the thoughts that stand apart from the text.
    `is_prompt_cut`: the server counted fewer tokens than were sent, so it read only a part of the prompt.
    """

    text: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cut: bool = False
    cut_by: CutReason | None = None
    extra: dict[str, JsonValue] = Field(default_factory=dict)
    reasoning_chars: int = 0
    is_prompt_cut: bool = False


@dataclass(frozen=True)
class CompletionRequest:
    """What a model is asked; `phase` and `place` say in the usage ledger what for.

    `on_token` receives the text while it is written. It must not call the model: the call under way holds the slot.
    `schema` is the JSON Schema of the answer, for servers that can hold a model to it; each object in it names all of
    its properties as required.
    """

    messages: Sequence[ChatMessage]
    phase: Phase
    place: str = ""
    tools: Sequence[Tool] = ()
    on_token: OnToken | None = None
    schema: Mapping[str, JsonValue] | None = None


class ChatModel(Protocol):
    """A language model, bound to one run: its calls are counted, limited and recorded."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return one completion; raise `ModelFailed`, or `ModelUnavailable` where asking again is useless.

        An answer that the server cut short is a failure too, unless it is streamed or an agent's: those are of use as
        far as they go.
        """


@runtime_checkable
class FittingModel(ChatModel, Protocol):
    """A `ChatModel` that knows how long a prompt its server reads."""

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        """Return how many characters of material, at most `limit`, fit the context of this phase's model."""


def fit_chars(model: ChatModel | None, phase: Phase, limit: int, place: str = "") -> int:
    """Return how many characters of material, at most `limit`, fit the context of this phase's model, if known."""
    return model.fit_chars(phase, limit, place) if isinstance(model, FittingModel) else limit
