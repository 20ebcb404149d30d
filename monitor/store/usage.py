"""The usage ledger: what the model calls cost."""

import datetime as dt

from pydantic import BaseModel
from sqlalchemy import func, select
from sqlmodel import col

from monitor.domain.reading import PhaseUsage, Usage
from monitor.domain.tables import ModelCall, Run
from monitor.domain.words import Phase
from monitor.store.patience import patient
from monitor.store.sessions import Sessions


class Spending(BaseModel):
    """What the model calls of one source in one phase came to; `source` is None for calls whose run is not on record.

    `cost` is the money for calls of models with a price, None where none had one; `unpriced_calls` are the others.
    """

    source: str | None
    phase: Phase
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    unpriced_calls: int


@patient
class UsageLedger:
    """Every call of a model, counted, whatever came of it."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, call: ModelCall) -> None:
        """Write down one call."""
        async with self._sessions.writing() as session:
            session.add(ModelCall.model_validate(call.model_dump(exclude={"id"})))

    async def for_run(self, run_id: str) -> Usage:
        """What the calls of a run cost, in all and by phase; phases without a call do not appear."""
        query = (
            select(
                col(ModelCall.phase),
                func.count(),
                func.sum(ModelCall.prompt_tokens),
                func.sum(ModelCall.completion_tokens),
                func.max(ModelCall.context_chars),
                func.sum(ModelCall.cost),
            )
            .where(col(ModelCall.run_id) == run_id)
            .group_by(col(ModelCall.phase))
        )
        async with self._sessions.reading() as session:
            rows = {row[0]: row for row in await session.execute(query)}
        usage = Usage()
        for phase in Phase:
            if phase in rows:
                _, calls, prompt, completion, context, cost = rows[phase]
                usage.by_phase[phase] = PhaseUsage(
                    calls=calls, prompt_tokens=prompt, completion_tokens=completion, largest_context_chars=context,
                    cost=cost,
                )  # fmt: skip
                usage.calls += calls
                usage.prompt_tokens += prompt
                usage.completion_tokens += completion
                usage.largest_context_chars = max(usage.largest_context_chars, context)
                usage.cost = usage.cost if cost is None else (usage.cost or 0.0) + cost
        return usage

    async def tokens_since(self, instant: dt.datetime) -> int:
        """All tokens, of prompts and of completions, since an instant: what a daily budget is held against."""
        tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        async with self._sessions.reading() as session:
            return int(await session.scalar(select(tokens).where(col(ModelCall.at) >= instant)) or 0)

    async def spendings(self, since: dt.datetime, until: dt.datetime) -> list[Spending]:
        """What was spent from one instant to before another, by source and phase."""
        query = (
            select(
                col(Run.source),
                col(ModelCall.phase),
                func.count(),
                func.sum(ModelCall.prompt_tokens),
                func.sum(ModelCall.completion_tokens),
                func.sum(ModelCall.cost),
                func.count(col(ModelCall.cost)),
            )
            .outerjoin(Run, col(Run.id) == col(ModelCall.run_id))
            .where(col(ModelCall.at) >= since, col(ModelCall.at) < until)
            .group_by(col(Run.source), col(ModelCall.phase))
            .order_by(col(Run.source), col(ModelCall.phase))
        )
        async with self._sessions.reading() as session:
            rows = (await session.execute(query)).all()
        return [
            Spending(
                source=source, phase=phase, calls=calls, prompt_tokens=prompt, completion_tokens=completion, cost=cost,
                unpriced_calls=calls - priced,
            )
            for source, phase, calls, prompt, completion, cost, priced in rows
        ]  # fmt: skip
