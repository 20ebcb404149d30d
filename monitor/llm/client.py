"""The way to the model server: any endpoint that speaks the chat-completions protocol."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

import openai
from openai import AsyncOpenAI

from monitor.domain.chat import Completion, Message, ModelTrial, Tool
from monitor.domain.tables import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError, WorkFailed
from monitor.llm.run_model import RunModel
from monitor.llm.servers import check_endpoint
from monitor.llm.wire import completion_from, messages_for, tools_for
from monitor.ports import Clock
from monitor.settings.model import LlmSettings
from monitor.settings.places import masked

_CHECK_TIMEOUT_S = 30.0


class ModelServer:
    """One endpoint, shared by all runs of this process: at most `max_concurrency` calls are under way at once.

    A call with all its tries ends within `timeout_s`. What may pass (429, 5xx, a broken connection) is tried again up
    to `max_retries` times, after the pause that the server names; a pause that does not fit into the time ends the
    call. So a server that hangs costs a run five timeouts, then its circuit opens.
    """

    def __init__(self, settings: LlmSettings) -> None:
        check_endpoint(settings)
        key = (settings.api_key or "").strip()
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.max_concurrency)
        self._without_sampling: set[str] = set()
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
        tokens_used: int = 0,
        tokens_today: Callable[[], Awaitable[int]] | None = None,
    ) -> RunModel:
        """The model bound to one run: `record` keeps each call, the rest is what its budgets are held against."""
        return RunModel(
            run_id=run_id,
            ask=self._ask,
            slots=self._slots,
            settings=self._settings,
            record=record,
            clock=clock,
            tokens_used=tokens_used,
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
        """Give the connections back."""
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
        try:
            async with asyncio.timeout(patience):
                await self._ask(model, question, (), max_retries=0)
        except TimeoutError as error:
            raise WorkFailed(f"{self._client.base_url} gave no answer within {patience:g} s.") from error
        except ModelFailed as error:
            is_a_setting = error.outcome in {"auth", "http_404"}
            raise (SettingsError if is_a_setting else WorkFailed)(str(error)) from error

    async def _ask(
        self, model: str, messages: Sequence[Message], tools: Sequence[Tool], max_retries: int | None = None
    ) -> Completion:
        """One completion, tried as often as is bearable; `ModelFailed` with its outcome otherwise."""
        retries = self._settings.max_retries if max_retries is None else max_retries
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return completion_from(await self._send(model, messages, tools, retries))
        except (TimeoutError, openai.APITimeoutError) as error:
            raise ModelFailed(
                f"{model} gave no answer within {self._settings.timeout_s:g} s; llm.timeout_s sets the wait.",
                outcome="timeout",
            ) from error
        except openai.APIStatusError as error:
            raise self._refusal(model, error) from error
        except openai.APIConnectionError as error:
            reason = error.__cause__ or error
            raise ModelFailed(
                f"The model server at {self._client.base_url} cannot be reached ({reason}); "
                "check llm.base_url and that it runs.",
                outcome="network",
            ) from error
        except openai.OpenAIError as error:
            raise ModelFailed(f"The model call failed: {error}", outcome="error") from error

    async def _send(self, model: str, messages: Sequence[Message], tools: Sequence[Tool], max_retries: int) -> bytes:
        client = self._client.with_options(max_retries=max_retries)
        is_sampled = model not in self._without_sampling
        try:
            answer = await client.chat.completions.with_raw_response.create(
                model=model,
                messages=messages_for(messages),
                tools=tools_for(tools) if tools else openai.omit,
                temperature=self._settings.temperature if is_sampled else openai.omit,
                top_p=self._settings.top_p if is_sampled else openai.omit,
            )
        except openai.BadRequestError as error:
            # Reasoning models allow no sampling parameters; which ones they are is only known by asking.
            if not is_sampled or not any(name in f"{error.param} {error.message}" for name in ("temperature", "top_p")):
                raise
            self._without_sampling.add(model)
            return await self._send(model, messages, tools, max_retries)
        return answer.content

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
