"""Researches put together from real parts: a site with pages and a search service, a scripted model, files."""

import datetime as dt
import json
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.collection import ModelCall
from monitor.evidence.passages import extract_all_text
from monitor.fetch.client import HttpClient
from monitor.fetch.result import FetchResult
from monitor.isolation.pool import WorkerPool
from monitor.llm.client import ModelClient
from monitor.pages.loader import Loader
from monitor.research.dependencies import ResearchDependencies
from monitor.research.shapes import SearchConfig
from monitor.search.backends.archive import ArchiveSearch
from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.registry import SearchBackends
from tests.conftest import name_services
from tests.folder_notebook import FolderNotebook

QUESTION = "2026年新型储能的发展如何？"
NOON = dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)


@dataclass
class KeptResults:
    """Keeps what a research sees, for as long as a test lasts."""

    kept: list[FetchResult] = field(default_factory=list)

    async def keep(self, result: FetchResult) -> str:
        self.kept.append(result)
        return str(len(self.kept) - 1)

    async def text(self, record: str) -> str | None:
        return extract_all_text(self.kept[int(record)])


@dataclass
class Lab:
    """A site with pages, found by a search service that speaks Tavily's wire format, and what works on them."""

    site: Any
    folder: Path
    store: Store
    clock: Any
    network: Any
    reply: Any
    stack: AsyncExitStack
    workers: WorkerPool
    results: list[dict[str, Any]] = field(default_factory=list)
    model: ScriptedModel | None = None
    calls: list[ModelCall] = field(default_factory=list)
    kept_results: KeptResults = field(default_factory=KeptResults)

    def page(self, path: str, title: str, *sentences: str, day: str = "2026-11-20") -> str:
        """Serve a page and let the search find it."""
        paragraphs = "".join(f"<p>{sentence}</p>" for sentence in sentences)
        head = f"<html><head><title>{title}</title><meta name='PubDate' content='{day}'></head>"
        url = self.site.on(path, f"{head}<body><h1>{title}</h1><div class='article'>{paragraphs}</div></body></html>")
        self.results.append({"title": title, "url": url, "content": sentences[0][:80], "published_date": day})
        return str(url)

    @property
    def searches(self) -> list[dict[str, Any]]:
        """The documents that the search was asked with."""
        return [json.loads(entry.body) for entry in self.site.asked if entry.path == "/search"]

    def pages_asked(self) -> list[str]:
        return [entry.path for entry in self.site.asked if entry.path not in ("/search", "/robots.txt", "/favicon.ico")]

    async def parts(self, **given: Any) -> ResearchDependencies:
        """The parts of a research; each call makes them anew, over the same folder and the same site."""
        settings = Settings(
            data_dir=self.folder,
            network={"allowed_private_hosts": self.network.allowed_private_hosts},
            pages={"delay_s": 0, "render": "never", "respect_robots": False},
            search={"cache_s": 0, "backend": "tavily", "backends": {"tavily": {"base_url": self.site.url("")}}},
            research=given.pop("limits", {}),
        )
        archive = ArchiveSearch(fulltext=self.store.fulltext, score_item=lambda relevance, *_: relevance)
        backends = SearchBackends(
            settings=settings,
            searches=self.store.searches,
            archive=archive,
            clock=self.clock,
            new_client=lambda: HttpClient(network=settings.network),
        )
        self.stack.push_async_callback(backends.close)
        loader = Loader.from_settings(
            pages=settings.pages, network=settings.network, clock=self.clock, workers=self.workers
        )
        self.stack.push_async_callback(loader.close)
        parts = {
            "task_id": "t1",
            "query": QUESTION,
            "language": "zh",
            "model": await self._model(),
            "search": backends.build_search(["tavily"]),
            "pages": loader.for_run(self.kept_results),
            "notebook": FolderNotebook(self.folder / "notebook"),
            "workers": self.workers,
            "bundles": BundleFolder(self.folder / "bundles"),
            "scoring": ResultScorer(settings.search.weights, settings.retrieval),
            "clock": self.clock,
            "limits": settings.research,
            "config": SearchConfig(),
            "kept_text": self.kept_results.text,
        }
        return ResearchDependencies(**{**parts, **given})

    async def _model(self) -> Any:
        if self.model is None:
            return None

        async def record(row: ModelCall) -> None:
            self.calls.append(row)

        url = await self.stack.enter_async_context(self.model.serve())
        server = ModelClient(LlmSettings(base_url=url, max_retries=0), name_services(url))
        self.stack.push_async_callback(server.close)
        return server.for_run("t1", record=record, clock=self.clock)


class Steady:
    def now(self) -> dt.datetime:
        return NOON


@asynccontextmanager
async def _open(
    site: Any, network: Any, reply: Any, sqlite_template: Path, folder: Path, workers: WorkerPool
) -> AsyncIterator[Lab]:
    url = f"sqlite:///{shutil.copy(sqlite_template, folder)}"
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(Store.open(url))
        lab = Lab(site, folder, store, Steady(), network, reply, stack, workers)

        def found(asked: Any) -> Any:
            document = {"query": "q", "results": lab.results[: json.loads(asked.body)["max_results"]]}
            return reply(json.dumps(document), 200, {"content-type": "application/json"})

        site.on("/search", found)
        yield lab


@pytest.fixture
async def lab(
    site: Any,
    network: Any,
    reply: Any,
    sqlite_template: Path,
    tmp_path: Path,
    workers: WorkerPool,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Lab]:
    monkeypatch.setenv("TAVILY_API_KEY", "a-key-for-the-test")
    async with _open(site, network, reply, sqlite_template, tmp_path, workers) as opened:
        yield opened


@pytest.fixture
def storage(lab: Lab) -> Lab:
    """Four pages on energy storage, one of which is gone."""
    lab.page(
        "/news/a",
        "新型储能装机再创新高",
        "国家能源局11月18日发布数据，截至2026年9月底，全国新型储能装机规模达到1.2亿千瓦，同比增长45%。",
        "其中锂离子电池储能占比为92.5%，压缩空气储能发展较快。",
        "业内人士认为，储能的商业模式仍在探索之中，需要完善价格机制。",
    )
    lab.page(
        "/policy/b",
        "关于促进新型储能并网和调度运用的通知",
        "《关于促进新型储能并网和调度运用的通知》（发改能源〔2026〕118号）自2026年7月1日起施行。",
        "通知要求电网企业优化调度，对新型储能的现状与政策衔接作出安排，年度等效利用小时数不低于1000小时。",
    )
    lab.page(
        "/study/c",
        "储能产业研究",
        "研究显示，2026年前三季度新型储能项目投资达到860亿元，比上年同期增加三成。",
        "储能对电力系统的影响主要体现在调峰和备用两个方面。",
    )
    lab.results.append(
        {"title": "没有了的页面", "url": lab.site.url("/gone"), "content": "储能趋势", "published_date": ""}
    )
    return lab


@pytest.fixture
def planned() -> Callable[..., Any]:
    """A plan of so many paragraphs, kept in a notebook."""

    async def plan(parts: ResearchDependencies, *titles: str) -> Any:
        from monitor.research.shapes import PlanParagraph
        from monitor.research.state import State

        state = State.create(parts.query, at=parts.clock.now())
        state.apply_plan(
            "新型储能",
            [PlanParagraph(title=title, content=f"{title}：新型储能装机和政策的数据与文件。") for title in titles],
        )
        await parts.notebook.save_plan(state)
        return state

    return plan


@dataclass
class ProgressLog:
    """Takes down what an agent tells."""

    reported: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)

    async def __call__(self, share: float, **payload: Any) -> None:
        self.reported.append((share, payload))

    def nodes(self) -> list[str]:
        return [payload["metadata"]["node"] for _, payload in self.reported]


@pytest.fixture
def progress_log() -> ProgressLog:
    return ProgressLog()
