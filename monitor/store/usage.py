"""The usage ledger: what the model calls cost."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Select, case, func, select
from sqlmodel import col

from monitor.domain.reading import PhaseUsage, Usage
from monitor.domain.tables import ModelCall, Run
from monitor.domain.words import SWEEP_PHASES, Phase
from monitor.store.calendar import Day, calendar
from monitor.store.patience import patient
from monitor.store.sessions import Sessions

RESEARCH = "(research)"
"""What stands in place of a source for the calls of researches."""


class Sums(BaseModel):
    """What some model calls came to.

    `cost` is the money for calls of models with a price, None where none had one; `unpriced_calls` are the others.
    """

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    unpriced_calls: int

    @property
    def tokens(self) -> int:
        """Those of the prompts and of the answers."""
        return self.prompt_tokens + self.completion_tokens


class PhaseSpending(Sums):
    """What the model calls of one phase came to."""

    phase: Phase


class NamedSpending(Sums):
    """What the calls of one model or of one source came to; a source is None where the run is not on record.

    Those of researches, which have no source, are told under `RESEARCH`.
    """

    name: str | None


class Spending(PhaseSpending):
    """What the calls of one source in one phase came to, `source` as in `NamedSpending`."""

    source: str | None


class DaySpending(Spending):
    day: dt.date


class DayPhase(PhaseSpending):
    """What the model calls of one phase came to on one day."""

    day: dt.date


@patient
class UsageLedger:
    """Every call of a model, counted, whatever came of it."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, call: ModelCall) -> None:
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
                    calls=calls,
                    prompt_tokens=prompt,
                    completion_tokens=completion,
                    largest_context_chars=context,
                    cost=cost,
                )
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

    async def daily(self, days: Sequence[Day]) -> list[DaySpending]:
        """What was spent on each of the days, by source and phase."""
        when = calendar(days)
        query = (
            select(when.c.number, _SPENDER, col(ModelCall.phase), *_SUMS)
            .select_from(when)
            .join(ModelCall, (col(ModelCall.at) >= when.c.begin) & (col(ModelCall.at) < when.c.end))
            .outerjoin(Run, col(Run.id) == col(ModelCall.run_id))
            .group_by(when.c.number, "spender", col(ModelCall.phase))
            .order_by(when.c.number, "spender", col(ModelCall.phase))
        )
        async with self._sessions.reading() as session:
            rows = (await session.execute(query)).all()
        return [
            DaySpending(day=days[number].date, source=source, phase=phase, **_summed(*sums))
            for number, source, phase, *sums in rows
        ]

    async def daily_by_phase(self, days: Sequence[Day]) -> list[DayPhase]:
        """What was spent on each of the days, by phase."""
        when = calendar(days)
        query = (
            select(when.c.number, col(ModelCall.phase), *_SUMS)
            .select_from(when)
            .join(ModelCall, (col(ModelCall.at) >= when.c.begin) & (col(ModelCall.at) < when.c.end))
            .group_by(when.c.number, col(ModelCall.phase))
            .order_by(when.c.number, col(ModelCall.phase))
        )
        async with self._sessions.reading() as session:
            rows = (await session.execute(query)).all()
        return [DayPhase(day=days[number].date, phase=phase, **_summed(*sums)) for number, phase, *sums in rows]

    async def by_model(self, since: dt.datetime, until: dt.datetime) -> list[NamedSpending]:
        """What was spent from one instant to before another, by model, the most tokens first."""
        return await self._by_name(select(col(ModelCall.model).label("spender"), *_SUMS), since, until)

    async def by_source(self, since: dt.datetime, until: dt.datetime) -> list[NamedSpending]:
        """What was spent from one instant to before another, by source, the most tokens first."""
        query = select(_SPENDER, *_SUMS).outerjoin_from(ModelCall, Run, col(Run.id) == col(ModelCall.run_id))
        return await self._by_name(query, since, until)

    async def _by_name(
        self, query: Select[*tuple[Any, ...]], since: dt.datetime, until: dt.datetime
    ) -> list[NamedSpending]:
        within = (col(ModelCall.at) >= since, col(ModelCall.at) < until)
        async with self._sessions.reading() as session:
            rows = (await session.execute(query.where(*within).group_by("spender"))).all()
        told = [NamedSpending(name=one, **_summed(*sums)) for one, *sums in rows]
        return sorted(told, key=lambda one: (-one.tokens, one.name or ""))


_SPENDER = case((col(ModelCall.phase).in_(SWEEP_PHASES), col(Run.source)), else_=RESEARCH).label("spender")
_SUMS = (
    func.count(col(ModelCall.id)),
    func.sum(col(ModelCall.prompt_tokens)),
    func.sum(col(ModelCall.completion_tokens)),
    func.sum(col(ModelCall.cost)),
    func.count(col(ModelCall.cost)),
)


def _summed(calls: int, prompt: int, completion: int, cost: float | None, priced: int) -> dict[str, Any]:
    return {
        "calls": calls,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cost": cost,
        "unpriced_calls": calls - priced,
    }
