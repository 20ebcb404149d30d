"""The client of a model server: any endpoint that speaks the chat-completions protocol."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import httpx
import openai
from openai import AsyncOpenAI

from monitor.clock import Clock
from monitor.config.llm import LlmSettings, Price
from monitor.config.stored import mask_passwords
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError, WorkFailed
from monitor.fetch.client import describe_connection_error
from monitor.fetch.outbound import OutboundPolicy, find_error_code
from monitor.fetch.result import FetchError
from monitor.i18n.message import Message
from monitor.llm.chat import Completion, CompletionRequest
from monitor.llm.dialect import Attempt, Call, Dialect, EndpointFacts
from monitor.llm.embeddings import EmbeddingAnswer, parse_embeddings
from monitor.llm.limits import ask_context, read_model_names, read_pause
from monitor.llm.providers.registry import find_provider, get_provider, recognise_answer
from monitor.llm.refusals import is_account_empty, read_refusal, read_wait
from monitor.llm.run_model import Budget, NoteDowngrade, RunModel, ServerRequest
from monitor.llm.streaming import StreamedCompletion, StreamInterrupted, translate_transport_errors
from monitor.llm.wire import parse_answer
from monitor.page import PageErrorCode

_MAX_ANSWER_BYTES = 16 * 2**20


def _check_url(url: str | None) -> None:
    """Raise `SettingsError` for an address that the library could not read."""
    try:
        httpx.URL(url or "")
    except httpx.InvalidURL:
        raise SettingsError("llm.address_invalid", url=mask_passwords(url)) from None


def _check_provider(settings: LlmSettings) -> None:
    """Raise `SettingsError` for a provider whose address is not set: its key would go to another one."""
    is_elsewhere = settings.provider not in ("auto", "openai", "generic")
    if is_elsewhere and settings.base_url is None and not os.environ.get("OPENAI_BASE_URL"):
        profile = get_provider(settings.provider)
        raise SettingsError("llm.provider_without_address", provider=profile.title, url=profile.base_url or "…")


_CHECK_TIMEOUT_S = 30.0
_MAX_STREAM_TIMEOUTS = 10

_MAX_ATTEMPTS = 10
"""How often one question is put, each time otherwise: more is learned by the next one."""
_MAX_PAUSE_S = 60.0
_SMALL_BATCH = 10
_MAX_CONTEXT_ASKS = 4
_USUAL_PAUSE_S, _MAX_PAUSES = 5.0, 3


def _list_environment_headers() -> list[str]:
    """Return the headers that the library takes from the environment: an account, and others that may hold a key."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    return ["openai-organization", "openai-project", *(line.partition(":")[0].strip() for line in lines if line)]


_NOT_LEARNED_FROM = (401, 402, 403, 408, 409, 429)
_LONG_PROMPT_CHARS = 6000
"""A server whose kind is unknown is asked for its context before the first prompt of this length."""


class EndpointMemory(Protocol):
    """Keeps what was learned of the models of an endpoint, by its address and their names."""

    async def load(self, endpoint: str) -> Mapping[str, EndpointFacts]: ...

    async def save(self, endpoint: str, model: str, facts: EndpointFacts) -> None: ...


@dataclass
class _Exchange:
    """One question as it goes to and fro, with the retries that are left and the time that may pass."""

    call: Call
    retries: int
    wait: asyncio.Timeout
    streamed: StreamedCompletion | None = None
    pauses: int = 0


class ModelClient:
    """One endpoint, shared by all runs of this process: at most `max_concurrency` calls are under way at once.

    A call with all its retries ends within `timeout_s`; a streamed one brings each piece within that time and all of
    them within ten times as much. Temporary errors (429, 5xx, a broken connection) are retried up to `max_retries`
    times after the pause that the server names; a pause that exceeds the timeout ends the call. So a server that hangs
    costs a run five timeouts, then its circuit opens.

    How a model is asked is its `Dialect`: what a server refuses is left out or changed from then on, and the question
    put again. `memory` keeps that for the next process.

    Requests go out by `policy`. A redirect is an error, because it would carry key and prompt elsewhere, and an answer
    has at most 16 MiB.
    """

    def __init__(self, settings: LlmSettings, policy: OutboundPolicy, *, memory: EndpointMemory | None = None) -> None:
        settings.check_endpoint()
        _check_url(settings.base_url)
        _check_provider(settings)
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._profile = (
            find_provider(settings.address) if settings.provider == "auto" else get_provider(settings.provider)
        )
        self._memory = memory
        self._loading = asyncio.Lock()
        self._is_loaded = False
        self._dialects: dict[str, Dialect] = {}
        self._context_asks: Counter[tuple[str, str]] = Counter()
        self._paused_until = 0.0
        # A local server needs no key, but the client insists on one.
        api_key = (settings.api_key or "").strip() or "none"
        # What the environment holds is for the host that it names itself.
        dropped = [] if settings.is_host_of_environment else _list_environment_headers()
        key_header = self._profile.key_header.lower()
        key = {"authorization": f"Bearer {api_key}"} if key_header == "authorization" else {key_header: api_key}
        extra = {name.lower(): text for name, text in settings.headers_for_host.items()}
        self._http = policy.open_library_client(
            max_bytes=_MAX_ANSWER_BYTES,
            timeout_s=settings.timeout_s,
            headers={**dict.fromkeys([*dropped, "authorization"], None), **key, **extra},
        )
        self._client = AsyncOpenAI(
            api_key=api_key,
            base_url=settings.address,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
            default_query={"api-version": settings.api_version} if settings.api_version else None,
            http_client=cast("Any", self._http),  # typed for the library's own fork of httpx; it takes both
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
        note: NoteDowngrade | None = None,
    ) -> RunModel:
        """Return the model of one run: `record` keeps each call, the rest is checked against its budgets.

        `note` hears what the run should say of its model, such as prompts that the server cut.

        `settings` override models, sampling and prices for this run, `budget` replaces `llm.run_token_budget`;
        endpoint, timeout and concurrency are those of this client.
        """
        settings = settings or self._settings
        return RunModel(
            run_id=run_id,
            send_request=self._complete,
            get_prompt_chars=self._get_prompt_chars,
            slots=self._slots,
            settings=settings,
            record=record,
            clock=clock,
            budget=budget or Budget(tokens=settings.run_token_budget),
            tokens_used=tokens_used,
            cost_used=cost_used,
            tokens_today=tokens_today,
            note=note,
        )

    async def prepare(self) -> None:
        """Ask the server how long a context its models have, where it is of a kind that says so."""
        for model in self.list_models():
            dialect = await self._open_dialect(model)
            if self._profile.name != "generic":
                await self._find_context(dialect)

    @property
    def endpoint(self) -> str:
        """The address without user and password."""
        return self._url

    @property
    def provider(self) -> str:
        """The name of the profile by which requests are made."""
        return self._profile.name

    @property
    def embedding_batch(self) -> int:
        """How many texts one request for vectors may hold; one of a provider that documents none gets few."""
        return self._profile.embedding_batch or _SMALL_BATCH

    def get_dialect(self, model: str) -> Dialect:
        """Return how a model is asked, with what was learned of it so far."""
        if model not in self._dialects:
            self._dialects[model] = Dialect(model, self._profile, self._settings)
        return self._dialects[model]

    async def ask_once(self, model: str, request: CompletionRequest) -> Completion:
        """Return one answer, which no run pays for; nothing that may pass is tried again.

        Raises `SettingsError` for a wrong key or model name, `WorkFailed` where the endpoint does not answer properly.
        """
        timeout_s = min(self._settings.timeout_s, _CHECK_TIMEOUT_S)
        asked = ServerRequest(request, model, self._settings.temperature, self._settings.top_p)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._complete(asked, max_retries=0)
        except TimeoutError as error:
            raise WorkFailed("llm.server_silent", url=self._url, seconds=f"{timeout_s:g}") from error
        except ModelFailed as error:
            is_a_setting = error.outcome in {"auth", "http_404"}
            raise (SettingsError if is_a_setting else WorkFailed)(error.message) from error

    async def embed(
        self,
        model: str,
        texts: Sequence[str],
        *,
        dimensions: int | None = None,
        max_retries: int | None = None,
        timeout_s: float | None = None,
    ) -> EmbeddingAnswer:
        """Return a vector for each text, in their order; raise `ModelFailed` with its outcome."""
        arguments: dict[str, Any] = {"dimensions": dimensions} if dimensions is not None else {}
        retries = self._settings.max_retries if max_retries is None else max_retries
        client = self._client.with_options(max_retries=retries)
        try:
            async with (
                self._slots,
                asyncio.timeout(min(timeout_s or self._settings.timeout_s, self._settings.timeout_s)),
            ):
                await self._wait_for_limit()
                answer = await client.embeddings.with_raw_response.create(
                    model=model, input=list(texts), encoding_format="float", **arguments
                )
                self._read_headers(answer.headers, None)
                return parse_embeddings(bytes(answer.content), count=len(texts))
        except (TimeoutError, openai.OpenAIError, FetchError) as error:
            raise self._build_failure(model, error) from error

    def find_price(self, model: str) -> Price | None:
        return self._settings.prices.get(model)

    async def close(self) -> None:
        await self._client.close()

    def list_models(self) -> list[str]:
        """Return the models of all phases."""
        return sorted({self._settings.model, *self._settings.models.values()})

    async def fetch_offered_models(self) -> list[str]:
        """Return the names of the models that the endpoint offers; none where it does not say."""
        client = self._client.with_options(max_retries=0, timeout=_CHECK_TIMEOUT_S)
        try:
            answer = await client.models.with_raw_response.list()
            return read_model_names(json.loads(bytes(answer.content)))
        except (openai.OpenAIError, FetchError, ValueError, RecursionError):
            return []

    async def _open_dialect(self, model: str) -> Dialect:
        """Return how a model is asked, with what earlier processes learned of it."""
        dialect = self.get_dialect(model)
        if self._memory is not None and not self._is_loaded:
            async with self._loading:
                known = {} if self._is_loaded else await self._memory.load(self._url)
                self._is_loaded = True
            for name, facts in known.items():
                self.get_dialect(name).facts = facts.model_copy(deep=True)
        return dialect

    def _get_prompt_chars(self, model: str) -> int | None:
        return self.get_dialect(model).prompt_chars

    async def _complete(self, request: ServerRequest, max_retries: int | None = None) -> Completion:
        """Return one completion, with retries; raise `ModelFailed` with its outcome.

        A streamed one that breaks off is returned as far as it was received, and fails only without any text.
        """
        dialect = await self._open_dialect(request.model)
        known = dialect.facts.get_lessons()
        is_long = sum(message.size_chars for message in request.asked.messages) > _LONG_PROMPT_CHARS
        if is_long or self._profile.name != "generic":
            await self._find_context(dialect)
        call = dialect.begin(request.asked, temperature=request.temperature, top_p=request.top_p)
        retries = self._settings.max_retries if max_retries is None else max_retries
        exchange = None
        try:
            async with asyncio.timeout(self._settings.timeout_s) as wait:
                exchange = _Exchange(call, retries, wait)
                return await self._exchange(exchange)
        except (TimeoutError, openai.OpenAIError, StreamInterrupted, FetchError, ModelFailed) as error:
            streamed = exchange.streamed if exchange else None
            if streamed is not None and streamed.chars and streamed.on_token is not None:
                return streamed.build_completion()
            if isinstance(error, ModelFailed):
                raise
            raise self._build_failure(request.model, error) from error
        finally:
            if self._memory is not None and dialect.facts.get_lessons() != known:
                await self._memory.save(self._url, request.model, dialect.facts.model_copy(deep=True))

    async def _exchange(self, exchange: _Exchange) -> Completion:
        """Put the question until its answer can be used, each time with what the last one taught."""
        prompt_tokens = completion_tokens = 0
        call = exchange.call
        for left in reversed(range(_MAX_ATTEMPTS)):
            attempt = call.prepare()
            try:
                completion = await self._attempt(exchange, attempt)
            except openai.RateLimitError as error:
                pause_s = self._find_pause(exchange, error)
                if pause_s is None or not left:
                    raise
                await asyncio.sleep(pause_s)
                continue
            except openai.APIStatusError as error:
                is_final = error.status_code in _NOT_LEARNED_FROM or not left
                if is_final or not call.learn_from_refusal(attempt, error):
                    raise
                continue
            prompt_tokens += completion.prompt_tokens
            completion_tokens += completion.completion_tokens
            is_asked_again = call.learn_from_answer(completion)
            if not is_asked_again or not left:
                break
            now = asyncio.get_running_loop().time()
            exchange.wait.reschedule(now + self._settings.timeout_s)
        answer = call.read(attempt, completion)
        return answer.model_copy(update={"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens})

    def _find_pause(self, exchange: _Exchange, error: openai.RateLimitError) -> float | None:
        """Return how long to wait once the library's own retries were in vain; None where to give up.

        The library honours `Retry-After`. Servers that count requests a minute say it in words, or not at all.
        """
        if exchange.retries <= 0 or "retry-after" in error.response.headers or is_account_empty(error):
            return None
        pause_s = read_wait(read_refusal(error)) or _USUAL_PAUSE_S * 2**exchange.pauses
        exchange.pauses += 1
        return pause_s if exchange.pauses <= _MAX_PAUSES and pause_s <= _MAX_PAUSE_S else None

    async def _attempt(self, exchange: _Exchange, attempt: Attempt) -> Completion:
        asked = exchange.call.asked
        on_token = None if asked.tools else asked.on_token
        await self._wait_for_limit()
        if attempt.is_streamed:
            return await self._stream(exchange, attempt)
        client = self._client.with_options(max_retries=exchange.retries)
        answer = await client.chat.completions.with_raw_response.create(**attempt.arguments)
        parsed = parse_answer(bytes(answer.content))
        self._read_headers(answer.headers, parsed.system_fingerprint)
        return await StreamedCompletion(on_token).emit_whole(parsed.build_completion())

    async def _stream(self, exchange: _Exchange, attempt: Attempt) -> Completion:
        """Stream the answer; one that broke before anybody heard of it is requested again."""
        now = asyncio.get_running_loop().time
        asked = exchange.call.asked
        streamed = exchange.streamed = StreamedCompletion(None if asked.tools else asked.on_token)
        options: dict[str, Any] = {"stream_options": {"include_usage": True}} if attempt.has_usage else {}
        completions = self._client.with_options(max_retries=exchange.retries).chat.completions
        pending = completions.with_streaming_response.create(**attempt.arguments, **options, stream=True)
        try:
            with translate_transport_errors():
                async with pending as answer:
                    self._read_headers(answer.headers, None)
                    if "event-stream" not in answer.headers.get("content-type", ""):
                        return await streamed.emit_whole(parse_answer(await answer.read()).build_completion())
                    latest = now() + _MAX_STREAM_TIMEOUTS * self._settings.timeout_s
                    async for _ in streamed.read(answer.iter_bytes()):
                        exchange.wait.reschedule(min(now() + self._settings.timeout_s, latest))
            self._read_headers({}, streamed.fingerprint)
            return streamed.build_completion()
        except StreamInterrupted:
            is_heard = streamed.has_begun and streamed.on_token is not None
            if is_heard or exchange.retries <= 0:
                raise
            exchange.retries -= 1
        return await self._stream(exchange, attempt)

    def _read_headers(self, headers: Mapping[str, str], fingerprint: str | None) -> None:
        """Learn from an answer what kind of server it is, and how long to wait before the next request."""
        is_unknown = self._profile.name == "generic" and self._settings.provider == "auto"
        if is_unknown and (profile := recognise_answer(headers, fingerprint)):
            self._profile = profile
            for dialect in self._dialects.values():
                dialect.profile = profile
        pause_s = read_pause(headers, self._profile.remaining_header)
        if pause_s:
            self._paused_until = asyncio.get_running_loop().time() + min(pause_s, _MAX_PAUSE_S)

    async def _wait_for_limit(self) -> None:
        """Wait until requests are left again, where the last answer said that there are none."""
        pause_s = self._paused_until - asyncio.get_running_loop().time()
        if pause_s > 0:
            await asyncio.sleep(pause_s)

    async def _find_context(self, dialect: Dialect) -> None:
        """Ask for the context of each model, again where the server was away or had not loaded it yet."""
        path, key = self._profile.context_path, (self._profile.name, dialect.model)
        if path is None or self._settings.context_tokens is not None or self._context_asks[key] >= _MAX_CONTEXT_ASKS:
            return
        self._context_asks[key] += 1
        facts = dialect.facts
        size = await ask_context(self._http, self._settings.address, path, dialect.model)
        if size.is_certain:
            self._context_asks[key] = _MAX_CONTEXT_ASKS
        if size.tokens is not None:
            if size.tokens > (facts.context_tokens or size.tokens):
                facts.cut_at_tokens = None
            facts.context_tokens = size.tokens

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
        if is_account_empty(error):
            return ModelUnavailable("llm.account_empty", outcome=outcome)
        if status in (401, 403):
            if problem := self._settings.describe_key_problem():
                return ModelUnavailable(problem, outcome="auth")
            variable = self._settings.api_key_env
            return ModelUnavailable("llm.key_refused", variable=variable, status=status, outcome="auth")
        if status == 404:
            return ModelFailed("llm.model_unknown", url=url, model=model, outcome=outcome)
        if status < 400:
            return ModelFailed("llm.redirected", url=url, status=status, outcome=outcome)
        if code:
            return ModelFailed("llm.server_error", status=status, reason=code, outcome=outcome)
        return ModelFailed("llm.server_error_only", status=status, outcome=outcome)
