"""The chat-completions protocol: builds messages and parses answers into tolerant models of our own.

Servers that call themselves compatible leave out usage, ids of tool calls, content beside tool calls or arguments as
text, so the openai library's own models are too strict. What they add, such as thoughts and signatures, is kept and
goes back with the message.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from monitor.errors import ModelFailed
from monitor.fetch.outbound import find_error_code
from monitor.llm.answers import parse_tool_arguments, sanitize_value
from monitor.llm.chat import ChatMessage, Completion, CutReason, Tool, ToolCall

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam

_THOUGHT_TEXTS = ("reasoning_content", "reasoning", "thinking")
"""The names under which servers give thoughts as one text; in pieces they stand in `reasoning_details`."""
THOUGHT_FIELDS = frozenset({*_THOUGHT_TEXTS, "reasoning_details"})
_REPLACED_FIELDS = frozenset({"role", "name", "function_call", "refusal", "annotations", "audio", "index", "type"})
"""Fields of a message or call that say nothing to the next turn."""


class _ExtraPayload(BaseModel):
    """A part of an answer whose unknown fields are kept, without those that are null or empty."""

    model_config = ConfigDict(extra="allow")

    @property
    def extra(self) -> dict[str, JsonValue]:
        kept = {name: sanitize_value(value) for name, value in (self.model_extra or {}).items()}
        return {name: value for name, value in kept.items() if name not in _REPLACED_FIELDS and value not in _NOTHING}


_NOTHING: tuple[JsonValue, ...] = (None, "", [], {})


class _FunctionPayload(BaseModel):
    name: str = ""
    arguments: str = ""

    @field_validator("name", mode="before")
    @classmethod
    def _drop_null(cls, value: object) -> object:
        return "" if value is None else value

    @field_validator("arguments", mode="before")
    @classmethod
    def _coerce_to_text(cls, value: object) -> object:
        if value is None:
            return ""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class ToolCallPayload(_ExtraPayload):
    """A tool call, or a piece of one; `index` says which call a piece belongs to."""

    id: str | None = None
    index: int | None = None
    function: _FunctionPayload | None = None


class MessagePayload(_ExtraPayload):
    """A message, or a piece of one."""

    content: str = ""
    tool_calls: list[ToolCallPayload] | None = None

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
_BROKEN_REASONS = frozenset({"error", "network_error", "insufficient_system_resource"})
"""How servers say that they broke off an answer for reasons of their own."""


_TokenCount = Annotated[
    int, BeforeValidator(lambda count: 0 if count is None else count), AfterValidator(lambda count: max(count, 0))
]


class UsagePayload(BaseModel):
    prompt_tokens: _TokenCount = 0
    completion_tokens: _TokenCount = 0


class _ChoicePayload(BaseModel):
    message: MessagePayload | None = None
    delta: MessagePayload | None = None
    finish_reason: str | None = None
    usage: UsagePayload | None = None

    @property
    def cut_by(self) -> CutReason | None:
        return _CUT_REASONS.get((self.finish_reason or "").lower())


class AnswerPayload(BaseModel):
    """A whole answer, or one event of a streamed one."""

    choices: list[_ChoicePayload] | None = None
    usage: UsagePayload | None = None
    system_fingerprint: str | None = None
    error: Any = None

    @model_validator(mode="before")
    @classmethod
    def _drop_foreign_fingerprint(cls, value: Any) -> Any:
        if isinstance(value, dict) and not isinstance(value.get("system_fingerprint"), str):
            return {name: part for name, part in value.items() if name != "system_fingerprint"}
        return value

    def build_completion(self) -> Completion:
        """Return a whole answer; one without a message raises `ModelFailed` (outcome `malformed`)."""
        choice = self.choices[0] if self.choices else None
        if choice is None or choice.message is None:
            raise _build_malformed_error("llm.no_choice")
        return build_completion(choice.message, self.usage or choice.usage, cut_by=choice.cut_by)


def build_completion(
    message: MessagePayload, usage: UsagePayload | None, *, cut_by: CutReason | None = None, is_whole: bool = True
) -> Completion:
    """Return the answer that a message is; tokens are 0 where the server does not count them.

    An answer without text and tool calls is valid.
    """
    extra = message.extra
    return Completion(
        text=message.content,
        tool_calls=_parse_tool_calls(message.tool_calls or []),
        is_cut=cut_by is not None or not is_whole,
        cut_by=cut_by,
        extra=extra,
        reasoning_chars=len(read_thoughts(extra)),
        **(usage or UsagePayload()).model_dump(),
    )


def parse_answer(body: bytes) -> AnswerPayload:
    return parse_chunk(body, invalid_code="llm.no_completion")


def parse_completion(body: bytes) -> Completion:
    """Parse a server's whole answer; raise `ModelFailed` for an invalid one or an error."""
    return parse_answer(body).build_completion()


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
    reasons = ((choice.finish_reason or "").lower() for choice in answer.choices or [])
    if broken := next((reason for reason in reasons if reason in _BROKEN_REASONS), None):
        raise _build_malformed_error("llm.error_in_answer", reason=broken)
    return answer


def read_thoughts(extra: Mapping[str, JsonValue]) -> str:
    """Return the thoughts that came apart from the text."""
    texts = (extra.get(name) for name in _THOUGHT_TEXTS)
    if found := next((text for text in texts if isinstance(text, str) and text), ""):
        return found
    details = extra.get("reasoning_details")
    parts = details if isinstance(details, list) else []
    return "".join(str(part.get("text") or part.get("summary") or "") for part in parts if isinstance(part, dict))


class MessagePieces:
    """A message put together from the pieces of a stream: its text, tool calls, thoughts and whatever came with it."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[_CallPieces] = []
        self._extra: dict[str, JsonValue] = {}

    def add(self, delta: MessagePayload) -> None:
        if delta.content:
            self._texts.append(delta.content)
        for piece in delta.tool_calls or []:
            self._find_call(piece).add(piece)
        _merge_fields(self._extra, delta.model_extra or {})

    def build_message(self) -> MessagePayload:
        calls = [call.build_payload() for call in self._calls if call.name or call.arguments]
        return MessagePayload(content="".join(self._texts), tool_calls=calls, **cast("Any", self._extra))

    def _find_call(self, piece: ToolCallPayload) -> "_CallPieces":
        """Return the call that a piece continues, a new one where it begins one.

        Some servers number every call 0, others not at all: another id, or a name without an id, begins a call too.
        """
        place = piece.index if piece.index is not None else len(self._calls) - 1
        known = [call for call in self._calls if call.index == place] if piece.index is not None else self._calls
        last = known[-1] if known else None
        name = piece.function.name if piece.function else ""
        if last is None or _begins_another(last, piece.id, name):
            self._calls.append(last := _CallPieces(index=place))
        return last


class _CallPieces:
    def __init__(self, index: int) -> None:
        self.index = index
        self.id: str | None = None
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, JsonValue] = {}

    def add(self, piece: ToolCallPayload) -> None:
        self.id = piece.id or self.id
        if piece.function is not None:
            self.name = self.name or piece.function.name
            if piece.function.arguments:
                self.arguments.append(piece.function.arguments)
        _merge_fields(self.extra, piece.model_extra or {})

    def build_payload(self) -> ToolCallPayload:
        function = _FunctionPayload(name=self.name, arguments="".join(self.arguments))
        return ToolCallPayload(id=self.id, function=function, **cast("Any", self.extra))


def _begins_another(last: _CallPieces, call_id: str | None, name: str) -> bool:
    if call_id and last.id:
        return call_id != last.id
    return bool(name and last.name and last.arguments and not call_id)


def _merge_fields(whole: dict[str, JsonValue], piece: Mapping[str, JsonValue]) -> None:
    """Lay a piece over what came before: thoughts grow, lists join by their elements' index, other values replace."""
    for name, value in piece.items():
        known = whole.get(name)
        if isinstance(known, str) and isinstance(value, str) and name in (*_THOUGHT_TEXTS, "text", "summary", "data"):
            whole[name] = known + value
        elif isinstance(known, dict) and isinstance(value, dict):
            _merge_fields(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            _merge_elements(known, value)
        elif value is not None:
            whole[name] = value


def _merge_elements(known: list[JsonValue], added: list[JsonValue]) -> None:
    for element in added:
        last = known[-1] if known else None
        is_continued = (
            isinstance(element, dict)
            and isinstance(last, dict)
            and "index" in element
            and (element["index"], element.get("type")) == (last.get("index"), last.get("type"))
        )
        if is_continued and isinstance(element, dict) and isinstance(last, dict):
            _merge_fields(last, element)
        else:
            known.append(element)


class MessageRules(BaseModel):
    """What of a message's `extra` a server wants back.

    None of `kept` means all. `withheld` never go back. An assistant message with tool calls, or each one, that lacks a
    field of `filled` gets its value; so does a call that lacks one of `filled_in_calls`.
    """

    kept: frozenset[str] | None = None
    withheld: frozenset[str] = frozenset()
    filled: dict[str, JsonValue] = {}
    fills_every_answer: bool = False
    filled_in_calls: dict[str, JsonValue] = {}
    has_system_role: bool = True

    def select(self, extra: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return {
            name: value
            for name, value in extra.items()
            if name not in self.withheld and (self.kept is None or name in self.kept)
        }


def build_messages(
    messages: Sequence[ChatMessage], rules: MessageRules | None = None
) -> "list[ChatCompletionMessageParam]":
    """Return the conversation; tool arguments that are no JSON are repaired, for which a server might refuse it all."""
    rules = rules or MessageRules()
    built = [_build_message(message, rules) for message in messages]
    if not rules.has_system_role and len(built) > 1 and built[0]["role"] == "system":
        rest = cast("dict[str, Any]", built[1])
        rest["content"] = f"{built[0]['content']}\n\n{rest['content']}"
        return built[1:]
    return built


def build_tools(tools: Sequence[Tool], *, takes_nullable: bool = True) -> "list[ChatCompletionFunctionToolParam]":
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters if takes_nullable else drop_null_types(tool.parameters),
            },
        }
        for tool in tools
    ]


def drop_null_types(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without types that may be null; such properties are no longer required."""
    plain = {name: _drop_null(value) for name, value in schema.items()}
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and isinstance(plain.get("required"), list):
        optional = {name for name, inner in properties.items() if isinstance(inner, Mapping) and _may_be_null(inner)}
        plain["required"] = [name for name in plain["required"] if name not in optional]
    return plain


def _drop_null(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = drop_null_types(value)
        if isinstance(kinds := plain.get("type"), list):
            others = [kind for kind in kinds if kind != "null"]
            plain["type"] = others[0] if others else "string"
        if isinstance(choices := plain.get("anyOf"), list):
            others = [
                choice for choice in choices if not (isinstance(choice, Mapping) and choice.get("type") == "null")
            ]
            plain = {**plain, "anyOf": others} if len(others) > 1 else {**_without(plain, "anyOf"), **dict(others[0])}
        return plain
    return [_drop_null(element) for element in value] if isinstance(value, list) else value


def _without(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    kinds, choices = schema.get("type"), schema.get("anyOf")
    is_listed = isinstance(kinds, list) and "null" in kinds
    return is_listed or (isinstance(choices, list) and {"type": "null"} in choices)


def has_null_types(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return _may_be_null(schema) or any(map(has_null_types, schema.values()))
    return isinstance(schema, list) and any(map(has_null_types, schema))


def _build_message(message: ChatMessage, rules: MessageRules) -> "ChatCompletionMessageParam":
    built: dict[str, Any] = {"role": message.role, "content": replace_surrogates(message.content)}
    if message.role == "tool":
        built["tool_call_id"] = message.tool_call_id or ""
    if message.role == "assistant":
        filled = rules.filled if message.tool_calls or rules.fills_every_answer else {}
        built = {**filled, **rules.select(message.extra), **built}
    if message.role == "assistant" and message.tool_calls:
        built["tool_calls"] = [
            {
                **rules.filled_in_calls,
                **rules.select(call.extra),
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
            return replace_surrogates(arguments)
    except (ValueError, RecursionError):
        pass
    return json.dumps(parse_tool_arguments(arguments) or {}, ensure_ascii=False, separators=(",", ":"))


def _parse_tool_calls(calls: list[ToolCallPayload]) -> list[ToolCall]:
    """Return the calls with unique ids, by which answers are matched to them."""
    known: set[str] = set()
    named: list[ToolCall] = []
    for number, call in enumerate(calls):
        if call.function is None:
            continue
        call_id = call.id if call.id and call.id not in known else f"call_{number}"
        known.add(call_id)
        named.append(ToolCall(id=call_id, name=call.function.name, arguments=call.function.arguments, extra=call.extra))
    return named


def replace_surrogates(text: str) -> str:
    """Replace half surrogates, which a badly decoded page may contain and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _build_malformed_error(code: str, **args: str) -> ModelFailed:
    return ModelFailed(code, outcome="malformed", **args)
