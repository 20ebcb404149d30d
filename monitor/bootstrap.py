"""The use cases, joined to their parts."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.clock import Clock, SystemClock
from monitor.config.loading import get_settings_path, load_settings
from monitor.config.model import LlmSettings, PagesSettings, Settings
from monitor.db import maintenance as backup
from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.db.maintenance import transfer_database
from monitor.db.tables.research import ResearchEvent, ResearchStatus, RunEvent
from monitor.errors import DatabaseError, UsageError
from monitor.evidence.records import EvidenceArchive, FileStorage
from monitor.extract.documents import DocumentTextReader
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.result import Transport
from monitor.jobs.background import AlarmNotifier
from monitor.jobs.presence import HeartbeatRegistry, lock_database
from monitor.jobs.schedules import Blackout
from monitor.llm.chat import ChatModel
from monitor.llm.client import ModelClients, check_endpoint
from monitor.llm.run_model import Budget
from monitor.notify.registry import build_channel
from monitor.pages.loader import Loader, LoaderPool
from monitor.research.shapes import ResearchOptions
from monitor.search.backends.archive import ArchiveSearch
from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.scoring import ResultScorerFactory
from monitor.search.registry import SearchBackends
from monitor.services.alarms import AlarmService
from monitor.services.audit import AuditService
from monitor.services.briefings import BriefingService, ExportService
from monitor.services.deliveries import (
    DeliveryService,
    TargetEditingService,
    TargetService,
    check_targets,
    check_targets_and_secrets,
)
from monitor.services.dispatch import DeliveryDispatcher
from monitor.services.drafts import BriefingDraftService
from monitor.services.events import RUN_SETTLE_DELAY_S, EventStreamService
from monitor.services.evidence import ProofService, SnapshotReader, SnapshotService
from monitor.services.health import Doctor, Readiness
from monitor.services.items import ArchiveService, ItemService
from monitor.services.marks import MarkService
from monitor.services.people import PeopleService, TokenService
from monitor.services.recording import RunDependencyFactory, RunManifest
from monitor.services.replay import ReplayService
from monitor.services.research.dependencies import ResearchDependencyFactory, ResearchModel
from monitor.services.research.service import ResearchService
from monitor.services.runs import RunService
from monitor.services.search import SavedSearch, SearchService
from monitor.services.secrets import SecretBox
from monitor.services.settings import CHECKS, PromptService, SettingCheck, SettingsService
from monitor.services.sources.service import SourceService
from monitor.services.sources.trials import TrialService
from monitor.services.sweeps import SweepService
from monitor.services.today import TodayService
from monitor.services.usage import CostService, RetentionService, StorageService
from monitor.steps import InProcessSteps
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.llm.client import ModelClient


@dataclass(frozen=True, kw_only=True)
class Container:
    """The parts, open; `settings` are what holds at any moment: changes reach them while the program runs."""

    settings: Settings
    clock: Clock
    store: Store
    settings_service: SettingsService
    prompts: PromptService
    costs: CostService
    presence: HeartbeatRegistry
    loaders: LoaderPool
    models: ModelClients
    storage: FileStorage
    records: EvidenceArchive
    bundles: BundleFolder
    scoring: ResultScorerFactory
    archive_search: ArchiveSearch
    backends: SearchBackends

    async def build_run_model(self, run_id: str, run_store: Store) -> ChatModel | None:
        """A model whose calls are booked under a run, or None where none is asked."""
        server = self.models.get_current()
        if server is None:
            return None
        used = await run_store.usage.load_run_usage(run_id)
        return server.for_run(
            run_id,
            record=run_store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            tokens_used=used.prompt_tokens + used.completion_tokens,
        )

    async def build_research_model(self, task_id: str, options: ResearchOptions) -> ResearchModel | None:
        """The same for a research, as it was asked for: other models, sampling, and a budget of its own."""
        server = self.models.get_current() if options.enabled else None
        if server is None:
            return None
        llm, limits = self.settings.llm, self.settings.research
        asked = {phase: name.strip() for phase, name in options.models.items() if name.strip()}
        sampling = options.sampling.model_dump(exclude_none=True)
        used = await self.store.usage.load_run_usage(task_id)
        tokens, name = limits.token_budget, "research.token_budget"
        if tokens is None:
            tokens, name = llm.run_token_budget, "llm.run_token_budget"
        model = server.for_run(
            task_id,
            record=self.store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            settings=llm.model_copy(update={"models": {**llm.models, **asked}, **sampling}),
            budget=Budget(tokens, limits.cost_budget, tokens_name=name, cost_name="research.cost_budget"),
            tokens_used=used.prompt_tokens + used.completion_tokens,
            cost_used=used.cost or 0.0,
        )
        return ResearchModel(model, lambda: model.tokens_used)

    async def print_pdf(self, page: bytes) -> bytes:
        """A PDF of an HTML page."""
        from monitor.fetch.browser.renderer import print_pdf  # its library takes a while to import

        return await print_pdf(page, self.settings.pages.browser)

    def build_document_reader(self) -> DocumentTextReader:
        """What reads documents that are no web pages."""
        return DocumentTextReader(max_bytes=self.settings.pages.max_bytes)


async def open_container(settings: Settings, stack: AsyncExitStack) -> Container:
    """Open them for as long as the stack stands; `DatabaseError` where the database cannot be used.

    Browser and model are first asked when they are needed.
    """
    clock = SystemClock()
    store = await stack.enter_async_context(Store.open(settings.database_url))
    await store.check()
    configuring = build_settings_service(settings, store, clock)
    settings = await configuring.load()
    check_endpoint(settings.llm)
    check_targets(settings)
    loaders = LoaderPool(settings=settings, clock=clock, cache_folder=settings.data_dir / "cache")
    stack.push_async_callback(loaders.close)
    models = ModelClients(settings)
    stack.push_async_callback(models.close)
    storage = FileStorage(settings.storage_url or str(settings.data_dir))
    scoring = ResultScorerFactory(settings)
    archive_search = _build_archive_search(store, scoring, clock)
    backends = SearchBackends(
        settings=settings,
        searches=store.searches,
        archive=archive_search,
        clock=clock,
        new_client=lambda: HttpClient(network=settings.network, max_bytes=settings.pages.max_bytes),
    )
    stack.push_async_callback(backends.close)
    return Container(
        settings=settings,
        clock=clock,
        store=store,
        settings_service=configuring,
        prompts=PromptService(store=store, clock=clock),
        costs=CostService(store=store, clock=clock, timezone=settings.timezone),
        presence=HeartbeatRegistry(
            store=store, clock=clock, folder=settings.data_dir, executor_id=settings.work.executor_id
        ),
        loaders=loaders,
        models=models,
        storage=storage,
        records=EvidenceArchive(store=store, storage=storage),
        bundles=BundleFolder(settings.data_dir / "bundles"),
        scoring=scoring,
        archive_search=archive_search,
        backends=backends,
    )


def build_settings_service(base: Settings, store: Store, clock: Clock) -> SettingsService:
    """The desk that lays what was stored over these settings, with the checks that only other rooms can make."""
    checks: dict[str, SettingCheck] = {**CHECKS, "deliver.targets": check_targets, "work.blackout": _check_blackout}
    return SettingsService(store=store, base=base, secret_box=SecretBox(base.data_dir), clock=clock, checks=checks)


def _check_blackout(settings: Settings) -> None:
    if settings.work.blackout:
        Blackout.parse(settings.work.blackout, settings.timezone)


def _build_archive_search(store: Store, scoring: ResultScorerFactory, clock: Clock) -> ArchiveSearch:
    def weigh(relevance: float, day: dt.date, url: str) -> float:
        return scoring().score_with_relevance(relevance, url=url, published_on=day, today=clock.now().date()).final

    return ArchiveSearch(fulltext=store.fulltext, score_item=weigh)


@dataclass(frozen=True, kw_only=True)
class App:
    """The use cases, ready to be called by console and web; `lifetime` is for what is to end when they do."""

    lifetime: AsyncExitStack
    settings: Settings
    clock: Clock
    store: Store
    settings_service: SettingsService
    prompts: PromptService
    storage: StorageService
    models: ModelClients
    loaders: LoaderPool
    presence: HeartbeatRegistry
    sources: SourceService
    trials: TrialService
    sweeps: SweepService
    runs: RunService
    run_events: EventStreamService[RunEvent, RunStatus]
    research: ResearchService
    research_events: EventStreamService[ResearchEvent, ResearchStatus]
    archive: ArchiveService
    items: ItemService
    marks: MarkService
    snapshots: SnapshotService
    search: SearchService
    proofs: ProofService
    replays: ReplayService
    exports: ExportService
    briefings: BriefingService
    drafts: BriefingDraftService
    dispatch: DeliveryDispatcher
    deliveries: DeliveryService
    targets: TargetService
    target_editing: TargetEditingService
    readiness: Readiness
    today: TodayService
    people: PeopleService
    tokens: TokenService
    audit: AuditService
    alarms: AlarmService
    costs: CostService
    retention: RetentionService


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """The program with all its parts; sources of the configuration that are new are created.

    `DatabaseError` where the database cannot be used.
    """
    async with AsyncExitStack() as stack:
        parts = await open_container(settings, stack)
        app = _build_app(parts)
        await app.sources.seed(parts.settings.sources)
        stack.push_async_callback(app.trials.close)
        await stack.enter_async_context(app.lifetime)
        yield app


def _build_app(container: Container) -> App:
    settings, clock, store = container.settings, container.clock, container.store
    presence = container.presence
    audit = AuditService(store=store, clock=clock)
    health = AlarmService(
        store=store,
        clock=clock,
        timezone=settings.timezone,
        notifier=AlarmNotifier(store=store, settings=settings, clock=clock),
    )
    sources = SourceService(store=store, clock=clock, timezone=settings.timezone)
    searching = SearchService(
        settings=settings, new_search=container.backends.build_search, new_loader=container.loaders.for_run
    )
    standing = SavedSearch(
        build_search=searching.build_source_search, folder=container.bundles, new_scoring=container.scoring, clock=clock
    )
    sweeps = _build_sweep_service(container, health, standing)
    archive = ArchiveService(store=store, search=container.archive_search)
    briefings = BriefingService(
        store=store,
        clock=clock,
        settings=settings,
        new_model=container.build_run_model,
        new_prompts=container.prompts.load_active,
    )
    kept_pages = SnapshotReader(store=store, records=container.records, documents=container.build_document_reader())
    writing = ExportService(print_pdf=container.print_pdf, template=settings.briefing.template)
    dispatch = DeliveryDispatcher(
        store=store,
        settings=settings,
        clock=clock,
        briefings=briefings,
        write=writing.export_briefing,
        new_channel=lambda target: build_channel(target, settings.network, clock),
    )
    deliveries = DeliveryService(
        store=store, settings=settings, clock=clock, presence=presence, dispatch=dispatch, steps=InProcessSteps()
    )
    return App(
        lifetime=AsyncExitStack(),
        settings=settings,
        clock=clock,
        store=store,
        loaders=container.loaders,
        models=container.models,
        presence=presence,
        settings_service=container.settings_service,
        prompts=container.prompts,
        costs=container.costs,
        sources=sources,
        sweeps=sweeps,
        alarms=health,
        trials=TrialService(sources=sources, sweeps=sweeps, clock=clock),
        runs=RunService(store=store, sweeps=sweeps, timezone=settings.timezone),
        run_events=EventStreamService(
            source=store.run_events,
            clock=clock,
            removed_status=RunStatus.CANCELLED,
            settle_delay_s=RUN_SETTLE_DELAY_S,
            not_found_code="run.not_found",
        ),
        research=_build_research_service(container, searching, kept_pages),
        research_events=EventStreamService(
            source=store.research_events,
            clock=clock,
            removed_status=ResearchStatus.CANCELLED,
            not_found_code="research.not_found",
        ),
        replays=_build_replay_service(container, standing),
        archive=archive,
        search=searching,
        items=ItemService(store=store, archive=archive),
        marks=MarkService(store=store, clock=clock),
        snapshots=SnapshotService(store=store, pages=kept_pages),
        proofs=ProofService(store=store, records=container.records),
        briefings=briefings,
        exports=writing,
        dispatch=dispatch,
        deliveries=deliveries,
        drafts=BriefingDraftService(store=store, clock=clock, briefings=briefings),
        targets=TargetService(settings=settings, dispatch=dispatch, deliveries=deliveries, clock=clock),
        target_editing=TargetEditingService(settings_service=container.settings_service),
        today=TodayService(store=store, settings=settings, clock=clock, presence=presence),
        readiness=Readiness(store=store, settings=settings, clock=clock, presence=presence),
        people=PeopleService(store=store, clock=clock),
        tokens=TokenService(store=store, clock=clock),
        audit=audit,
        storage=StorageService(settings=settings),
        retention=RetentionService(
            store=store, records=container.records, bundles=container.bundles, clock=clock, settings=settings
        ),
    )


def _build_sweep_service(container: Container, alarms: AlarmService, saved_search: SavedSearch) -> SweepService:
    recording = RunDependencyFactory(
        records=container.records,
        settings=container.settings,
        clock=container.clock,
        new_loader=container.loaders.for_run,
        new_model=container.build_run_model,
        new_prompts=container.prompts.load_active,
    )
    return SweepService(
        store=container.store,
        settings=container.settings,
        clock=container.clock,
        documents=container.build_document_reader(),
        steps=InProcessSteps(),
        presence=container.presence,
        alarm_service=alarms,
        dependency_factory=recording,
        saved_search=saved_search,
    )


def _build_research_service(container: Container, search: SearchService, kept_pages: SnapshotReader) -> ResearchService:
    gear = ResearchDependencyFactory(
        store=container.store,
        settings=container.settings,
        clock=container.clock,
        records=container.records,
        documents=container.build_document_reader(),
        bundles=container.bundles,
        snapshot_reader=kept_pages,
        search_service=search,
        new_model=container.build_research_model,
        new_loader=container.loaders.for_run,
        new_scoring=container.scoring,
        new_prompts=container.prompts.load_active,
    )
    return ResearchService(
        store=container.store,
        clock=container.clock,
        dependency_factory=gear,
        steps=InProcessSteps(),
        presence=container.presence,
    )


def _build_replay_service(container: Container, saved_search: SavedSearch) -> ReplayService:
    return ReplayService(
        store=container.store,
        storage=container.storage,
        settings=container.settings,
        new_loader=_build_replay_loader,
        new_reader=lambda outset: DocumentTextReader(max_bytes=outset.max_bytes),
        saved_search=saved_search,
    )


def _build_replay_loader(manifest: RunManifest, transport: Transport, clock: Clock) -> Loader:
    """The page loader of a replay: what it asks is the records, and what it makes of them is the same."""
    pages = PagesSettings(render=manifest.render, max_bytes=manifest.max_bytes)
    return Loader(pages=pages, clock=clock, guard=Guard(), transport=transport)


@asynccontextmanager
async def open_service(settings: Settings, *, worker: bool, scheduler: bool) -> AsyncIterator[App]:
    """The program at work: it takes runs out of the queue, decides when sources are due, or both.

    `UsageError` where a SQLite database has a service already.
    """
    from monitor.jobs.background import follow_settings, prune_daily
    from monitor.jobs.scheduler import Scheduler
    from monitor.jobs.worker import Worker  # its library takes a second to import

    async with AsyncExitStack() as stack:
        database = DatabaseAddress.parse(settings.database_url).file
        if database is not None and (worker or scheduler):
            stack.enter_context(lock_database(database))
        app = await stack.enter_async_context(open_app(settings))
        await stack.enter_async_context(follow_settings(app.settings_service, close_unused=app.loaders.close_unused))
        settings, store, clock, presence = app.settings, app.store, app.clock, app.presence
        if worker:
            taking = Worker(
                store=store,
                settings=settings,
                clock=clock,
                sweeps=app.sweeps,
                dispatch=app.dispatch,
                research=app.research,
                presence=presence,
            )
            await stack.enter_async_context(taking.run())
        if scheduler:
            planning = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
            await stack.enter_async_context(planning.run())
            await stack.enter_async_context(prune_daily(app.retention))
        yield app


def build_doctor(config_path: Path | None) -> Doctor:
    """A doctor for the configuration that `--config` names, or for the one that is found."""

    def load() -> tuple[Settings, str]:
        path = get_settings_path(config_path)
        where = str(path) if path.is_file() else f"{path} is not there: the defaults hold (`monitor init` writes it)"
        return load_settings(config_path), where

    async def check_database(settings: Settings) -> str:
        address = DatabaseAddress.parse(settings.database_url)
        if address.file is not None and not address.file.exists():
            raise DatabaseError(f"The database {address.redacted_url} is not there yet: run `monitor init`.")
        async with Store.open(settings.database_url) as store:
            await store.check()
        return f"{address.redacted_url} is migrated"

    async def lay_over(settings: Settings) -> SettingsService:
        async with Store.open(settings.database_url) as store:
            desk = build_settings_service(settings, store, SystemClock())
            await desk.load()
        return desk

    async def check_model(settings: Settings) -> str:
        if not settings.llm.is_on:
            return "off: every phase works by rule"
        server = _build_model_server(settings.llm)
        try:
            return await server.check()
        finally:
            await server.close()

    return Doctor(
        load=load,
        check_database=check_database,
        load_stored_settings=lay_over,
        find_browser=lambda settings: str(find_browser(settings.pages.browser)),
        check_model=check_model,
        check_targets=check_targets_and_secrets,
        check_storage=_check_storage,
        clock=SystemClock(),
    )


def _check_storage(settings: Settings) -> str:
    if settings.storage_url is None:
        return f"evidence lies under {settings.data_dir}"
    return FileStorage(settings.storage_url).check()


def _build_model_server(settings: LlmSettings) -> "ModelClient":
    from monitor.llm.client import ModelClient  # its library takes a second to import

    return ModelClient(settings)


def upgrade_database(settings: Settings) -> str:
    """Create the database or bring it to this version's schema; says in a sentence what was done."""
    shown, before = (
        DatabaseAddress.parse(settings.database_url).redacted_url,
        migrate.get_current_revision(settings.database_url),
    )
    if before == migrate.get_head_revision():
        return f"The database {shown} has the schema of this version."
    migrate.upgrade(settings.database_url)
    return f"The database {shown} was {'created' if before is None else 'brought to the schema of this version'}."


def back_up_database(settings: Settings, file: Path) -> int:
    """Write all that the database holds now into a new file, while others work; answers its size in bytes."""
    return backup.create_backup(settings.database_url, file)


async def restore_database(settings: Settings, file: Path, *, is_replacing: bool) -> dict[str, int]:
    """Put a backup into the database; answers how many rows, by table. `UsageError` while a process works on it."""
    backup.verify_backup(file)
    await _check_not_in_use(settings, settings.database_url)
    return await asyncio.to_thread(backup.restore_backup, file, settings.database_url, is_replacing=is_replacing)


async def copy_database(settings: Settings, target: str, *, is_replacing: bool) -> dict[str, int]:
    """Copy everything into another database; answers how many rows, by table. `UsageError` while one works there."""
    await _check_not_in_use(settings, target)
    return await asyncio.to_thread(transfer_database, settings.database_url, target, is_replacing=is_replacing)


async def _check_not_in_use(settings: Settings, url: str) -> None:
    await asyncio.to_thread(migrate.upgrade, url)
    async with Store.open(url) as store:
        presence = HeartbeatRegistry(store=store, clock=SystemClock(), folder=settings.data_dir)
        at_work = ", ".join(sorted(await presence.list_alive()))
    if at_work:
        raise UsageError(f"{DatabaseAddress.parse(url).redacted_url} is in use by {at_work}: stop that first.")
