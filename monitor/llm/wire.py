"""The chat-completions protocol: our messages as the server wants them, its answer as we can believe it.

Servers that call themselves compatible differ in what they leave out: usage, ids of tool calls, content beside tool
calls, arguments as text. The answer is therefore read from its bytes into tolerant values of our own.
"""

import json
from collections.abc import Sequence
from typing import Any

from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import BaseModel, Field, ValidationError, field_validator

from monitor.errors import ModelFailed
from monitor.llm.answers import parse_tool_arguments
from monitor.llm.chat import Completion, Message, Tool, ToolCall


class _FunctionPayload(BaseModel):
    name: str
    arguments: str = ""

    @field_validator("arguments", mode="before")
    @classmethod
    def _coerce_to_text(cls, value: object) -> object:
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _ToolCallPayload(BaseModel):
    id: str | None = None
    function: _FunctionPayload | None = None


class _MessagePayload(BaseModel):
    content: str = ""
    tool_calls: list[_ToolCallPayload] | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _join_text_parts(cls, value: object) -> object:
        """Text that came in parts, as some servers send it."""
        if isinstance(value, list):
            return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
        return "" if value is None else value


class _ChoicePayload(BaseModel):
    message: _MessagePayload | None = None


class UsagePayload(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _CompletionPayload(BaseModel):
    choices: list[_ChoicePayload] | None = None
    usage: UsagePayload | None = None
    error: Any = Field(default=None)


class _ChunkChoicePayload(BaseModel):
    delta: _MessagePayload | None = None
    finish_reason: str | None = None


class ChunkPayload(BaseModel):
    """One event of an answer that is streamed."""

    choices: list[_ChunkChoicePayload] | None = None
    usage: UsagePayload | None = None
    error: Any = Field(default=None)


def parse_completion(body: bytes) -> Completion:
    """The completion in a server's answer; tokens are 0 where it does not count them.

    An answer without text and tool calls is a completion all the same; one without a message is `ModelFailed` with the
    outcome `malformed`.
    """
    try:
        answer = _CompletionPayload.model_validate_json(body)
    except ValidationError as error:
        raise _build_malformed_error("something that is no chat completion") from error
    if answer.error:
        raise _build_malformed_error(f"an error inside a good answer: {str(answer.error)[:200]}")
    message = answer.choices[0].message if answer.choices else None
    if message is None:
        raise _build_malformed_error("an answer without a choice in it")
    usage = answer.usage or UsagePayload()
    return Completion(
        text=message.content,
        tool_calls=_parse_tool_calls(message.tool_calls or []),
        prompt_tokens=max(usage.prompt_tokens or 0, 0),
        completion_tokens=max(usage.completion_tokens or 0, 0),
    )


def parse_chunk(data: bytes) -> ChunkPayload:
    """One event of a streamed answer; `ModelFailed` for one that is none, or tells of an error."""
    try:
        chunk = ChunkPayload.model_validate_json(data)
    except ValidationError as error:
        raise _build_malformed_error("an event that is no chunk of a completion") from error
    if chunk.error:
        raise _build_malformed_error(f"an error inside a good answer: {str(chunk.error)[:200]}")
    return chunk


def build_messages(messages: Sequence[Message]) -> list[ChatCompletionMessageParam]:
    """The conversation as the server reads it.

    Past tool arguments that are no JSON are mended: a server that parses them would refuse the whole conversation.
    """
    return [_build_message(message) for message in messages]


def build_tools(tools: Sequence[Tool]) -> list[ChatCompletionFunctionToolParam]:
    """The tools as they are offered."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def _build_message(message: Message) -> ChatCompletionMessageParam:
    content = _replace_surrogates(message.content)
    match message.role:
        case "system":
            return {"role": "system", "content": content}
        case "user":
            return {"role": "user", "content": content}
        case "tool":
            return {"role": "tool", "content": content, "tool_call_id": message.tool_call_id or ""}
    if not message.tool_calls:
        return {"role": "assistant", "content": content}
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _repair_arguments(call.arguments)},
            }
            for call in message.tool_calls
        ],
    }


def _repair_arguments(arguments: str) -> str:
    try:
        if isinstance(json.loads(arguments), dict):
            return _replace_surrogates(arguments)
    except (ValueError, RecursionError):
        pass
    return json.dumps(parse_tool_arguments(arguments) or {}, ensure_ascii=False, separators=(",", ":"))


def _parse_tool_calls(calls: list[_ToolCallPayload]) -> list[ToolCall]:
    """The calls with ids that are there and differ, so that each answer finds its question."""
    known: set[str] = set()
    named: list[ToolCall] = []
    for number, call in enumerate(calls):
        if call.function is None:
            continue
        call_id = call.id if call.id and call.id not in known else f"call_{number}"
        known.add(call_id)
        named.append(ToolCall(id=call_id, name=call.function.name, arguments=call.function.arguments))
    return named


def _replace_surrogates(text: str) -> str:
    """The text without half characters, which a badly decoded page can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _build_malformed_error(description: str) -> ModelFailed:
    return ModelFailed(
        f"The model server sent {description}; check that llm.base_url is a chat-completions endpoint.",
        outcome="malformed",
    )
