"""The model of one run: its calls are counted, limited and recorded, and stop where asking again is useless."""

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from monitor.clock import Clock
from monitor.config.model import LlmSettings, Price
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable
from monitor.llm.chat import ChatMessage, Completion, OnToken, Tool
from monitor.vocabulary import Phase

CIRCUIT_FAILURE_THRESHOLD = 5
"""The number of failed calls in a row that opens the circuit: the rest of the run goes by rule."""

_ASCII_CHARS_PER_TOKEN = 4.0
_OTHER_CHARS_PER_TOKEN = 1.5
RecordCall = Callable[[ModelCall], Awaitable[None]]
CountTokensToday = Callable[[], Awaitable[int]]


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for servers that do not count: 4 Latin or 1.5 other characters each."""
    ascii_chars = sum(char.isascii() for char in text)
    return round(ascii_chars / _ASCII_CHARS_PER_TOKEN + (len(text) - ascii_chars) / _OTHER_CHARS_PER_TOKEN)


@dataclass(frozen=True)
class CompletionRequest:
    """One call of the server; with `on_token` its answer is streamed."""

    model: str
    messages: Sequence[ChatMessage]
    tools: Sequence[Tool] = ()
    temperature: float | None = None
    top_p: float | None = None
    on_token: OnToken | None = None


SendRequest = Callable[[CompletionRequest], Awaitable[Completion]]


@dataclass(frozen=True)
class Budget:
    """The limits of tokens and money for one piece of work; None is no limit. Money needs `llm.prices`."""

    tokens: int | None = None
    cost: float | None = None
    tokens_name: str = "llm.run_token_budget"
    cost_name: str = ""


@dataclass(frozen=True)
class _PendingCall:
    phase: Phase
    place: str
    model: str
    context_chars: int
    prompt_tokens: int
    at: dt.datetime


class RunModel:
    """A `ChatModel` for one run.

    Every call leaves a row in the ledger, failed ones too. After five failures in a row, a refused key or a spent
    budget it raises `ModelUnavailable` without asking; the first refused call leaves a row too, so that the ledger
    explains why there are no more.

    `budget` limits this run, `llm.daily_token_budget` all runs together. `tokens_used` and `cost_used` are what the run
    had spent before it was interrupted; `tokens_today` counts what all runs have spent since midnight, and is asked
    before every call, because others spend at the same time.
    """

    def __init__(
        self,
        *,
        run_id: str,
        send_request: SendRequest,
        slots: asyncio.Semaphore,
        settings: LlmSettings,
        record: RecordCall,
        clock: Clock,
        budget: Budget,
        tokens_used: int = 0,
        cost_used: float = 0.0,
        tokens_today: CountTokensToday | None = None,
    ) -> None:
        self._run_id = run_id
        self._send_request = send_request
        self._slots = slots
        self._settings = settings
        self._record = record
        self._clock = clock
        self._tokens_today = tokens_today
        self._budget = budget
        self._tokens_used = tokens_used
        self._cost_used = cost_used
        self._tokens_in_flight = 0
        self._cost_in_flight = 0.0
        self._failures = 0
        self._unavailable: ModelUnavailable | None = None
        self._is_refusal_recorded = False

    @property
    def is_available(self) -> bool:
        return self._unavailable is None

    @property
    def reason(self) -> str:
        """Why the model is not asked any more; empty while it is available."""
        return "" if self._unavailable is None else str(self._unavailable)

    @property
    def tokens_used(self) -> int:
        """The tokens of prompts and answers so far."""
        return self._tokens_used

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        """Return one completion, as soon as a slot is free.

        An answer with neither text nor tool calls is returned too (outcome `empty`), as is one that broke off while it
        was streamed (outcome `cut`). Raises `ModelFailed` without an answer, `ModelUnavailable` where none will come in
        this run.
        """
        async with self._slots:
            call = _PendingCall(
                phase=phase,
                place=place,
                model=self._settings.models.get(phase, self._settings.model),
                context_chars=sum(message.size_chars for message in messages),
                prompt_tokens=sum(_estimate_prompt_tokens(message) for message in messages),
                at=self._clock.now(),
            )
            await self._check_budget(call)
            cost = self._compute_cost(call.model, Completion(prompt_tokens=call.prompt_tokens)) or 0.0
            self._tokens_in_flight += call.prompt_tokens
            self._cost_in_flight += cost
            sampling = self._settings
            try:
                return await self._send(
                    call, CompletionRequest(call.model, messages, tools, sampling.temperature, sampling.top_p, on_token)
                )
            finally:
                self._tokens_in_flight -= call.prompt_tokens
                self._cost_in_flight -= cost

    async def _send(self, call: _PendingCall, request: CompletionRequest) -> Completion:
        began = time.perf_counter()
        try:
            completion = await self._send_request(request)
        except ModelFailed as error:
            self._count_failure(error)
            await self._record_outcome(call, error.outcome, began)
            raise
        except asyncio.CancelledError:
            await self._record_outcome(call, "cancelled", began)
            raise
        completion = _fill_missing_usage(completion, call)
        self._failures = 0
        self._tokens_used += completion.prompt_tokens + completion.completion_tokens
        self._cost_used += self._compute_cost(call.model, completion) or 0.0
        has_answer = completion.text.strip() or completion.tool_calls
        outcome = "cut" if completion.is_cut else "ok"
        await self._record_outcome(call, outcome if has_answer else "empty", began, completion)
        return completion

    async def _check_budget(self, call: _PendingCall) -> None:
        """Raise `ModelUnavailable` where the circuit is open or the prompt alone would exceed a budget."""
        if self._unavailable is None:
            self._unavailable = await self._find_exhausted_budget(call)
        if self._unavailable is None:
            return
        if not self._is_refusal_recorded:
            self._is_refusal_recorded = True
            outcome = "budget" if self._unavailable.outcome == "budget" else "circuit"
            await self._record(self._build_row(call, outcome))
        raise ModelUnavailable(self._unavailable.message, outcome=self._unavailable.outcome)

    async def _find_exhausted_budget(self, call: _PendingCall) -> ModelUnavailable | None:
        wanted = self._tokens_in_flight + call.prompt_tokens
        budget, of_day = self._budget, self._settings.daily_token_budget
        if budget.tokens is not None and self._tokens_used + wanted > budget.tokens:
            return _build_budget_error("llm.token_budget_spent", budget.tokens_name, str(budget.tokens))
        cost = self._compute_cost(call.model, Completion(prompt_tokens=call.prompt_tokens)) or 0.0
        if budget.cost is not None and self._cost_used + self._cost_in_flight + cost > budget.cost:
            return _build_budget_error("llm.cost_budget_spent", budget.cost_name, f"{budget.cost:g}")
        if of_day is not None and self._tokens_today is not None and await self._tokens_today() + wanted > of_day:
            return _build_budget_error("llm.token_budget_spent", "llm.daily_token_budget", str(of_day))
        return None

    def _count_failure(self, error: ModelFailed) -> None:
        self._failures += 1
        if isinstance(error, ModelUnavailable):
            self._unavailable = self._unavailable or error
        elif self._failures >= CIRCUIT_FAILURE_THRESHOLD and self._unavailable is None:
            self._unavailable = ModelUnavailable(
                "llm.circuit_open", failures=self._failures, reason=error.message, outcome="circuit"
            )

    async def _record_outcome(
        self, call: _PendingCall, outcome: str, started_s: float, completion: Completion | None = None
    ) -> None:
        await self._record(self._build_row(call, outcome, round((time.perf_counter() - started_s) * 1000), completion))

    def _build_row(
        self, call: _PendingCall, outcome: str, latency_ms: int = 0, completion: Completion | None = None
    ) -> ModelCall:
        """Return the ledger row; a call without an answer has no tokens, because nobody counted them."""
        return ModelCall(
            run_id=self._run_id,
            phase=call.phase,
            place=call.place,
            model=call.model,
            prompt_tokens=completion.prompt_tokens if completion else 0,
            completion_tokens=completion.completion_tokens if completion else 0,
            context_chars=call.context_chars,
            latency_ms=latency_ms,
            outcome=outcome,
            at=call.at,
            cost=self._compute_cost(call.model, completion),
        )

    def _compute_cost(self, model: str, completion: Completion | None) -> float | None:
        price = self._settings.prices.get(model)
        return None if price is None else compute_cost(price, completion or Completion())


def compute_cost(price: Price, completion: Completion) -> float:
    """Return the cost of a completion; prices are per million tokens."""
    return (completion.prompt_tokens * price.input + completion.completion_tokens * price.output) / 1_000_000


def _build_budget_error(code: str, name: str, limit: str) -> ModelUnavailable:
    return ModelUnavailable(code, name=name, limit=limit, outcome="budget")


def _estimate_prompt_tokens(message: ChatMessage) -> int:
    return estimate_tokens(message.content) + sum(estimate_tokens(call.arguments) for call in message.tool_calls)


def _fill_missing_usage(completion: Completion, call: _PendingCall) -> Completion:
    if completion.prompt_tokens or completion.completion_tokens:
        return completion
    written = completion.text + "".join(tool.name + tool.arguments for tool in completion.tool_calls)
    return completion.model_copy(
        update={"prompt_tokens": call.prompt_tokens, "completion_tokens": estimate_tokens(written)}
    )
