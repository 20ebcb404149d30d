"""Tools that a client wrote into the text of its messages, read back as tools for the scripted model."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.scripted_model.modes import ReplyPayload

_FORMAT = re.compile(r'\{\s*"tool"\s*:\s*"[^"]*"\s*,\s*"arguments"')
_NAME = re.compile(r"^- ([a-z_]+): ", re.MULTILINE)


@dataclass(frozen=True)
class TextualTools:
    """A body as it would be with tools: their names, and the calls and results of earlier turns."""

    body: dict[str, Any]


def read_textual_tools(body: dict[str, Any]) -> TextualTools | None:
    """Return the body with tools where its messages describe some; None for a body without."""
    messages = body.get("messages") or []
    if body.get("tools") or not messages:
        return None
    described = str(messages[0].get("content"))
    form = _FORMAT.search(described)
    names = _NAME.findall(described[form.end() :]) if form else []
    if not names:
        return None
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]
    return TextualTools({**body, "tools": tools, "messages": list(_read_messages(messages, names))})


def _read_messages(messages: Sequence[dict[str, Any]], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    result = re.compile(rf"^\[(?:{'|'.join(map(re.escape, names))}|tool)\]\n", re.MULTILINE)
    for number, message in enumerate(messages):
        text = str(message.get("content") or "")
        calls = list(_read_calls(text, names)) if message.get("role") == "assistant" else []
        if calls:
            built = [
                {
                    "id": f"text_{number}_{place}",
                    "function": {"name": call["tool"], "arguments": json.dumps(call["arguments"])},
                }
                for place, call in enumerate(calls)
            ]
            yield {"role": "assistant", "content": "", "tool_calls": built}
        elif message.get("role") == "user" and result.match(text):
            for part in result.split(text)[1:]:
                yield {"role": "tool", "content": part}
        else:
            yield message


def _read_calls(text: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("tool") in names:
            yield value


def write_textual_reply(reply: ReplyPayload) -> ReplyPayload:
    """The first call of a reply as one JSON object."""
    if not reply.calls:
        return reply
    name, arguments = reply.calls[0]
    text = json.dumps({"tool": name, "arguments": json.loads(arguments)}, ensure_ascii=False)
    return replace(reply, text=text, calls=())
