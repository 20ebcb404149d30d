"""What the model and the search services cost: tokens, requests and money by day."""

import datetime as dt
from collections.abc import Iterable
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.ports import Clock
from monitor.store import Store
from monitor.store.calendar import Day
from monitor.store.searches import DaySearches
from monitor.store.usage import DayPhase, DaySpending, NamedSpending


class Costs(BaseModel):
    """The ledger of some days, newest first, and its sum; `cost` is None where nothing had a price."""

    since: dt.date
    until: dt.date
    costs: list[DaySpending]
    searches: list[DaySearches]
    calls: int = Field(examples=[1200])
    tokens: int = Field(examples=[4_383_732])
    cost: float | None = Field(examples=[18.0])


class CostChart(BaseModel):
    """What some days came to: by day and phase, by model, by source, and the searches by day and backend."""

    days: list[dt.date]
    phases: list[DayPhase]
    models: list[NamedSpending]
    sources: list[NamedSpending]
    searches: list[DaySearches]

    @property
    def cost(self) -> float | None:
        """The money in all; None where nothing had a price."""
        return sum_of([*(phase.cost for phase in self.phases), *(search.cost for search in self.searches)])

    def cost_on(self, day: dt.date) -> float | None:
        rows: list[DayPhase | DaySearches] = [*self.phases, *self.searches]
        return sum_of(row.cost for row in rows if row.day == day)


class CostDesk:
    """Tells what the model and the search services cost."""

    def __init__(self, *, store: Store, clock: Clock, timezone: str) -> None:
        self._store = store
        self._clock = clock
        self._zone = ZoneInfo(timezone)

    async def ledger(self, days: int) -> Costs:
        """What was spent on so many days, today included."""
        span = self._days(days)
        newest_first = span[::-1]
        rows = await self._store.usage.daily(newest_first)
        searches = await self._store.searches.daily(newest_first)
        return Costs(
            since=span[0].date,
            until=span[-1].date,
            costs=rows,
            searches=searches,
            calls=sum(row.calls for row in rows),
            cost=sum_of([*(row.cost for row in rows), *(search.cost for search in searches)]),
            tokens=sum(row.tokens for row in rows),
        )

    async def chart(self, days: int) -> CostChart:
        """What was spent on so many days, today included, in as many rows as charts have room for."""
        span = self._days(days)
        begin, end = span[0].begin, span[-1].end
        return CostChart(
            days=[day.date for day in span],
            phases=await self._store.usage.daily_by_phase(span),
            models=await self._store.usage.by_model(begin, end),
            sources=await self._store.usage.by_source(begin, end),
            searches=await self._store.searches.daily(span),
        )

    async def tokens_today(self) -> int:
        """The tokens of all calls since midnight: what the daily budget is held against."""
        return await self._store.usage.tokens_since(self._days(1)[0].begin)

    def today(self) -> dt.date:
        """The day that it is for the service."""
        return self.dates(1)[0]

    def dates(self, count: int) -> list[dt.date]:
        """So many days, today the last of them."""
        return [day.date for day in self._days(count)]

    def _days(self, count: int) -> list[Day]:
        return days_until(self._clock.now(), self._zone, count)


def days_until(now: dt.datetime, zone: ZoneInfo, count: int) -> list[Day]:
    """So many days of a zone, that of `now` the last."""

    def midnight(day: dt.date) -> dt.datetime:
        return dt.datetime.combine(day, dt.time.min, tzinfo=zone).astimezone(dt.UTC)

    today = now.astimezone(zone).date()
    dates = [today - dt.timedelta(days=back) for back in reversed(range(count))]
    return [Day(date, midnight(date), midnight(date + dt.timedelta(days=1))) for date in dates]


def sum_of(costs: Iterable[float | None]) -> float | None:
    """The money in all; None where there is no price among them."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None
