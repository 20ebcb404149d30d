"""The composition root: the parts of the program, each built when it is first asked for.

A command pays only for what it uses, so every builder imports what it joins.
"""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.clock import Clock, SystemClock
from monitor.config.loading import get_settings_path, load_settings
from monitor.config.model import PagesSettings, Settings
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.errors import DatabaseError, UsageError
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from monitor.db.tables.research import ResearchEvent, ResearchStatus, RunEvent
    from monitor.demo.hosting import SampleSiteHost
    from monitor.evidence.records import EvidenceArchive, FileStorage
    from monitor.extract.documents import DocumentTextReader
    from monitor.fetch.client import HttpClient
    from monitor.fetch.result import Transport
    from monitor.jobs.presence import HeartbeatRegistry
    from monitor.llm.chat import ChatModel
    from monitor.llm.clients import ModelClients
    from monitor.pages.loader import Loader, LoaderPool
    from monitor.research.shapes import ResearchOptions
    from monitor.search.backends.archive import ArchiveSearch
    from monitor.search.bundles.bundle import BundleFolder
    from monitor.search.bundles.scoring import ResultScorerFactory
    from monitor.search.registry import SearchBackends
    from monitor.services.alarms import AlarmService
    from monitor.services.audit import AuditService
    from monitor.services.briefings import BriefingService, ExportService
    from monitor.services.deliveries import DeliveryService, TargetEditingService, TargetService
    from monitor.services.dispatch import DeliveryDispatcher
    from monitor.services.drafts import BriefingDraftService
    from monitor.services.events import EventStreamService
    from monitor.services.evidence import ProofService, SnapshotReader, SnapshotService
    from monitor.services.health import Doctor, Readiness
    from monitor.services.items import ArchiveService, ItemService
    from monitor.services.marks import MarkService
    from monitor.services.people import PeopleService, TokenService
    from monitor.services.recording import RunManifest
    from monitor.services.replay import ReplayService
    from monitor.services.research.dependencies import ResearchModel
    from monitor.services.research.service import ResearchService
    from monitor.services.runs import RunService
    from monitor.services.search import SavedSearch, SearchService
    from monitor.services.settings import PromptService, SettingCheck, SettingsService
    from monitor.services.sources.service import SourceService
    from monitor.services.sources.trials import TrialService
    from monitor.services.sweeps import SweepService
    from monitor.services.today import TodayService
    from monitor.services.usage import CostService, RetentionService, StorageService
    from monitor.steps import StepRunner
    from monitor.vocabulary import RunStatus


class App:
    """The use cases and the parts under them.

    `settings` hold at any moment: changes reach them while the program runs. `lifetime` ends before the parts are
    closed.
    """

    def __init__(
        self, *, settings_service: "SettingsService", store: Store, stack: AsyncExitStack, lifetime: AsyncExitStack
    ) -> None:
        self.clock: Clock = SystemClock()
        self.settings_service = settings_service
        self.settings = settings_service.current
        self.store = store
        self.lifetime = lifetime
        self._stack = stack

    def build_all(self) -> None:
        """Build every part now: a server pays for its imports at its start, not in the first request."""
        for name, member in vars(type(self)).items():
            if isinstance(member, cached_property):
                getattr(self, name)

    # What the use cases stand on.

    @cached_property
    def presence(self) -> "HeartbeatRegistry":
        from monitor.jobs.presence import HeartbeatRegistry

        return HeartbeatRegistry(
            store=self.store,
            clock=self.clock,
            folder=self.settings.data_dir,
            executor_id=self.settings.work.executor_id,
        )

    @cached_property
    def loaders(self) -> "LoaderPool":
        from monitor.pages.loader import LoaderPool

        loaders = LoaderPool(settings=self.settings, clock=self.clock, cache_folder=self.settings.data_dir / "cache")
        self._stack.push_async_callback(loaders.close)
        return loaders

    @cached_property
    def models(self) -> "ModelClients":
        from monitor.llm.clients import ModelClients

        models = ModelClients(self.settings)
        self._stack.push_async_callback(models.close)
        return models

    @cached_property
    def files(self) -> "FileStorage":
        from monitor.evidence.records import FileStorage

        return FileStorage(self.settings.storage_url or str(self.settings.data_dir))

    @cached_property
    def records(self) -> "EvidenceArchive":
        from monitor.evidence.records import EvidenceArchive

        return EvidenceArchive(store=self.store, storage=self.files)

    @cached_property
    def documents(self) -> "DocumentTextReader":
        from monitor.extract.documents import DocumentTextReader

        return DocumentTextReader(max_bytes=self.settings.pages.max_bytes)

    @cached_property
    def bundles(self) -> "BundleFolder":
        from monitor.search.bundles.bundle import BundleFolder

        return BundleFolder(self.settings.data_dir / "bundles")

    @cached_property
    def scoring(self) -> "ResultScorerFactory":
        from monitor.search.bundles.scoring import ResultScorerFactory

        return ResultScorerFactory(self.settings)

    @cached_property
    def archive_search(self) -> "ArchiveSearch":
        from monitor.search.backends.archive import ArchiveSearch

        def score(relevance: float, day: dt.date, url: str) -> float:
            today = self.clock.now().date()
            return self.scoring().score_with_relevance(relevance, url=url, published_on=day, today=today).final

        return ArchiveSearch(fulltext=self.store.fulltext, score_item=score)

    @cached_property
    def backends(self) -> "SearchBackends":
        from monitor.search.registry import SearchBackends

        backends = SearchBackends(
            settings=self.settings,
            searches=self.store.searches,
            archive=self.archive_search,
            clock=self.clock,
            new_client=self._build_http_client,
        )
        self._stack.push_async_callback(backends.close)
        return backends

    def _build_http_client(self) -> "HttpClient":
        from monitor.fetch.client import HttpClient

        return HttpClient(network=self.settings.network, max_bytes=self.settings.pages.max_bytes)

    def _build_steps(self) -> "StepRunner":
        from monitor.steps import InProcessSteps

        return InProcessSteps()

    # Sources and what is gathered from them.

    @cached_property
    def sources(self) -> "SourceService":
        from monitor.services.sources.service import SourceService

        return SourceService(store=self.store, clock=self.clock, timezone=self.settings.timezone)

    @cached_property
    def trials(self) -> "TrialService":
        from monitor.services.sources.trials import TrialService

        trials = TrialService(sources=self.sources, sweeps=self.sweeps, clock=self.clock)
        self._stack.push_async_callback(trials.close)
        return trials

    @cached_property
    def sample(self) -> "SampleSiteHost":
        from monitor.demo.hosting import SampleSiteHost

        return SampleSiteHost(
            settings=self.settings,
            clock=self.clock,
            sources=self.sources,
            sweeps=self.sweeps,
            audit=self.audit,
            store=self.store,
            presence=self.presence,
            loaders=self.loaders,
            lifetime=self.lifetime,
        )

    @cached_property
    def saved_search(self) -> "SavedSearch":
        from monitor.services.search import SavedSearch

        return SavedSearch(
            build_search=self.search.build_source_search,
            folder=self.bundles,
            new_scoring=self.scoring,
            clock=self.clock,
        )

    @cached_property
    def sweeps(self) -> "SweepService":
        from monitor.services.recording import RunDependencyFactory
        from monitor.services.sweeps import SweepService

        return SweepService(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            documents=self.documents,
            steps=self._build_steps(),
            presence=self.presence,
            alarm_service=self.alarms,
            dependency_factory=RunDependencyFactory(
                records=self.records,
                settings=self.settings,
                clock=self.clock,
                new_loader=self.loaders.for_run,
                new_model=self.build_run_model,
                new_prompts=self.prompts.load_active,
            ),
            saved_search=self.saved_search,
        )

    @cached_property
    def runs(self) -> "RunService":
        from monitor.services.runs import RunService

        return RunService(store=self.store, sweeps=self.sweeps, timezone=self.settings.timezone)

    @cached_property
    def run_events(self) -> "EventStreamService[RunEvent, RunStatus]":
        from monitor.services.events import RUN_SETTLE_DELAY_S, EventStreamService
        from monitor.vocabulary import RunStatus

        return EventStreamService(
            source=self.store.run_events,
            clock=self.clock,
            removed_status=RunStatus.CANCELLED,
            settle_delay_s=RUN_SETTLE_DELAY_S,
            not_found_code="run.not_found",
        )

    @cached_property
    def replays(self) -> "ReplayService":
        from monitor.extract.documents import DocumentTextReader
        from monitor.services.replay import ReplayService

        return ReplayService(
            store=self.store,
            storage=self.files,
            settings=self.settings,
            new_loader=_build_replay_loader,
            new_reader=lambda manifest: DocumentTextReader(max_bytes=manifest.max_bytes),
            saved_search=self.saved_search,
        )

    @cached_property
    def archive(self) -> "ArchiveService":
        from monitor.services.items import ArchiveService

        return ArchiveService(store=self.store, search=self.archive_search)

    @cached_property
    def items(self) -> "ItemService":
        from monitor.services.items import ItemService

        return ItemService(store=self.store, archive=self.archive)

    @cached_property
    def marks(self) -> "MarkService":
        from monitor.services.marks import MarkService

        return MarkService(store=self.store, clock=self.clock)

    @cached_property
    def snapshot_reader(self) -> "SnapshotReader":
        from monitor.services.evidence import SnapshotReader

        return SnapshotReader(store=self.store, records=self.records, documents=self.documents)

    @cached_property
    def snapshots(self) -> "SnapshotService":
        from monitor.services.evidence import SnapshotService

        return SnapshotService(store=self.store, pages=self.snapshot_reader)

    @cached_property
    def proofs(self) -> "ProofService":
        from monitor.services.evidence import ProofService

        return ProofService(store=self.store, records=self.records)

    # Search and research.

    @cached_property
    def search(self) -> "SearchService":
        from monitor.services.search import SearchService

        return SearchService(
            settings=self.settings, new_search=self.backends.build_search, new_loader=self.loaders.for_run
        )

    @cached_property
    def research(self) -> "ResearchService":
        from monitor.services.research.dependencies import ResearchDependencyFactory
        from monitor.services.research.service import ResearchService

        return ResearchService(
            store=self.store,
            clock=self.clock,
            dependency_factory=ResearchDependencyFactory(
                store=self.store,
                settings=self.settings,
                clock=self.clock,
                records=self.records,
                documents=self.documents,
                bundles=self.bundles,
                snapshot_reader=self.snapshot_reader,
                search_service=self.search,
                new_model=self.build_research_model,
                new_loader=self.loaders.for_run,
                new_scoring=self.scoring,
                new_prompts=self.prompts.load_active,
            ),
            steps=self._build_steps(),
            presence=self.presence,
        )

    @cached_property
    def research_events(self) -> "EventStreamService[ResearchEvent, ResearchStatus]":
        from monitor.db.tables.research import ResearchStatus
        from monitor.services.events import EventStreamService

        return EventStreamService(
            source=self.store.research_events,
            clock=self.clock,
            removed_status=ResearchStatus.CANCELLED,
            not_found_code="research.not_found",
        )

    # Briefings and how they reach people.

    @cached_property
    def briefings(self) -> "BriefingService":
        from monitor.services.briefings import BriefingService

        return BriefingService(
            store=self.store,
            clock=self.clock,
            settings=self.settings,
            new_model=self.build_run_model,
            new_prompts=self.prompts.load_active,
        )

    @cached_property
    def drafts(self) -> "BriefingDraftService":
        from monitor.services.drafts import BriefingDraftService

        return BriefingDraftService(store=self.store, clock=self.clock, briefings=self.briefings)

    @cached_property
    def exports(self) -> "ExportService":
        from monitor.services.briefings import ExportService

        return ExportService(print_pdf=self._print_pdf, template=self.settings.briefing.template)

    async def _print_pdf(self, page: bytes) -> bytes:
        from monitor.fetch.browser.renderer import print_pdf

        return await print_pdf(page, self.settings.pages.browser)

    @cached_property
    def dispatch(self) -> "DeliveryDispatcher":
        from monitor.notify.registry import build_channel
        from monitor.services.dispatch import DeliveryDispatcher

        return DeliveryDispatcher(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            briefings=self.briefings,
            write=self.exports.export_briefing,
            new_channel=lambda target: build_channel(target, self.settings.network, self.clock),
        )

    @cached_property
    def deliveries(self) -> "DeliveryService":
        from monitor.services.deliveries import DeliveryService

        return DeliveryService(
            store=self.store,
            settings=self.settings,
            clock=self.clock,
            presence=self.presence,
            dispatch=self.dispatch,
            steps=self._build_steps(),
        )

    @cached_property
    def targets(self) -> "TargetService":
        from monitor.services.deliveries import TargetService

        return TargetService(
            settings=self.settings, dispatch=self.dispatch, deliveries=self.deliveries, clock=self.clock
        )

    @cached_property
    def target_editing(self) -> "TargetEditingService":
        from monitor.services.deliveries import TargetEditingService

        return TargetEditingService(settings_service=self.settings_service)

    # Running it: health, cost, people.

    @cached_property
    def prompts(self) -> "PromptService":
        from monitor.services.settings import PromptService

        return PromptService(store=self.store, clock=self.clock)

    @cached_property
    def alarms(self) -> "AlarmService":
        from monitor.jobs.scheduler import AlarmNotifier
        from monitor.services.alarms import AlarmService

        return AlarmService(
            store=self.store,
            clock=self.clock,
            timezone=self.settings.timezone,
            notifier=AlarmNotifier(store=self.store, settings=self.settings, clock=self.clock),
        )

    @cached_property
    def today(self) -> "TodayService":
        from monitor.services.today import TodayService

        return TodayService(store=self.store, settings=self.settings, clock=self.clock, presence=self.presence)

    @cached_property
    def readiness(self) -> "Readiness":
        from monitor.services.health import Readiness

        return Readiness(store=self.store, settings=self.settings, clock=self.clock, presence=self.presence)

    @cached_property
    def costs(self) -> "CostService":
        from monitor.services.usage import CostService

        return CostService(store=self.store, clock=self.clock, timezone=self.settings.timezone)

    @cached_property
    def storage(self) -> "StorageService":
        from monitor.services.usage import StorageService

        return StorageService(settings=self.settings)

    @cached_property
    def retention(self) -> "RetentionService":
        from monitor.services.usage import RetentionService

        return RetentionService(
            store=self.store, records=self.records, bundles=self.bundles, clock=self.clock, settings=self.settings
        )

    @cached_property
    def people(self) -> "PeopleService":
        from monitor.services.people import PeopleService

        return PeopleService(store=self.store, clock=self.clock)

    @cached_property
    def tokens(self) -> "TokenService":
        from monitor.services.people import TokenService

        return TokenService(store=self.store, clock=self.clock)

    @cached_property
    def audit(self) -> "AuditService":
        from monitor.services.audit import AuditService

        return AuditService(store=self.store, clock=self.clock)

    # Models, as a run or a research asks them.

    async def build_run_model(self, run_id: str, run_store: Store) -> "ChatModel | None":
        """Return a model whose calls are booked under a run, or None where the model is off."""
        client = self.models.get_current()
        if client is None:
            return None
        used = await run_store.usage.load_run_usage(run_id)
        return client.for_run(
            run_id,
            record=run_store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            tokens_used=used.prompt_tokens + used.completion_tokens,
        )

    async def build_research_model(self, task_id: str, options: "ResearchOptions") -> "ResearchModel | None":
        """Return the model of a research, with the models, sampling and budget that it was asked for."""
        from monitor.llm.run_model import Budget
        from monitor.services.research.dependencies import ResearchModel

        client = self.models.get_current() if options.enabled else None
        if client is None:
            return None
        llm, limits = self.settings.llm, self.settings.research
        models = {phase: name.strip() for phase, name in options.models.items() if name.strip()}
        sampling = options.sampling.model_dump(exclude_none=True)
        used = await self.store.usage.load_run_usage(task_id)
        tokens, name = limits.token_budget, "research.token_budget"
        if tokens is None:
            tokens, name = llm.run_token_budget, "llm.run_token_budget"
        model = client.for_run(
            task_id,
            record=self.store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            settings=llm.model_copy(update={"models": {**llm.models, **models}, **sampling}),
            budget=Budget(tokens, limits.cost_budget, tokens_name=name, cost_name="research.cost_budget"),
            tokens_used=used.prompt_tokens + used.completion_tokens,
            cost_used=used.cost or 0.0,
        )
        return ResearchModel(model, lambda: model.tokens_used)


def _build_replay_loader(manifest: "RunManifest", transport: "Transport", clock: Clock) -> "Loader":
    """Return the page loader of a replay: it asks the records, and makes of them what the run made."""
    from monitor.fetch.guard import Guard
    from monitor.pages.loader import Loader

    pages = PagesSettings(render=manifest.render, max_bytes=manifest.max_bytes)
    return Loader(pages=pages, clock=clock, guard=Guard(), transport=transport)


def _build_settings_service(base: Settings, store: Store) -> "SettingsService":
    from monitor.services.secrets import SecretBox
    from monitor.services.settings import CHECKS, SettingsService

    checks: dict[str, SettingCheck] = {**CHECKS, "deliver.targets": _check_targets, "work.blackout": _check_blackout}
    return SettingsService(
        store=store, base=base, secret_box=SecretBox(base.data_dir), clock=SystemClock(), checks=checks
    )


def _check_targets(settings: Settings) -> None:
    if settings.deliver.targets:
        from monitor.services.deliveries import check_targets

        check_targets(settings)


def _check_blackout(settings: Settings) -> None:
    if settings.work.blackout:
        from monitor.jobs.scheduler import Blackout

        Blackout.parse(settings.work.blackout, settings.timezone)


def _check_llm(settings: Settings) -> None:
    if settings.llm.is_on:
        from monitor.llm.clients import check_endpoint

        check_endpoint(settings.llm)


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Open the program; sources of the configuration that are new are created.

    `DatabaseError` where the database cannot be used, `SettingsError` for settings that no part could use.
    """
    async with AsyncExitStack() as stack, AsyncExitStack() as lifetime:
        store = await stack.enter_async_context(Store.open(settings.database_url))
        await store.check()
        settings_service = _build_settings_service(settings, store)
        settings = await settings_service.load()
        _check_llm(settings)
        _check_targets(settings)
        app = App(settings_service=settings_service, store=store, stack=stack, lifetime=lifetime)
        if settings.sources:
            await app.sources.seed(settings.sources)
        yield app


@asynccontextmanager
async def open_service(settings: Settings, *, worker: bool, scheduler: bool) -> AsyncIterator[App]:
    """Open the program at work: it takes runs out of the queue, decides when sources are due, or both.

    `UsageError` where a SQLite database has a service already.
    """
    from monitor.jobs.presence import lock_database, run_housekeeping

    async with AsyncExitStack() as stack:
        database = DatabaseAddress.parse(settings.database_url).file
        if database is not None and (worker or scheduler):
            stack.enter_context(lock_database(database))
        app = await stack.enter_async_context(open_app(settings))
        if worker:
            from monitor.jobs.worker import Worker

            queue_worker = Worker(
                store=app.store,
                settings=app.settings,
                clock=app.clock,
                sweeps=app.sweeps,
                dispatch=app.dispatch,
                research=app.research,
                presence=app.presence,
            )
            await stack.enter_async_context(queue_worker.run())
        if scheduler:
            from monitor.jobs.scheduler import Scheduler

            planner = Scheduler(store=app.store, settings=app.settings, clock=app.clock, presence=app.presence)
            await stack.enter_async_context(planner.run())
        # Last, for opening the queue holds the event loop while it waits for the database.
        retention = app.retention if scheduler else None
        await stack.enter_async_context(
            run_housekeeping(app.settings_service, close_unused=app.loaders.close_unused, retention=retention)
        )
        yield app


def build_doctor(config_path: Path | None) -> "Doctor":
    """Return a doctor for the configuration that `--config` names, or for the one that is found."""
    from monitor.fetch.browser.launch import find_browser
    from monitor.services.deliveries import check_targets_and_secrets
    from monitor.services.health import Doctor

    def load() -> tuple[Settings, str]:
        path = get_settings_path(config_path)
        where = str(path) if path.is_file() else f"{path} is not there: the defaults hold (`monitor init` writes it)"
        return load_settings(config_path), where

    async def check_database(settings: Settings) -> str:
        address = DatabaseAddress.parse(settings.database_url)
        if address.file is not None and not address.file.exists():
            raise DatabaseError("database.missing", database=address.redacted_url)
        async with Store.open(settings.database_url) as store:
            await store.check()
        return f"{address.redacted_url} is migrated"

    async def load_stored_settings(settings: Settings) -> "SettingsService":
        async with Store.open(settings.database_url) as store:
            service = _build_settings_service(settings, store)
            await service.load()
        return service

    return Doctor(
        load=load,
        check_database=check_database,
        load_stored_settings=load_stored_settings,
        find_browser=lambda settings: str(find_browser(settings.pages.browser)),
        check_model=_check_model,
        check_targets=check_targets_and_secrets,
        check_storage=_check_storage,
        clock=SystemClock(),
    )


async def _check_model(settings: Settings) -> str:
    from monitor.llm.clients import build_client

    if not settings.llm.is_on:
        return "off: every phase works by rule"
    client = build_client(settings.llm)
    try:
        return await client.check()
    finally:
        await client.close()


def _check_storage(settings: Settings) -> str:
    from monitor.evidence.records import FileStorage

    if settings.storage_url is None:
        return f"evidence lies under {settings.data_dir}"
    return FileStorage(settings.storage_url).check()


def upgrade_database(settings: Settings) -> Message:
    """Create the database or bring it to this version's schema; return what was done."""
    from monitor.db import migrate

    url = settings.database_url
    shown, before = DatabaseAddress.parse(url).redacted_url, migrate.get_current_revision(url)
    if before == migrate.get_head_revision():
        return Message.of("database.up_to_date", database=shown)
    migrate.upgrade(url)
    return Message.of("database.created" if before is None else "database.upgraded", database=shown)


def back_up_database(settings: Settings, file: Path) -> int:
    """Write all that the database holds into a new file while others work; returns its size in bytes."""
    from monitor.db.maintenance import create_backup

    return create_backup(settings.database_url, file)


async def restore_database(settings: Settings, file: Path, *, is_replacing: bool) -> dict[str, int]:
    """Put a backup into the database; returns how many rows, by table. `UsageError` while a process works on it."""
    from monitor.db.maintenance import restore_backup, verify_backup

    verify_backup(file)
    await _check_not_in_use(settings, settings.database_url)
    return await asyncio.to_thread(restore_backup, file, settings.database_url, is_replacing=is_replacing)


async def copy_database(settings: Settings, target: str, *, is_replacing: bool) -> dict[str, int]:
    """Copy everything into another database; returns how many rows, by table. `UsageError` while one works there."""
    from monitor.db.maintenance import transfer_database

    await _check_not_in_use(settings, target)
    return await asyncio.to_thread(transfer_database, settings.database_url, target, is_replacing=is_replacing)


async def _check_not_in_use(settings: Settings, url: str) -> None:
    from monitor.db import migrate
    from monitor.jobs.presence import HeartbeatRegistry

    await asyncio.to_thread(migrate.upgrade, url)
    async with Store.open(url) as store:
        presence = HeartbeatRegistry(store=store, clock=SystemClock(), folder=settings.data_dir)
        working = sorted(await presence.list_alive())
    if working:
        raise UsageError("database.in_use", database=DatabaseAddress.parse(url).redacted_url, processes=working)
