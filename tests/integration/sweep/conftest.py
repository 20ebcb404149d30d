"""What the sweep's tests share: a bureau whose lists a test writes row by row, and the real parts to sweep it."""

import datetime as dt
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.history import LedgerRow
from monitor.db.reading import SectionPlan
from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import AlarmView
from monitor.errors import WorkFailed
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.storage import FileStorage
from monitor.fetch.client import HttpClient
from monitor.isolation.pool import WorkerPool
from monitor.jobs.presence import HeartbeatRegistry
from monitor.llm.chat import ChatModel
from monitor.llm.client import ModelClient
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import Loader, PageLoader
from monitor.search.backends.archive import ArchiveSearch
from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.registry import SearchBackends
from monitor.services.alarms import AlarmService
from monitor.services.audit import COMMAND_LINE
from monitor.services.policies import PolicyService
from monitor.services.prompts import PromptService
from monitor.services.recording import RunDependencyFactory
from monitor.services.runs import RunReport, RunService
from monitor.services.search import SavedSearch, SearchService
from monitor.services.sources.discovery import DiscoveryService
from monitor.services.sources.loading import SourceLoaders
from monitor.services.sources.service import SourceService
from monitor.services.sweeps import SweepService
from monitor.steps import InProcessSteps
from monitor.sweep.agent import AgentResult, CrawlAgent
from monitor.sweep.context import RunContext, SweepDependencies
from monitor.sweep.crawl import build_toolbox
from monitor.sweep.ledger import build_window
from tests.conftest import name_services

TITLES = (
    "能源监管工作要点",
    "电力市场运行通报",
    "储能项目备案办法",
    "行政许可决定公告",
    "标准制修订计划",
    "安全生产检查安排",
)


@dataclass
class Row:
    number: int
    day: dt.date | None
    shown: bool = True
    title: str = ""

    @property
    def path(self) -> str:
        return f"/news/detail/{self.number}.html"

    @property
    def text(self) -> str:
        return self.title or f"关于{TITLES[self.number % len(TITLES)]}有关事项的第{self.number}号通知"


def list_html(rows: Sequence[Row], next_path: str | None = None) -> str:
    items = "".join(
        f'<li><a href="{row.path}">{row.text}</a>'
        + (f"<span>{row.day}</span>" if row.day and row.shown else "")
        + "</li>"
        for row in rows
    )
    pager = f'<div class="pager"><a href="{next_path}">下一页</a></div>' if next_path else ""
    return f"<html><head><title>通知公告</title></head><body><ul class='list'>{items}</ul>{pager}</body></html>"


def article_html(row: Row) -> str:
    date = f"<p>发布时间：{row.day}</p>" if row.day else ""
    body = "各有关单位：为做好本年度工作，现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。" * 3
    return f"<html><head><title>{row.text}</title></head><body><h1>{row.text}</h1>{date}<p>{body}</p></body></html>"


class Notices:
    """Keeps the alarms that it is handed; while it `is_down` none arrives."""

    def __init__(self) -> None:
        self.received: list[AlarmView] = []
        self.is_down = False

    async def notify(self, alarms: Sequence[AlarmView]) -> None:
        if self.is_down:
            raise WorkFailed("the post is closed")
        self.received.extend(alarms)


class MovableClock:
    """A clock that a test sets."""

    def __init__(self, day: dt.date) -> None:
        self.today = day

    def now(self) -> dt.datetime:
        return dt.datetime.combine(self.today, dt.time(4), tzinfo=dt.UTC)


@dataclass
class Bureau:
    """One section, `/news/`, of a served site, and the service that sweeps it."""

    site: Any
    store: Store
    sweeps: SweepService
    clock: MovableClock
    settings: Settings
    health: AlarmService
    notices: "Notices"
    saved_search: SavedSearch
    workers: WorkerPool
    name: str = "bureau"
    options: dict[str, Any] = field(default_factory=dict)

    def rows(self, *days_ago: int | None, first: int = 100, shown: bool = True) -> list[Row]:
        """Rows with consecutive numbers, so many days old; None has no date anywhere."""
        today = self.clock.today
        dates = [None if days is None else today - dt.timedelta(days) for days in days_ago]
        return [Row(first + index, day, shown) for index, day in enumerate(dates)]

    def show(self, *pages: Sequence[Row]) -> None:
        """Serve these list pages, each linked to the next, and the articles on them."""
        for number, rows in enumerate(pages):
            path = "/news/" if number == 0 else f"/news/index_{number}.html"
            self.site.on(path, list_html(rows, f"/news/index_{number + 1}.html" if number + 1 < len(pages) else None))
            for row in rows:
                self.site.on(row.path, article_html(row))

    async def sweep(self, **options: Any) -> RunReport:
        source = await self.store.sources.get(self.name)
        if source is None:
            section = {"name": "通知公告", "url": self.site.url("/news/")}
            values = {"name": self.name, "url": self.site.url("/"), "sections": [section], **self.options}
            source = await self.store.sources.add(Source(**values, created_at=self.clock.now()))
        return await self.sweeps.sweep(source, **options, by=COMMAND_LINE)

    async def ledger(self, run: RunReport) -> dict[int, LedgerRow]:
        rows = await self.store.runs.load_ledger(run.run_id)
        return {int(row.url.rpartition("/")[2].removesuffix(".html")): row for row in rows}


@pytest.fixture
def movable_clock() -> MovableClock:
    return MovableClock(dt.date(2026, 11, 20))


@pytest.fixture
def models() -> list[Any]:
    """What the next runs ask: a test may put a function of (run_id, store) here."""
    return []


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """Where the bureau's runs are kept; a test that wants another database says so."""
    return sqlite_url


@pytest.fixture
def page_limits() -> dict[str, Any]:
    """What the bureau's runs are told about loading pages."""
    return {}


@pytest.fixture
def search() -> dict[str, Any]:
    """How the bureau's runs search; as on a fresh install, where only the archive is searched."""
    return {}


def _refuse_to_load() -> PageLoader:
    raise AssertionError("a query source loads no page through the search")


@asynccontextmanager
async def open_saved_search(store: Store, settings: Settings, clock: MovableClock) -> AsyncIterator[SavedSearch]:
    """The searches of `query` sources, joined as the program joins them."""
    archive = ArchiveSearch(fulltext=store.fulltext, score_item=lambda relevance, *_: relevance)
    backends = SearchBackends(
        settings=settings,
        searches=store.searches,
        archive=archive,
        clock=clock,
        new_client=lambda: HttpClient(network=settings.network, max_bytes=settings.pages.max_bytes),
    )
    scoring = ResultScorer(settings.search.weights, settings.retrieval)
    try:
        yield SavedSearch(
            build_search=SearchService(
                settings=settings, new_search=backends.build_search, new_loader=_refuse_to_load
            ).build_source_search,
            clock=clock,
            new_scoring=lambda: scoring,
            folder=BundleFolder(settings.data_dir / "bundles"),
        )
    finally:
        await backends.close()


@pytest.fixture
async def bureau(
    site: Any,
    tmp_path: Path,
    movable_clock: MovableClock,
    models: list[Any],
    database_url: str,
    page_limits: dict[str, Any],
    search: dict[str, Any],
    workers: WorkerPool,
) -> AsyncIterator[Bureau]:
    settings = Settings(
        pages={"delay_s": 0, "render": "never", **page_limits},
        network={"allowed_private_hosts": [site.host]},
        timezone="Asia/Shanghai",
        search={"cache_s": 0, **search},
        data_dir=tmp_path,
    )
    async with (
        Store.open(database_url) as store,
        Loader.from_settings(
            pages=settings.pages,
            network=settings.network,
            clock=movable_clock,
            cache_folder=tmp_path / "cache",
            workers=workers,
        ) as loader,
        open_saved_search(store, settings, movable_clock) as saved_search,
    ):
        await store.check()

        async def new_model(run_id: str, run_store: Store) -> ChatModel | None:
            return models[0](run_id, run_store) if models else None

        notices = Notices()
        health = AlarmService(store=store, clock=movable_clock, timezone=settings.timezone, notifier=notices)
        presence = HeartbeatRegistry(store=store, clock=movable_clock, folder=tmp_path, executor_id=None)
        recording = RunDependencyFactory(
            records=EvidenceArchive(store=store, storage=FileStorage(str(tmp_path))),
            workers=workers,
            settings=settings,
            clock=movable_clock,
            new_loader=loader.for_run,
            build_log_in=lambda _: None,
            new_model=new_model,
            new_prompts=PromptService(store=store, clock=movable_clock).load_active,
        )
        sweeps = SweepService(
            store=store,
            settings=settings,
            clock=movable_clock,
            documents=DocumentReader(workers=workers),
            steps=InProcessSteps(),
            presence=presence,
            runs=RunService(store=store, clock=movable_clock, presence=presence, timezone=settings.timezone),
            alarm_service=health,
            policies=PolicyService(store=store, clock=movable_clock, settings=settings, workers=workers),
            dependency_factory=recording,
            saved_search=saved_search,
            discovery=DiscoveryService(
                sources=SourceService(store=store, clock=movable_clock, timezone=settings.timezone),
                workers=workers,
                clock=movable_clock,
                source_loaders=SourceLoaders(new_loader=loader.for_run, build_log_in=lambda _: None),
            ),
        )
        yield Bureau(site, store, sweeps, movable_clock, settings, health, notices, saved_search, workers)


class CannedModel:
    """A chat-completions server that gives the answers of a list, then `otherwise`, and keeps what it was asked.

    As a second reader it gives those of `reviews`, then none.
    """

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.reviews: list[str] = []
        self.otherwise: dict[str, Any] = {"role": "assistant", "content": ""}
        self.requests: list[dict[str, Any]] = []

    def calls(self, *calls: tuple[str, dict[str, Any] | str]) -> None:
        """The next answer: these tools with these arguments."""
        tools = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for number, (name, given) in enumerate(calls)
        ]
        self.answers.append({"role": "assistant", "content": None, "tool_calls": tools})

    def says(self, text: str, *, finish_reason: str = "stop") -> None:
        """The next answer: a text, which the server may have ended itself."""
        self.answers.append({"role": "assistant", "content": text, "finish_reason": finish_reason})

    def results(self) -> list[Any]:
        """What the tools answered, as the latest request shows it."""
        return [message["content"] for message in self.requests[-1]["messages"] if message["role"] == "tool"]

    def sizes(self) -> list[int]:
        """Contents and tool arguments of each request, in characters."""
        return [sum(_weight(message) for message in request["messages"]) for request in self.requests]

    def answer(self, body: bytes) -> str:
        self.requests.append(json.loads(body))
        if "<<<CHECK" in self.requests[-1]["messages"][-1]["content"]:
            message = {"role": "assistant", "content": self.reviews.pop(0) if self.reviews else "[]"}
        else:
            message = dict(self.answers.pop(0) if self.answers else self.otherwise)
        choice = {"index": 0, "finish_reason": message.pop("finish_reason", "stop"), "message": message}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        )


def _weight(message: dict[str, Any]) -> int:
    calls = message.get("tool_calls") or []
    return len(message.get("content") or "") + sum(len(call["function"]["arguments"]) for call in calls)


@pytest.fixture
async def model(site: Any, reply: Any, models: list[Any], movable_clock: MovableClock) -> AsyncIterator[CannedModel]:
    """A model for the bureau's runs that says what the test tells it."""
    canned = CannedModel()
    site.on(
        "/v1/chat/completions",
        lambda asked: reply(canned.answer(asked.body), headers={"content-type": "application/json"}),
    )
    server = ModelClient(
        LlmSettings(enabled=True, base_url=site.url("/v1"), max_retries=0), name_services(site.url("/v1"))
    )
    models.append(lambda run_id, store: server.for_run(run_id, record=store.usage.add, clock=movable_clock))
    yield canned
    await server.close()


@pytest.fixture
def general(tmp_path: Path, models: list[Any]) -> Callable[[Bureau], Awaitable[AgentResult]]:
    """Run the general agent over the bureau's whole site, called as the seed calls it: without prompt and tools."""

    async def run(bureau: Bureau) -> AgentResult:
        source = await bureau.store.sources.get("site") or await bureau.store.sources.add(
            Source(name="site", url=bureau.site.url("/"), created_at=bureau.clock.now())
        )
        loader = Loader.from_settings(
            pages=bureau.settings.pages, network=bureau.settings.network, clock=bureau.clock, workers=bureau.workers
        )
        async with loader:
            deps = SweepDependencies(
                store=bureau.store,
                loader=loader,
                documents=DocumentReader(workers=bureau.workers),
                workers=bureau.workers,
                model=models[0]("r", bureau.store),
                steps=InProcessSteps(),
                clock=bureau.clock,
                limits=bureau.settings.sweep,
                folder=tmp_path,
            )
            plan = SectionPlan(ordinal=0, name=source.name, url=source.url)
            window = build_window(today=bureau.clock.today, days=7)
            context = RunContext(run_id="r", source=source, window=window, deps=deps)
            toolbox = build_toolbox(context, plan, memory=None)
            agent = CrawlAgent(model=deps.model, toolbox=toolbox)
            return await agent.run_agent(source)

    return run
