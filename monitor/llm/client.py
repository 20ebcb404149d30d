"""The way to the model server: any endpoint that speaks the chat-completions protocol."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai
from openai import AsyncOpenAI

from monitor.clock import Clock
from monitor.config.model import LlmSettings, Settings
from monitor.config.stored import mask_passwords
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError, WorkFailed
from monitor.llm.chat import Completion, Message, ModelTrial, OnToken
from monitor.llm.run_model import Budget, CompletionRequest, RunModel
from monitor.llm.wire import ChunkPayload, build_messages, build_tools, parse_chunk, parse_completion


def check_endpoint(llm: LlmSettings) -> None:
    """`SettingsError` for an address or a key that no server can have."""
    if llm.base_url is not None and not llm.base_url.startswith(("http://", "https://")):
        raise SettingsError(f"llm.base_url must begin with http:// or https://, and is {llm.base_url!r}.")
    if not (llm.api_key or "").isascii():
        raise SettingsError(f"The key in {llm.api_key_env} holds characters that no key has; copy it again.")


class ModelClients:
    """Gives each run the server of the moment; a run that is under way goes on with the one that it began with."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients: list[ModelClient] = []
        self._current_settings: object = None

    def get_current(self) -> "ModelClient | None":
        """The server; None where the model is off. `SettingsError` where its settings cannot be meant."""
        llm = self._settings.llm
        if not llm.is_on:
            return None
        if self._current_settings != llm:
            from monitor.llm.client import ModelClient  # its library takes a second to import

            self._clients.append(ModelClient(llm))
            self._current_settings = llm
        return self._clients[-1]

    async def close(self) -> None:
        for server in self._clients:
            await server.close()


_MAX_CHARS = 400_000
_DONE = b"[DONE]"


class StreamInterrupted(Exception):
    """The connection broke while an answer was on its way."""


class StreamedCompletion:
    """A completion as far as it has come. It is cut where the server named no end, or ended for want of room."""

    def __init__(self, on_token: OnToken) -> None:
        self._on_token = on_token
        self._parts: list[str] = []
        self._chars = 0
        self._is_finished = False
        self._is_truncated = False
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self.has_begun = False

    @property
    def has_text(self) -> bool:
        """Whether there is anything to hand on."""
        return self._chars > 0

    async def read(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
        """Take the events of an answer, and tell their text; yields after each, so that the wait can begin anew.

        `ModelFailed` for an error among them. What comes after the end, or is longer than any answer, is left.
        """
        async for line in _split_lines(pieces):
            data = line.removeprefix(b"data:").strip()
            if not line.startswith(b"data:") or not data:
                continue
            self.has_begun = True
            if data == _DONE or self._chars > _MAX_CHARS:
                self._is_finished = self._is_finished or data == _DONE
                return
            await self._append_chunk(parse_chunk(data))
            yield

    async def emit_whole(self, completion: Completion) -> Completion:
        """An answer that came in one piece after all, told as one."""
        if completion.text:
            await self._on_token(completion.text)
        return completion

    def build_completion(self) -> Completion:
        """What came; `StreamInterrupted` where nothing did, not even an event without text."""
        if not self.has_begun:
            raise StreamInterrupted("the answer ended before it began")
        return Completion(
            text="".join(self._parts),
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            is_cut=self._is_truncated or not self._is_finished,
        )

    async def _append_chunk(self, chunk: ChunkPayload) -> None:
        if chunk.usage is not None:
            self._prompt_tokens = max(chunk.usage.prompt_tokens or 0, 0)
            self._completion_tokens = max(chunk.usage.completion_tokens or 0, 0)
        for choice in (chunk.choices or [])[:1]:
            if choice.finish_reason:
                self._is_finished, self._is_truncated = True, choice.finish_reason == "length"
            text = choice.delta.content if choice.delta else ""
            if text:
                self._parts.append(text)
                self._chars += len(text)
                await self._on_token(text)


async def _split_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line.rstrip(b"\r")
    yield rest


@contextmanager
def translate_transport_errors() -> Iterator[None]:
    """Turns what the transport raises into `StreamInterrupted`.

    The client hands it on as it is and has changed its library before, so it is known by its name, the same in all.
    """
    try:
        yield
    except Exception as error:
        if any(kind.__name__ == "TransportError" for kind in type(error).__mro__):
            raise StreamInterrupted(str(error) or type(error).__name__) from error
        raise


_CHECK_TIMEOUT_S = 30.0
_MAX_STREAM_TIMEOUTS = 10

_OPTIONAL_FEATURES = {
    "sampling": re.compile("temperature|top_p"),
    "usage": re.compile("stream_options"),
    "stream": re.compile(r"\bstream"),
}
"""What some models or servers do not allow, and how their refusal names it: which ones is only known by asking."""


class ModelClient:
    """One endpoint, shared by all runs of this process: at most `max_concurrency` calls are under way at once.

    A call with all its tries ends within `timeout_s`; one whose answer is told while it is written brings its first and
    each further piece within that time, and all of them within ten times as much. What may pass (429, 5xx, a broken
    connection) is tried again up to `max_retries` times, after the pause that the server names; a pause that does not
    fit into the time ends the call. So a server that hangs costs a run five timeouts, then its circuit opens.
    """

    def __init__(self, settings: LlmSettings) -> None:
        check_endpoint(settings)
        key = (settings.api_key or "").strip()
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._unsupported: dict[str, set[str]] = defaultdict(set)
        self._client = AsyncOpenAI(
            # A server on one's own machine asks for no key, but the client insists on one.
            api_key=key or "none",
            base_url=settings.base_url,
            timeout=settings.timeout_s,
            max_retries=settings.max_retries,
        )

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
        """The model bound to one run: `record` keeps each call, the rest is what its budgets are held against.

        `settings` name other models, sampling and prices for this run, `budget` what it may spend in place of
        `llm.run_token_budget`; endpoint, patience and the number of calls at once are the server's own.
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

    async def check(self) -> str:
        """Ask every configured model for one word and say that it answered.

        `SettingsError` where the key or a model's name is wrong, `WorkFailed` where the endpoint cannot be reached or
        does not answer properly; each in one sentence with its mend.
        """
        models = sorted({self._settings.model, *self._settings.models.values()})
        for model in models:
            await self._check_model(model)
        return f"{', '.join(models)} at {self._client.base_url} answered."

    async def probe_models(self) -> list[ModelTrial]:
        """Ask every configured model for one word, each by itself; what went wrong is told, not raised."""
        models = sorted({self._settings.model, *self._settings.models.values()})
        return [await self._probe_model(model) for model in models]

    async def close(self) -> None:
        await self._client.close()

    async def _probe_model(self, model: str) -> ModelTrial:
        began, complaint = time.perf_counter(), None
        try:
            await self._check_model(model)
        except (SettingsError, WorkFailed) as error:
            complaint = str(error)
        latency_ms = round((time.perf_counter() - began) * 1000)
        return ModelTrial(
            model=model, endpoint=mask_passwords(str(self._client.base_url)), latency_ms=latency_ms, complaint=complaint
        )

    async def _check_model(self, model: str) -> None:
        patience = min(self._settings.timeout_s, _CHECK_TIMEOUT_S)
        question = [Message(role="user", content="Answer with the word: ready")]
        sampling = self._settings
        try:
            async with asyncio.timeout(patience):
                await self._complete(
                    CompletionRequest(model, question, (), sampling.temperature, sampling.top_p), max_retries=0
                )
        except TimeoutError as error:
            raise WorkFailed(f"{self._client.base_url} gave no answer within {patience:g} s.") from error
        except ModelFailed as error:
            is_a_setting = error.outcome in {"auth", "http_404"}
            raise (SettingsError if is_a_setting else WorkFailed)(str(error)) from error

    async def _complete(self, request: CompletionRequest, max_retries: int | None = None) -> Completion:
        """One completion, tried as often as is bearable; `ModelFailed` with its outcome otherwise.

        A streamed one that breaks off is what had come of it; only where nothing had, it failed.
        """
        retries = self._settings.max_retries if max_retries is None else max_retries
        streamed = None if request.on_token is None or request.tools else StreamedCompletion(request.on_token)
        try:
            async with asyncio.timeout(self._settings.timeout_s) as wait:
                if streamed is None:
                    return parse_completion(await self._send(request, retries))
                return await self._stream(request, retries, streamed, wait)
        except (TimeoutError, openai.OpenAIError, StreamInterrupted, ModelFailed) as error:
            if streamed is not None and streamed.has_text:
                return streamed.build_completion()
            if isinstance(error, ModelFailed):
                raise
            raise self._build_failure(request.model, error) from error

    async def _send(self, request: CompletionRequest, max_retries: int) -> bytes:
        """The whole answer at once, as it came."""
        completions = self._client.with_options(max_retries=max_retries).chat.completions
        try:
            answer = await completions.with_raw_response.create(**self._build_arguments(request))
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._learn_unsupported(request.model, error, "sampling"):
                raise
            return await self._send(request, max_retries)
        body: bytes = answer.content
        return body

    async def _stream(
        self, request: CompletionRequest, max_retries: int, streamed: StreamedCompletion, wait: asyncio.Timeout
    ) -> Completion:
        """The answer told while it is written; what broke before its first event is asked for again."""
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
                    await self._read_stream(answer.iter_bytes(), streamed, wait)
            return streamed.build_completion()
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._learn_unsupported(request.model, error, *_OPTIONAL_FEATURES):
                raise
        except StreamInterrupted:
            if streamed.has_begun or max_retries <= 0:
                raise
            max_retries -= 1
        return await self._stream(request, max_retries, streamed, wait)

    async def _read_stream(
        self, pieces: AsyncIterator[bytes], streamed: StreamedCompletion, wait: asyncio.Timeout
    ) -> None:
        now = asyncio.get_running_loop().time
        latest = now() + _MAX_STREAM_TIMEOUTS * self._settings.timeout_s
        async for _ in streamed.read(pieces):
            wait.reschedule(min(now() + self._settings.timeout_s, latest))

    def _build_arguments(self, request: CompletionRequest) -> dict[str, Any]:
        is_sampled = "sampling" not in self._unsupported[request.model]
        return {
            "model": request.model,
            "messages": build_messages(request.messages),
            "tools": build_tools(request.tools) if request.tools else openai.omit,
            "temperature": request.temperature if is_sampled else openai.omit,
            "top_p": request.top_p if is_sampled else openai.omit,
        }

    def _learn_unsupported(self, model: str, error: openai.APIStatusError, *features: str) -> bool:
        """Whether a refusal says what to leave out from now on; reasoning models, for one, allow no sampling."""
        said = f"{error.param} {error.message}"
        for feature in features:
            if feature not in self._unsupported[model] and _OPTIONAL_FEATURES[feature].search(said):
                self._unsupported[model].add(feature)
                return True
        return False

    def _build_failure(self, model: str, error: Exception) -> ModelFailed:
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            said = f"{model} gave no answer within {self._settings.timeout_s:g} s; llm.timeout_s sets the wait."
            return ModelFailed(said, outcome="timeout")
        if isinstance(error, openai.APIStatusError):
            return self._build_refusal(model, error)
        if isinstance(error, openai.APIConnectionError | StreamInterrupted):
            reason = error.__cause__ or error
            return ModelFailed(
                f"The model server at {self._client.base_url} cannot be reached ({reason}); "
                "check llm.base_url and that it runs.",
                outcome="network",
            )
        return ModelFailed(f"The model call failed: {error}", outcome="error")

    def _build_refusal(self, model: str, error: openai.APIStatusError) -> ModelFailed:
        outcome = f"http_{error.status_code}"
        said = error.message.strip()[:200]
        match error.status_code:
            case 401 | 403:
                return ModelUnavailable(
                    f"The model server refused the key in {self._settings.api_key_env} (HTTP {error.status_code}); "
                    "set a valid one.",
                    outcome="auth",
                )
            case 404:
                return ModelFailed(
                    f"{self._client.base_url} knows no model {model!r} or no chat completions (HTTP 404); "
                    "check llm.model and llm.base_url.",
                    outcome=outcome,
                )
            case 429 if error.code == "insufficient_quota":
                return ModelUnavailable(f"The account of the model server is used up: {said}", outcome=outcome)
        return ModelFailed(f"The model server answered HTTP {error.status_code}: {said}", outcome=outcome)
