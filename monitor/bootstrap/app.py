"""The use cases, joined to their parts."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from monitor.app.archive import Archive
from monitor.app.audit import AuditDesk
from monitor.app.briefings import BriefingDesk
from monitor.app.condition import Condition
from monitor.app.configuring import SettingsDesk
from monitor.app.costs import CostDesk
from monitor.app.deliveries import DeliveryDesk
from monitor.app.dispatch import Dispatch
from monitor.app.drafts import DraftDesk
from monitor.app.health import HealthDesk
from monitor.app.items import ItemDesk
from monitor.app.kept_pages import KeptPages
from monitor.app.live import RUNS_SETTLE_AFTER_S, LiveDesk
from monitor.app.marks import MarkDesk
from monitor.app.people import PersonDesk
from monitor.app.prompts import PromptDesk
from monitor.app.proof import ProofDesk
from monitor.app.recording import OutsetFacts, Recording
from monitor.app.replay import ReplayDesk
from monitor.app.research import ResearchDesk
from monitor.app.research_gear import ResearchGear
from monitor.app.runs import RunDesk
from monitor.app.saved import SavedPageDesk
from monitor.app.searching import SearchDesk
from monitor.app.sources import SourceDesk
from monitor.app.standing import StandingSearch
from monitor.app.storage import StorageDesk
from monitor.app.sweeps import SweepDesk
from monitor.app.target_editing import TargetEditing
from monitor.app.targets import TargetDesk
from monitor.app.today import TodayDesk
from monitor.app.tokens import TokenDesk
from monitor.app.trying import TrialDesk
from monitor.app.upkeep import Upkeep
from monitor.app.watchlist import WatchList
from monitor.app.writing import WritingDesk
from monitor.bootstrap.parts import Parts, open_parts
from monitor.channels.opening import channel_of
from monitor.domain.live import RunEvent
from monitor.domain.research import ResearchEvent, ResearchStatus
from monitor.domain.words import RunStatus
from monitor.llm.servers import ModelServers
from monitor.net.guard import Guard
from monitor.pages.documents import Documents
from monitor.pages.loader import Loader
from monitor.pages.loaders import Loaders
from monitor.ports import Clock, Outside
from monitor.settings import PagesSettings, Settings
from monitor.store import Store
from monitor.work.notices import Notices
from monitor.work.presence import HeartbeatPresence
from monitor.work.steps import DirectSteps


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
    live: LiveDesk[RunEvent, RunStatus]
    research: ResearchDesk
    research_live: LiveDesk[ResearchEvent, ResearchStatus]
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

    `DatabaseError` where the database cannot be used.
    """
    async with AsyncExitStack() as stack:
        parts = await open_parts(settings, stack)
        app = _joined(parts)
        await app.sources.seed(parts.settings.sources)
        stack.push_async_callback(app.trials.close)
        await stack.enter_async_context(app.lifetime)
        yield app


def _joined(parts: Parts) -> App:
    settings, clock, store = parts.settings, parts.clock, parts.store
    schedules, presence = parts.schedules, parts.presence
    audit = AuditDesk(store=store, clock=clock)
    health = HealthDesk(
        store=store,
        clock=clock,
        timezone=settings.timezone,
        schedules=schedules,
        notifier=Notices(store=store, settings=settings, clock=clock),
    )
    sources = SourceDesk(store=store, clock=clock, schedules=schedules, timezone=settings.timezone)
    searching = SearchDesk(settings=settings, over=parts.backends.over)
    standing = StandingSearch(
        gather=searching.for_gathering, folder=parts.bundles, new_scoring=parts.scoring, clock=clock
    )
    sweeps = _sweeps(parts, health, standing)
    archive = Archive(store=store, search=parts.archive_search)
    briefings = BriefingDesk(
        store=store, clock=clock, settings=settings, new_model=parts.new_model, new_prompts=parts.prompts.in_force
    )
    kept_pages = KeptPages(store=store, records=parts.records, documents=parts.documents())
    writing = WritingDesk(print_pdf=parts.print_page, template=settings.briefing.template)
    dispatch = Dispatch(
        store=store,
        settings=settings,
        clock=clock,
        schedules=schedules,
        briefings=briefings,
        write=writing.briefing,
        new_channel=lambda target: channel_of(target, settings.network, clock),
    )
    deliveries = DeliveryDesk(
        store=store, settings=settings, clock=clock, presence=presence, dispatch=dispatch, steps=DirectSteps()
    )
    return App(
        lifetime=AsyncExitStack(),
        settings=settings,
        clock=clock,
        store=store,
        loaders=parts.loaders,
        models=parts.models,
        presence=presence,
        configuring=parts.configuring,
        prompts=parts.prompts,
        costs=parts.costs,
        sources=sources,
        sweeps=sweeps,
        health=health,
        trials=TrialDesk(sources=sources, sweeps=sweeps, clock=clock),
        watchlist=WatchList(store=store, sources=sources, clock=clock, schedules=schedules, timezone=settings.timezone),
        runs=RunDesk(store=store, sweeps=sweeps, timezone=settings.timezone),
        live=LiveDesk(
            watched=store.live,
            clock=clock,
            gone=RunStatus.CANCELLED,
            settles_after_s=RUNS_SETTLE_AFTER_S,
            unknown="There is no run {!r}; `monitor runs list` names them.",
        ),
        research=_research(parts, searching, kept_pages),
        research_live=LiveDesk(
            watched=store.research_events,
            clock=clock,
            gone=ResearchStatus.CANCELLED,
            unknown="There is no research {!r}; `GET /api/research` names them.",
        ),
        replays=_replays(parts, standing),
        archive=archive,
        searching=searching,
        items=ItemDesk(store=store, archive=archive),
        marks=MarkDesk(store=store, clock=clock, audit=audit),
        saved_pages=SavedPageDesk(store=store, pages=kept_pages),
        proofs=ProofDesk(store=store, records=parts.records),
        briefings=briefings,
        writing=writing,
        dispatch=dispatch,
        deliveries=deliveries,
        drafts=DraftDesk(store=store, clock=clock, briefings=briefings, audit=audit),
        targets=TargetDesk(
            settings=settings, dispatch=dispatch, deliveries=deliveries, schedules=schedules, clock=clock
        ),
        target_editing=TargetEditing(configuring=parts.configuring),
        today=TodayDesk(store=store, settings=settings, clock=clock, presence=presence),
        condition=Condition(store=store, settings=settings, clock=clock, presence=presence),
        people=PersonDesk(store=store, clock=clock),
        tokens=TokenDesk(store=store, clock=clock),
        audit=audit,
        storage=StorageDesk(settings=settings),
        upkeep=Upkeep(store=store, records=parts.records, bundles=parts.bundles, clock=clock, settings=settings),
    )


def _sweeps(parts: Parts, health: HealthDesk, standing: StandingSearch) -> SweepDesk:
    recording = Recording(
        records=parts.records,
        settings=parts.settings,
        clock=parts.clock,
        new_loader=parts.loaders.for_run,
        new_model=parts.new_model,
        new_prompts=parts.prompts.in_force,
    )
    return SweepDesk(
        store=parts.store,
        settings=parts.settings,
        clock=parts.clock,
        documents=parts.documents(),
        steps=DirectSteps(),
        presence=parts.presence,
        health=health,
        recording=recording,
        standing=standing,
    )


def _research(parts: Parts, searching: SearchDesk, kept_pages: KeptPages) -> ResearchDesk:
    gear = ResearchGear(
        store=parts.store,
        settings=parts.settings,
        clock=parts.clock,
        records=parts.records,
        documents=parts.documents(),
        bundles=parts.bundles,
        kept_pages=kept_pages,
        searching=searching,
        new_model=parts.new_research_model,
        new_loader=parts.loaders.for_run,
        new_scoring=parts.scoring,
        new_prompts=parts.prompts.in_force,
    )
    return ResearchDesk(store=parts.store, clock=parts.clock, gear=gear, steps=DirectSteps(), presence=parts.presence)


def _replays(parts: Parts, standing: StandingSearch) -> ReplayDesk:
    return ReplayDesk(
        store=parts.store,
        storage=parts.storage,
        settings=parts.settings,
        new_loader=_replayed_loader,
        new_reader=lambda outset: Documents(max_bytes=outset.max_bytes),
        standing=standing,
    )


def _replayed_loader(outset: OutsetFacts, outside: Outside, clock: Clock) -> Loader:
    """The page loader of a replay: what it asks is the records, and what it makes of them is the same."""
    pages = PagesSettings(render=outset.render, max_bytes=outset.max_bytes)
    return Loader(pages=pages, clock=clock, guard=Guard(), outside=outside)
