"""Tools as text, for models that cannot call them: one JSON object a turn, read from what the model writes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from monitor.llm.answers import find_json_spans, parse_object, strip_thinking
from monitor.llm.chat import ChatMessage, Tool, ToolCall

_TASK = """

工具 / TOOLS
每次只回复一个 JSON 对象，不写其他内容；等到结果后再写下一个。/ Answer with one JSON object and nothing else; \
its result follows, then write the next one:
{"tool": "NAME", "arguments": {…}}

"""
_NAMES = ("tool", "name", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input")
_MARKED = re.compile(
    r"<tool_call>(.*?)(?:</tool_call>|\Z)"
    r"|\[TOOL_CALLS\]\s*(.*)"
    r"|<\|python_tag\|>(.*)"
    r"|<\|tool_call_begin\|>(.*?)(?:<\|tool_call_end\|>|\Z)"
    r"|<｜tool▁call▁begin｜>(.*?)(?:<｜tool▁call▁end｜>|\Z)"
    r"|(<function=.*?)(?:</function>|\Z)"
    r"|<function_call>(.*?)(?:</function_call>|\Z)",
    re.DOTALL,
)
"""The marks between which models write calls, where the server does not read them."""

_XML_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*)", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=([\w.-]+)>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_XML_PAIR = re.compile(r"<arg_key>\s*([\w.-]+)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_LEADING_NAME = re.compile(r"\W*(?:function\W+tool\W+sep\W+)?(?:functions\.)?([A-Za-z_][\w-]*)")


def write_tools(messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> list[ChatMessage]:
    """Return the conversation without tools: they stand in the first message, calls and their results are texts.

    No two messages of one role follow each other, which some templates refuse.
    """
    written = [_write_message(message, messages) for message in messages]
    listed = "\n".join(_describe_tool(tool) for tool in tools)
    joined: list[ChatMessage] = []
    for place, message in enumerate(written):
        content = message.content + (_TASK + listed if place == 0 else "")
        if joined and joined[-1].role == message.role:
            content = f"{joined[-1].content}\n\n{content}"
            joined.pop()
        joined.append(message.model_copy(update={"content": content}))
    return joined


def read_call(text: str, tools: Sequence[Tool], call_id: str = "text_0") -> ToolCall | None:
    """Return the call that an answer to `write_tools` contains: the first object that names one of the tools."""
    known = {tool.name for tool in tools}
    answer, thoughts = strip_thinking(text)
    marked = find_marked_call(text, tools, call_id)
    if marked is not None:
        return marked
    for part in (answer, thoughts):
        for candidate in _iter_objects(part):
            if (call := _build_call(candidate, known, call_id)) is not None:
                return call
    return None


def find_marked_call(text: str, tools: Sequence[Tool], call_id: str = "text_0") -> ToolCall | None:
    """Return the call between the marks that a model's template has for calls, where a server left them in the text."""
    known = {tool.name for tool in tools}
    for found in _MARKED.finditer(text):
        body = next((group for group in found.groups() if group is not None), "")
        call = _read_xml_call(body, known, call_id)
        if call is None:
            objects = (_build_call(candidate, known, call_id) for candidate in _iter_objects(body))
            call = next((built for built in objects if built is not None), None)
        if call is None and (name := _LEADING_NAME.match(body)) and name[1] in known:
            call = _make_call(name[1], parse_object(body[name.end() :]) or {}, call_id)
        if call is not None:
            return call
    return None


def _describe_tool(tool: Tool) -> str:
    parameters = json.dumps(tool.parameters, ensure_ascii=False)
    return f"- {tool.name}: {tool.description}\n  arguments: {parameters}"


def _write_message(message: ChatMessage, messages: Sequence[ChatMessage]) -> ChatMessage:
    if message.role == "tool":
        name = next(
            (call.name for earlier in messages for call in earlier.tool_calls if call.id == message.tool_call_id),
            "tool",
        )
        return ChatMessage(role="user", content=f"[{name}]\n{message.content}")
    if not message.tool_calls:
        return message
    calls = "\n".join(_write_call(call) for call in message.tool_calls)
    return message.model_copy(update={"content": calls, "tool_calls": []})


def _write_call(call: ToolCall) -> str:
    return json.dumps({"tool": call.name, "arguments": parse_object(call.arguments) or {}}, ensure_ascii=False)


def _iter_objects(text: str) -> Iterator[Mapping[str, Any]]:
    for span in find_json_spans(text):
        value = parse_object(span.source)
        if value is not None:
            yield value


def _build_call(candidate: Mapping[str, Any], known: set[str], call_id: str) -> ToolCall | None:
    inner = next((candidate[key] for key in ("tool_call", "function_call", "function") if key in candidate), None)
    if isinstance(inner, Mapping):
        candidate = inner
    name = next((candidate[key] for key in _NAMES if isinstance(candidate.get(key), str)), None)
    name = name.removeprefix("functions.") if name else None
    if name in known:
        arguments = next((candidate[key] for key in _ARGUMENTS if key in candidate), None)
        if isinstance(arguments, str):
            arguments = parse_object(arguments)
        if not isinstance(arguments, Mapping):
            arguments = {key: value for key, value in candidate.items() if key not in _NAMES}
        return _make_call(name, arguments, call_id)
    if len(candidate) == 1:
        (only, arguments), *_ = candidate.items()
        if only in known and isinstance(arguments, Mapping):
            return _make_call(only, arguments, call_id)
    return None


def _read_xml_call(body: str, known: set[str], call_id: str) -> ToolCall | None:
    if (function := _XML_FUNCTION.search(body)) and function[1] in known:
        pairs = _XML_PARAMETER.findall(function[2])
    elif (name := _LEADING_NAME.match(body)) and name[1] in known and "<arg_key>" in body:
        function, pairs = name, _XML_PAIR.findall(body)
    else:
        return None
    return _make_call(function[1], {key: _read_value(value) for key, value in pairs}, call_id)


def _read_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _make_call(name: str, arguments: Mapping[str, Any], call_id: str) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))
