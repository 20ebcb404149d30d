"""A scripted language model on loopback: it speaks the chat-completions protocol and answers by reading its prompts.

It stands in for a real model in tests and in the demo, so it is told nothing but what a model is told. Its modes:

- `good`: does what the prompts ask for.
- `fenced`: the same, in ```json fences with prose around and thoughts with brackets before it.
- `malformed`: truncated JSON, commas too many, no quotes; tool arguments broken half of the time; orders that repeat.
- `truncated`: stops in the middle; a stream ends as one whose tokens ran out, or breaks off, in turn.
- `hallucinating`: true things with invented urls, dates, figures, quotes and citations among them.
- `empty`: neither text nor tool calls.
- `http_500`: every call fails.
- `http_429`: the first `refusals` calls are refused with `Retry-After`, then `good`.
- `slow`: `good`, two seconds a call unless `latency_s` says otherwise.
- `looping`: the crawl agent opens the same page again and again and never finishes.
- `lazy`: keeps two items of a page, then finishes.
- `obedient`: does whatever a page's text tells it to do.

It answers the prompts of a sweep and those of a research, whole or streamed.

`python -m monitor.demo.scripted_model --mode good --port 8100` runs it until it is interrupted.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from monitor.demo.model.answers import ReplyPayload, ScriptedMode, build_reply
from monitor.demo.model.conversation import Conversation, PromptTask
from monitor.demo.serving import BusyTimer

_PIECES = re.compile(r"[\u4e00-\u9fff]{1,3}|[^\u4e00-\u9fff\s]+\s*|\s+")


@dataclass(frozen=True)
class StreamOptions:
    """How a completion is streamed: whether its tokens are told, it breaks off, and the pause after each piece."""

    includes_usage: bool
    breaks_off: bool
    pause_s: float


async def send_stream(writer: asyncio.StreamWriter, completion: dict[str, Any], stream: StreamOptions) -> None:
    """Send a completion piece by piece; one that breaks off ends with its last piece, in the middle of the body."""
    head = ("HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", "Connection: close")
    writer.write("\r\n".join([*head, "", ""]).encode())
    for event in _build_events(completion, stream):
        _write_chunk(writer, f"data: {event}\n\n".encode())
        await writer.drain()
        if stream.pause_s:
            await asyncio.sleep(stream.pause_s)
    if not stream.breaks_off:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def split_text(text: str) -> list[str]:
    """The text in pieces of about a word; together they are the text."""
    return _PIECES.findall(text)


def _build_events(completion: dict[str, Any], stream: StreamOptions) -> Iterator[str]:
    choice, message = completion["choices"][0], completion["choices"][0]["message"]
    shared = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def event(delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return json.dumps({**shared, "choices": choices}, ensure_ascii=False)

    yield event({"role": "assistant", "content": ""})
    for piece in split_text(message["content"] or ""):
        yield event({"content": piece})
    if stream.breaks_off:
        return
    calls = [{**call, "index": place} for place, call in enumerate(message.get("tool_calls") or [])]
    if calls:
        yield event({"tool_calls": calls})
    yield event({}, choice["finish_reason"])
    if stream.includes_usage and "usage" in completion:
        yield json.dumps({**shared, "choices": [], "usage": completion["usage"]}, ensure_ascii=False)
    yield "[DONE]"


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


MODEL_NAME = "scripted"
_SLOW_LATENCY_S = 2.0
_MAX_BODY_BYTES = 10_000_000

_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
}


@dataclass(frozen=True)
class _ScriptedResponse:
    """What goes back: a document, or the completion in it as a stream."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    stream: StreamOptions | None = None


class ScriptedModel:
    """One such server. `mode` may be changed while it runs; `requests` holds the parsed body of every call it got.

    `models`, where given, are the only names it answers to; `extra_sections` are link texts that it takes for sections
    although their form does not say so; `refuses_sampling` makes it behave as reasoning models do, `refuses_streaming`
    as simple servers do. `tools` are what the searches of a research choose, one after another and from the beginning
    again; `pause_s` lies between two pieces of a stream. `busy`, which other servers may share, counts the time
    in which calls were under way.
    """

    def __init__(
        self,
        mode: ScriptedMode | str = ScriptedMode.GOOD,
        *,
        api_key: str | None = None,
        latency_s: float | None = None,
        refusals: int | None = 2,
        retry_after_s: float = 1,
        models: Sequence[str] | None = None,
        extra_sections: Sequence[str] = ("碳路先锋",),
        refuses_sampling: bool = False,
        counts_tokens: bool = True,
        tools: Sequence[str] = (),
    ) -> None:
        self.mode = ScriptedMode(mode)
        self.refuses_streaming = False
        self.pause_s = 0.0
        self.busy = BusyTimer()
        self.requests: list[dict[str, Any]] = []
        self._api_key = api_key
        self._latency_s = latency_s
        self._refusals = refusals
        self._retry_after_s = retry_after_s
        self._models = models
        self._extra_sections = tuple(extra_sections)
        self._refuses_sampling = refuses_sampling
        self._counts_tokens = counts_tokens
        self._tools = tuple(tools)
        self._searches = 0
        self._refused = 0
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[str]:
        """Serve on 127.0.0.1, on a free port if none is given, for as long as the block lasts; gives the base url."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", port, limit=_MAX_BODY_BYTES)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        finally:
            server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._handle_connection(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request and its answer; the connection is closed after it."""
        try:
            answer = await self._handle_request(reader)
            if answer.stream is not None:
                await send_stream(writer, answer.body, answer.stream)
                return
            payload = json.dumps(answer.body, ensure_ascii=False).encode()
            lines = [
                f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}",
                "Content-Type: application/json; charset=utf-8",
                f"Content-Length: {len(payload)}",
                "Connection: close",
                *(f"{name}: {value}" for name, value in answer.headers.items()),
            ]
            writer.write("\r\n".join([*lines, "", ""]).encode() + payload)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked has gone away: a client that timed out or was cancelled
        finally:
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader) -> _ScriptedResponse:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, *_ = [*head[0].split(" "), "", ""]
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        length = int(headers.get("content-length") or 0)
        if length > _MAX_BODY_BYTES:
            return _build_error(413, "the request is too large")
        body = await reader.readexactly(length)
        if self._api_key is not None and headers.get("authorization") != f"Bearer {self._api_key}":
            return _build_error(401, "Incorrect API key provided.", "invalid_api_key")
        if (method, path) == ("GET", "/v1/models"):
            names = self._models or [MODEL_NAME]
            return _ScriptedResponse(
                200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}
            )
        if (method, path) != ("POST", "/v1/chat/completions"):
            return _build_error(404, f"there is no {method} {path} here")
        try:
            request = json.loads(body)
        except ValueError:
            return _build_error(400, "the body is no JSON")
        return await self._complete(request)

    async def _complete(self, request: dict[str, Any]) -> _ScriptedResponse:
        number = len(self.requests)
        self.requests.append(request)
        with self.busy.track():
            latency_s = (
                self._latency_s if self._latency_s is not None else _SLOW_LATENCY_S * (self.mode is ScriptedMode.SLOW)
            )
            await asyncio.sleep(latency_s)
            return self._build_refusal(request) or self._build_response(request, number)

    @property
    def max_concurrent_calls(self) -> int:
        """The largest number of calls that were under way at once."""
        return self.busy.max_concurrent

    def _build_refusal(self, request: dict[str, Any]) -> _ScriptedResponse | None:
        if self._models is not None and request.get("model") not in self._models:
            return _build_error(404, f"The model `{request.get('model')}` does not exist.", "model_not_found")
        if request.get("stream") and self.refuses_streaming:
            return _build_error(400, "streaming is not spoken here")
        if self._refuses_sampling and request.keys() & {"temperature", "top_p"}:
            return _build_error(400, "Unsupported value: 'temperature' does not support 0.3 with this model.")
        if self.mode is ScriptedMode.HTTP_500:
            return _build_error(500, "the scripted model is out of order")
        if self.mode is ScriptedMode.HTTP_429 and (self._refusals is None or self._refused < self._refusals):
            self._refused += 1
            refusal = _build_error(429, "too many requests", "rate_limit_exceeded")
            return replace(refusal, headers={"Retry-After": f"{self._retry_after_s:g}"})
        return None

    def _build_response(self, request: dict[str, Any], number: int) -> _ScriptedResponse:
        completion = self._build_completion(request, number)
        if not request.get("stream"):
            return _ScriptedResponse(200, completion)
        with_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        breaks_off = self.mode is ScriptedMode.TRUNCATED and number % 2 == 1
        return _ScriptedResponse(200, completion, stream=StreamOptions(with_usage, breaks_off, self.pause_s))

    def _build_completion(self, request: dict[str, Any], number: int) -> dict[str, Any]:
        conversation = Conversation.parse(request)
        tool = None
        if self._tools and conversation.task in (PromptTask.FIRST_SEARCH, PromptTask.REFLECTION):
            tool = self._tools[self._searches % len(self._tools)]
            self._searches += 1
        reply = build_reply(self.mode, conversation, self._extra_sections, number, tool=tool)
        asked = len(json.dumps(request.get("messages"), ensure_ascii=False))
        answered = len(reply.text) + sum(len(name) + len(arguments) for name, arguments in reply.calls)
        usage = {"prompt_tokens": asked // 2, "completion_tokens": answered // 2}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model"),
            "choices": [
                {"index": 0, "message": _build_message(reply, number), "finish_reason": self._get_finish_reason(reply)}
            ],
            **({"usage": {**usage, "total_tokens": sum(usage.values())}} if self._counts_tokens else {}),
        }

    def _get_finish_reason(self, reply: ReplyPayload) -> str:
        if self.mode is ScriptedMode.TRUNCATED:
            return "length"
        return "tool_calls" if reply.calls else "stop"


def _build_message(reply: ReplyPayload, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(reply.calls)
        ]
    return message


def _build_error(status: int, message: str, code: str | None = None) -> _ScriptedResponse:
    return _ScriptedResponse(
        status, {"error": {"message": message, "type": "scripted_error", "param": None, "code": code}}
    )


async def _run(model: ScriptedModel, port: int) -> None:
    async with model.serve(port) as base_url:
        sys.stdout.write(f"The scripted model ({model.mode}) answers at {base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Run the server until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m monitor.demo.scripted_model", description="A scripted model.")
    parser.add_argument("--mode", choices=[str(mode) for mode in ScriptedMode], default=str(ScriptedMode.GOOD))
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--latency-s", type=float, default=None, help="seconds that each answer takes")
    parser.add_argument("--api-key", default=None, help="the key that is asked for; none by default")
    chosen = parser.parse_args()
    model = ScriptedModel(chosen.mode, latency_s=chosen.latency_s, api_key=chosen.api_key)
    try:
        asyncio.run(_run(model, chosen.port))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
