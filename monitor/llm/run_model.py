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
from monitor.i18n.message import Message
from monitor.llm.chat import ChatMessage, Completion, CompletionRequest, CutReason
from monitor.llm.context import estimate_tokens
from monitor.metrics import MODEL_CALL_SECONDS
from monitor.tracing import trace
from monitor.vocabulary import Phase

CIRCUIT_FAILURE_THRESHOLD = 5
"""The number of failed calls in a row that opens a circuit: what it stands for goes by rule until a call succeeds."""
CIRCUIT_PAUSE = dt.timedelta(seconds=60)
"""After this time one call is let through; it closes the circuit, or the time begins again."""

_SERVER_FAILURES = frozenset({"network", "timeout", "http_429"})
_INSTRUCTION_CHARS = 2500
_MIN_MATERIAL_CHARS = 500

NoteDowngrade = Callable[[Phase, str, Message], Awaitable[None]]
"""Hears, with phase and place, what a run should say of its model beside the calls that failed."""


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


@dataclass
class _Circuit:
    """Counts failures in a row; open after five, and half open a minute later: one call is let through."""

    failures: int = 0
    opened_at: dt.datetime | None = None
    error: ModelUnavailable | None = None
    is_tried: bool = False
    is_recorded: bool = False

    def find_error(self, now: dt.datetime) -> ModelUnavailable | None:
        """Return why no call is made now; None where one is, as a try where the circuit is open."""
        if self.error is None or self.opened_at is None:
            return None
        if self.is_tried or now - self.opened_at < CIRCUIT_PAUSE:
            return self.error
        self.is_tried = True
        return None

    def open(self, error: ModelUnavailable, now: dt.datetime) -> None:
        self.error, self.opened_at, self.is_tried = error, now, False


@dataclass(kw_only=True)
class RunModel:
    """A `ChatModel` for one run.

    Every call leaves a row in the ledger, failed ones too. After five failures of one kind in a row in one phase, or in
    the whole run where the server does not answer, it raises `ModelUnavailable` for these calls without asking; after a
    minute one call is let through again. A refused key and a spent budget end the asking for good. The first call that
    is not made leaves a row too, so that the ledger explains why there are no more.

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
    get_prompt_chars: Callable[[str], int | None] | None = None
    note: NoteDowngrade | None = None
    _tokens_in_flight: int = field(default=0, init=False)
    _cost_in_flight: float = field(default=0.0, init=False)
    _circuits: dict[tuple[Phase | None, str], _Circuit] = field(default_factory=dict, init=False)
    _noted: set[Phase] = field(default_factory=set, init=False)
    _unavailable: ModelUnavailable | None = field(default=None, init=False)
    _is_refusal_recorded: bool = field(default=False, init=False)

    @property
    def is_available(self) -> bool:
        """Whether calls of the run are made; those of a phase may still have been given up."""
        return self._find_final() is None

    @property
    def reason(self) -> str:
        """Why the model is not asked any more; empty while it is available."""
        final = self._find_final()
        return "" if final is None else str(final)

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        """Return how many characters of material, at most `limit`, fit beside the instructions of a prompt."""
        del place
        chars = self.get_prompt_chars(self._get_model(phase)) if self.get_prompt_chars is not None else None
        if chars is None:
            return limit
        return min(limit, max(chars - min(_INSTRUCTION_CHARS, chars // 2), _MIN_MATERIAL_CHARS))

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return one completion, as soon as a slot is free.

        An answer with neither text nor tool calls is returned too (outcome `empty`), as is one that broke off while it
        was streamed, or an agent's (outcome `cut`). Raises `ModelFailed` without an answer, and for any other one
        that the server cut short (outcomes `length`, `content_filter`), `ModelUnavailable` where none will come in this
        run. A server that cuts answers works: it opens no circuit, unless there is not a word of them. An answer to a
        prompt that the server cut in silence has the outcome `prompt_cut`, and `note` hears of the first of each phase.
        """
        async with self.slots:
            model = self._get_model(request.phase)
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
                with trace("chat", phase=request.phase, **{"gen_ai.request.model": model}) as note:
                    completion = await self._send(call)
                    note(
                        {
                            "gen_ai.usage.input_tokens": completion.prompt_tokens,
                            "gen_ai.usage.output_tokens": completion.completion_tokens,
                        }
                    )
                    return completion
            finally:
                self._tokens_in_flight -= call.prompt_tokens
                self._cost_in_flight -= cost

    async def _send(self, call: _PendingCall) -> Completion:
        began = time.perf_counter()
        try:
            completion = await self.send_request(call.request)
        except ModelFailed as error:
            self._count_failure(call.request.asked.phase, error)
            await self._record_outcome(call, error.outcome, began)
            raise
        except asyncio.CancelledError:
            self._reopen_circuits(call.request.asked.phase)
            await self._record_outcome(call, "cancelled", began)
            raise
        completion = _fill_missing_usage(completion, call)
        self.tokens_used += completion.prompt_tokens + completion.completion_tokens
        self.cost_used += self._compute_cost(call.request.model, completion) or 0.0
        failure = _find_cut(completion, call.request)
        if failure is not None and not completion.text.strip() and completion.cut_by is CutReason.LENGTH:
            self._count_failure(call.request.asked.phase, failure)
        else:
            self._close_circuits(call.request.asked.phase)
        has_answer = completion.text.strip() or completion.tool_calls
        outcome = failure.outcome if failure else "empty" if not has_answer else "cut" if completion.is_cut else "ok"
        if completion.is_prompt_cut and outcome == "ok":
            outcome = "prompt_cut"
        await self._record_outcome(call, outcome, began, completion)
        if completion.is_prompt_cut:
            await self._note_cut(call, completion)
        if failure is not None:
            raise failure
        return completion

    async def _note_cut(self, call: _PendingCall, completion: Completion) -> None:
        asked = call.request.asked
        if self.note is None or asked.phase in self._noted:
            return
        self._noted.add(asked.phase)
        reason = Message.of("llm.prompt_cut", model=call.request.model, tokens=completion.prompt_tokens)
        await self.note(asked.phase, asked.place, reason)

    def _get_model(self, phase: Phase) -> str:
        return self.settings.models.get(phase, self.settings.model)

    async def _check_budget(self, call: _PendingCall, cost: float) -> None:
        """Raise `ModelUnavailable` where a circuit is open or the prompt alone would exceed a budget."""
        if self._unavailable is None:
            self._unavailable = await self._find_exhausted_budget(call, cost)
        error = self._unavailable
        if error is not None:
            is_recorded, self._is_refusal_recorded = self._is_refusal_recorded, True
        else:
            now = self.clock.now()
            phase = call.request.asked.phase
            circuits = [circuit for key, circuit in self._circuits.items() if key[0] in (None, phase)]
            found = ((circuit, refusal) for circuit in circuits if (refusal := circuit.find_error(now)) is not None)
            circuit, error = next(found, (None, None))
            if circuit is None or error is None:
                return
            is_recorded, circuit.is_recorded = circuit.is_recorded, True
        if not is_recorded:
            await self._record_outcome(call, "budget" if error.outcome == "budget" else "circuit")
        raise ModelUnavailable(error.message, outcome=error.outcome)

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

    def _find_final(self) -> ModelUnavailable | None:
        whole = next((circuit.error for (phase, _), circuit in self._circuits.items() if phase is None), None)
        return self._unavailable or whole

    def _count_failure(self, phase: Phase, error: ModelFailed) -> None:
        """Count a failure: of the whole run where the server did not answer, else of its kind in its phase."""
        self._reopen_circuits(phase)
        if isinstance(error, ModelUnavailable):
            self._unavailable = self._unavailable or error
            return
        is_whole = error.outcome in _SERVER_FAILURES or error.outcome.startswith("http_5")
        key = (None, "server") if is_whole else (phase, error.outcome)
        circuit = self._circuits.setdefault(key, _Circuit())
        circuit.failures += 1
        if circuit.failures < CIRCUIT_FAILURE_THRESHOLD:
            return
        args = {"failures": circuit.failures, "reason": error.message}
        code = "llm.circuit_open"
        if not is_whole:
            code, args = "llm.phase_circuit_open", args | {"phase": Message(f"word.model_phase.{phase}")}
        circuit.open(ModelUnavailable(code, outcome="circuit", **args), self.clock.now())

    def _reopen_circuits(self, phase: Phase) -> None:
        """Have those that this call was let through wait again: it did not succeed."""
        for key, circuit in self._circuits.items():
            if key[0] in (None, phase) and circuit.is_tried and circuit.error is not None:
                circuit.open(circuit.error, self.clock.now())

    def _close_circuits(self, phase: Phase) -> None:
        for key in [key for key in self._circuits if key[0] in (None, phase)]:
            del self._circuits[key]

    async def _record_outcome(
        self, call: _PendingCall, outcome: str, began: float | None = None, completion: Completion | None = None
    ) -> None:
        """Write the ledger row; a call without an answer has no tokens, because nobody counted them.

        `began` is None for a call that was not made.
        """
        asked, model = call.request.asked, call.request.model
        seconds = 0.0 if began is None else time.perf_counter() - began
        if began is not None:
            kind = f"http_{outcome[5]}xx" if outcome.startswith("http_") else outcome
            MODEL_CALL_SECONDS.labels(asked.phase, kind).observe(seconds)
        row = ModelCall(
            run_id=self.run_id,
            phase=asked.phase,
            place=asked.place,
            model=model,
            prompt_tokens=completion.prompt_tokens if completion else 0,
            completion_tokens=completion.completion_tokens if completion else 0,
            context_chars=sum(message.size_chars for message in asked.messages),
            latency_ms=round(seconds * 1000),
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
