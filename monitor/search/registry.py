"""From the settings to web.search: the backends that are asked, each with its way out."""

import datetime as dt
import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from pydantic import TypeAdapter

from monitor.clock import Clock
from monitor.config.model import BACKENDS, SearchSettings, Settings
from monitor.db.queries.usage import SearchStore
from monitor.db.sessions import sanitize_text
from monitor.db.tables.research import SearchAnswer
from monitor.fetch.client import HttpClient
from monitor.fetch.politeness import Politeness
from monitor.search.backends import baidu_html, bocha, brave, ddg_html, tavily
from monitor.search.backends.archive import ArchiveBackend, ArchiveSearch
from monitor.search.backends.baidu_html import BaiduHtmlBackend
from monitor.search.backends.bocha import BochaBackend
from monitor.search.backends.brave import BraveBackend
from monitor.search.backends.ddg_html import DdgHtmlBackend
from monitor.search.backends.searxng import SearxngBackend
from monitor.search.backends.stub import StubBackend
from monitor.search.backends.tavily import TavilyBackend
from monitor.search.contract import SearchBackend, SearchQuery, SearchResults, WebSearch
from monitor.search.merge import BackendSearch, MergedSearch
from monitor.search.service import BackendClient, BackendClientDependencies, DebugPageStore

STUB_BACKEND = "stub"
ARCHIVE_BACKEND = "archive"
_BACKENDS_WITH_KEY = ("bocha", "brave", "tavily")

ARCHIVE_ONLY_WARNING = (
    "No backend that searches the web is set, so only what was gathered so far is searched: set search.backend."
)


@dataclass(frozen=True, slots=True)
class BackendSelection:
    """Names of backends, and what should be said about how they came about."""

    names: Sequence[str]
    warnings: Sequence[str] = ()


def select_backends(settings: SearchSettings) -> BackendSelection:
    """The backends of the settings; an unknown name is warned of, and without any other the stub takes its place."""
    known = [name for name in settings.backend_names if name in BACKENDS]
    unknown = [name for name in settings.backend_names if name not in BACKENDS]
    instead = "it is left out" if known else "the stub takes its place, which finds nothing real"
    return BackendSelection(
        names=known or [STUB_BACKEND], warnings=[f"{describe_unknown_backend(name)}; {instead}." for name in unknown]
    )


def select_content_backends(settings: SearchSettings) -> BackendSelection:
    """The backends whose results may become items, notes or sources: never the stub; without others, the archive."""
    choice = select_backends(settings)
    real = [name for name in choice.names if name != STUB_BACKEND]
    return (
        BackendSelection(real, choice.warnings)
        if real
        else BackendSelection([ARCHIVE_BACKEND], [*choice.warnings, ARCHIVE_ONLY_WARNING])
    )


def find_missing_setting(settings: SearchSettings, name: str) -> str | None:
    """What a backend cannot do without and does not have, and where that is set; None where nothing is missing."""
    if name in _BACKENDS_WITH_KEY and settings.get_key(name) is None:
        return f"{name} has no key: set the environment variable {settings.get_key_variable(name)}"
    if name == "searxng" and settings.get_backend(name).base_url is None:
        return "searxng has no address: set search.backends.searxng.base_url or SEARXNG_BASE_URL"
    return None


def describe_unknown_backend(name: str) -> str:
    """What is wrong with a name, with the nearest that would be right."""
    near = difflib.get_close_matches(name, BACKENDS, n=1)
    meant = f"did you mean {near[0]}?" if near else f"known are {', '.join(BACKENDS)}"
    return f"There is no search backend {name!r} ({meant})"


_FINDINGS_ADAPTER = TypeAdapter(SearchResults)
_UNCACHED_FIELDS = {"trace_id", "budget_ms"}  # they name and bound a request, and change nothing in its answer


class CachingBackend:
    """Another backend, its whole answers kept (`ports.SearchBackend`); errors and parts of answers are not.

    `address` is where that backend asks: an answer of one place is none of another.
    """

    def __init__(
        self, backend: SearchBackend, *, base_url: str, cache: SearchStore, lifetime: dt.timedelta, clock: Clock
    ) -> None:
        self._backend = backend
        self._base_url = base_url
        self._cache = cache
        self._lifetime = lifetime
        self._clock = clock

    @property
    def name(self) -> str:
        """The name of the other backend."""
        return self._backend.name

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """What was found within the lifetime, else what is found now."""
        key = self.build_key(query, limit)
        kept = await self._cache.get_answer(key, not_before=self._clock.now() - self._lifetime)
        if kept is not None:
            return _FINDINGS_ADAPTER.validate_python(kept)
        findings = await self._backend.search(query, limit)
        if findings.cut_short is None:
            now = self._clock.now()
            told = json.loads(
                sanitize_text(json.dumps(_FINDINGS_ADAPTER.dump_python(findings, mode="json"), ensure_ascii=False))
            )
            answer = SearchAnswer(key=key, at=now, findings=told)
            await self._cache.save_answer(answer, not_before=now - self._lifetime)
        return findings

    def build_key(self, query: SearchQuery, limit: int) -> str:
        """What an answer is kept under: everything that changes it."""
        asked = query.model_dump(mode="json", exclude=_UNCACHED_FIELDS)
        document = [self.name, self._base_url, limit, asked]
        return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


_BACKEND_CLASSES: Mapping[str, Callable[[BackendClient], SearchBackend]] = {
    "ddg_html": DdgHtmlBackend,
    "baidu_html": BaiduHtmlBackend,
    "searxng": SearxngBackend,
    "bocha": BochaBackend,
    "brave": BraveBackend,
    "tavily": TavilyBackend,
}

_DEFAULT_BASE_URLS = {
    "ddg_html": ddg_html.DEFAULT_BASE_URL,
    "baidu_html": baidu_html.DEFAULT_BASE_URL,
    "bocha": bocha.DEFAULT_BASE_URL,
    "brave": brave.DEFAULT_BASE_URL,
    "tavily": tavily.DEFAULT_BASE_URL,
}

_HTML_BACKENDS = ("ddg_html", "baidu_html")


class SearchBackends:
    """All backends as the settings reach them. Nothing is opened before a service is first asked."""

    def __init__(
        self,
        *,
        settings: Settings,
        searches: SearchStore,
        archive: ArchiveSearch,
        new_client: Callable[[], HttpClient],
        clock: Clock,
    ) -> None:
        self._new_client = new_client
        self._settings = settings
        self._searches = searches
        self._archive = archive
        self._clock = clock
        self._clients: list[HttpClient] = []
        self._client_settings: object = None
        self._politeness: Politeness | None = None

    def build_search(self, names: Sequence[str]) -> WebSearch:
        providers = [BackendSearch(self.build_backend(name), timeout_s=self._timeout_s(name)) for name in names]
        return providers[0] if len(providers) == 1 else MergedSearch(providers)

    def build_backend(self, name: str) -> SearchBackend:
        """One backend; answers of services serve again for the lifetime that is set."""
        if name == "stub":
            return StubBackend()
        if name == "archive":
            return ArchiveBackend(search=self._archive, clock=self._clock)
        address = _DEFAULT_BASE_URLS.get(name)
        service = BackendClient(
            name, self._client_dependencies, default_base_url=address, is_html=name in _HTML_BACKENDS
        )
        backend = _BACKEND_CLASSES[name](service)
        search = self._settings.search
        if not search.cache_s:
            return backend
        return CachingBackend(
            backend,
            base_url=search.get_backend(name).base_url or address or "",
            cache=self._searches,
            lifetime=dt.timedelta(seconds=search.cache_s),
            clock=self._clock,
        )

    async def close(self) -> None:
        """Close the connections, where any were opened."""
        for client in self._clients:
            await client.close()

    def _timeout_s(self, name: str) -> float:
        return self._settings.search.get_timeout_s(name) or self._settings.network.timeout_s

    @property
    def _client_dependencies(self) -> BackendClientDependencies:
        """The way out, as the settings of the moment have it; a search under way goes on by the one it began with."""
        settings = self._settings
        politeness = self._prepare_client(settings)
        return BackendClientDependencies(
            settings=settings.search,
            network=settings.network,
            timezone=settings.timezone,
            client=self._clients[-1],
            politeness=politeness,
            ledger=self._searches,
            debug_pages=DebugPageStore(settings.data_dir / "debug" / "search"),
            clock=self._clock,
        )

    def _prepare_client(self, settings: Settings) -> Politeness:
        if self._politeness is None or self._client_settings != (settings.pages, settings.network):
            self._client_settings = (settings.pages, settings.network)
            self._clients.append(self._new_client())
            # What robots.txt says is for programs that gather pages; a person's question is asked at a person's pace.
            manners = settings.pages.model_copy(update={"respect_robots": False})
            self._politeness = Politeness(client=self._clients[-1], pages=manners)
        return self._politeness
