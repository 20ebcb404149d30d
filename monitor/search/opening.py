"""From the settings to web.search: the backends that are asked, each with its way out."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

from monitor.net.client import HttpClient
from monitor.net.politeness import Politeness
from monitor.ports import Clock, SearchBackend, WebSearch
from monitor.search.archive_search import ArchiveSearch
from monitor.search.backends import baidu_html, bocha, brave, ddg_html, tavily
from monitor.search.backends.archive import ArchiveBackend
from monitor.search.backends.baidu_html import BaiduHtmlBackend
from monitor.search.backends.bocha import BochaBackend
from monitor.search.backends.brave import BraveBackend
from monitor.search.backends.ddg_html import DdgHtmlBackend
from monitor.search.backends.searxng import SearxngBackend
from monitor.search.backends.stub import StubBackend
from monitor.search.backends.tavily import TavilyBackend
from monitor.search.keeping import KeptPages
from monitor.search.merge import Merged
from monitor.search.provider import Provider
from monitor.search.remembering import RememberingBackend
from monitor.search.service import Reach, Service
from monitor.settings import Settings
from monitor.store.searches import Searches

_SERVICES: Mapping[str, Callable[[Service], SearchBackend]] = {
    "ddg_html": DdgHtmlBackend,
    "baidu_html": BaiduHtmlBackend,
    "searxng": SearxngBackend,
    "bocha": BochaBackend,
    "brave": BraveBackend,
    "tavily": TavilyBackend,
}
_ADDRESSES = {
    "ddg_html": ddg_html.ADDRESS,
    "baidu_html": baidu_html.ADDRESS,
    "bocha": bocha.ADDRESS,
    "brave": brave.ADDRESS,
    "tavily": tavily.ADDRESS,
}
_FOR_PEOPLE = ("ddg_html", "baidu_html")


class Backends:
    """All backends as the settings reach them. Nothing is opened before a service is first asked."""

    def __init__(
        self,
        *,
        settings: Settings,
        searches: Searches,
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
        self._client_of: object = None
        self._politeness: Politeness | None = None

    def over(self, names: Sequence[str]) -> WebSearch:
        providers = [Provider(self.backend(name), timeout_s=self._timeout_s(name)) for name in names]
        return providers[0] if len(providers) == 1 else Merged(providers)

    def backend(self, name: str) -> SearchBackend:
        """One backend; answers of services serve again for the lifetime that is set."""
        if name == "stub":
            return StubBackend()
        if name == "archive":
            return ArchiveBackend(search=self._archive, clock=self._clock)
        address = _ADDRESSES.get(name)
        service = Service(name, self._reach, address=address, is_for_people=name in _FOR_PEOPLE)
        backend = _SERVICES[name](service)
        search = self._settings.search
        if not search.cache_s:
            return backend
        return RememberingBackend(
            backend,
            address=search.of(name).base_url or address or "",
            answers=self._searches,
            lifetime=dt.timedelta(seconds=search.cache_s),
            clock=self._clock,
        )

    async def close(self) -> None:
        """Close the connections, where any were opened."""
        for client in self._clients:
            await client.close()

    def _timeout_s(self, name: str) -> float:
        return self._settings.search.timeout_s(name) or self._settings.network.timeout_s

    @property
    def _reach(self) -> Reach:
        """The way out, as the settings of the moment have it; a search under way goes on by the one it began with."""
        settings = self._settings
        politeness = self._way_out(settings)
        return Reach(
            settings=settings.search,
            network=settings.network,
            timezone=settings.timezone,
            client=self._clients[-1],
            politeness=politeness,
            ledger=self._searches,
            pages=KeptPages(settings.data_dir / "debug" / "search"),
            clock=self._clock,
        )

    def _way_out(self, settings: Settings) -> Politeness:
        if self._politeness is None or self._client_of != (settings.pages, settings.network):
            self._client_of = (settings.pages, settings.network)
            self._clients.append(self._new_client())
            # What robots.txt says is for programs that gather pages; a person's question is asked at a person's pace.
            manners = settings.pages.model_copy(update={"respect_robots": False})
            self._politeness = Politeness(client=self._clients[-1], pages=manners)
        return self._politeness
