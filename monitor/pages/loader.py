"""Loads pages and documents for a run: follows redirects and frames, and fetches each page once."""

import asyncio
import datetime as dt
import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from weakref import WeakSet

from monitor.clock import Clock
from monitor.config.model import NetworkSettings, PagesSettings, Settings
from monitor.config.rsshub import SCHEME
from monitor.config.secrets import get_host_and_port
from monitor.errors import WorkFailed
from monitor.extract.attachments import detect_extension
from monitor.fetch.guard import Guard
from monitor.fetch.log_in import LogIn
from monitor.fetch.politeness import HostBudget
from monitor.fetch.result import FetchError, FetchResult, Recorder, Transport
from monitor.fetch.session import LogInSession
from monitor.fetch.transport import SiteTransport
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.page import NO_HINTS, Candidate, Page, PageError, PageErrorCode, PageHints
from monitor.pages.parsing import PageTask, ParsedPages, ParsedResponse
from monitor.pages.strategy import FetchStrategy, reject_shell
from monitor.urls import clean_url
from monitor.vocabulary import FetchMode, Render

_MAX_PAGES = 200
_MAX_PAGE_REDIRECTS = 5
_MAX_SITEMAPS = 10


class PageLoader(Protocol):
    """Loads pages. A page that cannot be loaded has an `error`; nothing is raised for what a site does."""

    async def load(
        self, url: str, *, render: Render = Render.AUTO, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> Page:
        """Return the page at `url`, fetched over HTTP or rendered in the browser.

        `task` is done where the page is parsed, and its value is the page's `reading`, unless the page is remembered.
        """

    async def download(self, url: str, folder: Path) -> Path:
        """Save the document at `url` in `folder` under a name of ours; `WorkFailed` where that fails."""

    async def fetch_data(self, url: str) -> FetchResult:
        """Return what came of asking for data, as JSON or a feed, without cookies; a failure is its `error`."""
        ...

    def list_sitemaps(self, url: str) -> list[str]:
        """Return the sitemaps that the robots.txt of a site names, once something was loaded from it."""
        ...

    def can_render(self) -> bool: ...

    def notes(self) -> Mapping[str, Message]:
        """Return what the run should report about fetching, by url, such as an unreadable robots.txt."""
        ...


@dataclass(kw_only=True, eq=False)
class Loader:
    """A `PageLoader` for one run, with its own cache of pages; closing it closes the transport that the runs share.

    A run with a log-in has a `session`, which is to be opened before the first page is loaded, and closed in the end;
    without `sites`, as in a replay, there is none.
    """

    pages: PagesSettings
    clock: Clock
    guard: Guard
    transport: Transport
    workers: WorkerPool
    parsed: ParsedPages | None = None
    sites: SiteTransport | None = None
    session: LogInSession | None = None

    def __post_init__(self) -> None:
        # By url, and by the url where redirects ended, with what the caller knew of the page.
        self._latest: OrderedDict[tuple[str, PageHints], Page] = OrderedDict()
        self._strategy = FetchStrategy(self.transport, self.workers, self.parsed)

    @classmethod
    def from_settings(
        cls,
        *,
        pages: PagesSettings,
        network: NetworkSettings,
        clock: Clock,
        workers: WorkerPool,
        cache_folder: Path | None = None,
        own_hosts: Collection[str] = (),
        budget: HostBudget | None = None,
    ) -> Self:
        """Return a loader that fetches from the sites; `own_hosts` are private addresses that this process serves."""
        guard = Guard.from_settings(network, own_hosts=own_hosts)
        sites = SiteTransport.from_settings(
            pages=pages, network=network, clock=clock, guard=guard, cache_folder=cache_folder, budget=budget
        )
        parsed = None if cache_folder is None else ParsedPages(cache_folder)
        return cls(pages=pages, clock=clock, guard=guard, transport=sites, workers=workers, parsed=parsed, sites=sites)

    def for_run(self, recorder: Recorder | None = None, session: LogInSession | None = None) -> "Loader":
        """Return a loader with the same transport and an empty cache, its results recorded; it needs no closing.

        What is read with a `session` is not shared with other runs.
        """
        if session is None or self.sites is None:
            return replace(self, transport=self.transport.for_run(recorder))
        transport = session.build_transport(self.sites, recorder)
        return replace(self, transport=transport, session=session, parsed=None)

    def play(self, transport: Transport) -> None:
        """Load from now on through another transport, such as a recording in front of the one that is there."""
        self.transport = transport
        self._strategy = FetchStrategy(transport, self.workers, self.parsed)

    def can_render(self) -> bool:
        return self.transport.can_render()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.transport.close()
        if self.parsed is not None:
            await self.parsed.close()

    async def load(
        self, url: str, *, render: Render = Render.AUTO, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> Page:
        """Return the page at `url`, or where it redirects to. `BrowserMissing` if it needs a browser and there is none.

        `Render.AUTO` means the setting `pages.render`. A page that this loader has loaded before comes from its cache.
        """
        address = clean_url(url)
        if address is None:
            return Page(url=url, final_url=url, fetched_at=self.clock.now(), error=await self._find_refusal(url))
        mode = Render(self.pages.render) if render is Render.AUTO else render
        page = self._latest.get((address, hints))
        if page is not None and (page.rendered or mode is not Render.ALWAYS):
            self._latest.move_to_end((address, hints))
            return page if page.url == address else page.model_copy(update={"url": address})
        loaded = await self._follow_redirects(address, mode, task, hints)
        page = await self._load_sitemaps(loaded.page, mode) if loaded.is_sitemap_index else reject_shell(loaded)
        page = page.model_copy(update={"url": address})
        if page.error is None:
            self._remember(page, hints)
        return page

    def _remember(self, page: Page, hints: PageHints) -> None:
        for key in ((page.final_url, hints), (page.url, hints)):
            self._latest[key] = page
            self._latest.move_to_end(key)
        while len(self._latest) > _MAX_PAGES:
            self._latest.popitem(last=False)

    async def download(self, url: str, folder: Path) -> Path:
        """Save the document at `url` in `folder`; `WorkFailed` says why it could not.

        Its name is a hash with an extension from a closed list: a page cannot make it leave the folder or be a program.
        """
        address = clean_url(url)
        result = None if address is None else await self._strategy.fetch(address, FetchMode.DOCUMENT)
        error = await self._find_refusal(url) if result is None else result.error
        if error is not None or result is None:
            raise WorkFailed("cause.download", url=url[:300], reason=error and error.message)
        body = result.body or b""
        extension = await self.workers.run(
            detect_extension, body, url=result.final_url, content_type=result.content_type
        )
        name = f"{hashlib.sha256(body).hexdigest()[:16]}.{extension}"
        return await asyncio.to_thread(_write_file, folder, name, body)

    async def fetch_data(self, url: str) -> FetchResult:
        return await self._strategy.fetch(url, FetchMode.DATA)

    def list_sitemaps(self, url: str) -> list[str]:
        return self.transport.list_sitemaps(url)

    def notes(self) -> Mapping[str, Message]:
        return dict(self._strategy.notes)

    async def _follow_redirects(
        self, address: str, render: Render, task: PageTask | None, hints: PageHints
    ) -> ParsedResponse:
        """Return the page where redirects and frames end."""
        loaded = await self._strategy.fetch_page(address, render, task, hints)
        visited = {address, loaded.page.final_url}
        for _ in range(_MAX_PAGE_REDIRECTS):
            target = loaded.redirect_url or loaded.frame_url
            if loaded.page.error is not None or target is None:
                break
            if target in visited:
                # A redirect loop: perhaps a wall that sets a cookie, which a browser may pass.
                if render is Render.AUTO and not loaded.page.rendered:
                    loaded = await self._strategy.render_if_possible(address, task, hints) or loaded
                break
            visited.add(target)
            found = await self._strategy.fetch_page(target, render, task, hints)
            framed, around = found.page, loaded.page
            has_more = len(framed.candidates) > len(around.candidates) or len(framed.text) > len(around.text)
            if loaded.redirect_url is None and (framed.error is not None or not has_more):
                break
            loaded = found
            visited.add(loaded.page.final_url)
        return loaded

    async def _load_sitemaps(self, index: Page, render: Render) -> Page:
        """Return a sitemap index with the entries of its newest sitemaps; note what was not read."""
        urls, others = select_newest_sitemaps(index)
        sitemaps = [(await self._strategy.fetch_page(url, render)).page for url in urls]
        for sitemap in sitemaps:
            if sitemap.error is not None:
                self._strategy.notes[sitemap.url] = Message.of("cause.sitemap_unread", reason=sitemap.error.message)
        if others:
            self._strategy.notes[index.url] = Message.of("cause.sitemaps_left", count=others)
        return merge_sitemaps(index, sitemaps)

    async def _find_refusal(self, url: str) -> PageError:
        """Return why a url that cannot be normalized is not loaded."""
        if url.startswith(SCHEME):
            return PageError(code=PageErrorCode.INVALID_URL, message=Message("page.no_rsshub"))
        try:
            await self.guard.check(url)
        except FetchError as failure:
            if failure.error.code is not PageErrorCode.NETWORK:
                return failure.error
        return PageError(code=PageErrorCode.INVALID_URL, message=Message.of("page.invalid_url", url=url[:200]))


def _write_file(folder: Path, name: str, body: bytes) -> Path:
    """Write under a temporary name first, so that the file under its final name is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    part = folder / f"{name}.part"
    part.write_bytes(body)
    return part.replace(path)


@dataclass(kw_only=True)
class LoaderPool:
    """Gives each run a loader by the current settings; with changed ones the next run gets a new browser and client."""

    settings: Settings
    clock: Clock
    workers: WorkerPool
    cache_folder: Path | None
    budget: HostBudget | None = None

    def __post_init__(self) -> None:
        self._own_hosts: set[str] = set()
        self._current_settings: object = None
        self._shared: list[tuple[Loader, WeakSet[Loader]]] = []

    def for_run(self, recorder: Recorder | None = None, log_in: LogIn | None = None) -> Loader:
        """Return a loader for one run, its results recorded by `recorder`; only its session needs closing."""
        pages, network = self.settings.pages, self._get_network()
        if self._current_settings != (pages, network):
            first = Loader.from_settings(
                pages=pages,
                network=network,
                clock=self.clock,
                workers=self.workers,
                cache_folder=self.cache_folder,
                own_hosts=self._own_hosts,
                budget=self.budget,
            )
            self._shared.append((first, WeakSet()))
            self._current_settings = (pages, network)
        first, runs = self._shared[-1]
        session = None
        if log_in is not None:
            session = LogInSession(log_in=log_in, pages=pages, network=network, guard=first.guard)
        loader = first.for_run(recorder, session)
        runs.add(loader)
        return loader

    def _get_network(self) -> NetworkSettings:
        """The way out, to the RSSHub too that file or environment name: it may have a private address."""
        network, base_url = self.settings.network, self.settings.rsshub.base_url
        host = get_host_and_port(base_url) if base_url else None
        if host is None or host not in network.service_hosts:
            return network
        return network.model_copy(update={"allowed_private_hosts": [*network.allowed_private_hosts, host]})

    def allow_host(self, host: str) -> None:
        """Allow runs to fetch from a loopback `host:port` that this process serves, whatever the settings say."""
        self._own_hosts.add(host)

    @property
    def open_count(self) -> int:
        """The number of sets of browser and connections: more than one while runs with earlier settings last."""
        return len(self._shared)

    async def close_unused(self) -> None:
        """Close the browsers and connections of earlier settings that no run uses any more."""
        unused = [shared for shared in self._shared[:-1] if not shared[1]]
        self._shared = [shared for shared in self._shared if shared not in unused]
        for first, _ in unused:
            await first.close()

    async def close(self) -> None:
        for first, _ in self._shared:
            await first.close()


def select_newest_sitemaps(index: Page) -> tuple[list[str], int]:
    """Return the sitemaps of an index to read, newest first, and the number of others that may have newer entries.

    A sitemap that changed before the last of these has nothing newer; one without a date may have.
    """
    ordered = sorted(index.candidates, key=lambda sitemap: sitemap.date or dt.date.max, reverse=True)
    chosen, rest = ordered[:_MAX_SITEMAPS], ordered[_MAX_SITEMAPS:]
    return [sitemap.url for sitemap in chosen], sum(sitemap.date is None for sitemap in rest)


def merge_sitemaps(index: Page, sitemaps: Sequence[Page]) -> Page:
    """Return the index with the entries of its sitemaps; with the first one's error where none could be read."""
    found: dict[str, Candidate] = {}
    for sitemap in sitemaps:
        for candidate in sitemap.candidates:
            found.setdefault(candidate.url, candidate)
    error = sitemaps[0].error if sitemaps and all(sitemap.error for sitemap in sitemaps) else None
    return index.model_copy(update={"candidates": list(found.values()), "error": error})
