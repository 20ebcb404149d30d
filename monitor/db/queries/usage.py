"""The usage ledger: what the model calls cost."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import Integer, Select, Subquery, case, delete, func, literal, select, union_all
from sqlmodel import col

from monitor.db.reading import PhaseUsage, RunUsage
from monitor.db.sessions import Queries, upsert_rows
from monitor.db.tables.collection import ModelCall, Run
from monitor.db.tables.columns import UtcDateTime
from monitor.db.tables.research import SearchAnswer, SearchCall
from monitor.vocabulary import SWEEP_PHASES, Phase


class Day(NamedTuple):
    """A day of some time zone, and the instants at which it begins and at which it is over."""

    date: dt.date
    begin: dt.datetime
    end: dt.datetime


def build_calendar(days: Sequence[Day]) -> Subquery:
    """The days as rows of `number` (from 0, as they were given), `begin` and `end`."""
    rows = [
        select(
            literal(number, Integer).label("number"),
            literal(day.begin, UtcDateTime()).label("begin"),
            literal(day.end, UtcDateTime()).label("end"),
        )
        for number, day in enumerate(days)
    ]
    return union_all(*rows).subquery("calendar")


RESEARCH_SOURCE = "(research)"
"""What stands in place of a source for the calls of researches."""


class UsageTotals(BaseModel):
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


class PhaseSpending(UsageTotals):
    """What the model calls of one phase came to."""

    phase: Phase


class NamedSpending(UsageTotals):
    """What the calls of one model or of one source came to; a source is None where the run is not on record.

    Those of researches, which have no source, are told under `RESEARCH`.
    """

    name: str | None


class Spending(PhaseSpending):
    """What the calls of one source in one phase came to, `source` as in `NamedSpending`."""

    source: str | None


class DailySpending(Spending):
    day: dt.date


class DailyPhaseSpending(PhaseSpending):
    """What the model calls of one phase came to on one day."""

    day: dt.date


class UsageStore(Queries):
    """Every call of a model, counted, whatever came of it."""

    async def add(self, call: ModelCall) -> None:
        async with self._sessions.begin_write() as session:
            session.add(ModelCall.model_validate(call.model_dump(exclude={"id"})))

    async def load_run_usage(self, run_id: str) -> RunUsage:
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
        async with self._sessions.begin_read() as session:
            rows = {row[0]: row for row in await session.execute(query)}
        usage = RunUsage()
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

    async def count_tokens_since(self, instant: dt.datetime) -> int:
        """All tokens, of prompts and of completions, since an instant: what a daily budget is held against."""
        tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        async with self._sessions.begin_read() as session:
            return int(await session.scalar(select(tokens).where(col(ModelCall.at) >= instant)) or 0)

    async def load_daily(self, days: Sequence[Day]) -> list[DailySpending]:
        """What was spent on each of the days, by source and phase."""
        when = build_calendar(days)
        query = (
            select(when.c.number, _SPENDER, col(ModelCall.phase), *_TOTAL_COLUMNS)
            .select_from(when)
            .join(ModelCall, (col(ModelCall.at) >= when.c.begin) & (col(ModelCall.at) < when.c.end))
            .outerjoin(Run, col(Run.id) == col(ModelCall.run_id))
            .group_by(when.c.number, "spender", col(ModelCall.phase))
            .order_by(when.c.number, "spender", col(ModelCall.phase))
        )
        async with self._sessions.begin_read() as session:
            rows = (await session.execute(query)).all()
        return [
            DailySpending(day=days[number].date, source=source, phase=phase, **_build_totals(*sums))
            for number, source, phase, *sums in rows
        ]

    async def load_daily_by_phase(self, days: Sequence[Day]) -> list[DailyPhaseSpending]:
        """What was spent on each of the days, by phase."""
        when = build_calendar(days)
        query = (
            select(when.c.number, col(ModelCall.phase), *_TOTAL_COLUMNS)
            .select_from(when)
            .join(ModelCall, (col(ModelCall.at) >= when.c.begin) & (col(ModelCall.at) < when.c.end))
            .group_by(when.c.number, col(ModelCall.phase))
            .order_by(when.c.number, col(ModelCall.phase))
        )
        async with self._sessions.begin_read() as session:
            rows = (await session.execute(query)).all()
        return [
            DailyPhaseSpending(day=days[number].date, phase=phase, **_build_totals(*sums))
            for number, phase, *sums in rows
        ]

    async def load_by_model(self, since: dt.datetime, until: dt.datetime) -> list[NamedSpending]:
        """What was spent from one instant to before another, by model, the most tokens first."""
        return await self._load_by_name(select(col(ModelCall.model).label("spender"), *_TOTAL_COLUMNS), since, until)

    async def load_by_source(self, since: dt.datetime, until: dt.datetime) -> list[NamedSpending]:
        """What was spent from one instant to before another, by source, the most tokens first."""
        query = select(_SPENDER, *_TOTAL_COLUMNS).outerjoin_from(ModelCall, Run, col(Run.id) == col(ModelCall.run_id))
        return await self._load_by_name(query, since, until)

    async def _load_by_name(
        self, query: Select[*tuple[Any, ...]], since: dt.datetime, until: dt.datetime
    ) -> list[NamedSpending]:
        within = (col(ModelCall.at) >= since, col(ModelCall.at) < until)
        async with self._sessions.begin_read() as session:
            rows = (await session.execute(query.where(*within).group_by("spender"))).all()
        spendings = [NamedSpending(name=name, **_build_totals(*sums)) for name, *sums in rows]
        return sorted(spendings, key=lambda name: (-name.tokens, name.name or ""))


_SPENDER = case((col(ModelCall.phase).in_(SWEEP_PHASES), col(Run.source)), else_=RESEARCH_SOURCE).label("spender")

_TOTAL_COLUMNS = (
    func.count(col(ModelCall.id)),
    func.sum(col(ModelCall.prompt_tokens)),
    func.sum(col(ModelCall.completion_tokens)),
    func.sum(col(ModelCall.cost)),
    func.count(col(ModelCall.cost)),
)


def _build_totals(calls: int, prompt: int, completion: int, cost: float | None, priced: int) -> dict[str, Any]:
    return {
        "calls": calls,
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "cost": cost,
        "unpriced_calls": calls - priced,
    }


class DailySearchUsage(BaseModel):
    """What the requests to one backend came to on one day; `cost` is None where none had a price."""

    day: dt.date
    backend: str
    requests: int
    failed: int
    cost: float | None


class SearchStore(Queries, retries=False):
    """The ledger of requests, and the answers that may serve again."""

    async def add(self, call: SearchCall) -> None:
        async with self._sessions.begin_write() as session:
            session.add(SearchCall.model_validate(call.model_dump(exclude={"id"})))

    async def count_requests_since(self, backend: str, instant: dt.datetime) -> int:
        """How often a backend was asked since an instant."""
        query = select(func.count()).where(col(SearchCall.backend) == backend, col(SearchCall.at) >= instant)
        async with self._sessions.begin_read() as session:
            return int(await session.scalar(query) or 0)

    async def get_last_seen(self, backend: str, route: str, detail_code: str) -> dt.datetime | None:
        """When a backend last answered so to those who come by this route."""
        query = select(func.max(col(SearchCall.at))).where(
            col(SearchCall.backend) == backend,
            col(SearchCall.route) == route,
            col(SearchCall.detail_code) == detail_code,
        )
        return await self._fetch_first(query)

    async def load_daily_usage(self, days: Sequence[Day]) -> list[DailySearchUsage]:
        """What was asked on each of the days, by backend."""
        when, is_good = build_calendar(days), col(SearchCall.outcome) == "ok"
        count = func.count(col(SearchCall.id))
        query = (
            select(when.c.number, col(SearchCall.backend), count, count.filter(is_good), func.sum(col(SearchCall.cost)))
            .select_from(when)
            .join(SearchCall, (col(SearchCall.at) >= when.c.begin) & (col(SearchCall.at) < when.c.end))
            .group_by(when.c.number, col(SearchCall.backend))
            .order_by(when.c.number, col(SearchCall.backend))
        )
        async with self._sessions.begin_read() as session:
            rows = (await session.execute(query)).all()
        return [
            DailySearchUsage(day=days[number].date, backend=backend, requests=count, failed=count - good, cost=cost)
            for number, backend, count, good, cost in rows
        ]

    async def get_answer(self, key: str, *, not_before: dt.datetime) -> dict[str, Any] | None:
        """The findings kept under a key, unless they are older than that."""
        query = select(SearchAnswer).where(col(SearchAnswer.key) == key, col(SearchAnswer.at) >= not_before)
        async with self._sessions.begin_read() as session:
            kept = await session.scalar(query)
        return None if kept is None else kept.findings

    async def save_answer(self, answer: SearchAnswer, *, not_before: dt.datetime) -> None:
        """Keep findings in place of older ones under their key, and forget all that are older than that."""
        async with self._sessions.begin_write() as session:
            await session.execute(delete(SearchAnswer).where(col(SearchAnswer.at) < not_before))
            await upsert_rows(session, SearchAnswer, [answer.model_dump()], key=["key"], update=["at", "findings"])
