"""The way to the model server: any endpoint that speaks the chat-completions protocol."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import openai
from openai import AsyncOpenAI

from monitor.domain.chat import Completion, Message, ModelTrial
from monitor.domain.tables import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError, WorkFailed
from monitor.llm.run_model import Budget, Request, RunModel
from monitor.llm.servers import check_endpoint
from monitor.llm.streaming import BrokenOff, Streamed, telling_what_broke
from monitor.llm.wire import completion_from, messages_for, tools_for
from monitor.ports import Clock
from monitor.settings.model import LlmSettings
from monitor.settings.places import masked

_CHECK_TIMEOUT_S = 30.0
_MOST_WAITS = 10
_REFUSABLE = {
    "sampling": re.compile("temperature|top_p"),
    "usage": re.compile("stream_options"),
    "stream": re.compile(r"\bstream"),
}
"""What some models or servers do not allow, and how their refusal names it: which ones is only known by asking."""


class ModelServer:
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
        self._refused: dict[str, set[str]] = defaultdict(set)
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
            ask=self._ask,
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
            await self._check(model)
        return f"{', '.join(models)} at {self._client.base_url} answered."

    async def try_out(self) -> list[ModelTrial]:
        """Ask every configured model for one word, each by itself; what went wrong is told, not raised."""
        models = sorted({self._settings.model, *self._settings.models.values()})
        return [await self._tried(model) for model in models]

    async def close(self) -> None:
        await self._client.close()

    async def _tried(self, model: str) -> ModelTrial:
        began, complaint = time.perf_counter(), None
        try:
            await self._check(model)
        except (SettingsError, WorkFailed) as error:
            complaint = str(error)
        latency_ms = round((time.perf_counter() - began) * 1000)
        return ModelTrial(
            model=model, endpoint=masked(str(self._client.base_url)), latency_ms=latency_ms, complaint=complaint
        )

    async def _check(self, model: str) -> None:
        patience = min(self._settings.timeout_s, _CHECK_TIMEOUT_S)
        question = [Message(role="user", content="Answer with the word: ready")]
        sampling = self._settings
        try:
            async with asyncio.timeout(patience):
                await self._ask(Request(model, question, (), sampling.temperature, sampling.top_p), max_retries=0)
        except TimeoutError as error:
            raise WorkFailed(f"{self._client.base_url} gave no answer within {patience:g} s.") from error
        except ModelFailed as error:
            is_a_setting = error.outcome in {"auth", "http_404"}
            raise (SettingsError if is_a_setting else WorkFailed)(str(error)) from error

    async def _ask(self, request: Request, max_retries: int | None = None) -> Completion:
        """One completion, tried as often as is bearable; `ModelFailed` with its outcome otherwise.

        A streamed one that breaks off is what had come of it; only where nothing had, it failed.
        """
        retries = self._settings.max_retries if max_retries is None else max_retries
        streamed = None if request.on_token is None or request.tools else Streamed(request.on_token)
        try:
            async with asyncio.timeout(self._settings.timeout_s) as wait:
                if streamed is None:
                    return completion_from(await self._send(request, retries))
                return await self._stream(request, retries, streamed, wait)
        except (TimeoutError, openai.OpenAIError, BrokenOff, ModelFailed) as error:
            if streamed is not None and streamed.has_text:
                return streamed.completion()
            if isinstance(error, ModelFailed):
                raise
            raise self._failure(request.model, error) from error

    async def _send(self, request: Request, max_retries: int) -> bytes:
        """The whole answer at once, as it came."""
        completions = self._client.with_options(max_retries=max_retries).chat.completions
        try:
            answer = await completions.with_raw_response.create(**self._arguments(request))
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._learned(request.model, error, "sampling"):
                raise
            return await self._send(request, max_retries)
        body: bytes = answer.content
        return body

    async def _stream(
        self, request: Request, max_retries: int, streamed: Streamed, wait: asyncio.Timeout
    ) -> Completion:
        """The answer told while it is written; what broke before its first event is asked for again."""
        refused = self._refused[request.model]
        if "stream" in refused:
            return await streamed.whole(completion_from(await self._send(request, max_retries)))
        options: dict[str, Any] = {} if "usage" in refused else {"stream_options": {"include_usage": True}}
        completions = self._client.with_options(max_retries=max_retries).chat.completions
        asked = completions.with_streaming_response.create(**self._arguments(request), **options, stream=True)
        try:
            with telling_what_broke():
                async with asked as answer:
                    if "event-stream" not in answer.headers.get("content-type", ""):
                        return await streamed.whole(completion_from(await answer.read()))
                    await self._listen(answer.iter_bytes(), streamed, wait)
            return streamed.completion()
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not self._learned(request.model, error, *_REFUSABLE):
                raise
        except BrokenOff:
            if streamed.has_begun or max_retries <= 0:
                raise
            max_retries -= 1
        return await self._stream(request, max_retries, streamed, wait)

    async def _listen(self, pieces: AsyncIterator[bytes], streamed: Streamed, wait: asyncio.Timeout) -> None:
        now = asyncio.get_running_loop().time
        latest = now() + _MOST_WAITS * self._settings.timeout_s
        async for _ in streamed.read(pieces):
            wait.reschedule(min(now() + self._settings.timeout_s, latest))

    def _arguments(self, request: Request) -> dict[str, Any]:
        is_sampled = "sampling" not in self._refused[request.model]
        return {
            "model": request.model,
            "messages": messages_for(request.messages),
            "tools": tools_for(request.tools) if request.tools else openai.omit,
            "temperature": request.temperature if is_sampled else openai.omit,
            "top_p": request.top_p if is_sampled else openai.omit,
        }

    def _learned(self, model: str, error: openai.APIStatusError, *habits: str) -> bool:
        """Whether a refusal says what to leave out from now on; reasoning models, for one, allow no sampling."""
        said = f"{error.param} {error.message}"
        for habit in habits:
            if habit not in self._refused[model] and _REFUSABLE[habit].search(said):
                self._refused[model].add(habit)
                return True
        return False

    def _failure(self, model: str, error: Exception) -> ModelFailed:
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            said = f"{model} gave no answer within {self._settings.timeout_s:g} s; llm.timeout_s sets the wait."
            return ModelFailed(said, outcome="timeout")
        if isinstance(error, openai.APIStatusError):
            return self._refusal(model, error)
        if isinstance(error, openai.APIConnectionError | BrokenOff):
            reason = error.__cause__ or error
            return ModelFailed(
                f"The model server at {self._client.base_url} cannot be reached ({reason}); "
                "check llm.base_url and that it runs.",
                outcome="network",
            )
        return ModelFailed(f"The model call failed: {error}", outcome="error")

    def _refusal(self, model: str, error: openai.APIStatusError) -> ModelFailed:
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
