"""What the model and the search services cost: tokens, requests and money by day."""

import datetime as dt
from collections.abc import Iterable
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from monitor.ports import Clock
from monitor.store import Store
from monitor.store.searches import SearchSpending
from monitor.store.usage import Spending


class DaySpending(Spending):
    """What one source spent in one phase on one day of the service's time zone."""

    day: dt.date


class DaySearches(SearchSpending):
    """What was asked of one search backend on one day of the service's time zone."""

    day: dt.date


class Costs(BaseModel):
    """The ledger of some days, newest first, and its sum; `cost` is None where nothing had a price."""

    since: dt.date
    until: dt.date
    costs: list[DaySpending]
    searches: list[DaySearches]
    calls: int
    tokens: int
    cost: float | None


class CostDesk:
    """Tells what the model and the search services cost."""

    def __init__(self, *, store: Store, clock: Clock, timezone: str) -> None:
        self._store = store
        self._clock = clock
        self._zone = ZoneInfo(timezone)

    async def ledger(self, days: int) -> Costs:
        """What was spent on so many days, today included."""
        until = self._clock.now().astimezone(self._zone).date()
        rows: list[DaySpending] = []
        searches: list[DaySearches] = []
        for back in range(days):
            day = until - dt.timedelta(days=back)
            span = self._midnight(day), self._midnight(day + dt.timedelta(days=1))
            rows += [DaySpending(day=day, **one.model_dump()) for one in await self._store.usage.spendings(*span)]
            searches += [
                DaySearches(day=day, **one.model_dump()) for one in await self._store.searches.spendings(*span)
            ]
        return Costs(
            since=until - dt.timedelta(days=days - 1), until=until, costs=rows, searches=searches,
            calls=sum(row.calls for row in rows),
            cost=sum_of([*(row.cost for row in rows), *(one.cost for one in searches)]),
            tokens=sum(row.prompt_tokens + row.completion_tokens for row in rows),
        )  # fmt: skip

    async def tokens_today(self) -> int:
        """The tokens of all calls since midnight: what the daily budget is held against."""
        return await self._store.usage.tokens_since(self._midnight(self._clock.now().astimezone(self._zone).date()))

    def _midnight(self, day: dt.date) -> dt.datetime:
        return dt.datetime.combine(day, dt.time.min, tzinfo=self._zone).astimezone(dt.UTC)


def sum_of(costs: Iterable[float | None]) -> float | None:
    """The money in all; None where there is no price among them."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None
