"""The model as one run sees it: counted, limited, recorded, and given up where asking again is useless."""

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from monitor.clock import Clock
from monitor.config.model import LlmSettings, Price
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable
from monitor.llm.chat import Completion, Message, OnToken, Tool
from monitor.vocabulary import Phase

CIRCUIT_FAILURE_THRESHOLD = 5
"""So many failed calls in a row open the circuit: the rest of the run goes by rule."""

_ASCII_CHARS_PER_TOKEN = 4.0
_OTHER_CHARS_PER_TOKEN = 1.5
RecordCall = Callable[[ModelCall], Awaitable[None]]
CountTokensToday = Callable[[], Awaitable[int]]


def estimate_tokens(text: str) -> int:
    """Roughly what a text costs: 4 Latin characters a token, 3 Chinese ones two; for servers that do not count."""
    ascii_chars = sum(char.isascii() for char in text)
    return round(ascii_chars / _ASCII_CHARS_PER_TOKEN + (len(text) - ascii_chars) / _OTHER_CHARS_PER_TOKEN)


@dataclass(frozen=True)
class CompletionRequest:
    """One call as the server is asked; with `on_token` the answer is told while it is written."""

    model: str
    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    temperature: float | None = None
    top_p: float | None = None
    on_token: OnToken | None = None


SendRequest = Callable[[CompletionRequest], Awaitable[Completion]]


@dataclass(frozen=True)
class Budget:
    """What one piece of work may spend, tokens and money; None is no limit. Money is counted where a price is set."""

    tokens: int | None = None
    cost: float | None = None
    tokens_name: str = "llm.run_token_budget"
    cost_name: str = ""


@dataclass(frozen=True)
class _PendingCall:
    """What is known of a call before it is made."""

    phase: Phase
    place: str
    model: str
    context_chars: int
    prompt_tokens: int
    at: dt.datetime


class RunModel:
    """A `ChatModel` for one run.

    Every call leaves one row in the ledger, failed ones too. After five failed calls in a row, a refused key or a spent
    budget it answers `ModelUnavailable` without asking; `is_available` and `reason` say so beforehand, and the first
    call that is refused leaves a row as well, so that the ledger tells why there are no more.

    `budget` holds for this run, the day's limit of the settings for all. `tokens_used` and `cost_used` are what the run
    had spent before it was interrupted; `tokens_today` asks what all runs have spent
    since midnight, this one among them, and is asked before every call: others spend at the same time.
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
        """Why the model is not asked any more; empty while it is."""
        return "" if self._unavailable is None else str(self._unavailable)

    @property
    def tokens_used(self) -> int:
        """What this run has spent so far, prompts and answers together."""
        return self._tokens_used

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        phase: Phase,
        place: str = "",
        tools: Sequence[Tool] = (),
        on_token: OnToken | None = None,
    ) -> Completion:
        """One completion, as soon as a slot is free.

        An answer with neither text nor tool calls is handed on as it is (outcome `empty`): the phase judges it.
        `ModelFailed` where none came, `ModelUnavailable` where none will come in this run. One that broke off while it
        was written is handed on as far as it came (outcome `cut`).
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
        """Refuse the call where the circuit is open or its prompt alone would break a budget."""
        if self._unavailable is None:
            self._unavailable = await self._find_exhausted_budget(call)
        if self._unavailable is None:
            return
        if not self._is_refusal_recorded:
            self._is_refusal_recorded = True
            outcome = "budget" if self._unavailable.outcome == "budget" else "circuit"
            await self._record(self._build_row(call, outcome))
        raise ModelUnavailable(str(self._unavailable), outcome=self._unavailable.outcome)

    async def _find_exhausted_budget(self, call: _PendingCall) -> ModelUnavailable | None:
        wanted = self._tokens_in_flight + call.prompt_tokens
        budget, of_day = self._budget, self._settings.daily_token_budget
        if budget.tokens is not None and self._tokens_used + wanted > budget.tokens:
            return _build_budget_error(f"{budget.tokens_name} of {budget.tokens} tokens")
        cost = self._compute_cost(call.model, Completion(prompt_tokens=call.prompt_tokens)) or 0.0
        if budget.cost is not None and self._cost_used + self._cost_in_flight + cost > budget.cost:
            return _build_budget_error(f"{budget.cost_name} of {budget.cost:g}")
        if of_day is not None and self._tokens_today is not None and await self._tokens_today() + wanted > of_day:
            return _build_budget_error(f"llm.daily_token_budget of {of_day} tokens")
        return None

    def _count_failure(self, error: ModelFailed) -> None:
        self._failures += 1
        if isinstance(error, ModelUnavailable):
            self._unavailable = self._unavailable or error
        elif self._failures >= CIRCUIT_FAILURE_THRESHOLD and self._unavailable is None:
            self._unavailable = ModelUnavailable(
                f"{self._failures} model calls in a row failed, the last one because: {error}", outcome="circuit"
            )

    async def _record_outcome(
        self, call: _PendingCall, outcome: str, started_s: float, completion: Completion | None = None
    ) -> None:
        await self._record(self._build_row(call, outcome, round((time.perf_counter() - started_s) * 1000), completion))

    def _build_row(
        self, call: _PendingCall, outcome: str, latency_ms: int = 0, completion: Completion | None = None
    ) -> ModelCall:
        """The row; a call that brought nothing is booked without tokens, for nobody counted them."""
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
    """The money that a completion cost; prices are for a million tokens."""
    return (completion.prompt_tokens * price.input + completion.completion_tokens * price.output) / 1_000_000


def _build_budget_error(what: str) -> ModelUnavailable:
    return ModelUnavailable(f"{what} is spent; the rest goes by rule.", outcome="budget")


def _estimate_prompt_tokens(message: Message) -> int:
    return estimate_tokens(message.content) + sum(estimate_tokens(call.arguments) for call in message.tool_calls)


def _fill_missing_usage(completion: Completion, call: _PendingCall) -> Completion:
    """The completion with tokens estimated where the server counted none."""
    if completion.prompt_tokens or completion.completion_tokens:
        return completion
    written = completion.text + "".join(one.name + one.arguments for one in completion.tool_calls)
    return completion.model_copy(
        update={"prompt_tokens": call.prompt_tokens, "completion_tokens": estimate_tokens(written)}
    )
