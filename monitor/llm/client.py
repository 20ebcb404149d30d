"""The client of a model server: any endpoint that speaks the chat-completions protocol."""

import asyncio
import os
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
import openai
from openai import AsyncOpenAI

from monitor.clock import Clock
from monitor.config.llm import LlmSettings
from monitor.config.stored import mask_passwords
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError, WorkFailed
from monitor.fetch.client import describe_connection_error
from monitor.fetch.outbound import OutboundPolicy, find_error_code
from monitor.fetch.result import FetchError
from monitor.i18n.message import Message
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest, CutReason, ModelTrial, OnToken
from monitor.llm.run_model import Budget, RunModel, ServerRequest
from monitor.llm.wire import AnswerPayload, UsagePayload, build_messages, build_tools, parse_chunk, parse_completion
from monitor.page import PageErrorCode
from monitor.vocabulary import Phase

_MAX_CHARS = 400_000
_MAX_ANSWER_BYTES = 16 * 2**20
_DONE = b"[DONE]"


class StreamInterrupted(Exception):
    """Raised where the connection broke before the answer was complete."""


@dataclass
class StreamedCompletion:
    """A completion as far as it was received; cut where the server sent no end or ended it before the model did."""

    on_token: OnToken
    has_begun: bool = False
    chars: int = 0
    _pieces: list[str] = field(default_factory=list)
    _is_finished: bool = False
    _cut_by: CutReason | None = None
    _usage: UsagePayload = field(default_factory=UsagePayload)

    async def read(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
        """Read the events of an answer and pass their text on; yield after each, so that the timeout can restart.

        Raises `ModelFailed` for an error event. What follows the end or exceeds the maximum length is ignored.
        """
        async for line in _split_lines(pieces):
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or not data:
                continue
            self.has_begun = True
            if data == _DONE or self.chars > _MAX_CHARS:
                self._is_finished = self._is_finished or data == _DONE
                return
            await self._append_chunk(parse_chunk(data))
            yield

    async def emit_whole(self, completion: Completion) -> Completion:
        """Pass on an answer that came in one piece after all."""
        if completion.text:
            await self.on_token(completion.text)
        return completion

    def build_completion(self) -> Completion:
        """Return what was received; raise `StreamInterrupted` where that is not even an event without text."""
        if not self.has_begun:
            raise StreamInterrupted("the answer ended before it began")
        is_cut = self._cut_by is not None or not self._is_finished
        return Completion(text="".join(self._pieces), is_cut=is_cut, cut_by=self._cut_by, **self._usage.model_dump())

    async def _append_chunk(self, chunk: AnswerPayload) -> None:
        self._usage = chunk.usage or self._usage
        for choice in (chunk.choices or [])[:1]:
            if choice.finish_reason:
                self._is_finished, self._cut_by = True, choice.cut_by
            text = choice.delta.content if choice.delta else ""
            if text:
                self._pieces.append(text)
                self.chars += len(text)
                await self.on_token(text)


async def _split_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    async for piece in pieces:
        end, *more = piece.split(b"\n")
        begun.append(end)
        for start in more:
            yield b"".join(begun).rstrip(b"\r")
            begun = [start]
    yield b"".join(begun)


@contextmanager
def translate_transport_errors() -> Iterator[None]:
    """Convert errors of the transport to `StreamInterrupted`.

    The openai client passes them on unchanged and has replaced its HTTP library before, so they are matched by name.
    """
    try:
        yield
    except Exception as error:
        if any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise StreamInterrupted from error
        raise


def _check_url(url: str | None) -> None:
    """Raise `SettingsError` for an address that the library could not read."""
    try:
        httpx.URL(url or "")
    except httpx.InvalidURL:
        raise SettingsError("llm.address_invalid", url=mask_passwords(url)) from None


_CHECK_TIMEOUT_S = 30.0
_MAX_STREAM_TIMEOUTS = 10

_OPTIONAL_FEATURES = {
    "sampling": re.compile("temperature|top_p"),
    "usage": re.compile("stream_options"),
    "stream": re.compile(r"\bstream"),
}
"""Features that some models or servers refuse, with the words of their refusal."""


def _list_environment_headers() -> list[str]:
    """Return the headers that the library takes from the environment: an account, and others that may hold a key."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    return ["openai-organization", "openai-project", *(line.partition(":")[0].strip() for line in lines if line)]


class ModelClient:
    """One endpoint, shared by all runs of this process: at most `max_concurrency` calls are under way at once.

    A call with all its retries ends within `timeout_s`; a streamed one brings each piece within that time and all of
    them within ten times as much. Temporary errors (429, 5xx, a broken connection) are retried up to `max_retries`
    times after the pause that the server names; a pause that exceeds the timeout ends the call. So a server that hangs
    costs a run five timeouts, then its circuit opens.

    Requests go out by `policy`. A redirect is an error, because it would carry key and prompt elsewhere, and an answer
    has at most 16 MiB.
    """

    def __init__(self, settings: LlmSettings, policy: OutboundPolicy) -> None:
        settings.check_endpoint()
        _check_url(settings.base_url)
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._unsupported: dict[str, set[str]] = defaultdict(set)
        # A local server needs no key, but the client insists on one.
        api_key = (settings.api_key or "").strip() or "none"
        # What the environment holds is for the host that it names itself.
        dropped = [] if settings.is_host_of_environment else _list_environment_headers()
        http_client = policy.open_library_client(
            max_bytes=_MAX_ANSWER_BYTES,
            timeout_s=settings.timeout_s,
            headers={**dict.fromkeys(dropped, None), "authorization": f"Bearer {api_key}"},
        )
        self._client = AsyncOpenAI(
            api_key=api_key,
            base_url=settings.address,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            http_client=cast("Any", http_client),  # typed for the library's own fork of httpx; it takes both
        )
        self._url: str = mask_passwords(str(self._client.base_url))

    def for_run(
        self,
        run_id: str,
        *,
        record: Callable[[ModelCall], Awaitable[None]],
        clock: Clock,
        settings: LlmSettings | None = None,
        budget: Budget | None = None,
        tokens_used: int = 0,
        cost_used: float = 0.0,
        tokens_today: Callable[[], Awaitable[int]] | None = None,
    ) -> RunModel:
        """Return the model of one run: `record` keeps each call, the rest is checked against its budgets.

        `settings` override models, sampling and prices for this run, `budget` replaces `llm.run_token_budget`;
        endpoint, timeout and concurrency are those of this client.
        """
        settings = settings or self._settings
        return RunModel(
            run_id=run_id,
            send_request=self._complete,
            slots=self._slots,
            settings=settings,
            record=record,
            clock=clock,
            budget=budget or Budget(tokens=settings.run_token_budget),
            tokens_used=tokens_used,
            cost_used=cost_used,
            tokens_today=tokens_today,
        )

    async def check(self) -> Message:
        """Ask every configured model for one word and say that they answered.

        Raises `SettingsError` for a wrong key or model name, `WorkFailed` where the endpoint does not answer properly.
        """
        for model in self._list_models():
            await self._check_model(model)
        return Message.of("llm.models_answered", models=self._list_models(), url=self._url)

    async def probe_models(self) -> list[ModelTrial]:
        """Ask every configured model for one word; failures are part of the result."""
        trials = []
        for model in self._list_models():
            began, complaint = time.perf_counter(), None
            try:
                await self._check_model(model)
            except (SettingsError, WorkFailed) as error:
                complaint = str(error)
            latency_ms = round((time.perf_counter() - began) * 1000)
            trials.append(ModelTrial(model=model, endpoint=self._url, latency_ms=latency_ms, complaint=complaint))
        return trials

    async def close(self) -> None:
        await self._client.close()

    def _list_models(self) -> list[str]:
        return sorted({self._settings.model, *self._settings.models.values()})

    async def _check_model(self, model: str) -> None:
        timeout_s = min(self._settings.timeout_s, _CHECK_TIMEOUT_S)
        question = [ChatMessage(role="user", content="Answer with the word: ready")]
        asked = CompletionRequest(question, phase=Phase.PLAN)
        request = ServerRequest(asked, model, self._settings.temperature, self._settings.top_p)
        try:
            async with asyncio.timeout(timeout_s):
                await self._complete(request, max_retries=0)
        except TimeoutError as error:
            raise WorkFailed("llm.server_silent", url=self._url, seconds=f"{timeout_s:g}") from error
        except ModelFailed as error:
            is_a_setting = error.outcome in {"auth", "http_404"}
            raise (SettingsError if is_a_setting else WorkFailed)(error.message) from error

    async def _complete(self, request: ServerRequest, max_retries: int | None = None) -> Completion:
        """Return one completion, with retries; raise `ModelFailed` with its outcome.

        A streamed one that breaks off is returned as far as it was received, and fails only without any text.
        """
        retries = self._settings.max_retries if max_retries is None else max_retries
        asked = request.asked
        streamed = None if asked.on_token is None or asked.tools else StreamedCompletion(asked.on_token)
        try:
            async with asyncio.timeout(self._settings.timeout_s) as wait:
                if streamed is None:
                    return parse_completion(await self._send(request, retries))
                return await self._stream(request, retries, streamed, wait)
        except (TimeoutError, openai.OpenAIError, StreamInterrupted, FetchError, ModelFailed) as error:
            if streamed is not None and streamed.chars:
                return streamed.build_completion()
            if isinstance(error, ModelFailed):
                raise
            raise self._build_failure(request.model, error) from error

    async def _send(self, request: ServerRequest, max_retries: int) -> bytes:
        client = self._client.with_options(max_retries=max_retries)
        try:
            answer = await client.chat.completions.with_raw_response.create(**self._build_arguments(request))
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._learn_unsupported(request.model, error, "sampling"):
                raise
            return await self._send(request, max_retries)
        return bytes(answer.content)

    async def _stream(
        self, request: ServerRequest, max_retries: int, streamed: StreamedCompletion, wait: asyncio.Timeout
    ) -> Completion:
        """Stream the answer; one that broke before its first event is requested again."""
        now = asyncio.get_running_loop().time
        refused = self._unsupported[request.model]
        if "stream" in refused:
            return await streamed.emit_whole(parse_completion(await self._send(request, max_retries)))
        options: dict[str, Any] = {} if "usage" in refused else {"stream_options": {"include_usage": True}}
        completions = self._client.with_options(max_retries=max_retries).chat.completions
        asked = completions.with_streaming_response.create(**self._build_arguments(request), **options, stream=True)
        try:
            with translate_transport_errors():
                async with asked as answer:
                    if "event-stream" not in answer.headers.get("content-type", ""):
                        return await streamed.emit_whole(parse_completion(await answer.read()))
                    latest = now() + _MAX_STREAM_TIMEOUTS * self._settings.timeout_s
                    async for _ in streamed.read(answer.iter_bytes()):
                        wait.reschedule(min(now() + self._settings.timeout_s, latest))
            return streamed.build_completion()
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._learn_unsupported(request.model, error, *_OPTIONAL_FEATURES):
                raise
        except StreamInterrupted:
            if streamed.has_begun or max_retries <= 0:
                raise
            max_retries -= 1
        return await self._stream(request, max_retries, streamed, wait)

    def _build_arguments(self, request: ServerRequest) -> dict[str, Any]:
        is_sampled = "sampling" not in self._unsupported[request.model]
        return {
            "model": request.model,
            "messages": build_messages(request.asked.messages),
            "tools": build_tools(request.asked.tools) if request.asked.tools else openai.omit,
            "temperature": request.temperature if is_sampled else openai.omit,
            "top_p": request.top_p if is_sampled else openai.omit,
        }

    def _learn_unsupported(self, model: str, error: openai.APIStatusError, *features: str) -> bool:
        """Return whether a refusal names a feature to leave out from now on, such as sampling at reasoning models."""
        complaint = f"{error.param} {error.message}"
        untried = (feature for feature in features if feature not in self._unsupported[model])
        refused = next((feature for feature in untried if _OPTIONAL_FEATURES[feature].search(complaint)), None)
        self._unsupported[model] |= {refused} if refused else set()
        return refused is not None

    def _build_failure(self, model: str, error: Exception) -> ModelFailed:
        match error:
            case TimeoutError() | openai.APITimeoutError():
                seconds = f"{self._settings.timeout_s:g}"
                return ModelFailed("llm.timeout", model=model, seconds=seconds, outcome="timeout")
            case openai.APIStatusError():
                return self._build_refusal(model, error)
            case FetchError() if error.error.code is PageErrorCode.TOO_LARGE:
                limit_mb = _MAX_ANSWER_BYTES // 2**20
                return ModelFailed("llm.answer_too_large", limit_mb=limit_mb, outcome="malformed")
            case FetchError():
                return self._build_unreachable_error(error.message)
            case openai.APIConnectionError() | StreamInterrupted():
                cause = error.__cause__
                return self._build_unreachable_error(describe_connection_error(cause) if cause else str(error))
        return ModelFailed("llm.failed", reason=type(error).__name__, outcome="error")

    def _build_unreachable_error(self, reason: str | Message) -> ModelFailed:
        return ModelFailed("llm.unreachable", url=self._url, reason=reason, outcome="network")

    def _build_refusal(self, model: str, error: openai.APIStatusError) -> ModelFailed:
        """Return what a status means, with the server's code of the error and without a word of its answer."""
        status, url = error.status_code, self._url
        outcome, code = f"http_{status}", find_error_code(error.body)
        if status in (401, 403):
            if problem := self._settings.describe_key_problem():
                return ModelUnavailable(problem, outcome="auth")
            variable = self._settings.api_key_env
            return ModelUnavailable("llm.key_refused", variable=variable, status=status, outcome="auth")
        if status == 404:
            return ModelFailed("llm.model_unknown", url=url, model=model, outcome=outcome)
        if status == 429 and error.code == "insufficient_quota":
            return ModelUnavailable("llm.account_empty", outcome=outcome)
        if status < 400:
            return ModelFailed("llm.redirected", url=url, status=status, outcome=outcome)
        if code:
            return ModelFailed("llm.server_error", status=status, reason=code, outcome=outcome)
        return ModelFailed("llm.server_error_only", status=status, outcome=outcome)
