"""The composition root: the only place that builds real parts and joins them."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.app.archive import Archive
from monitor.app.condition import Condition
from monitor.app.costs import CostDesk
from monitor.app.doctor import Doctor
from monitor.app.health import HealthDesk
from monitor.app.sources import SourceDesk
from monitor.app.sweeps import SweepDesk
from monitor.app.tokens import TokenDesk
from monitor.app.upkeep import Upkeep
from monitor.errors import DatabaseError, UsageError
from monitor.pages.browser import find_browser
from monitor.pages.documents import Documents
from monitor.pages.loader import Loader
from monitor.ports import ChatModel, Clock
from monitor.settings import LlmSettings, Settings, load_settings, settings_path
from monitor.store import Store, backup, migrate
from monitor.store.address import DatabaseAddress
from monitor.store.transfer import transfer
from monitor.work.notices import LogNotices
from monitor.work.presence import HeartbeatPresence, alone_on
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
    store: Store
    loader: Loader
    presence: HeartbeatPresence
    sources: SourceDesk
    sweeps: SweepDesk
    archive: Archive
    condition: Condition
    tokens: TokenDesk
    health: HealthDesk
    costs: CostDesk
    upkeep: Upkeep


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
            used = await run_store.usage.for_run(run_id)
            return server.for_run(
                run_id, record=run_store.usage.add, clock=clock, tokens_today=costs.tokens_today,
                tokens_used=used.prompt_tokens + used.completion_tokens,
            )  # fmt: skip

        costs = CostDesk(store=store, clock=clock, timezone=settings.timezone)
        health = HealthDesk(store=store, clock=clock, timezone=settings.timezone, notifier=LogNotices())
        sources = SourceDesk(store=store, clock=clock, schedules=CronSchedules(), timezone=settings.timezone)
        await sources.seed(settings.sources)
        presence = HeartbeatPresence(
            store=store, clock=clock, folder=settings.data_dir, executor_id=settings.work.executor_id
        )
        yield App(
            settings=settings, clock=clock, store=store, loader=loader, presence=presence, sources=sources,
            sweeps=SweepDesk(
                store=store, settings=settings, clock=clock, documents=Documents(max_bytes=settings.pages.max_bytes),
                steps=DirectSteps(), presence=presence, health=health, new_loader=loader.for_run, new_model=new_model,
            ),
            archive=Archive(store=store, clock=clock, settings=settings),
            condition=Condition(store=store, settings=settings, clock=clock, presence=presence),
            tokens=TokenDesk(store=store, clock=clock), health=health, costs=costs,
            upkeep=Upkeep(store=store, clock=clock, retention_days=settings.work.retention_days),
        )  # fmt: skip


@asynccontextmanager
async def open_service(settings: Settings, *, worker: bool, scheduler: bool) -> AsyncIterator[App]:
    """The program at work: it takes runs out of the queue, decides when sources are due, or both.

    `UsageError` where a SQLite database has a service already.
    """
    from monitor.work.pruning import pruning
    from monitor.work.scheduler import Scheduler
    from monitor.work.worker import Worker  # its library takes a second to import

    async with AsyncExitStack() as stack:
        database = DatabaseAddress.parse(settings.database_url).file
        if database is not None and (worker or scheduler):
            stack.enter_context(alone_on(database))
        app = await stack.enter_async_context(open_app(settings))
        store, clock, presence = app.store, app.clock, app.presence
        if worker:
            taking = Worker(store=store, settings=settings, clock=clock, sweeps=app.sweeps, presence=presence)
            await stack.enter_async_context(taking.running())
        if scheduler:
            planning = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
            await stack.enter_async_context(planning.running())
            await stack.enter_async_context(pruning(app.upkeep))
        yield app


def upgrade_database(settings: Settings) -> str:
    """Create the database or bring it to this version's schema; says in a sentence what was done."""
    shown, before = DatabaseAddress.parse(settings.database_url).shown, migrate.current(settings.database_url)
    if before == migrate.head():
        return f"The database {shown} has the schema of this version."
    migrate.upgrade(settings.database_url)
    return f"The database {shown} was {'created' if before is None else 'brought to the schema of this version'}."


def back_up_database(settings: Settings, file: Path) -> int:
    """Write all that the database holds now into a new file, while others work; answers its size in bytes."""
    return backup.back_up(settings.database_url, file)


async def restore_database(settings: Settings, file: Path, *, is_replacing: bool) -> dict[str, int]:
    """Put a backup into the database; answers how many rows, by table. `UsageError` while a process works on it."""
    backup.check(file)
    await _refuse_company(settings, settings.database_url)
    return await asyncio.to_thread(backup.restore, file, settings.database_url, is_replacing=is_replacing)


async def copy_database(settings: Settings, target: str, *, is_replacing: bool) -> dict[str, int]:
    """Copy everything into another database; answers how many rows, by table. `UsageError` while one works there."""
    await _refuse_company(settings, target)
    return await asyncio.to_thread(transfer, settings.database_url, target, is_replacing=is_replacing)


async def _refuse_company(settings: Settings, url: str) -> None:
    await asyncio.to_thread(migrate.upgrade, url)
    async with Store.open(url) as store:
        presence = HeartbeatPresence(store=store, clock=SystemClock(), folder=settings.data_dir)
        at_work = ", ".join(sorted(await presence.alive()))
    if at_work:
        raise UsageError(f"{DatabaseAddress.parse(url).shown} is in use by {at_work}: stop that first.")


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
