"""A request to a provider's server, as its rules read it, and the refusals that they answer with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def count_tokens(text: str) -> int:
    """Tokens as the servers here count them: about four Latin letters make one, and three Chinese characters two."""
    wide = sum(character > "\u2e80" for character in text)
    return round(wide * 0.65 + (len(text) - wide) * 0.25)


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error; `body` is what the provider writes around its words."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exchange:
    """One request: its body and headers, and whether the model thinks before it answers."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    thinks: bool = False

    @property
    def messages(self) -> Sequence[dict[str, Any]]:
        return [message for message in self.body.get("messages") or [] if isinstance(message, dict)]

    @property
    def tools(self) -> Sequence[dict[str, Any]]:
        return self.body.get("tools") or []

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def max_tokens(self) -> int | None:
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens")

    @property
    def format(self) -> str | None:
        """The type of its `response_format`, if it asks for one."""
        return (self.body.get("response_format") or {}).get("type")

    def list_tool_turns(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The assistant messages with tool calls, with their places."""
        for place, message in enumerate(self.messages):
            if message.get("role") == "assistant" and message.get("tool_calls"):
                yield place, message

    def mentions(self, word: str) -> bool:
        return any(word in str(message.get("content")).lower() for message in self.messages)

    @property
    def prompt_tokens(self) -> int:
        texts = [json.dumps(tool, ensure_ascii=False) for tool in self.tools]
        return sum(map(count_message_tokens, self.messages)) + sum(map(count_tokens, texts))


def count_message_tokens(message: Mapping[str, Any]) -> int:
    calls = message.get("tool_calls") or []
    return 4 + count_tokens(str(message.get("content") or "")) + sum(count_tokens(json.dumps(call)) for call in calls)


def write_openai_error(status: int, message: str, *, code: Any = None, param: str | None = None) -> Refusal:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Refusal(status, {"error": error})


def write_google_error(message: str, status: int = 400, word: str = "INVALID_ARGUMENT") -> Refusal:
    """Google's body is a list with one object."""
    return Refusal(status, [{"error": {"code": status, "message": message, "status": word}}])
