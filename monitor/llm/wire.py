"""The chat-completions protocol: builds requests and parses answers into tolerant models of our own.

Servers that call themselves compatible leave out usage, ids of tool calls, content beside tool calls or arguments as
text, so the openai library's own models are too strict.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, cast

from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError, field_validator

from monitor.errors import ModelFailed
from monitor.fetch.outbound import find_error_code
from monitor.llm.answers import parse_tool_arguments
from monitor.llm.chat import ChatMessage, Completion, CutReason, Tool, ToolCall


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
        if isinstance(value, list):
            return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
        return "" if value is None else value


_CUT_REASONS = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), CutReason.LENGTH),
    **dict.fromkeys(("content_filter", "safety", "sensitive"), CutReason.CONTENT_FILTER),
}
"""The reasons of the protocol, and those of servers that have names of their own for them."""


class _ChoicePayload(BaseModel):
    message: _MessagePayload | None = None
    delta: _MessagePayload | None = None
    finish_reason: str | None = None

    @property
    def cut_by(self) -> CutReason | None:
        return _CUT_REASONS.get((self.finish_reason or "").lower())


_TokenCount = Annotated[
    int, BeforeValidator(lambda count: 0 if count is None else count), AfterValidator(lambda count: max(count, 0))
]


class UsagePayload(BaseModel):
    prompt_tokens: _TokenCount = 0
    completion_tokens: _TokenCount = 0


class AnswerPayload(BaseModel):
    """A whole answer, or one event of a streamed one."""

    choices: list[_ChoicePayload] | None = None
    usage: UsagePayload | None = None
    error: Any = None


def parse_completion(body: bytes) -> Completion:
    """Parse a server's answer; tokens are 0 where it does not count them.

    An answer without text and tool calls is valid; one without a message raises `ModelFailed` (outcome `malformed`).
    """
    answer = parse_chunk(body, invalid_code="llm.no_completion")
    choice = answer.choices[0] if answer.choices else None
    if choice is None or choice.message is None:
        raise _build_malformed_error("llm.no_choice")
    return Completion(
        text=choice.message.content,
        tool_calls=_parse_tool_calls(choice.message.tool_calls or []),
        is_cut=choice.cut_by is not None,
        cut_by=choice.cut_by,
        **(answer.usage or UsagePayload()).model_dump(),
    )


def parse_chunk(data: bytes, *, invalid_code: str = "llm.no_chunk") -> AnswerPayload:
    """Parse one event of a streamed answer; raise `ModelFailed` for an invalid one or an error."""
    try:
        answer = AnswerPayload.model_validate_json(data)
    except ValidationError as error:
        raise _build_malformed_error(invalid_code) from error
    if answer.error:
        if code := find_error_code({"error": answer.error}):
            raise _build_malformed_error("llm.error_in_answer", reason=code)
        raise _build_malformed_error("llm.unnamed_error_in_answer")
    return answer


def build_messages(messages: Sequence[ChatMessage]) -> list[ChatCompletionMessageParam]:
    """Return the conversation; tool arguments that are no JSON are repaired, for which a server might refuse it all."""
    return [_build_message(message) for message in messages]


def build_tools(tools: Sequence[Tool]) -> list[ChatCompletionFunctionToolParam]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def _build_message(message: ChatMessage) -> ChatCompletionMessageParam:
    built: dict[str, Any] = {"role": message.role, "content": _replace_surrogates(message.content)}
    if message.role == "tool":
        built["tool_call_id"] = message.tool_call_id or ""
    if message.role == "assistant" and message.tool_calls:
        built["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _repair_arguments(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return cast("ChatCompletionMessageParam", built)


def _repair_arguments(arguments: str) -> str:
    try:
        if isinstance(json.loads(arguments), dict):
            return _replace_surrogates(arguments)
    except (ValueError, RecursionError):
        pass
    return json.dumps(parse_tool_arguments(arguments) or {}, ensure_ascii=False, separators=(",", ":"))


def _parse_tool_calls(calls: list[_ToolCallPayload]) -> list[ToolCall]:
    """Return the calls with unique ids, by which answers are matched to them."""
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
    """Replace half surrogates, which a badly decoded page may contain and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _build_malformed_error(code: str, **args: str) -> ModelFailed:
    return ModelFailed(code, outcome="malformed", **args)
