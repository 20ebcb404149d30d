"""Searches: what was asked of search services, and what they answered."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import delete, func, select
from sqlmodel import col

from monitor.domain.searches import SearchAnswer, SearchCall
from monitor.store.calendar import Day, calendar
from monitor.store.sessions import Sessions, insert_or


class DaySearches(BaseModel):
    """What the requests to one backend came to on one day; `cost` is None where none had a price."""

    day: dt.date
    backend: str
    requests: int
    failed: int
    cost: float | None


class Searches:
    """The ledger of requests, and the answers that may serve again."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, call: SearchCall) -> None:
        async with self._sessions.writing() as session:
            session.add(SearchCall.model_validate(call.model_dump(exclude={"id"})))

    async def requests_since(self, backend: str, instant: dt.datetime) -> int:
        """How often a backend was asked since an instant."""
        query = select(func.count()).where(col(SearchCall.backend) == backend, col(SearchCall.at) >= instant)
        async with self._sessions.reading() as session:
            return int(await session.scalar(query) or 0)

    async def last_seen(self, backend: str, route: str, detail_code: str) -> dt.datetime | None:
        """When a backend last answered so to those who come by this route."""
        query = select(func.max(col(SearchCall.at))).where(
            col(SearchCall.backend) == backend,
            col(SearchCall.route) == route,
            col(SearchCall.detail_code) == detail_code,
        )
        async with self._sessions.reading() as session:
            return await session.scalar(query)

    async def daily(self, days: Sequence[Day]) -> list[DaySearches]:
        """What was asked on each of the days, by backend."""
        when, is_good = calendar(days), col(SearchCall.outcome) == "ok"
        count = func.count(col(SearchCall.id))
        query = (
            select(when.c.number, col(SearchCall.backend), count, count.filter(is_good), func.sum(col(SearchCall.cost)))
            .select_from(when)
            .join(SearchCall, (col(SearchCall.at) >= when.c.begin) & (col(SearchCall.at) < when.c.end))
            .group_by(when.c.number, col(SearchCall.backend))
            .order_by(when.c.number, col(SearchCall.backend))
        )
        async with self._sessions.reading() as session:
            rows = (await session.execute(query)).all()
        return [
            DaySearches(day=days[number].date, backend=backend, requests=count, failed=count - good, cost=cost)
            for number, backend, count, good, cost in rows
        ]

    async def answer(self, key: str, *, not_before: dt.datetime) -> dict[str, Any] | None:
        """The findings kept under a key, unless they are older than that."""
        query = select(SearchAnswer).where(col(SearchAnswer.key) == key, col(SearchAnswer.at) >= not_before)
        async with self._sessions.reading() as session:
            kept = await session.scalar(query)
        return None if kept is None else kept.findings

    async def keep(self, answer: SearchAnswer, *, not_before: dt.datetime) -> None:
        """Keep findings in place of older ones under their key, and forget all that are older than that."""
        async with self._sessions.writing() as session:
            await session.execute(delete(SearchAnswer).where(col(SearchAnswer.at) < not_before))
            await insert_or(session, SearchAnswer, [answer.model_dump()], key=["key"], update=["at", "findings"])
