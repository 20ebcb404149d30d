"""Models whose calls are booked under the piece of work that made them, and stop before a budget is exceeded."""

import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from monitor.config.llm import LlmSettings
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, MonitorError
from monitor.evaluation.pieces import CallRow
from monitor.llm.chat import ChatModel, Completion, CompletionRequest, fit_chars
from monitor.llm.context import estimate_tokens
from monitor.vocabulary import Phase

_ANSWER_TOKENS = {Phase.NAVIGATE: 3000, Phase.CRAWL: 3000, Phase.SUMMARISE: 1000, Phase.VERIFY: 1500, Phase.RANK: 4000}
"""How long an answer is taken to be at most, until a longer one is seen."""

_MARGIN = 1.5
_MESSAGE_TOKENS = 8

piece_calls: ContextVar[list[CallRow]] = ContextVar("piece_calls")
"""The calls of the piece of work in whose task they are made."""


class EvaluationPaused(MonitorError):
    """The evaluation cannot go on now: its budget, or that of the day, allows no further call."""


@dataclass
class CostBudget:
    """The money of one evaluation: `spent` so far and reserved by calls under way; `limit` None is no limit."""

    limit: float | None
    spent: float = 0.0
    reserved: float = 0.0

    def reserve(self, cost: float) -> None:
        """Set money aside for a call; `EvaluationPaused` where it might exceed the limit."""
        if self.limit is not None and self.spent + self.reserved + cost > self.limit:
            raise EvaluationPaused("evaluation.budget_spent", budget=self.limit, spent=round(self.spent, 6))
        self.reserved += cost

    def settle(self, reserved: float, cost: float) -> None:
        self.reserved -= reserved
        self.spent += cost


@dataclass
class CostEstimator:
    """What a call of one contender may cost at most, by what its earlier calls took."""

    settings: LlmSettings
    _largest_answers: dict[Phase, int] = field(default_factory=dict)
    _largest_ratio: float = 1.0

    def estimate(self, request: CompletionRequest) -> float:
        price = self.settings.prices.get(self.settings.model)
        if price is None:
            return 0.0
        prompt = _estimate_prompt(request) * self._largest_ratio * _MARGIN
        longest = math.ceil(self._largest_answers.get(request.phase, 0) * _MARGIN)
        answer = self.settings.max_tokens or max(longest, _ANSWER_TOKENS.get(request.phase, 4000))
        return (prompt * price.input + answer * price.output) / 1_000_000

    def learn(self, request: CompletionRequest, completion: Completion) -> None:
        known = self._largest_answers.get(request.phase, 0)
        self._largest_answers[request.phase] = max(known, completion.completion_tokens)
        self._largest_ratio = max(self._largest_ratio, completion.prompt_tokens / max(_estimate_prompt(request), 1))


def _estimate_prompt(request: CompletionRequest) -> int:
    texts = [
        text
        for message in request.messages
        for text in (message.content, *(call.name + call.arguments for call in message.tool_calls))
    ]
    texts += [tool.model_dump_json() for tool in request.tools]
    return sum(map(estimate_tokens, texts)) + _MESSAGE_TOKENS * len(texts)


def build_call_row(call: ModelCall) -> CallRow:
    return CallRow(**call.model_dump(include=set(CallRow.model_fields)))


@dataclass(kw_only=True)
class MeteredModel:
    """A `ChatModel` for one piece of work: it answers `phases` alone, and keeps the texts that it was answered.

    `save_reserved` stores what the call under way may cost, so that a killed evaluation counts it as spent.
    """

    model: ChatModel
    phases: frozenset[Phase]
    budget: CostBudget
    estimator: CostEstimator
    save_reserved: Callable[[float], Awaitable[None]]
    answers: list[str] = field(default_factory=list)

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return a completion; `EvaluationPaused` before a call that might exceed a budget."""
        if request.phase not in self.phases:
            raise ModelFailed("evaluation.phase_not_asked", outcome="error")
        cost = self.estimator.estimate(request)
        self.budget.reserve(cost)
        calls = piece_calls.get()
        made = len(calls)
        try:
            if self.budget.limit is not None:
                await self.save_reserved(cost)
            completion = await self.model.complete(request)
            await self._release(cost)
        except ModelFailed as error:
            await self._release(cost)
            if error.outcome == "budget":
                raise EvaluationPaused("evaluation.day_budget_spent", reason=error.message) from error
            raise
        finally:
            self.budget.settle(cost, sum(call.cost or 0.0 for call in calls[made:]))
        self.estimator.learn(request, completion)
        self.answers.append(completion.text)
        return completion

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        return fit_chars(self.model, phase, limit, place)

    async def _release(self, cost: float) -> None:
        """Forget what was stored for a call once it is booked; of one that was cut off it stays, as spent."""
        if self.budget.limit is not None and cost:
            await self.save_reserved(0.0)
