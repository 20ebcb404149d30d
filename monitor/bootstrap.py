"""The composition root: the only place that builds real parts and joins them."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.app.archive import Archive
from monitor.app.audit import AuditDesk
from monitor.app.briefings import BriefingDesk
from monitor.app.condition import Condition
from monitor.app.configuring import SettingsDesk
from monitor.app.costs import CostDesk
from monitor.app.deliveries import DeliveryDesk, check_targets, examine_targets
from monitor.app.dispatch import Dispatch
from monitor.app.doctor import Doctor
from monitor.app.drafts import DraftDesk
from monitor.app.health import HealthDesk
from monitor.app.items import ItemDesk
from monitor.app.live import LiveDesk
from monitor.app.marks import MarkDesk
from monitor.app.people import PersonDesk
from monitor.app.prompts import PromptDesk
from monitor.app.proof import ProofDesk
from monitor.app.recording import OutsetFacts, Recording
from monitor.app.replay import ReplayDesk
from monitor.app.runs import RunDesk
from monitor.app.sealing import Seal
from monitor.app.saved import SavedPageDesk
from monitor.app.searching import SearchDesk
from monitor.app.setting_checks import CHECKS, Check
from monitor.app.sources import SourceDesk
from monitor.app.standing import StandingSearch
from monitor.app.storage import StorageDesk
from monitor.app.sweeps import SweepDesk
from monitor.app.today import TodayDesk
from monitor.app.target_editing import TargetEditing
from monitor.app.targets import TargetDesk
from monitor.app.tokens import TokenDesk
from monitor.app.trying import TrialDesk
from monitor.app.upkeep import Upkeep
from monitor.app.watchlist import WatchList
from monitor.app.writing import WritingDesk
from monitor.channels.opening import channel_of
from monitor.errors import DatabaseError, UsageError
from monitor.evidence.records import Records
from monitor.evidence.storage import Storage
from monitor.llm.servers import ModelServers, check_endpoint
from monitor.net.client import HttpClient
from monitor.net.guard import Guard
from monitor.pages.browser import find_browser
from monitor.pages.documents import Documents
from monitor.pages.loader import Loader
from monitor.pages.loaders import Loaders
from monitor.ports import ChatModel, Clock, Outside
from monitor.retrieval.folder import BundleFolder
from monitor.retrieval.scoring import CurrentScoring
from monitor.search.archive_search import ArchiveSearch
from monitor.search.opening import Backends
from monitor.settings import LlmSettings, PagesSettings, Settings, load_settings, settings_path
from monitor.store import Store, backup, migrate
from monitor.store.address import DatabaseAddress
from monitor.store.transfer import transfer
from monitor.work.agenda import Blackout
from monitor.work.notices import Notices
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
    """The use cases, ready to be called by console and web; `lifetime` is for what is to end when they do."""

    lifetime: AsyncExitStack
    settings: Settings
    clock: Clock
    store: Store
    configuring: SettingsDesk
    prompts: PromptDesk
    storage: StorageDesk
    models: ModelServers
    loaders: Loaders
    presence: HeartbeatPresence
    sources: SourceDesk
    watchlist: WatchList
    trials: TrialDesk
    sweeps: SweepDesk
    runs: RunDesk
    live: LiveDesk
    archive: Archive
    items: ItemDesk
    marks: MarkDesk
    saved_pages: SavedPageDesk
    searching: SearchDesk
    proofs: ProofDesk
    replays: ReplayDesk
    writing: WritingDesk
    briefings: BriefingDesk
    drafts: DraftDesk
    dispatch: Dispatch
    deliveries: DeliveryDesk
    targets: TargetDesk
    target_editing: TargetEditing
    condition: Condition
    today: TodayDesk
    people: PersonDesk
    tokens: TokenDesk
    audit: AuditDesk
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
        schedules = CronSchedules()
        configuring = _new_settings_desk(settings, store, clock, schedules)
        settings = await configuring.load()  # what holds at any moment: changes reach it while the program runs
        loaders = Loaders(settings=settings, clock=clock, cache_folder=settings.data_dir / "cache")
        stack.push_async_callback(loaders.close)
        models = ModelServers(settings)
        prompts = PromptDesk(store=store, clock=clock)
        stack.push_async_callback(models.close)

        async def new_model(run_id: str, run_store: Store) -> ChatModel | None:
            server = models.current()
            if server is None:
                return None
            used = await run_store.usage.for_run(run_id)
            return server.for_run(
                run_id, record=run_store.usage.add, clock=clock, tokens_today=costs.tokens_today,
                tokens_used=used.prompt_tokens + used.completion_tokens,
            )  # fmt: skip

        costs = CostDesk(store=store, clock=clock, timezone=settings.timezone)
        health = HealthDesk(
            store=store, clock=clock, timezone=settings.timezone,
            notifier=Notices(store=store, settings=settings, clock=clock), schedules=schedules,
        )  # fmt: skip
        check_endpoint(settings.llm)
        check_targets(settings, schedules)
        sources = SourceDesk(store=store, clock=clock, schedules=schedules, timezone=settings.timezone)
        await sources.seed(settings.sources)
        briefings = BriefingDesk(
            store=store, clock=clock, settings=settings, new_model=new_model,
            new_prompts=prompts.in_force,
        )  # fmt: skip

        async def print_page(page: bytes) -> bytes:
            from monitor.pages.render.printing import print_pdf  # its library takes a while to import

            return await print_pdf(page, settings.pages.browser)

        writing = WritingDesk(print_pdf=print_page, template=settings.briefing.template)
        dispatch = Dispatch(
            store=store, settings=settings, clock=clock, schedules=schedules, briefings=briefings,
            write=writing.briefing, new_channel=lambda target: channel_of(target, settings.network, clock),
        )  # fmt: skip
        storage = Storage(settings.storage_url or str(settings.data_dir))
        records = Records(store=store, storage=storage)
        recording = Recording(
            records=records, settings=settings, clock=clock, new_loader=loaders.for_run, new_model=new_model,
            new_prompts=prompts.in_force,
        )
        presence = HeartbeatPresence(
            store=store, clock=clock, folder=settings.data_dir, executor_id=settings.work.executor_id
        )
        scoring = CurrentScoring(settings)

        def weigh(relevance: float, day: dt.date, url: str) -> float:
            return scoring().weighed(relevance, url=url, published_on=day, today=clock.now().date()).final

        archive_search = ArchiveSearch(fulltext=store.fulltext, weigh=weigh)
        backends = Backends(
            settings=settings, searches=store.searches, archive=archive_search, clock=clock,
            new_client=lambda: HttpClient(network=settings.network, max_bytes=settings.pages.max_bytes),
        )  # fmt: skip
        stack.push_async_callback(backends.close)
        searching = SearchDesk(settings=settings, over=backends.over)
        bundles = BundleFolder(settings.data_dir / "bundles")
        standing = StandingSearch(
            gather=searching.for_gathering,
            folder=bundles,
            new_scoring=scoring,
            clock=clock,
        )
        sweeps = SweepDesk(
            store=store, settings=settings, clock=clock, documents=Documents(max_bytes=settings.pages.max_bytes),
            steps=DirectSteps(), presence=presence, health=health, recording=recording, standing=standing,
        )  # fmt: skip
        trials = TrialDesk(sources=sources, sweeps=sweeps, clock=clock)
        stack.push_async_callback(trials.close)
        lifetime = await stack.enter_async_context(AsyncExitStack())
        archive = Archive(store=store, search=archive_search)
        audit = AuditDesk(store=store, clock=clock)
        deliveries = DeliveryDesk(
            store=store, settings=settings, clock=clock, presence=presence, dispatch=dispatch, steps=DirectSteps()
        )
        yield App(
            lifetime=lifetime, settings=settings, clock=clock, store=store, configuring=configuring, prompts=prompts,
            storage=StorageDesk(settings=settings), models=models,
            loaders=loaders,
            presence=presence, sources=sources, trials=trials,
            watchlist=WatchList(
                store=store, sources=sources, clock=clock, schedules=schedules, timezone=settings.timezone
            ),
            sweeps=sweeps, runs=RunDesk(store=store, sweeps=sweeps, timezone=settings.timezone),
            live=LiveDesk(store=store, clock=clock),
            archive=archive, items=ItemDesk(store=store, archive=archive), marks=MarkDesk(store=store, clock=clock, audit=audit),
            saved_pages=SavedPageDesk(
                store=store, records=records, documents=Documents(max_bytes=settings.pages.max_bytes)
            ),
            briefings=briefings,
            searching=searching,
            proofs=ProofDesk(store=store, records=records),
            replays=ReplayDesk(
                store=store, storage=storage, settings=settings, new_loader=_replayed_loader,
                new_reader=lambda outset: Documents(max_bytes=outset.max_bytes), standing=standing,
            ),
            writing=writing, dispatch=dispatch,
            deliveries=deliveries,
            target_editing=TargetEditing(configuring=configuring),
            targets=TargetDesk(
                settings=settings, dispatch=dispatch, deliveries=deliveries, schedules=schedules, clock=clock
            ),
            condition=Condition(store=store, settings=settings, clock=clock, presence=presence),
            today=TodayDesk(store=store, settings=settings, clock=clock, presence=presence),
            people=PersonDesk(store=store, clock=clock), tokens=TokenDesk(store=store, clock=clock),
            audit=audit, drafts=DraftDesk(store=store, clock=clock, briefings=briefings, audit=audit),
            health=health, costs=costs,
            upkeep=Upkeep(
                store=store, records=records, bundles=bundles, clock=clock, settings=settings
            ),
        )  # fmt: skip


def _new_settings_desk(base: Settings, store: Store, clock: Clock, schedules: CronSchedules) -> SettingsDesk:
    """The desk that lays what was stored over these settings, with the checks that only other rooms can make."""
    checks: dict[str, Check] = {
        **CHECKS,
        "deliver.targets": lambda settings: check_targets(settings, schedules),
        "work.blackout": _check_hours,
    }
    return SettingsDesk(store=store, base=base, seal=Seal(base.data_dir), clock=clock, checks=checks)


def _check_hours(settings: Settings) -> None:
    if settings.work.blackout:
        Blackout.parse(settings.work.blackout, settings.timezone)


def _replayed_loader(outset: OutsetFacts, outside: Outside, clock: Clock) -> Loader:
    """The page loader of a replay: what it asks is the records, and what it makes of them is the same."""
    pages = PagesSettings(render=outset.render, max_bytes=outset.max_bytes)
    return Loader(pages=pages, clock=clock, guard=Guard(), outside=outside)


@asynccontextmanager
async def open_service(settings: Settings, *, worker: bool, scheduler: bool) -> AsyncIterator[App]:
    """The program at work: it takes runs out of the queue, decides when sources are due, or both.

    `UsageError` where a SQLite database has a service already.
    """
    from monitor.work.following import following
    from monitor.work.pruning import pruning
    from monitor.work.scheduler import Scheduler
    from monitor.work.worker import Worker  # its library takes a second to import

    async with AsyncExitStack() as stack:
        database = DatabaseAddress.parse(settings.database_url).file
        if database is not None and (worker or scheduler):
            stack.enter_context(alone_on(database))
        app = await stack.enter_async_context(open_app(settings))
        await stack.enter_async_context(following(app.configuring, tidy=app.loaders.close_unused))
        settings, store, clock, presence = app.settings, app.store, app.clock, app.presence
        if worker:
            taking = Worker(
                store=store, settings=settings, clock=clock, sweeps=app.sweeps, dispatch=app.dispatch, presence=presence
            )
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

    async def lay_over(settings: Settings) -> SettingsDesk:
        async with Store.open(settings.database_url) as store:
            desk = _new_settings_desk(settings, store, SystemClock(), CronSchedules())
            await desk.load()
        return desk

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
        lay_over=lay_over,
        find_browser=lambda settings: str(find_browser(settings.pages.browser)),
        check_model=check_model,
        check_targets=lambda settings: examine_targets(settings, CronSchedules()),
        check_storage=_check_storage,
        clock=SystemClock(),
    )


def _check_storage(settings: Settings) -> str:
    if settings.storage_url is None:
        return f"evidence lies under {settings.data_dir}"
    return Storage(settings.storage_url).check()


def _model_server(settings: LlmSettings) -> "ModelServer":
    from monitor.llm.client import ModelServer  # its library takes a second to import

    return ModelServer(settings)
