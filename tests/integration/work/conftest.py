"""What the tests of the service's parts share: a database of either kind, and a clock that a test turns."""

import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.domain.tables import Source
from monitor.settings import Settings
from monitor.store import Store, migrate


class TurnedClock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.instant = dt.datetime(2026, 3, 2, 0, 0, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self.instant

    def turn(self, **by: float) -> None:
        self.instant += dt.timedelta(**by)


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    url = f"sqlite:///{tmp_path / 'monitor.db'}"
    migrate.upgrade(url)
    return url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=tmp_path, timezone="Asia/Shanghai")


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[Store]:
    async with Store.open(settings.database_url) as store:
        yield store


@pytest.fixture
async def source(store: Store, clock: TurnedClock) -> Source:
    return await store.sources.add(
        Source(name="bureau", url="https://bureau.example/", schedule="0 * * * *", created_at=clock.now())
    )
