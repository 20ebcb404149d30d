"""What the use cases are made of: the database, the ways out, what is kept, what holds at the moment."""

import datetime as dt
from contextlib import AsyncExitStack
from dataclasses import dataclass

from monitor.app.configuring import SettingsDesk
from monitor.app.costs import CostDesk
from monitor.app.deliveries import check_targets
from monitor.app.prompts import PromptDesk
from monitor.app.research_gear import ResearchModel
from monitor.app.sealing import Seal
from monitor.app.setting_checks import CHECKS, Check
from monitor.bootstrap.clock import SystemClock
from monitor.evidence.records import Records
from monitor.evidence.storage import Storage
from monitor.llm.run_model import Budget
from monitor.llm.servers import ModelServers, check_endpoint
from monitor.net.client import HttpClient
from monitor.pages.documents import Documents
from monitor.pages.loaders import Loaders
from monitor.ports import ChatModel, Clock
from monitor.research.shapes import ResearchOptions
from monitor.retrieval.folder import BundleFolder
from monitor.retrieval.scoring import CurrentScoring
from monitor.search.archive_search import ArchiveSearch
from monitor.search.opening import Backends
from monitor.settings import Settings
from monitor.store import Store
from monitor.work.agenda import Blackout
from monitor.work.presence import HeartbeatPresence
from monitor.work.triggers import CronSchedules


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts, open; `settings` are what holds at any moment: changes reach them while the program runs."""

    settings: Settings
    clock: Clock
    store: Store
    schedules: CronSchedules
    configuring: SettingsDesk
    prompts: PromptDesk
    costs: CostDesk
    presence: HeartbeatPresence
    loaders: Loaders
    models: ModelServers
    storage: Storage
    records: Records
    bundles: BundleFolder
    scoring: CurrentScoring
    archive_search: ArchiveSearch
    backends: Backends

    async def new_model(self, run_id: str, run_store: Store) -> ChatModel | None:
        """A model whose calls are booked under a run, or None where none is asked."""
        server = self.models.current()
        if server is None:
            return None
        used = await run_store.usage.for_run(run_id)
        return server.for_run(
            run_id,
            record=run_store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.tokens_today,
            tokens_used=used.prompt_tokens + used.completion_tokens,
        )

    async def new_research_model(self, task_id: str, options: ResearchOptions) -> ResearchModel | None:
        """The same for a research, as it was asked for: other models, sampling, and a budget of its own."""
        server = self.models.current() if options.enabled else None
        if server is None:
            return None
        llm, limits = self.settings.llm, self.settings.research
        asked = {phase: name.strip() for phase, name in options.models.items() if name.strip()}
        sampling = options.sampling.model_dump(exclude_none=True)
        used = await self.store.usage.for_run(task_id)
        tokens, name = limits.token_budget, "research.token_budget"
        if tokens is None:
            tokens, name = llm.run_token_budget, "llm.run_token_budget"
        model = server.for_run(
            task_id,
            record=self.store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.tokens_today,
            settings=llm.model_copy(update={"models": {**llm.models, **asked}, **sampling}),
            budget=Budget(tokens, limits.cost_budget, tokens_name=name, cost_name="research.cost_budget"),
            tokens_used=used.prompt_tokens + used.completion_tokens,
            cost_used=used.cost or 0.0,
        )
        return ResearchModel(model, lambda: model.tokens_used)

    async def print_page(self, page: bytes) -> bytes:
        """A PDF of an HTML page."""
        from monitor.pages.render.printing import print_pdf  # its library takes a while to import

        return await print_pdf(page, self.settings.pages.browser)

    def documents(self) -> Documents:
        """What reads documents that are no web pages."""
        return Documents(max_bytes=self.settings.pages.max_bytes)


async def open_parts(settings: Settings, stack: AsyncExitStack) -> Parts:
    """Open them for as long as the stack stands; `DatabaseError` where the database cannot be used.

    Browser and model are first asked when they are needed.
    """
    clock, schedules = SystemClock(), CronSchedules()
    store = await stack.enter_async_context(Store.open(settings.database_url))
    await store.check()
    configuring = new_settings_desk(settings, store, clock, schedules)
    settings = await configuring.load()
    check_endpoint(settings.llm)
    check_targets(settings, schedules)
    loaders = Loaders(settings=settings, clock=clock, cache_folder=settings.data_dir / "cache")
    stack.push_async_callback(loaders.close)
    models = ModelServers(settings)
    stack.push_async_callback(models.close)
    storage = Storage(settings.storage_url or str(settings.data_dir))
    scoring = CurrentScoring(settings)
    archive_search = _archive_search(store, scoring, clock)
    backends = Backends(
        settings=settings,
        searches=store.searches,
        archive=archive_search,
        clock=clock,
        new_client=lambda: HttpClient(network=settings.network, max_bytes=settings.pages.max_bytes),
    )
    stack.push_async_callback(backends.close)
    return Parts(
        settings=settings,
        clock=clock,
        store=store,
        schedules=schedules,
        configuring=configuring,
        prompts=PromptDesk(store=store, clock=clock),
        costs=CostDesk(store=store, clock=clock, timezone=settings.timezone),
        presence=HeartbeatPresence(
            store=store, clock=clock, folder=settings.data_dir, executor_id=settings.work.executor_id
        ),
        loaders=loaders,
        models=models,
        storage=storage,
        records=Records(store=store, storage=storage),
        bundles=BundleFolder(settings.data_dir / "bundles"),
        scoring=scoring,
        archive_search=archive_search,
        backends=backends,
    )


def new_settings_desk(base: Settings, store: Store, clock: Clock, schedules: CronSchedules) -> SettingsDesk:
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


def _archive_search(store: Store, scoring: CurrentScoring, clock: Clock) -> ArchiveSearch:
    def weigh(relevance: float, day: dt.date, url: str) -> float:
        return scoring().weighed(relevance, url=url, published_on=day, today=clock.now().date()).final

    return ArchiveSearch(fulltext=store.fulltext, weigh=weigh)
