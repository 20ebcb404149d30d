"""The model of one run: its calls are counted, limited and recorded, and stop where asking again is useless."""

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from monitor.clock import Clock
from monitor.config.llm import LlmSettings
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest

CIRCUIT_FAILURE_THRESHOLD = 5
"""The number of failed calls in a row that opens the circuit: the rest of the run goes by rule."""

_ASCII_CHARS_PER_TOKEN = 4.0
_OTHER_CHARS_PER_TOKEN = 1.5


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for servers that do not count: 4 Latin or 1.5 other characters each."""
    ascii_chars = sum(char.isascii() for char in text)
    return round(ascii_chars / _ASCII_CHARS_PER_TOKEN + (len(text) - ascii_chars) / _OTHER_CHARS_PER_TOKEN)


@dataclass(frozen=True)
class ServerRequest:
    """A request as it goes to the server, with the model and the sampling of its run."""

    asked: CompletionRequest
    model: str
    temperature: float
    top_p: float


@dataclass(frozen=True)
class Budget:
    """The limits of tokens and money for one piece of work; None is no limit. Money needs `llm.prices`."""

    tokens: int | None = None
    cost: float | None = None
    tokens_name: str = "llm.run_token_budget"
    cost_name: str = ""


@dataclass(frozen=True)
class _PendingCall:
    request: ServerRequest
    prompt_tokens: int
    at: dt.datetime


@dataclass(kw_only=True)
class RunModel:
    """A `ChatModel` for one run.

    Every call leaves a row in the ledger, failed ones too. After five failures in a row, a refused key or a spent
    budget it raises `ModelUnavailable` without asking; the first refused call leaves a row too, so that the ledger
    explains why there are no more.

    `budget` limits this run, `llm.daily_token_budget` all runs together. `tokens_used` and `cost_used` begin with what
    the run had spent before it was interrupted; `tokens_today` counts what all runs have spent since midnight, and is
    asked before every call, because others spend at the same time.
    """

    run_id: str
    send_request: Callable[[ServerRequest], Awaitable[Completion]]
    slots: asyncio.Semaphore
    settings: LlmSettings
    record: Callable[[ModelCall], Awaitable[None]]
    clock: Clock
    budget: Budget
    tokens_used: int = 0
    cost_used: float = 0.0
    tokens_today: Callable[[], Awaitable[int]] | None = None
    _tokens_in_flight: int = field(default=0, init=False)
    _cost_in_flight: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)
    _unavailable: ModelUnavailable | None = field(default=None, init=False)
    _is_refusal_recorded: bool = field(default=False, init=False)

    @property
    def is_available(self) -> bool:
        return self._unavailable is None

    @property
    def reason(self) -> str:
        """Why the model is not asked any more; empty while it is available."""
        return "" if self._unavailable is None else str(self._unavailable)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return one completion, as soon as a slot is free.

        An answer with neither text nor tool calls is returned too (outcome `empty`), as is one that broke off while it
        was streamed, or an agent's (outcome `cut`). Raises `ModelFailed` without an answer, and for any other one
        that the server cut short (outcomes `length`, `content_filter`), `ModelUnavailable` where none will come in this
        run. A server that cuts answers works: it does not open the circuit.
        """
        async with self.slots:
            model = self.settings.models.get(request.phase, self.settings.model)
            call = _PendingCall(
                request=ServerRequest(request, model, self.settings.temperature, self.settings.top_p),
                prompt_tokens=sum(map(_estimate_message_tokens, request.messages)),
                at=self.clock.now(),
            )
            cost = self._compute_cost(model, Completion(prompt_tokens=call.prompt_tokens)) or 0.0
            await self._check_budget(call, cost)
            self._tokens_in_flight += call.prompt_tokens
            self._cost_in_flight += cost
            try:
                return await self._send(call)
            finally:
                self._tokens_in_flight -= call.prompt_tokens
                self._cost_in_flight -= cost

    async def _send(self, call: _PendingCall) -> Completion:
        began = time.perf_counter()
        try:
            completion = await self.send_request(call.request)
        except ModelFailed as error:
            self._count_failure(error)
            await self._record_outcome(call, error.outcome, began)
            raise
        except asyncio.CancelledError:
            await self._record_outcome(call, "cancelled", began)
            raise
        completion = _fill_missing_usage(completion, call)
        self._failures = 0
        self.tokens_used += completion.prompt_tokens + completion.completion_tokens
        self.cost_used += self._compute_cost(call.request.model, completion) or 0.0
        failure = _find_cut(completion, call.request)
        has_answer = completion.text.strip() or completion.tool_calls
        outcome = failure.outcome if failure else "empty" if not has_answer else "cut" if completion.is_cut else "ok"
        await self._record_outcome(call, outcome, began, completion)
        if failure is not None:
            raise failure
        return completion

    async def _check_budget(self, call: _PendingCall, cost: float) -> None:
        """Raise `ModelUnavailable` where the circuit is open or the prompt alone would exceed a budget."""
        if self._unavailable is None:
            self._unavailable = await self._find_exhausted_budget(call, cost)
        if self._unavailable is None:
            return
        if not self._is_refusal_recorded:
            self._is_refusal_recorded = True
            await self._record_outcome(call, "budget" if self._unavailable.outcome == "budget" else "circuit")
        raise ModelUnavailable(self._unavailable.message, outcome=self._unavailable.outcome)

    async def _find_exhausted_budget(self, call: _PendingCall, cost: float) -> ModelUnavailable | None:
        wanted = self._tokens_in_flight + call.prompt_tokens
        budget, of_day = self.budget, self.settings.daily_token_budget
        if budget.tokens is not None and self.tokens_used + wanted > budget.tokens:
            code, name, limit = "llm.token_budget_spent", budget.tokens_name, str(budget.tokens)
        elif budget.cost is not None and self.cost_used + self._cost_in_flight + cost > budget.cost:
            code, name, limit = "llm.cost_budget_spent", budget.cost_name, f"{budget.cost:g}"
        elif of_day is not None and self.tokens_today is not None and await self.tokens_today() + wanted > of_day:
            code, name, limit = "llm.token_budget_spent", "llm.daily_token_budget", str(of_day)
        else:
            return None
        return ModelUnavailable(code, name=name, limit=limit, outcome="budget")

    def _count_failure(self, error: ModelFailed) -> None:
        self._failures += 1
        if isinstance(error, ModelUnavailable):
            self._unavailable = self._unavailable or error
        elif self._failures >= CIRCUIT_FAILURE_THRESHOLD and self._unavailable is None:
            self._unavailable = ModelUnavailable(
                "llm.circuit_open", failures=self._failures, reason=error.message, outcome="circuit"
            )

    async def _record_outcome(
        self, call: _PendingCall, outcome: str, began: float | None = None, completion: Completion | None = None
    ) -> None:
        """Write the ledger row; a call without an answer has no tokens, because nobody counted them.

        `began` is None for a call that was not made.
        """
        asked, model = call.request.asked, call.request.model
        row = ModelCall(
            run_id=self.run_id,
            phase=asked.phase,
            place=asked.place,
            model=model,
            prompt_tokens=completion.prompt_tokens if completion else 0,
            completion_tokens=completion.completion_tokens if completion else 0,
            context_chars=sum(message.size_chars for message in asked.messages),
            latency_ms=0 if began is None else round((time.perf_counter() - began) * 1000),
            outcome=outcome,
            at=call.at,
            cost=self._compute_cost(model, completion or Completion()),
        )
        await self.record(row)

    def _compute_cost(self, model: str, completion: Completion) -> float | None:
        """Return the cost of a completion, None without a price; prices are per million tokens."""
        price = self.settings.prices.get(model)
        if price is None:
            return None
        return (completion.prompt_tokens * price.input + completion.completion_tokens * price.output) / 1_000_000


def _find_cut(completion: Completion, request: ServerRequest) -> ModelFailed | None:
    """Return the failure that a cut answer is; None for a whole one, and one that can be used as far as it goes."""
    is_usable = bool(request.asked.tools) or (request.asked.on_token is not None and completion.text.strip())
    if completion.cut_by is None or is_usable:
        return None
    return ModelFailed(f"llm.cut_by_{completion.cut_by}", model=request.model, outcome=completion.cut_by)


def _estimate_message_tokens(message: ChatMessage) -> int:
    return estimate_tokens(message.content) + sum(estimate_tokens(call.arguments) for call in message.tool_calls)


def _fill_missing_usage(completion: Completion, call: _PendingCall) -> Completion:
    if completion.prompt_tokens or completion.completion_tokens:
        return completion
    written = completion.text + "".join(tool.name + tool.arguments for tool in completion.tool_calls)
    return completion.model_copy(
        update={"prompt_tokens": call.prompt_tokens, "completion_tokens": estimate_tokens(written)}
    )
