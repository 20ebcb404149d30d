"""Search services on loopback, each speaking its own wire format, and the backends that ask them."""

import datetime as dt
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.search_services import SIMULATED_BACKENDS, SimulatedResult
from monitor.config.model import BACKENDS, Settings
from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.tables.collection import Item
from monitor.demo.serving import LoopbackResponse
from monitor.fetch.client import HttpClient
from monitor.search.backends.archive import ArchiveSearch
from monitor.search.contract import SearchQuery, ToolResult
from monitor.search.registry import SearchBackends

NOW = dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)


async def at_once(pause_s: float) -> None:
    """What the client does between two tries."""


class MovedClock:
    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> dt.datetime:
        return self.at


@dataclass
class Searching:
    """The backends over a real database, with `asked_at` telling each where its service is."""

    store: Store
    folder: Path
    clock: MovedClock
    settings: dict[str, Any] = field(default_factory=dict)
    opened: list[SearchBackends] = field(default_factory=list)

    def asked_at(self, name: str, url: str, **settings: Any) -> None:
        parts = urlsplit(url)
        self.settings.setdefault("backends", {})[name] = {"base_url": f"{parts.scheme}://{parts.netloc}", **settings}

    def open(self, network: dict[str, Any] | None = None) -> SearchBackends:
        hosts = [urlsplit(setting["base_url"]).netloc for setting in self.settings.get("backends", {}).values()]
        settings = Settings(
            data_dir=self.folder,
            search={"cache_s": 0, **self.settings},
            pages={"delay_s": 0},
            network={"allowed_private_hosts": hosts, "timeout_s": 10, **(network or {})},
        )
        archive = ArchiveSearch(fulltext=self.store.fulltext, score_item=lambda relevance, *_: relevance)
        backends = SearchBackends(
            settings=settings,
            searches=self.store.searches,
            archive=archive,
            clock=self.clock,
            new_client=lambda: HttpClient(network=settings.network, sleep=at_once),
        )
        self.opened.append(backends)
        return backends

    async def found(self, *names: str, text: str = "光伏", limit: int = 10, **options: Any) -> ToolResult:
        return await self.open().build_search(names).search(SearchQuery(text=text, **options), limit)

    async def gather(self, results: Sequence[SimulatedResult]) -> None:
        """Put results into the archive as items."""
        for number, result in reversed(list(enumerate(results))):
            item = Item(
                run_id="r",
                source="s",
                section="s",
                url=result.url,
                url_key=str(number),
                title=result.title,
                summary=result.snippet,
                date=result.day,
                first_seen=NOW - dt.timedelta(minutes=number),
            )
            await self.store.items.save(item)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("searches") / "monitor.db"
    migrate.upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture
async def searching(empty_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Searching]:
    for name in BACKENDS:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", f"key-of-{name.upper()}_API_KEY")
    async with Store.open(f"sqlite:///{shutil.copy(empty_database, tmp_path)}") as store:
        searching = Searching(store, tmp_path, MovedClock())
        yield searching
        for backends in searching.opened:
            await backends.close()


@pytest.fixture
def services() -> dict[str, Any]:
    return {service.name: service for service in SIMULATED_BACKENDS}


@pytest.fixture(params=SIMULATED_BACKENDS, ids=lambda service: service.name)
def service(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def result() -> type[SimulatedResult]:
    return SimulatedResult


@pytest.fixture
def send(reply: Any) -> Callable[[LoopbackResponse], Any]:
    """An answer as a reply of the test's server."""

    def sent(answer: LoopbackResponse) -> Any:
        return reply(answer.body, answer.status, {"content-type": answer.content_type})

    return sent
