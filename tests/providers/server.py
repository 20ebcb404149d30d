"""Loopback servers that answer as providers do: by their rules, and to prompts as the scripted model does."""

import base64
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.scripted_model.conversation import Conversation
from benchmarks.scripted_model.faults import build_reply
from benchmarks.scripted_model.modes import ReplyPayload
from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, serve_loopback
from tests.providers.checks import sign_call
from tests.providers.exchange import Exchange, Refusal, count_message_tokens, count_tokens, write_openai_error
from tests.providers.rules import ProviderRules
from tests.providers.textual import read_textual_tools, write_textual_reply

API_KEY = "a-key-of-the-provider"
_THOUGHT = "The page has a list; its rows carry dates, so those in range are to be saved."
_PIECE_CHARS = 40


@dataclass
class ProviderServer:
    """One server of a provider.

    `refusals` and `requests` hold what it refused and was asked, `problems` what it took although a good client would
    not send it: thoughts that came back changed, and answers that came as whole texts where pieces were asked for.
    """

    rules: ProviderRules
    mode: str = "good"
    requests: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cut_prompts: int = 0
    empty_answers: int = 0
    _thoughts: dict[str, str] = field(default_factory=dict)
    _waiting_calls: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve on 127.0.0.1 for as long as the block lasts; gives the base url."""
        async with serve_loopback(self._respond, methods=("GET", "POST")) as port:
            yield f"http://{HOST}:{port}{self.rules.base_path}"

    @property
    def words_of_refusals(self) -> list[str]:
        return [json.dumps(refusal.body, ensure_ascii=False) for refusal in self.refusals]

    def list_tool_turns(self) -> list[int]:
        """For each request with tools that it answered, how many turns with tool calls came before."""
        return [len(list(Exchange(body, {}).list_tool_turns())) for body in self.requests if body.get("tools")]

    def _respond(self, request: LoopbackRequest) -> LoopbackResponse:
        if refusal := self._check_key(request):
            return self._write_refusal(refusal)
        path, _, query = request.target.partition("?")
        if path in self.rules.context:
            return _write_json(200, self.rules.context[path], self.rules.headers)
        if (request.method, path) != ("POST", f"{self.rules.base_path}/chat/completions"):
            return _write_json(404, {"error": {"message": f"there is no {request.method} {path} here"}}, {})
        if query != self.rules.query:
            text = "Resource not found: api-version query parameter is required"
            return self._write_refusal(write_openai_error(404, text, code="404"))
        return self._complete(json.loads(request.body), request.headers)

    def _check_key(self, request: LoopbackRequest) -> Refusal | None:
        name = self.rules.key_header
        wanted = f"Bearer {API_KEY}" if name == "authorization" else API_KEY
        if name is None or request.headers.get(name) == wanted:
            return None
        text = "Access denied due to invalid subscription key or wrong API endpoint."
        return Refusal(401, {"error": {"code": "401", "message": text}})

    def _complete(self, body: dict[str, Any], headers: Mapping[str, str]) -> LoopbackResponse:
        exchange = Exchange(body, headers, thinks=self.rules.thinks(body))
        if body.get("model") != self.rules.model:
            text = f"The model `{body.get('model')}` does not exist."
            return self._write_refusal(write_openai_error(404, text, code="model_not_found"))
        refusal = next(filter(None, (check(exchange) for check in self.rules.checks)), None)
        if refusal is not None:
            return self._write_refusal(refusal)
        self._check_thoughts(exchange)
        self.requests.append(body)
        completion = self._build_completion(exchange, len(self.requests) - 1)
        if not exchange.is_streamed:
            return _write_json(200, completion, self.rules.headers)
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        pieces = _stream(build_events(completion, self.rules.thoughts_field, with_usage=with_usage))
        return LoopbackResponse(200, "text/event-stream", headers=dict(self.rules.headers), pieces=pieces)

    def _write_refusal(self, refusal: Refusal) -> LoopbackResponse:
        self.refusals.append(refusal)
        return _write_json(refusal.status, refusal.body, refusal.headers)

    def _check_thoughts(self, exchange: Exchange) -> None:
        """Thoughts that come back must be those of their turn."""
        for _, message in exchange.list_tool_turns():
            known = self._thoughts.get(message["tool_calls"][0].get("id"))
            returned = message.get("reasoning_content")
            if known and returned is not None and returned != known:
                self.problems.append(f"thoughts came back as {returned!r}")

    def _cut_prompt(self, exchange: Exchange) -> tuple[dict[str, Any], int]:
        """Return what is left of the prompt, and its tokens: the system's words and the latest messages stay."""
        limit = self.rules.cuts_at_tokens
        if limit is None or exchange.prompt_tokens <= limit:
            return exchange.body, exchange.prompt_tokens
        self.cut_prompts += 1
        system = [message for message in exchange.messages if message["role"] == "system"]
        rest = [message for message in exchange.messages if message["role"] != "system"]
        while len(rest) > 1 and sum(map(count_message_tokens, [*system, *rest])) > limit:
            rest.pop(0)
        kept = rest[-1]
        room = max(limit - sum(map(count_message_tokens, system)), 0)
        text = str(kept.get("content") or "")
        while text and count_tokens(text) > room:
            text = text[len(text) // 8 + 1 :]
        return {**exchange.body, "messages": [*system, *rest[:-1], {**kept, "content": text}]}, limit

    def _build_completion(self, exchange: Exchange, number: int) -> dict[str, Any]:
        body, prompt_tokens = self._cut_prompt(exchange)
        tools = read_textual_tools(body)
        reply = build_reply(self.mode, Conversation.parse(tools.body if tools else body), number)
        if tools:
            reply = self._write_next_call(reply, Conversation.parse(tools.body))
        elif exchange.format is not None and not self.rules.ignores_format:
            reply = replace(reply, text=_shape_answer(reply.text, exchange))
        message, finish_reason = self._build_message(reply, exchange, number)
        answered = count_tokens(reply.text) + sum(count_tokens(arguments) for _, arguments in reply.calls)
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": answered + (self.rules.thought_tokens if exchange.thinks else 0),
        }
        completion = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": self.rules.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }
        return {**completion, "system_fingerprint": self.rules.fingerprint} if self.rules.fingerprint else completion

    def _write_next_call(self, reply: ReplyPayload, conversation: Conversation) -> ReplyPayload:
        """One call a turn: the second one of a reply waits for the result of the first."""
        waiting = self._waiting_calls.pop(conversation.question, ())
        calls = waiting or reply.calls
        self._waiting_calls[conversation.question] = calls[1:]
        return write_textual_reply(replace(reply, calls=calls[:1]))

    def _build_message(self, reply: ReplyPayload, exchange: Exchange, number: int) -> tuple[dict[str, Any], str]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        thoughts = f"{_THOUGHT} ({number})" if exchange.thinks else ""
        if exchange.thinks and self._is_out_of_tokens(exchange):
            self.empty_answers += 1
            return {**message, "content": ""} | self._write_thoughts(thoughts), "length"
        if reply.calls and number % 3 == 2 and self.rules.thoughts_field == "reasoning_content":
            thoughts = ""  # some turns with tool calls have no thoughts, and their empty field has to come back too
        if exchange.thinks and self.rules.thinks_aloud:
            message["content"] = f"<think>\n{thoughts}\n</think>\n\n{reply.text}"
        elif exchange.thinks:
            message |= self._write_thoughts(thoughts)
        if reply.calls:
            message["tool_calls"] = [
                {"id": f"call_{number}_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for place, (name, arguments) in enumerate(reply.calls)
            ]
            self._thoughts[message["tool_calls"][0]["id"]] = thoughts
            if self.rules.signs_calls:
                first = message["tool_calls"][0]
                first["extra_content"] = {"google": {"thought_signature": sign_call(first)}}
        return message, "tool_calls" if reply.calls else reply.finish_reason or "stop"

    def _is_out_of_tokens(self, exchange: Exchange) -> bool:
        limit = exchange.max_tokens or self.rules.default_max_tokens
        return limit is not None and limit <= self.rules.thought_tokens

    def _write_thoughts(self, thoughts: str) -> dict[str, Any]:
        match self.rules.thoughts_field:
            case None:
                return {}
            case "reasoning_details":
                encrypted = base64.b64encode(thoughts.encode()).decode()
                details = [
                    {"type": "reasoning.text", "text": thoughts, "format": "unknown", "index": 0},
                    {"type": "reasoning.encrypted", "data": encrypted, "index": 1},
                ]
                return {"reasoning": thoughts, "reasoning_details": details}
            case name:
                return {name: thoughts}


def _shape_answer(text: str, exchange: Exchange) -> str:
    """The answer as the format wants it: an object, in which the asked field holds what would stand there alone."""
    found = re.search(r"[\[{].*[\]}]", text, re.DOTALL)
    value = json.loads(found.group()) if found else text
    if isinstance(value, dict):
        return text
    schema = ((exchange.body["response_format"].get("json_schema") or {}).get("schema")) or {}
    names = list(schema.get("properties") or {"answer": {}})
    return json.dumps({names[0]: value}, ensure_ascii=False)


def build_events(completion: dict[str, Any], thoughts_field: str | None, *, with_usage: bool) -> Iterator[str]:
    """The events of a streamed answer: thoughts first, then text and the arguments of calls in pieces."""
    choice, message = completion["choices"][0], completion["choices"][0]["message"]
    shared = {key: completion[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

    def event(delta: dict[str, Any], finish_reason: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
        return json.dumps({**shared, "choices": choices}, ensure_ascii=False)

    yield event({"role": "assistant", "content": ""})
    if thoughts_field == "reasoning_details":
        for detail in message.get("reasoning_details") or ():
            yield event({"reasoning": detail.get("text", ""), "reasoning_details": [detail]})
    elif thoughts_field and thoughts_field in message:
        for piece in _split(message[thoughts_field]) or [""]:
            yield event({"content": None, thoughts_field: piece})
    for piece in _split(message["content"] or ""):
        yield event({"content": piece})
    for place, call in enumerate(message.get("tool_calls") or []):
        first, *pieces = _split(call["function"]["arguments"]) or [""]
        function = {"name": call["function"]["name"], "arguments": first}
        yield event({"tool_calls": [{**call, "index": place, "function": function}]})
        for piece in pieces:
            yield event({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield event({}, choice["finish_reason"])
    if with_usage:
        yield json.dumps({**shared, "choices": [], "usage": completion["usage"]}, ensure_ascii=False)
    yield "[DONE]"


def _split(text: str) -> list[str]:
    return [text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS)]


async def _stream(events: Iterator[str]) -> AsyncIterator[bytes]:
    for event in events:
        yield f"data: {event}\n\n".encode()


def _write_json(status: int, value: Any, headers: Mapping[str, str]) -> LoopbackResponse:
    body = json.dumps(value, ensure_ascii=False).encode()
    return LoopbackResponse(status, "application/json; charset=utf-8", body, dict(headers))
