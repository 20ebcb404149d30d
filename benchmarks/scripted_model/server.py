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

Seven lie with words of the page. As second readers they say "supported" to everything, with words of the source:

- `swapping`: who does something and to what it is done change places.
- `negating`: a bound, a direction, a duty or a yes is turned round.
- `misattributing`: another issuer, another speaker, bodies that no page names.
- `echoing`: repeats its prompt: the requirements, the administrator's wishes, the fences.
- `cut_off`: breaks off within a sentence, for `length` or, each third time, `content_filter`.
- `mistyping`: saves every item as 人事.
- `miscited`: names the wrong item or note for each sentence.

It answers the prompts of a sweep and those of a research, whole or streamed.

`python -m benchmarks.scripted_model.server --mode good --port 8100` runs it until it is interrupted.
"""

import argparse
import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from itertools import cycle
from typing import Any

from benchmarks.scripted_model.conversation import SEARCH_TASKS, Conversation
from benchmarks.scripted_model.faults import build_reply
from benchmarks.scripted_model.modes import Lie, LieRation, ReplyPayload, ScriptedMode
from monitor.demo.serving import HOST, BusyTimer, LoopbackRequest, LoopbackResponse, serve_loopback

MODEL_NAME = "scripted"
_SLOW_LATENCY_S = 2.0
_WORDS = re.compile(r"[\u4e00-\u9fff]{1,3}|[^\u4e00-\u9fff\s]+\s*|\s+")


@dataclass
class ScriptedModel:
    """One such server. `mode` may be changed while it runs; `requests` holds the parsed body of every call it got.

    `lies` holds the false sentences that it said.

    `modes` are those of single models by their names, in place of `mode`; of the sentences that a lying model writes it
    turns `lie_share` into lies. `models`, where given, are the only names it answers to; `refuses_sampling` makes it
    behave as reasoning models do, `refuses_streaming` as simple servers do. `tools` are what the searches of a research
    choose, one after another and from the beginning again; `pause_s` lies between two pieces of a stream. `busy`, which
    other servers may share, counts the time in which calls were under way.
    """

    mode: str = ScriptedMode.GOOD
    _: KW_ONLY
    api_key: str | None = None
    latency_s: float | None = None
    refusals: int | None = 2
    retry_after_s: float = 1
    models: Sequence[str] | None = None
    refuses_sampling: bool = False
    refuses_streaming: bool = False
    counts_tokens: bool = True
    modes: Mapping[str, str] = field(default_factory=dict)
    lie_share: float = 1.0
    tools: Sequence[str] = ()
    pause_s: float = 0.0
    busy: BusyTimer = field(default_factory=BusyTimer)
    requests: list[dict[str, Any]] = field(default_factory=list)
    lies: list[Lie] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mode = ScriptedMode(self.mode)
        self._next_tools = cycle(self.tools)
        self._refused = 0
        self._answered: list[tuple[str, int, int]] = []
        self._ration = LieRation(self.lie_share)

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[str]:
        """Serve on 127.0.0.1, on a free port if none is given, for as long as the block lasts; gives the base url."""
        async with serve_loopback(self._respond, port=port, methods=("GET", "POST")) as listening:
            yield f"http://{HOST}:{listening}/v1"

    async def _respond(self, request: LoopbackRequest) -> LoopbackResponse:
        if self.api_key is not None and request.headers.get("authorization") != f"Bearer {self.api_key}":
            return _build_error(401, "Incorrect API key provided.", "invalid_api_key")
        if (request.method, request.target) == ("GET", "/v1/models"):
            models = [{"id": name, "object": "model"} for name in self.models or [MODEL_NAME]]
            return _build_json_response(200, {"object": "list", "data": models})
        if (request.method, request.target) != ("POST", "/v1/chat/completions"):
            return _build_error(404, f"there is no {request.method} {request.target} here")
        try:
            body = json.loads(request.body)
        except ValueError:
            return _build_error(400, "the body is no JSON")
        return await self._complete(body)

    async def _complete(self, request: dict[str, Any]) -> LoopbackResponse:
        number = len(self.requests)
        self.requests.append(request)
        usual_latency_s = _SLOW_LATENCY_S if self.mode == ScriptedMode.SLOW else 0.0
        with self.busy.track():
            await asyncio.sleep(usual_latency_s if self.latency_s is None else self.latency_s)
            return self._build_refusal(request) or self._build_response(request, number)

    def compute_bill(self, prices: Mapping[str, Mapping[str, float]]) -> float:
        """What all answers cost by these prices of models, `input` and `output` per million tokens."""
        return sum(
            (prompt * prices[model]["input"] + answer * prices[model]["output"]) / 1_000_000
            for model, prompt, answer in self._answered
        )

    @property
    def max_concurrent_calls(self) -> int:
        return self.busy.max_concurrent

    def _build_refusal(self, request: dict[str, Any]) -> LoopbackResponse | None:
        if self.models is not None and request.get("model") not in self.models:
            return _build_error(404, f"The model `{request.get('model')}` does not exist.", "model_not_found")
        if request.get("stream") and self.refuses_streaming:
            return _build_error(400, "streaming is not spoken here")
        if self.refuses_sampling and request.keys() & {"temperature", "top_p"}:
            return _build_error(400, "Unsupported value: 'temperature' does not support 0.3 with this model.")
        if self.mode == ScriptedMode.HTTP_500:
            return _build_error(500, "the scripted model is out of order")
        if self.mode == ScriptedMode.HTTP_429 and (self.refusals is None or self._refused < self.refusals):
            self._refused += 1
            headers = {"Retry-After": f"{self.retry_after_s:g}"}
            return _build_error(429, "too many requests", "rate_limit_exceeded", headers=headers)
        return None

    def _build_response(self, request: dict[str, Any], number: int) -> LoopbackResponse:
        completion = self._build_completion(request, number)
        if not request.get("stream"):
            return _build_json_response(200, completion)
        includes_usage = bool((request.get("stream_options") or {}).get("include_usage"))
        breaks_off = self.mode == ScriptedMode.TRUNCATED and number % 2 == 1
        events = list(_build_events(completion, includes_usage=includes_usage, breaks_off=breaks_off))
        return LoopbackResponse(200, "text/event-stream", pieces=self._stream(events, breaks_off=breaks_off))

    async def _stream(self, events: Sequence[str], *, breaks_off: bool) -> AsyncIterator[bytes]:
        """Give the events one by one; a stream that breaks off does so after the last, in the middle of the body."""
        for event in events:
            yield f"data: {event}\n\n".encode()
            if self.pause_s:
                await asyncio.sleep(self.pause_s)
        if breaks_off:
            raise ConnectionAbortedError

    def _build_completion(self, request: dict[str, Any], number: int) -> dict[str, Any]:
        conversation = Conversation.parse(request)
        is_search = conversation.task in SEARCH_TASKS
        tool = next(self._next_tools) if self.tools and is_search else None
        mode = self.modes.get(str(request.get("model")), self.mode)
        reply = build_reply(mode, conversation, number, tool=tool, ration=self._ration)
        self.lies += reply.lies
        asked = len(json.dumps(request.get("messages"), ensure_ascii=False))
        answered = len(reply.text) + sum(len(name) + len(arguments) for name, arguments in reply.calls)
        usual = "tool_calls" if reply.calls else "stop"
        usage = {"prompt_tokens": asked // 2, "completion_tokens": answered // 2}
        self._answered.append((str(request.get("model")), asked // 2, answered // 2))
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.get("model"),
            "choices": [
                {"index": 0, "message": _build_message(reply, number), "finish_reason": reply.finish_reason or usual}
            ],
            **({"usage": {**usage, "total_tokens": sum(usage.values())}} if self.counts_tokens else {}),
        }


def _build_message(reply: ReplyPayload, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{number}_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for i, (name, arguments) in enumerate(reply.calls)
        ]
    return message


def _build_json_response(status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> LoopbackResponse:
    body = json.dumps(value, ensure_ascii=False).encode()
    return LoopbackResponse(status, "application/json; charset=utf-8", body, headers or {})


def _build_error(
    status: int, message: str, code: str | None = None, *, headers: dict[str, str] | None = None
) -> LoopbackResponse:
    error = {"message": message, "type": "scripted_error", "param": None, "code": code}
    return _build_json_response(status, {"error": error}, headers)


def _build_events(completion: dict[str, Any], *, includes_usage: bool, breaks_off: bool) -> Iterator[str]:
    choice, message = completion["choices"][0], completion["choices"][0]["message"]
    shared = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def event(delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return json.dumps({**shared, "choices": choices}, ensure_ascii=False)

    yield event({"role": "assistant", "content": ""})
    for piece in _WORDS.findall(message["content"] or ""):
        yield event({"content": piece})
    if breaks_off:
        return
    calls = [{**call, "index": place} for place, call in enumerate(message.get("tool_calls") or [])]
    if calls:
        yield event({"tool_calls": calls})
    yield event({}, choice["finish_reason"])
    if includes_usage and "usage" in completion:
        yield json.dumps({**shared, "choices": [], "usage": completion["usage"]}, ensure_ascii=False)
    yield "[DONE]"


async def _run(model: ScriptedModel, port: int) -> None:
    async with model.serve(port) as base_url:
        sys.stdout.write(f"The scripted model ({model.mode}) answers at {base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scripted_model.server", description="A scripted model.")
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
