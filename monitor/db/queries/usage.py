"""The usage ledger: what the model calls and the searches cost."""

import datetime as dt
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import (
    Date,
    Integer,
    Select,
    Subquery,
    and_,
    case,
    delete,
    exists,
    func,
    literal,
    select,
    union_all,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.daily_totals import Addition, Total, add_to_totals, list_call_additions, load_daily_sums, load_sums
from monitor.db.reading import PhaseUsage, RunUsage
from monitor.db.sessions import Queries, build_insert, get_dialect, upsert_rows
from monitor.db.tables.collection import DailyTotal, ModelCall, Run, TotalKind
from monitor.db.tables.columns import UtcDateTime
from monitor.db.tables.research import HostTraffic, Research, SearchAnswer, SearchCall
from monitor.vocabulary import SWEEP_PHASES, Phase

RESEARCH_SOURCE = "(research)"
"""What stands in place of a source for the calls of researches."""


class Day(NamedTuple):
    """A day of some time zone, and the instants at which it begins and at which it is over."""

    date: dt.date
    begin: dt.datetime
    end: dt.datetime


class UsageTotals(BaseModel):
    """What some model calls came to; `unpriced_calls` are those of models without a price, which `cost` leaves out."""

    calls: int
    tokens: int
    cost: float | None
    unpriced_calls: int


class NamedSpending(UsageTotals):
    """What the calls of one model or source, or of researches, came to; `name` is None where the run is unknown."""

    name: str | None


class DailyPhaseSpending(UsageTotals):
    phase: Phase
    day: dt.date


class DailySpending(BaseModel):
    """What the calls of one source, or of researches, came to in one phase on one day."""

    phase: Phase
    source: str | None
    day: dt.date
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    unpriced_calls: int

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class DailySearchUsage(BaseModel):
    """What the requests to one backend came to on one day; `cost` is None where none had a price."""

    day: dt.date
    backend: str
    requests: int
    failed: int
    cost: float | None


# Not called `source`: PostgreSQL would group by the column of that name.
_IS_RESEARCH = exists().where(col(Research.id) == col(ModelCall.run_id))
_SPENDER = case(
    (col(ModelCall.phase).in_([*SWEEP_PHASES, Phase.EMBED]), col(Run.source)),
    # The one phase that sweeps, briefings and researches share.
    (and_(col(ModelCall.phase) == Phase.VERIFY, ~_IS_RESEARCH), col(Run.source)),
    else_=RESEARCH_SOURCE,
).label("spender")
_TOTALS = (
    func.count(col(ModelCall.id)).label("calls"),
    func.sum(col(ModelCall.prompt_tokens)).label("prompt_tokens"),
    func.sum(col(ModelCall.completion_tokens)).label("completion_tokens"),
    func.sum(col(ModelCall.cost)).label("cost"),
    (func.count(col(ModelCall.id)) - func.count(col(ModelCall.cost))).label("unpriced_calls"),
)


class UsageStore(Queries):
    async def add(self, call: ModelCall) -> None:
        """Book a model call, and add it to the totals of its day."""
        researched, source = exists().where(col(Research.id) == call.run_id), col(Run.source)
        owner = select(researched, select(source).where(col(Run.id) == call.run_id).scalar_subquery())
        async with self._sessions.begin_write() as session:
            session.add(ModelCall.model_validate(call.model_dump(exclude={"id"})))
            is_research, name = (await session.execute(owner)).one()
            is_sweep = call.phase in (*SWEEP_PHASES, Phase.EMBED) or (call.phase is Phase.VERIFY and not is_research)
            spender = (name or "") if is_sweep else RESEARCH_SOURCE
            additions = list_call_additions(call, spender=spender, is_research=is_research)
            await add_to_totals(session, self._sessions.get_day(call.at), additions)

    async def load_run_usage(self, run_id: str) -> RunUsage:
        """What the calls of a run cost, in all and by phase; phases without a call do not appear."""
        async with self._sessions.begin_read() as session:
            return (await load_usage(session, [run_id]))[run_id]

    async def count_tokens_since(self, instant: dt.datetime) -> int:
        tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        return int(await self._fetch_first(select(tokens).where(col(ModelCall.at) >= instant)) or 0)

    async def load_daily(self, days: Sequence[Day]) -> list[DailySpending]:
        query = _select_daily_totals(days, _SPENDER, col(ModelCall.phase))
        rows = await self._fetch_rows(query.outerjoin(Run, col(Run.id) == col(ModelCall.run_id)))
        return [DailySpending(source=row.spender, **row._asdict()) for row in rows]

    async def load_daily_by_phase(self, since: dt.date, until: dt.date) -> list[DailyPhaseSpending]:
        """What was spent on each of the days, both included, by phase."""
        async with self._sessions.begin_read() as session:
            sums = await load_daily_sums(session, (TotalKind.PHASE, TotalKind.PHASE_COST), since, until)
        priced = sums[TotalKind.PHASE_COST]
        return [
            DailyPhaseSpending(day=day, phase=Phase(name), **_build_totals(spent, priced[day, name]))
            for (day, name), spent in sorted(sums[TotalKind.PHASE].items(), key=itemgetter(0))
        ]

    async def load_by_model(self, since: dt.date, until: dt.date) -> list[NamedSpending]:
        """What was spent on the days, both included, by model, the most tokens first."""
        return await self._load_by_name(TotalKind.MODEL, TotalKind.MODEL_COST, since, until)

    async def load_by_source(self, since: dt.date, until: dt.date) -> list[NamedSpending]:
        """What was spent on the days, both included, by source, the most tokens first."""
        return await self._load_by_name(TotalKind.SOURCE, TotalKind.SOURCE_COST, since, until)

    async def delete_source_totals(self, before: dt.date) -> None:
        """Forget what each source spent on days before then; what the service spent in all stays."""
        of_sources = col(DailyTotal.kind).in_((TotalKind.SOURCE, TotalKind.SOURCE_COST))
        await self._execute(delete(DailyTotal).where(of_sources, col(DailyTotal.day) < before))

    async def _load_by_name(
        self, kind: TotalKind, cost_kind: TotalKind, since: dt.date, until: dt.date
    ) -> list[NamedSpending]:
        async with self._sessions.begin_read() as session:
            sums = await load_sums(session, (kind, cost_kind), since, until)
        spendings = [
            NamedSpending(name=name or None, **_build_totals(spent, sums[cost_kind][name]))
            for name, spent in sums[kind].items()
        ]
        return sorted(spendings, key=lambda spent: (-spent.tokens, spent.name or ""))


def _build_totals(spent: Total, priced: Total) -> dict[str, Any]:
    return {
        "calls": spent.count,
        "tokens": round(spent.amount),
        "cost": priced.amount if priced.count else None,
        "unpriced_calls": spent.count - priced.count,
    }


async def load_usage(session: AsyncSession, run_ids: Sequence[str]) -> dict[str, RunUsage]:
    key = (col(ModelCall.run_id), col(ModelCall.phase))
    query = select(
        *key,
        func.count().label("calls"),
        func.sum(col(ModelCall.prompt_tokens)).label("prompt_tokens"),
        func.sum(col(ModelCall.completion_tokens)).label("completion_tokens"),
        func.max(col(ModelCall.context_chars)).label("largest_context_chars"),
        func.sum(col(ModelCall.cost)).label("cost"),
    )
    rows = (await session.execute(query.where(key[0].in_(run_ids)).group_by(*key))).mappings().all()
    usage = {run_id: RunUsage() for run_id in run_ids}
    for row in sorted(rows, key=lambda row: list(Phase).index(row["phase"])):
        usage[row["run_id"]].add(row["phase"], PhaseUsage.model_validate(dict(row)))
    return usage


def build_calendar(days: Sequence[Day]) -> Subquery:
    """The days as rows of `number` (from 0, as they were given), `day`, `begin` and `end`."""
    rows = [
        select(
            literal(number, Integer).label("number"),
            literal(day.date, Date).label("day"),
            literal(day.begin, UtcDateTime()).label("begin"),
            literal(day.end, UtcDateTime()).label("end"),
        )
        for number, day in enumerate(days)
    ]
    return union_all(*rows).subquery("calendar")


def _select_daily_totals(days: Sequence[Day], *columns: Any) -> Select[*tuple[Any, ...]]:
    when = build_calendar(days)
    key = (when.c.number, when.c.day, *(column.name for column in columns))
    return (
        select(when.c.day, *columns, *_TOTALS)
        .select_from(when)
        .join(ModelCall, (col(ModelCall.at) >= when.c.begin) & (col(ModelCall.at) < when.c.end))
        .group_by(*key)
        .order_by(*key)
    )


class SearchStore(Queries, retries=False):
    async def add(self, call: SearchCall) -> None:
        """Book a request to a search service, and add it to the totals of its day."""
        additions = [
            Addition(TotalKind.SEARCH, call.backend),
            Addition(TotalKind.SEARCH_FAILED, call.backend, count=int(call.outcome != "ok")),
            Addition(TotalKind.SEARCH_COST, call.backend, int(call.cost is not None), call.cost or 0.0),
        ]
        async with self._sessions.begin_write() as session:
            session.add(SearchCall.model_validate(call.model_dump(exclude={"id"})))
            await add_to_totals(session, self._sessions.get_day(call.at), additions)

    async def count_requests_since(self, backend: str, instant: dt.datetime) -> int:
        query = select(func.count()).where(col(SearchCall.backend) == backend, col(SearchCall.at) >= instant)
        return int(await self._fetch_first(query) or 0)

    async def get_last_seen(self, backend: str, route: str, detail_code: str) -> dt.datetime | None:
        """When a backend last gave this answer to requests of this route."""
        query = select(func.max(col(SearchCall.at))).where(
            col(SearchCall.backend) == backend,
            col(SearchCall.route) == route,
            col(SearchCall.detail_code) == detail_code,
        )
        return await self._fetch_first(query)

    async def load_daily_usage(self, since: dt.date, until: dt.date) -> list[DailySearchUsage]:
        """What was asked on each of the days, both included, by backend."""
        kinds = (TotalKind.SEARCH, TotalKind.SEARCH_FAILED, TotalKind.SEARCH_COST)
        async with self._sessions.begin_read() as session:
            asked, failed, priced = (await load_daily_sums(session, kinds, since, until)).values()
        return [
            DailySearchUsage(
                day=day,
                backend=backend,
                requests=total.count,
                failed=failed[day, backend].count,
                cost=priced[day, backend].amount if priced[day, backend].count else None,
            )
            for (day, backend), total in sorted(asked.items(), key=itemgetter(0))
        ]

    async def get_answer(self, key: str, *, not_before: dt.datetime) -> dict[str, Any] | None:
        """The findings kept under a key, unless they are older than that."""
        is_kept = (col(SearchAnswer.key) == key, col(SearchAnswer.at) >= not_before)
        return await self._fetch_first(select(col(SearchAnswer.findings)).where(*is_kept))

    async def save_answer(self, answer: SearchAnswer, *, not_before: dt.datetime) -> None:
        """Store findings in place of older ones under their key, and delete all that are older than that."""
        async with self._sessions.begin_write() as session:
            await session.execute(delete(SearchAnswer).where(col(SearchAnswer.at) < not_before))
            await upsert_rows(session, SearchAnswer, [answer.model_dump()], key=["key"], update=["at", "findings"])


class HostTrafficStore(Queries):
    async def spend(self, host: str, day: dt.date, *, limit: int | None) -> bool:
        """Count a request, or a refusal where the limit is reached; many processes may do so at once."""
        place = and_(col(HostTraffic.day) == day, col(HostTraffic.host) == host)
        async with self._sessions.begin_write() as session:
            row = {"day": day, "host": host, "requests": 0, "refused": 0}
            await session.execute(build_insert(get_dialect(session), HostTraffic).values(row).on_conflict_do_nothing())
            left = place if limit is None else and_(place, col(HostTraffic.requests) < limit)
            counted = update(HostTraffic).where(left).values(requests=col(HostTraffic.requests) + 1)
            if (await session.execute(counted.returning(col(HostTraffic.host)))).first() is not None:
                return True
            await session.execute(update(HostTraffic).where(place).values(refused=col(HostTraffic.refused) + 1))
            return False

    async def list_since(self, since: dt.date) -> Sequence[HostTraffic]:
        """The newest day first, the most requests first."""
        newest = (col(HostTraffic.day).desc(), col(HostTraffic.requests).desc(), col(HostTraffic.host))
        return await self._fetch_all(select(HostTraffic).where(col(HostTraffic.day) >= since).order_by(*newest))

    async def delete_before(self, day: dt.date) -> None:
        async with self._sessions.begin_write() as session:
            await session.execute(delete(HostTraffic).where(col(HostTraffic.day) < day))
