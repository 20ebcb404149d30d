"""The composition root: the only place that builds real parts and joins them."""

import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from monitor.app.archive import Archive
from monitor.app.doctor import Doctor
from monitor.app.sources import SourceDesk
from monitor.app.sweeps import SweepDesk
from monitor.errors import DatabaseError
from monitor.pages.browser import find_browser
from monitor.pages.documents import Documents
from monitor.pages.loader import Loader
from monitor.ports import ChatModel, Clock
from monitor.settings import LlmSettings, Settings, load_settings, settings_path
from monitor.store import Store, migrate
from monitor.store.address import DatabaseAddress
from monitor.work.steps import DirectSteps
from monitor.work.triggers import CronSchedules

if TYPE_CHECKING:
    from monitor.llm.client import ModelServer


class SystemClock:
    """The machine's clock (`ports.Clock`)."""

    def now(self) -> dt.datetime:
        """The instant, in UTC."""
        return dt.datetime.now(dt.UTC)


@dataclass(frozen=True, kw_only=True)
class App:
    """The use cases, ready to be called by console and web."""

    settings: Settings
    clock: Clock
    loader: Loader
    sources: SourceDesk
    sweeps: SweepDesk
    archive: Archive


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """The program with all its parts; sources of the configuration that are new are created.

    `DatabaseError` where the database cannot be used. Browser and model are first asked when they are needed.
    """
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(settings.database_url))
        await store.check()
        loader = await stack.enter_async_context(
            Loader.from_settings(
                pages=settings.pages, network=settings.network, clock=clock, cache_folder=settings.data_dir / "cache"
            )
        )
        server = _model_server(settings.llm) if settings.llm.is_on else None
        if server is not None:
            stack.push_async_callback(server.close)

        async def new_model(run_id: str, run_store: Store) -> ChatModel | None:
            if server is None:
                return None
            midnight = dt.datetime.combine(clock.now().astimezone(ZoneInfo(settings.timezone)), dt.time.min)
            spent = await store.usage.tokens_since(midnight.replace(tzinfo=ZoneInfo(settings.timezone)))
            return server.for_run(run_id, record=run_store.usage.add, clock=clock, tokens_today=spent)

        sources = SourceDesk(store=store, clock=clock, schedules=CronSchedules(), timezone=settings.timezone)
        await sources.seed(settings.sources)
        yield App(
            settings=settings, clock=clock, loader=loader, sources=sources,
            sweeps=SweepDesk(
                store=store, settings=settings, clock=clock, documents=Documents(max_bytes=settings.pages.max_bytes),
                steps=DirectSteps(), new_loader=loader.for_run, new_model=new_model,
            ),
            archive=Archive(store=store, clock=clock, settings=settings),
        )  # fmt: skip


def upgrade_database(settings: Settings) -> str:
    """Create the database or bring it to this version's schema; says in a sentence what was done."""
    shown, before = DatabaseAddress.parse(settings.database_url).shown, migrate.current(settings.database_url)
    if before == migrate.head():
        return f"The database {shown} has the schema of this version."
    migrate.upgrade(settings.database_url)
    return f"The database {shown} was {'created' if before is None else 'brought to the schema of this version'}."


def new_doctor(given: Path | None) -> Doctor:
    """A doctor for the configuration that `--config` names, or for the one that is found."""

    def load() -> tuple[Settings, str]:
        path = settings_path(given)
        where = str(path) if path.is_file() else f"{path} is not there: the defaults hold (`monitor init` writes it)"
        return load_settings(given), where

    async def check_database(settings: Settings) -> str:
        address = DatabaseAddress.parse(settings.database_url)
        if address.file is not None and not address.file.exists():
            raise DatabaseError(f"The database {address.shown} is not there yet: run `monitor init`.")
        async with Store.open(settings.database_url) as store:
            await store.check()
        return f"{address.shown} is migrated"

    async def check_model(settings: Settings) -> str:
        if not settings.llm.is_on:
            return "off: every phase works by rule"
        server = _model_server(settings.llm)
        try:
            return await server.check()
        finally:
            await server.close()

    return Doctor(
        load=load,
        check_database=check_database,
        find_browser=lambda settings: str(find_browser(settings.pages.browser)),
        check_model=check_model,
        clock=SystemClock(),
    )


def _model_server(settings: LlmSettings) -> "ModelServer":
    from monitor.llm.client import ModelServer  # its library takes a second to import

    return ModelServer(settings)
