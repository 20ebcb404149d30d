"""A store of either kind, and a clock that tests turn."""

import datetime as dt
from collections.abc import AsyncIterator

import pytest

from monitor.db.database import Store


class TurnedClock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self._now = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self._now

    def turn(self, **by: float) -> None:
        self._now += dt.timedelta(**by)


@pytest.fixture
def turned_clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture(params=["sqlite", "postgresql"])
async def either_store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A migrated, empty store on each kind of database."""
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    async with Store.open(url) as store:
        yield store
