"""The types of a conversation with a language model, in the shapes of chat completions."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from monitor.vocabulary import Phase

MessageRole = Literal["system", "user", "assistant", "tool"]
OnToken = Callable[[str], Awaitable[None]]
"""Receives each piece of a streamed answer."""


class ToolCall(BaseModel):
    """A tool call of the model; `arguments` is its unvalidated JSON text."""

    id: str
    name: str
    arguments: str


class ChatMessage(BaseModel):
    role: MessageRole
    content: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None

    @property
    def size_chars(self) -> int:
        """The characters of its content and its tool arguments."""
        return len(self.content) + sum(len(call.arguments) for call in self.tool_calls)


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

    `is_cut` where it broke off before its end; `cut_by` says why, where the server did that on purpose.
    """

    text: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cut: bool = False
    cut_by: CutReason | None = None


class ModelTrial(BaseModel):
    """The result of asking a model for one word; `complaint` says why no answer came."""

    model: str
    endpoint: str
    latency_ms: int
    complaint: str | None = None


@dataclass(frozen=True)
class CompletionRequest:
    """What a model is asked; `phase` and `place` say in the usage ledger what for.

    `on_token` receives the text while it is written. It must not call the model: the call under way holds the slot.
    """

    messages: Sequence[ChatMessage]
    phase: Phase
    place: str = ""
    tools: Sequence[Tool] = ()
    on_token: OnToken | None = None


class ChatModel(Protocol):
    """A language model, bound to one run: its calls are counted, limited and recorded."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return one completion; raise `ModelFailed`, or `ModelUnavailable` where asking again is useless.

        An answer that the server cut short is a failure too, unless it is streamed or an agent's: those are of use as
        far as they go.
        """
