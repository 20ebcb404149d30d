"""The composition root: the parts of the program, each built when it is first asked for.

A command pays only for what it uses, so every builder imports what it joins.
"""

import datetime as dt
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property, partial
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from monitor.clock import Clock, SystemClock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.errors import BrowserMissing
from monitor.extras import needs_extra
from monitor.logs import forward_audit
from monitor.services.setting_checks import CHECKS, check_delivery
from monitor.services.settings import SecretBox, SettingCheck, SettingsService
from monitor.steps import InProcessSteps
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.config.targets import TargetSettings
    from monitor.db.tables.delivery import AlarmView
    from monitor.db.tables.research import ResearchEvent, ResearchStatus, RunEvent
    from monitor.demo.hosting import SampleSiteHost
    from monitor.evidence.chain import EvidenceChain
    from monitor.evidence.records import EvidenceArchive
    from monitor.evidence.storage import FileStorage
    from monitor.fetch.client import HttpClient
    from monitor.isolation.pool import WorkerPool
    from monitor.jobs.presence import HeartbeatRegistry
    from monitor.jobs.watchdog import LoopWatchdog
    from monitor.llm.chat import ChatModel
    from monitor.notify.notification import Channel
    from monitor.pages.documents import DocumentReader
    from monitor.pages.loader import LoaderPool
    from monitor.search.backends.archive import ArchiveSearch
    from monitor.search.bundles.bundle import BundleFolder
    from monitor.search.bundles.scoring import ResultScorerFactory
    from monitor.search.meaning import MeaningSearch
    from monitor.search.registry import SearchBackends
    from monitor.services.alarms import AlarmService
    from monitor.services.alerts import AlertService
    from monitor.services.archive_export import ArchiveExporter, ArchiveExportService
    from monitor.services.asking import AskService
    from monitor.services.audit import AuditService
    from monitor.services.briefings import BriefingService
    from monitor.services.client_profiles import ClientProfileService
    from monitor.services.deadlines import DeadlineService
    from monitor.services.deliveries import DeliveryService, TargetEditingService, TargetService
    from monitor.services.dispatch import DeliveryDispatcher
    from monitor.services.doctor import Doctor
    from monitor.services.drafts import BriefingDraftService, ExportService, KeptBriefingService
    from monitor.services.embeddings import EmbeddingService
    from monitor.services.erasure import ErasureService
    from monitor.services.evaluation import EvaluationService
    from monitor.services.events import EventStreamService
    from monitor.services.evidence import EvidenceExporter, ProofService, SnapshotReader, SnapshotService
    from monitor.services.facts import FactsService
    from monitor.services.feed_keys import FeedKeyService
    from monitor.services.global_search import GlobalSearchService
    from monitor.services.health import Readiness
    from monitor.services.host_traffic import HostTrafficService
    from monitor.services.identity.oidc import OidcService
    from monitor.services.identity.passkeys import PasskeyService
    from monitor.services.identity.proxy import ProxySignInService
    from monitor.services.identity.second_factor import SecondFactorService
    from monitor.services.items import ArchiveService, ItemService
    from monitor.services.marks import MarkService
    from monitor.services.models import ModelService
    from monitor.services.people import PeopleService
    from monitor.services.policies import PolicyService
    from monitor.services.prompts import PromptService
    from monitor.services.ranking import RankService
    from monitor.services.recording import RunDependencyFactory
    from monitor.services.replay import ReplayService
    from monitor.services.research.dependencies import ResearchDependencyFactory
    from monitor.services.research.service import ResearchService
    from monitor.services.runs import RunService
    from monitor.services.scrub import ScrubService
    from monitor.services.search import SavedSearch, SearchService
    from monitor.services.shares import BriefingShareService
    from monitor.services.sources.catalogue import CatalogueService
    from monitor.services.sources.discovery import DiscoveryService
    from monitor.services.sources.loading import SourceLoaders
    from monitor.services.sources.service import SourceService
    from monitor.services.sources.teaching import TeachingService
    from monitor.services.sources.trials import TrialService
    from monitor.services.statements import StatementService
    from monitor.services.subscriptions import SubscriptionService
    from monitor.services.sweeps import SweepService
    from monitor.services.teams import TeamService
    from monitor.services.today import TodayService
    from monitor.services.tokens import TokenService
    from monitor.services.topics import TopicService
    from monitor.services.usage import CostService, RetentionService, StorageService
    from monitor.services.webhooks.dispatch import WebhookDispatcher
    from monitor.services.webhooks.endpoints import WebhookService
    from monitor.services.webhooks.events import WebhookDataLoader


T = TypeVar("T")


class _Part(Generic[T]):
    """A part that is imported and built when it is first asked for; `path` is that of its class or builder in monitor.

    Each argument that its constructor requires is the part of that name; one that `renamed` names is what
    stands there, as the method `loaders.for_run`. One that has a `close` is closed in the end.
    """

    def __init__(self, path: str, **renamed: str) -> None:
        self._module, _, self._class_name = path.rpartition(".")
        self._renamed = renamed

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, app: "App", owner: type) -> T:
        part_class = getattr(import_module(f"monitor.{self._module}"), self._class_name)
        given = [
            argument.name
            for argument in signature(part_class).parameters.values()
            if argument.default is argument.empty or argument.name in self._renamed
        ]
        built: T = part_class(**{name: attrgetter(self._renamed.get(name, name))(app) for name in given})
        if (close := getattr(built, "close", None)) is not None:
            app.push_close(close)
        app.__dict__[self._name] = built  # found there from now on
        return built


class App:
    """The use cases and the parts under them.

    `settings` change while the program runs. `lifetime` ends before the parts are closed.
    """

    def __init__(
        self, *, settings_service: SettingsService, store: Store, stack: AsyncExitStack, lifetime: AsyncExitStack
    ) -> None:
        self.clock: Clock = SystemClock()
        self.settings_service = settings_service
        self.settings = settings_service.current
        self.timezone = self.settings.timezone
        self.steps = InProcessSteps()
        self.store = store
        self.lifetime = lifetime
        self._stack = stack

    def push_close(self, close: Callable[[], Awaitable[None]]) -> None:
        self._stack.push_async_callback(close)

    def build_all(self) -> None:
        """Build every part now: a server pays for its imports at its start, not in the first request."""
        for name, member in vars(type(self)).items():
            if isinstance(member, cached_property | _Part):
                getattr(self, name)

    # What the use cases stand on.
    records: "_Part[EvidenceArchive]" = _Part("evidence.records.EvidenceArchive", storage="files")

    @cached_property
    def chain(self) -> "EvidenceChain":
        from monitor.evidence.chain import EvidenceChain, SigningKey

        return EvidenceChain(store=self.store, clock=self.clock, key=SigningKey(self.settings.data_dir))

    presence: "_Part[HeartbeatRegistry]" = _Part(
        "jobs.presence.HeartbeatRegistry", folder="settings.data_dir", executor_id="settings.work.executor_id"
    )

    @cached_property
    def workers(self) -> "WorkerPool":
        from monitor.isolation.pool import READING_MODULES, WorkerPool

        judging = ("monitor.verify.judge",) if self.settings.llm.is_on else ()
        workers = WorkerPool(preload=[*READING_MODULES, *judging])
        self._stack.push_async_callback(workers.close)
        return workers

    @cached_property
    def loaders(self) -> "LoaderPool":
        from monitor.pages.loader import LoaderPool

        loaders = LoaderPool(
            settings=self.settings,
            clock=self.clock,
            workers=self.workers,
            cache_folder=self.settings.data_dir / "cache",
            budget=self.host_traffic,
        )
        self._stack.push_async_callback(loaders.close)
        return loaders

    host_traffic: "_Part[HostTrafficService]" = _Part("services.host_traffic.HostTrafficService")
    models: "_Part[ModelService]" = _Part("services.models.ModelService")
    embeddings: "_Part[EmbeddingService]" = _Part("services.embeddings.EmbeddingService")

    @cached_property
    def files(self) -> "FileStorage":
        from monitor.evidence.storage import FileStorage

        return FileStorage(self.settings.storage_url or str(self.settings.data_dir))

    documents: "_Part[DocumentReader]" = _Part("pages.documents.DocumentReader", max_bytes="settings.pages.max_bytes")

    @cached_property
    def bundles(self) -> "BundleFolder":
        from monitor.search.bundles.bundle import BundleFolder

        return BundleFolder(self.settings.data_dir / "bundles")

    scoring: "_Part[ResultScorerFactory]" = _Part("search.bundles.scoring.ResultScorerFactory")
    meaning: "_Part[MeaningSearch]" = _Part(
        "search.meaning.MeaningSearch", vectors="store.vectors", embed_query="embeddings.embed_query"
    )

    @cached_property
    def archive_search(self) -> "ArchiveSearch":
        from monitor.search.backends.archive import ArchiveSearch

        def score(relevance: float, day: dt.date, url: str) -> float:
            today = self.clock.now().date()
            return self.scoring().score_with_relevance(relevance, url=url, published_on=day, today=today).final

        return ArchiveSearch(fulltext=self.store.fulltext, score_item=score, meaning=self.meaning)

    backends: "_Part[SearchBackends]" = _Part(
        "search.registry.SearchBackends",
        searches="store.searches",
        archive="archive_search",
        new_client="_open_search_client",
    )

    def _open_search_client(self) -> "HttpClient":
        from monitor.fetch.outbound import OutboundPolicy

        return OutboundPolicy(self.settings.network).open_client(max_bytes=self.settings.pages.max_bytes)

    global_search: "_Part[GlobalSearchService]" = _Part("services.global_search.GlobalSearchService")
    asking: "_Part[AskService]" = _Part(
        "services.asking.AskService", new_model="models.build_run_model", new_prompts="prompts.load_active"
    )

    # Sources and what is gathered from them.
    sources: "_Part[SourceService]" = _Part("services.sources.service.SourceService")
    source_loaders: "_Part[SourceLoaders]" = _Part(
        "services.sources.loading.SourceLoaders",
        new_loader="loaders.for_run",
        build_log_in="settings_service.build_log_in",
    )
    teaching: "_Part[TeachingService]" = _Part("services.sources.teaching.TeachingService")
    sample: "_Part[SampleSiteHost]" = _Part("demo.hosting.SampleSiteHost")
    runs: "_Part[RunService]" = _Part("services.runs.RunService")
    replays: "_Part[ReplayService]" = _Part("services.replay.ReplayService", storage="files")
    evaluations: "_Part[EvaluationService]" = _Part("services.evaluation.EvaluationService", storage="files")
    archive: "_Part[ArchiveService]" = _Part("services.items.ArchiveService", search="archive_search")
    items: "_Part[ItemService]" = _Part("services.items.ItemService")
    marks: "_Part[MarkService]" = _Part("services.marks.MarkService")
    alerts: "_Part[AlertService]" = _Part("services.alerts.AlertService")
    deadlines: "_Part[DeadlineService]" = _Part("services.deadlines.DeadlineService")
    topics: "_Part[TopicService]" = _Part(
        "services.topics.TopicService",
        alerts="alerts",
        new_model="models.build_run_model",
        new_prompts="prompts.load_active",
    )
    policies: "_Part[PolicyService]" = _Part("services.policies.PolicyService", deadlines="deadlines", topics="topics")
    snapshot_reader: "_Part[SnapshotReader]" = _Part("services.evidence.SnapshotReader")
    snapshots: "_Part[SnapshotService]" = _Part("services.evidence.SnapshotService", pages="snapshot_reader")
    proofs: "_Part[ProofService]" = _Part("services.evidence.ProofService")
    scrub: "_Part[ScrubService]" = _Part("services.scrub.ScrubService")
    evidence_exporter: "_Part[EvidenceExporter]" = _Part("services.evidence.EvidenceExporter")
    ranks: "_Part[RankService]" = _Part("services.ranking.RankService")

    async def build_second_reader(self) -> "ChatModel | None":
        """Return the model for second readings, with a budget of its own; None where none is set."""
        return await self.models.build_run_model(f"verify-{secrets.token_hex(8)}", self.store)

    statements: "_Part[StatementService]" = _Part(
        "services.statements.StatementService", new_model="build_second_reader", new_prompts="prompts.load_active"
    )
    facts: "_Part[FactsService]" = _Part(
        "services.facts.FactsService", new_model="build_second_reader", new_prompts="prompts.load_active"
    )

    discovery: "_Part[DiscoveryService]" = _Part("services.sources.discovery.DiscoveryService")
    trials: "_Part[TrialService]" = _Part("services.sources.trials.TrialService")
    catalogue: "_Part[CatalogueService]" = _Part("services.sources.catalogue.CatalogueService")
    saved_search: "_Part[SavedSearch]" = _Part(
        "services.search.SavedSearch",
        build_search="search.build_source_search",
        folder="bundles",
        new_scoring="scoring",
    )
    run_dependencies: "_Part[RunDependencyFactory]" = _Part(
        "services.recording.RunDependencyFactory",
        new_loader="loaders.for_run",
        new_model="models.build_run_model",
        new_prompts="prompts.load_active",
        build_log_in="settings_service.build_log_in",
    )
    sweeps: "_Part[SweepService]" = _Part(
        "services.sweeps.SweepService", alarm_service="alarms", dependency_factory="run_dependencies"
    )

    run_events: "_Part[EventStreamService[RunEvent, RunStatus]]" = _Part("services.events.build_run_event_stream")

    # Search and research.
    search: "_Part[SearchService]" = _Part(
        "services.search.SearchService", new_search="backends.build_search", new_loader="loaders.for_run"
    )
    research_dependencies: "_Part[ResearchDependencyFactory]" = _Part(
        "services.research.dependencies.ResearchDependencyFactory",
        search_service="search",
        new_model="models.build_research_model",
        new_loader="loaders.for_run",
        new_scoring="scoring",
        new_prompts="prompts.load_active",
    )
    research: "_Part[ResearchService]" = _Part(
        "services.research.service.ResearchService", dependency_factory="research_dependencies"
    )
    research_events: "_Part[EventStreamService[ResearchEvent, ResearchStatus]]" = _Part(
        "services.events.build_research_event_stream"
    )

    # Briefings and how they reach people.
    drafts: "_Part[BriefingDraftService]" = _Part("services.drafts.BriefingDraftService", kept="kept_briefings")
    client_profiles: "_Part[ClientProfileService]" = _Part("services.client_profiles.ClientProfileService")
    shares: "_Part[BriefingShareService]" = _Part("services.shares.BriefingShareService")
    kept_briefings: "_Part[KeptBriefingService]" = _Part("services.drafts.KeptBriefingService")
    deliveries: "_Part[DeliveryService]" = _Part("services.deliveries.DeliveryService")
    subscriptions: "_Part[SubscriptionService]" = _Part("services.subscriptions.SubscriptionService")
    targets: "_Part[TargetService]" = _Part("services.deliveries.TargetService")
    target_editing: "_Part[TargetEditingService]" = _Part("services.deliveries.TargetEditingService")
    briefings: "_Part[BriefingService]" = _Part(
        "services.briefings.BriefingService", new_model="models.build_run_model", new_prompts="prompts.load_active"
    )
    exports: "_Part[ExportService]" = _Part(
        "services.drafts.ExportService", print_pdf="_print_pdf", template="settings.briefing.template"
    )

    async def _print_pdf(self, page: bytes) -> bytes:
        with needs_extra("browser", BrowserMissing):
            from monitor.fetch.browser.renderer import print_pdf

        return await print_pdf(page, self.settings.pages.browser)

    webhooks: "_Part[WebhookService]" = _Part("services.webhooks.endpoints.WebhookService")
    webhook_data: "_Part[WebhookDataLoader]" = _Part("services.webhooks.events.WebhookDataLoader")
    webhook_dispatch: "_Part[WebhookDispatcher]" = _Part(
        "services.webhooks.dispatch.WebhookDispatcher", data_loader="webhook_data"
    )
    archive_exports: "_Part[ArchiveExportService]" = _Part("services.archive_export.ArchiveExportService")
    archive_exporter: "_Part[ArchiveExporter]" = _Part("services.archive_export.ArchiveExporter")
    dispatch: "_Part[DeliveryDispatcher]" = _Part(
        "services.dispatch.DeliveryDispatcher", write="exports.export_briefing", new_channel="_build_channel"
    )

    def _build_channel(self, target: "TargetSettings") -> "Channel":
        from monitor.notify.registry import build_channel

        return build_channel(target, self.settings.network, self.clock)

    # Running it: health, cost, people.
    prompts: "_Part[PromptService]" = _Part("services.prompts.PromptService")
    today: "_Part[TodayService]" = _Part("services.today.TodayService")
    watchdog: "_Part[LoopWatchdog]" = _Part("jobs.watchdog.LoopWatchdog")
    readiness: "_Part[Readiness]" = _Part("services.health.Readiness")
    costs: "_Part[CostService]" = _Part("services.usage.CostService")
    storage: "_Part[StorageService]" = _Part("services.usage.StorageService")
    retention: "_Part[RetentionService]" = _Part("services.usage.RetentionService")
    teams: "_Part[TeamService]" = _Part("services.teams.TeamService")
    people: "_Part[PeopleService]" = _Part("services.people.PeopleService")
    oidc: "_Part[OidcService]" = _Part("services.identity.oidc.OidcService")
    passkeys: "_Part[PasskeyService]" = _Part("services.identity.passkeys.PasskeyService")
    proxy_sign_in: "_Part[ProxySignInService]" = _Part("services.identity.proxy.ProxySignInService")
    second_factor: "_Part[SecondFactorService]" = _Part("services.identity.second_factor.SecondFactorService")
    erasure: "_Part[ErasureService]" = _Part("services.erasure.ErasureService")
    tokens: "_Part[TokenService]" = _Part("services.tokens.TokenService")
    feed_keys: "_Part[FeedKeyService]" = _Part("services.feed_keys.FeedKeyService")
    audit: "_Part[AuditService]" = _Part("services.audit.AuditService")

    @cached_property
    def alarms(self) -> "AlarmService":
        from monitor.services.alarms import AlarmService

        return AlarmService(store=self.store, clock=self.clock, timezone=self.timezone, notifier=self)

    async def notify(self, alarms: "Sequence[AlarmView]") -> None:
        """Report alarms; what composes messages is imported when there is one to report."""
        if alarms:
            from monitor.jobs.scheduler import AlarmNotifier

            await AlarmNotifier(store=self.store, settings=self.settings, clock=self.clock).notify(alarms)


def _build_settings_service(base: Settings, store: Store) -> SettingsService:
    checks: dict[str, SettingCheck] = {**CHECKS, "work.blackout": _check_blackout}
    return SettingsService(
        store=store, base=base, secret_box=SecretBox(base.data_dir), clock=SystemClock(), checks=checks
    )


def _check_blackout(settings: Settings) -> None:
    if settings.work.blackout:
        from monitor.jobs.scheduler import Blackout

        Blackout.parse(settings.work.blackout, settings.timezone)


@asynccontextmanager
async def open_app(settings: Settings) -> AsyncIterator[App]:
    """Open the program; sources of the configuration that are new are created.

    `DatabaseError` where the database cannot be used, `SettingsError` for settings that no part could use.
    """
    async with AsyncExitStack() as stack, AsyncExitStack() as lifetime:
        stack.enter_context(forward_audit(settings.logs.syslog))
        store = await stack.enter_async_context(Store.open(settings.database_url))
        await store.check()
        settings_service = _build_settings_service(settings, store)
        settings = await settings_service.load()
        store.sessions.timezone = settings.timezone
        if settings.llm.is_on:
            settings.llm.check_endpoint()
        check_delivery(settings)
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
                evaluations=app.evaluations,
                webhooks=app.webhook_dispatch,
                exports=app.archive_exporter,
                presence=app.presence,
            )
            await stack.enter_async_context(queue_worker.run())
        if scheduler:
            from monitor.jobs.scheduler import Scheduler

            planner = Scheduler(store=app.store, settings=app.settings, clock=app.clock, presence=app.presence)
            await stack.enter_async_context(planner.run())
        # Last, for opening the queue holds the event loop while it waits for the database.
        retention, scrub = (app.retention, app.scrub) if scheduler else (None, None)
        embeddings, close = app.embeddings if worker else None, app.loaders.close_unused
        duties = run_housekeeping(
            app.settings_service, close_unused=close, retention=retention, scrub=scrub, embeddings=embeddings
        )
        await stack.enter_async_context(duties)
        yield app


def build_doctor(config_path: Path | None) -> "Doctor":
    """Return a doctor for the configuration that `--config` names, or for the one that is found."""
    from monitor.services.doctor import Doctor, load_configuration

    async def load_stored_settings(settings: Settings) -> SettingsService:
        async with Store.open(settings.database_url) as store:
            service = _build_settings_service(settings, store)
            await service.load()
        return service

    return Doctor(
        load=partial(load_configuration, config_path), load_stored_settings=load_stored_settings, clock=SystemClock()
    )
