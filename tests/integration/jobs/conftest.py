"""What the tests of the service's parts share: a database of either kind, and a clock that a test turns."""

import datetime as dt
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.isolation.pool import WorkerPool
from monitor.notify.registry import build_channel
from monitor.services.briefings import BriefingService
from monitor.services.dispatch import DeliveryDispatcher
from monitor.services.drafts import ExportService
from monitor.services.research.service import ResearchService


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
def database_url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


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


@pytest.fixture
def new_dispatch(store: Store, clock: TurnedClock, workers: WorkerPool) -> Callable[[Settings], DeliveryDispatcher]:
    """What carries out deliveries, joined from its real parts; no model is asked."""

    async def no_model(run_id: str, store: Store) -> None:
        return None

    async def no_printer(page: bytes) -> bytes:
        raise AssertionError("no PDF is asked for here")

    def build(settings: Settings) -> DeliveryDispatcher:
        writing = ExportService(print_pdf=no_printer, template=None)
        return DeliveryDispatcher(
            store=store,
            settings=settings,
            clock=clock,
            write=writing.export_briefing,
            briefings=BriefingService(store=store, clock=clock, settings=settings, workers=workers, new_model=no_model),
            new_channel=lambda target: build_channel(target, settings.network, clock),
        )

    return build


@pytest.fixture
async def research_service(settings: Settings) -> AsyncIterator[ResearchService]:
    async with open_app(settings) as app:
        yield app.research
