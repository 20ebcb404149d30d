"""Talking with a language model: messages in, a completion out, in the chat-completions shapes."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from monitor.vocabulary import Phase

MessageRole = Literal["system", "user", "assistant", "tool"]
OnToken = Callable[[str], Awaitable[None]]
"""What is told each piece of an answer as it is written."""


class ToolCall(BaseModel):
    """A tool that the model asks for; `arguments` is the JSON text as it came, not yet believed."""

    id: str
    name: str
    arguments: str


class Message(BaseModel):
    role: MessageRole
    content: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None

    @property
    def size_chars(self) -> int:
        """What the message weighs in the context: its content and its tool arguments, in characters."""
        return len(self.content) + sum(len(call.arguments) for call in self.tool_calls)


class Tool(BaseModel):
    """A tool as it is offered to a model; `parameters` is a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class Completion(BaseModel):
    """A model's answer and what it cost. `is_cut`: it broke off before its end, and this is what had come."""

    text: str = ""
    tool_calls: list[ToolCall] = Field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_cut: bool = False


class ModelTrial(BaseModel):
    """A model that was asked for one word: how long it took, or in a sentence why no answer came."""

    model: str
    endpoint: str
    latency_ms: int
    complaint: str | None = None


class ChatModel(Protocol):
    """A language model, bound to one run: its calls are counted, limited and recorded."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        """One completion; `ModelFailed` where none came, `ModelUnavailable` where asking again is useless.

        `on_token` is told the text while it is written, in pieces that together are the completion's. It must not ask
        the model itself: the call that it listens to holds its slot.
        """
        ...
