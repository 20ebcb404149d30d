"""A completion of the scripted model as it is streamed: server-sent events, a word or two at a time."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_PIECES = re.compile(r"[\u4e00-\u9fff]{1,3}|[^\u4e00-\u9fff\s]+\s*|\s+")


@dataclass(frozen=True)
class Stream:
    """How a completion is streamed: whether its tokens are told, it breaks off, and the pause after each piece."""

    with_usage: bool
    breaks_off: bool
    pause_s: float


async def send_stream(writer: asyncio.StreamWriter, completion: dict[str, Any], stream: Stream) -> None:
    """Send a completion piece by piece; one that breaks off ends with its last piece, in the middle of the body."""
    head = ("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "Connection: close")
    writer.write("\r\n".join([*head, "", ""]).encode())
    for event in _events(completion, stream):
        _write_chunk(writer, f"data: {event}\n\n".encode())
        await writer.drain()
        if stream.pause_s:
            await asyncio.sleep(stream.pause_s)
    if not stream.breaks_off:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def pieces_of(text: str) -> list[str]:
    """The text in pieces of about a word; together they are the text."""
    return _PIECES.findall(text)


def _events(completion: dict[str, Any], stream: Stream) -> Iterator[str]:
    choice, message = completion["choices"][0], completion["choices"][0]["message"]
    shared = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def event(delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return json.dumps({**shared, "choices": choices}, ensure_ascii=False)

    yield event({"role": "assistant", "content": ""})
    for piece in pieces_of(message["content"] or ""):
        yield event({"content": piece})
    if stream.breaks_off:
        return
    calls = [{**call, "index": place} for place, call in enumerate(message.get("tool_calls") or [])]
    if calls:
        yield event({"tool_calls": calls})
    yield event({}, choice["finish_reason"])
    if stream.with_usage and "usage" in completion:
        yield json.dumps({**shared, "choices": [], "usage": completion["usage"]}, ensure_ascii=False)
    yield "[DONE]"


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
