"""What the sweep's tests share: a bureau whose lists a test writes row by row, and the real parts to sweep it."""

import datetime as dt
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from monitor.app.health import HealthDesk
from monitor.app.prompts import PromptDesk
from monitor.app.recording import Recording
from monitor.app.report import RunReport
from monitor.app.searching import SearchDesk
from monitor.app.standing import StandingSearch
from monitor.app.sweeps import SweepDesk
from monitor.domain.alarms import AlarmNote
from monitor.domain.reading import SectionPlan
from monitor.domain.tables import CandidateRecord, Source
from monitor.errors import WorkFailed
from monitor.evidence.records import Records
from monitor.evidence.storage import Storage
from monitor.llm.client import ModelServer
from monitor.net.client import HttpClient
from monitor.pages.documents import Documents
from monitor.pages.loader import Loader
from monitor.ports import ChatModel
from monitor.retrieval.folder import BundleFolder
from monitor.retrieval.scoring import Scoring
from monitor.search.archive_search import ArchiveSearch
from monitor.search.opening import Backends
from monitor.settings import LlmSettings, Settings
from monitor.store import Store
from monitor.sweep.agent import Agent, AgentResult
from monitor.sweep.fallbacks import Fallbacks
from monitor.sweep.parts import CrawlParts, toolbox_for
from monitor.sweep.summarise import Summaries
from monitor.sweep.window import window_of
from monitor.work.presence import HeartbeatPresence
from monitor.work.steps import DirectSteps
from monitor.work.triggers import CronSchedules

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
    """Keeps the alarms that it is handed; while it `is_down` none arrives (`ports.Notifier`)."""

    def __init__(self) -> None:
        self.received: list[AlarmNote] = []
        self.is_down = False

    async def notify(self, alarms: Sequence[AlarmNote]) -> None:
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
    """One section, `/news/`, of a served site, and the desk that sweeps it."""

    site: Any
    store: Store
    desk: SweepDesk
    clock: MovableClock
    settings: Settings
    health: HealthDesk
    notices: "Notices"
    standing: StandingSearch
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
        return await self.desk.sweep(source, **options)

    async def ledger(self, run: RunReport) -> dict[int, CandidateRecord]:
        rows = await self.store.runs.ledger(run.run_id)
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


@asynccontextmanager
async def standing_search(store: Store, settings: Settings, clock: MovableClock) -> AsyncIterator[StandingSearch]:
    """The searches of `query` sources, joined as the program joins them."""
    archive = ArchiveSearch(fulltext=store.fulltext, weigh=lambda relevance, *_: relevance)
    backends = Backends(
        settings=settings,
        searches=store.searches,
        archive=archive,
        clock=clock,
        new_client=lambda: HttpClient(network=settings.network, max_bytes=settings.pages.max_bytes),
    )
    scoring = Scoring(settings.search.weights, settings.retrieval)
    try:
        yield StandingSearch(
            gather=SearchDesk(settings=settings, over=backends.over).for_gathering,
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
            pages=settings.pages, network=settings.network, clock=movable_clock, cache_folder=tmp_path / "cache"
        ) as loader,
        standing_search(store, settings, movable_clock) as standing,
    ):
        await store.check()

        async def new_model(run_id: str, run_store: Store) -> ChatModel | None:
            return models[0](run_id, run_store) if models else None

        notices = Notices()
        health = HealthDesk(
            store=store, clock=movable_clock, timezone=settings.timezone, notifier=notices, schedules=CronSchedules()
        )
        presence = HeartbeatPresence(store=store, clock=movable_clock, folder=tmp_path, executor_id=None)
        recording = Recording(
            records=Records(store=store, storage=Storage(str(tmp_path))),
            settings=settings,
            clock=movable_clock,
            new_loader=loader.for_run,
            new_model=new_model,
            new_prompts=PromptDesk(store=store, clock=movable_clock).in_force,
        )
        desk = SweepDesk(
            store=store,
            settings=settings,
            clock=movable_clock,
            documents=Documents(),
            steps=DirectSteps(),
            presence=presence,
            health=health,
            recording=recording,
            standing=standing,
        )
        yield Bureau(site, store, desk, movable_clock, settings, health, notices, standing)


class CannedModel:
    """A chat-completions server that gives the answers of a list, then `otherwise`, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
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

    def says(self, text: str) -> None:
        """The next answer: a text."""
        self.answers.append({"role": "assistant", "content": text})

    def results(self) -> list[Any]:
        """What the tools answered, as the latest request shows it."""
        return [message["content"] for message in self.requests[-1]["messages"] if message["role"] == "tool"]

    def sizes(self) -> list[int]:
        """Contents and tool arguments of each request, in characters."""
        return [sum(_weight(message) for message in request["messages"]) for request in self.requests]

    def answer(self, body: bytes) -> str:
        self.requests.append(json.loads(body))
        message = self.answers.pop(0) if self.answers else self.otherwise
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
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
    server = ModelServer(LlmSettings(enabled=True, base_url=site.url("/v1"), max_retries=0))
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
        loader = Loader.from_settings(pages=bureau.settings.pages, network=bureau.settings.network, clock=bureau.clock)
        async with loader:
            shared = {
                "store": bureau.store,
                "loader": loader,
                "documents": Documents(),
                "limits": bureau.settings.sweep,
            }
            fallbacks = Fallbacks(run_id="r", store=bureau.store, clock=bureau.clock)
            summaries = Summaries(source=source, model=None, folder=tmp_path, fallbacks=fallbacks, **shared)
            parts = CrawlParts(
                model=models[0]("r", bureau.store),
                clock=bureau.clock,
                folder=tmp_path,
                fallbacks=fallbacks,
                summaries=summaries,
                **shared,
            )
            plan = SectionPlan(ordinal=0, name=source.name, url=source.url)
            window = window_of(today=bureau.clock.today, days=7)
            toolbox = toolbox_for(plan, source=source, run_id="r", window=window, memory=None, parts=parts)
            agent = Agent(model=parts.model, toolbox=toolbox, limits=parts.limits, place="site")
            return await agent.run_agent(source)

    return run
