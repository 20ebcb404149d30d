"""The page loader: what one run asks for, wherever it is led, and each page once."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from weakref import WeakSet

from monitor.clock import Clock
from monitor.config.model import NetworkSettings, PagesSettings, Settings
from monitor.errors import WorkFailed
from monitor.extract.attachments import detect_extension
from monitor.extract.feeds import merge_sitemaps, select_newest_sitemaps
from monitor.fetch.guard import Guard
from monitor.fetch.result import FetchError, Recorder, Transport
from monitor.fetch.transport import SiteTransport
from monitor.i18n.message import Message
from monitor.page import Page, PageError, PageErrorCode
from monitor.pages.strategy import FetchStrategy, ParsedResponse, reject_shell
from monitor.urls import clean_url
from monitor.vocabulary import Render

_MAX_PAGES = 200


class PageCache:
    """The latest pages, each under its url and under the one where its redirects ended; a failure is not remembered."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def get(self, address: str, render: Render) -> Page | None:
        """The page at `address`, under that name; a drawn one where drawing is asked for."""
        page = self._pages.get(address)
        if page is None or (render is Render.ALWAYS and not page.rendered):
            return None
        self._pages.move_to_end(address)
        return page if page.url == address else page.model_copy(update={"url": address})

    def add(self, page: Page) -> None:
        """Keeps the page, and lets go of the one that was not asked for longest."""
        if page.error is not None:
            return
        for address in (page.final_url, page.url):
            self._pages[address] = page
            self._pages.move_to_end(address)
        while len(self._pages) > _MAX_PAGES:
            self._pages.popitem(last=False)


class PageLoader(Protocol):
    """Loads pages. Never raises for what the outside does: a page that cannot be seen says so in its `error`."""

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`, over HTTP or drawn in the browser."""
        ...

    async def download(self, url: str, folder: Path) -> Path:
        """Keep the document at `url` in `folder`, under a name that is ours; `WorkFailed` where that fails."""
        ...

    def can_render(self) -> bool:
        """Whether there is a browser to draw with."""
        ...

    def notes(self) -> Mapping[str, Message]:
        """What the run should say about getting there, by url: a robots.txt that could not be read, for one."""
        ...


_MAX_PAGE_REDIRECTS = 5


class Loader:
    """Loads pages and documents (`ports.PageLoader`).

    What was loaded each loader has for itself, so one loader is one run: `for_run` gives the next. Closing the first
    loader closes what it asks.
    """

    def __init__(self, *, pages: PagesSettings, clock: Clock, guard: Guard, transport: Transport) -> None:
        self._pages = pages
        self._clock = clock
        self._guard = guard
        self._transport = transport
        self._page_cache = PageCache()
        self._strategy = FetchStrategy(transport)

    @classmethod
    def from_settings(
        cls,
        *,
        pages: PagesSettings,
        network: NetworkSettings,
        clock: Clock,
        cache_folder: Path | None = None,
        own_hosts: Collection[str] = (),
    ) -> Self:
        """A loader that asks the sites; what is to outlive the process is kept in `cache_folder`, if there is one.

        `own_hosts` are those that this process itself serves, which may be asked too.
        """
        guard = Guard(allowed_private_hosts=network.allowed_private_hosts, own_hosts=own_hosts)
        sites = SiteTransport.from_settings(
            pages=pages, network=network, clock=clock, guard=guard, cache_folder=cache_folder
        )
        return cls(pages=pages, clock=clock, guard=guard, transport=sites)

    def for_run(self, recorder: Recorder | None = None) -> "Loader":
        """A loader that asks the same and remembers no page yet, its sightings kept; it needs no closing."""
        return Loader(
            pages=self._pages, clock=self._clock, guard=self._guard, transport=self._transport.for_run(recorder)
        )

    def can_render(self) -> bool:
        """Whether there is a browser to draw with."""
        return self._transport.can_render()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops the browser and closes all connections."""
        await self._transport.close()

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`; what went wrong outside is its `error`. `BrowserMissing` where one is needed for sure.

        `Render.AUTO` leaves the choice to the setting `pages.render`. A page already loaded by this loader, under
        this url or as the end of a redirect, is not asked for again. Where a page only points to another one, that
        one is loaded, under the same rules; `final_url` says where it ended.
        """
        address = clean_url(url)
        if address is None:
            return Page(url=url, final_url=url, fetched_at=self._clock.now(), error=await self._find_refusal(url))
        mode = Render(self._pages.render) if render is Render.AUTO else render
        page = self._page_cache.get(address, mode)
        if page is None:
            loaded = await self._follow_redirects(address, mode)
            page = await self._load_sitemaps(loaded.page, mode) if loaded.is_sitemap_index else reject_shell(loaded)
            page = page.model_copy(update={"url": address})
            self._page_cache.add(page)
        return page

    async def download(self, url: str, folder: Path) -> Path:
        """Keeps the document at `url` in `folder`; `WorkFailed` says why it could not.

        The name is made of its content and of a kind from a closed list: nothing that the page says can lead a file
        out of its folder or make it a program. One that this run or an earlier one has seen is not carried again as
        long as the site says that it is the same.
        """
        address = clean_url(url)
        sighting = None if address is None else await self._strategy.fetch_document(address)
        error = await self._find_refusal(url) if sighting is None else sighting.error
        if error is not None or sighting is None:
            raise WorkFailed("cause.download", url=url[:300], reason=error and error.message)
        body = sighting.body or b""
        extension = detect_extension(body, url=sighting.final_url, content_type=sighting.content_type)
        name = f"{hashlib.sha256(body).hexdigest()[:16]}.{extension}"
        return await asyncio.to_thread(_write_file, folder, name, body)

    def notes(self) -> Mapping[str, Message]:
        """What this run should say about getting there, by url: a robots.txt that could not be read."""
        return self._strategy.notes()

    async def _follow_redirects(self, address: str, render: Render) -> ParsedResponse:
        """What stands where signposts and frames end."""
        loaded = await self._strategy.fetch_page(address, render)
        visited = {address, loaded.page.final_url}
        for _ in range(_MAX_PAGE_REDIRECTS):
            target = loaded.redirect_url or loaded.frame_url
            if loaded.page.error is not None or target is None:
                break
            if target in visited:
                # Signposts in a circle: a wall that sets a cookie on the way, which a browser may pass.
                if render is Render.AUTO and not loaded.page.rendered:
                    loaded = await self._strategy.render_if_possible(address) or loaded
                break
            visited.add(target)
            found = await self._strategy.fetch_page(target, render)
            if loaded.redirect_url is None and not _has_more_content(found.page, loaded.page):
                break
            loaded = found
            visited.add(loaded.page.final_url)
        return loaded

    async def _load_sitemaps(self, index: Page, render: Render) -> Page:
        """A sitemap index with the entries of its newest sitemaps; what was not read of it is noted."""
        urls, others = select_newest_sitemaps(index)
        sitemaps = [(await self._strategy.fetch_page(url, render)).page for url in urls]
        for sitemap in sitemaps:
            if sitemap.error is not None:
                note = Message.of("cause.sitemap_unread", reason=sitemap.error.message)
                self._strategy.add_note(sitemap.url, note)
        if others:
            self._strategy.add_note(index.url, Message.of("cause.sitemaps_left", count=others))
        return merge_sitemaps(index, sitemaps)

    async def _find_refusal(self, url: str) -> PageError:
        """Why a url that has no clean form is not loaded."""
        try:
            await self._guard.check(url, may_be_unresolved=True)
        except FetchError as failure:
            return failure.error
        return PageError(code=PageErrorCode.INVALID_URL, message=Message.of("page.invalid_url", url=url[:200]))


def _has_more_content(framed: Page, around: Page) -> bool:
    """Whether a frame holds what its page is about."""
    if framed.error is not None:
        return False
    return len(framed.candidates) > len(around.candidates) or len(framed.text) > len(around.text)


def _write_file(folder: Path, name: str, body: bytes) -> Path:
    """Written under another name first, so that a file under its own name is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    part = folder / f"{name}.part"
    part.write_bytes(body)
    return part.replace(path)


class LoaderPool:
    """Gives each run a loader of its own, made as the settings of the moment want it.

    Runs share browser and connections. When `pages` or `network` is set otherwise, the next run gets new ones, and the
    earlier ones are closed as soon as no run holds them any more.
    """

    def __init__(self, *, settings: Settings, clock: Clock, cache_folder: Path | None) -> None:
        self._settings = settings
        self._clock = clock
        self._cache_folder = cache_folder
        self._own_hosts: set[str] = set()
        self._current_settings: object = None
        self._shared: list[tuple[Loader, WeakSet[Loader]]] = []

    def for_run(self, recorder: Recorder | None = None) -> Loader:
        """A loader for one run, its sightings kept by `recorder`; it needs no closing."""
        pages, network = self._settings.pages, self._settings.network
        if self._current_settings != (pages, network):
            first = Loader.from_settings(
                pages=pages,
                network=network,
                clock=self._clock,
                cache_folder=self._cache_folder,
                own_hosts=self._own_hosts,
            )
            self._shared.append((first, WeakSet()))
            self._current_settings = (pages, network)
        first, runs = self._shared[-1]
        loader = first.for_run(recorder)
        runs.add(loader)
        return loader

    def allow_host(self, host: str) -> None:
        """Let runs ask a `host:port` of loopback that this process itself serves, whatever the settings say."""
        self._own_hosts.add(host)

    def disallow_host(self, host: str) -> None:
        """That it is served no more."""
        self._own_hosts.discard(host)

    @property
    def open_count(self) -> int:
        """How many sets of browser and connections there are: more than one while runs of earlier settings last."""
        return len(self._shared)

    async def close_unused(self) -> None:
        """Close what only runs of earlier settings used, and none uses any more."""
        unused = [one for one in self._shared[:-1] if not one[1]]
        self._shared = [one for one in self._shared if one not in unused]
        for first, _ in unused:
            await first.close()

    async def close(self) -> None:
        """Stop all browsers and close all connections."""
        for first, _ in self._shared:
            await first.close()
