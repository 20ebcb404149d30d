"""The daily totals: adding to them in a transaction of others, and summing them up."""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache

from sqlalchemy import ColumnElement, Insert, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.sessions import build_insert, get_dialect, sanitize_text
from monitor.db.tables.collection import DailyTotal, ModelCall, TotalKind

_KEY = ("kind", "day", "name")
_PRICED = {
    TotalKind.PHASE: TotalKind.PHASE_COST,
    TotalKind.MODEL: TotalKind.MODEL_COST,
    TotalKind.SOURCE: TotalKind.SOURCE_COST,
    TotalKind.RESEARCH: TotalKind.RESEARCH_COST,
}


@dataclass(frozen=True)
class Total:
    """A total, or a sum of totals."""

    count: int = 0
    amount: float = 0.0


@dataclass(frozen=True)
class Addition:
    """What is to be added to the total of a kind and name."""

    kind: TotalKind
    name: str = ""
    count: int = 1
    amount: float = 0.0


async def add_to_totals(session: AsyncSession, day: dt.date, additions: Iterable[Addition]) -> None:
    """Add to the totals of a day, in an order in which no two transactions wait for each other."""
    rows = [{"day": day, **asdict(addition), "name": sanitize_text(addition.name)} for addition in additions]
    rows = sorted((row for row in rows if row["count"] or row["amount"]), key=lambda row: [row[name] for name in _KEY])
    if rows:
        await session.execute(_build_addition(get_dialect(session)), rows)


@cache
def _build_addition(dialect: str) -> Insert:
    table = SQLModel.metadata.tables["daily_total"]
    statement = build_insert(dialect, table)
    sums = {name: table.c[name] + statement.excluded[name] for name in ("count", "amount")}
    return statement.on_conflict_do_update(index_elements=_KEY, set_=sums)


def list_call_additions(call: ModelCall, *, spender: str, is_research: bool) -> list[Addition]:
    """What a model call adds; `spender` is the source or what stands in place of one, empty where it is unknown."""
    tokens = call.prompt_tokens + call.completion_tokens
    names = {TotalKind.PHASE: str(call.phase), TotalKind.MODEL: call.model, TotalKind.SOURCE: spender}
    if is_research:
        names[TotalKind.RESEARCH] = ""
    additions = [Addition(TotalKind.CALL, call.outcome, amount=tokens)]
    additions += [Addition(kind, name, amount=tokens) for kind, name in names.items()]
    if call.cost is not None:
        additions += [Addition(_PRICED[kind], name, amount=call.cost) for kind, name in names.items()]
    return additions


async def load_sums(
    session: AsyncSession, kinds: Sequence[TotalKind], since: dt.date | None = None, until: dt.date | None = None
) -> dict[TotalKind, defaultdict[str, Total]]:
    """The totals of each of the kinds by name, of all days or of those from `since` to `until`, both included."""
    key = (col(DailyTotal.kind), col(DailyTotal.name))
    query = select(*key, func.sum(col(DailyTotal.count)), func.sum(col(DailyTotal.amount))).group_by(*key)
    sums: dict[TotalKind, defaultdict[str, Total]] = {kind: defaultdict(Total) for kind in kinds}
    for kind, name, count, amount in await session.execute(query.where(*_build_conditions(kinds, since, until))):
        sums[kind][name] = Total(int(count), amount)
    return sums


async def load_daily_sums(
    session: AsyncSession, kinds: Sequence[TotalKind], since: dt.date, until: dt.date
) -> dict[TotalKind, defaultdict[tuple[dt.date, str], Total]]:
    """The totals of each of the kinds by day and name, of the days from `since` to `until`, both included."""
    sums: dict[TotalKind, defaultdict[tuple[dt.date, str], Total]] = {kind: defaultdict(Total) for kind in kinds}
    for row in await session.scalars(select(DailyTotal).where(*_build_conditions(kinds, since, until))):
        sums[row.kind][row.day, row.name] = Total(row.count, row.amount)
    return sums


def _build_conditions(
    kinds: Sequence[TotalKind], since: dt.date | None, until: dt.date | None
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [col(DailyTotal.kind).in_(kinds)]
    if since is not None:
        conditions.append(col(DailyTotal.day) >= since)
    if until is not None:
        conditions.append(col(DailyTotal.day) <= until)
    return conditions


async def rename_source_totals(session: AsyncSession, name: str, new_name: str) -> None:
    """Move what a source spent to its new name, and add it to what another one of that name had spent."""
    mine = (
        col(DailyTotal.kind).in_((TotalKind.SOURCE, TotalKind.SOURCE_COST)),
        col(DailyTotal.name) == sanitize_text(name),
    )
    rows = [{**row.model_dump(), "name": new_name} for row in await session.scalars(select(DailyTotal).where(*mine))]
    if rows:
        await session.execute(delete(DailyTotal).where(*mine))
        await session.execute(_build_addition(get_dialect(session)), rows)
