"""The page loader: what one run asks for, wherever it is led, and each page once."""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from monitor.domain.page import Page, PageErrorCode
from monitor.domain.urls import clean_url
from monitor.domain.words import Render
from monitor.errors import WorkFailed
from monitor.net.caching import Keep
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed, failed
from monitor.net.guard import Guard
from monitor.net.politeness import Politeness
from monitor.pages.drawnfolders import DrawnFolders
from monitor.pages.fetch import Seen, page_of_failure
from monitor.pages.filetype import extension_of
from monitor.pages.remembered import Remembered
from monitor.pages.render import Renderer
from monitor.pages.sitemaps import joined, newest_sitemaps
from monitor.pages.turns import Turns
from monitor.pages.ways import Ways, page_or_shell
from monitor.ports import Clock
from monitor.settings import NetworkSettings, PagesSettings

_MAX_SIGNPOSTS = 5


class Loader:
    """Loads pages and documents (`ports.PageLoader`).

    The parts (client, manners, browser, and the folders that were found to need the browser) serve the whole process;
    what was loaded, and what the sites said to that, each loader has for itself, so one loader is one run: `for_run`
    gives the next. Closing the first loader closes the parts.
    """

    def __init__(
        self,
        *,
        pages: PagesSettings,
        clock: Clock,
        client: HttpClient,
        politeness: Politeness,
        renderer: Renderer,
        drawn_folders: DrawnFolders,
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._client = client
        self._politeness = politeness
        self._renderer = renderer
        self._drawn_folders = drawn_folders
        self._remembered = Remembered()
        self._turns = Turns(politeness=politeness, delay_s=pages.delay_s)
        self._ways = Ways(
            pages=pages, clock=clock, client=client, renderer=renderer, turns=self._turns, drawn_folders=drawn_folders
        )

    @classmethod
    def from_settings(
        cls, *, pages: PagesSettings, network: NetworkSettings, clock: Clock, cache_folder: Path | None = None
    ) -> Self:
        """A loader with parts of its own; what is to outlive the process is kept in `cache_folder`, if there is one."""
        guard = Guard(allowed_private_hosts=network.allowed_private_hosts)
        client = HttpClient(network=network, guard=guard, max_bytes=pages.max_bytes, cache_folder=cache_folder)
        return cls(
            pages=pages,
            clock=clock,
            client=client,
            politeness=Politeness(client=client, pages=pages),
            renderer=Renderer(pages=pages, network=network, guard=guard),
            drawn_folders=DrawnFolders(cache_folder),
        )

    def for_run(self) -> "Loader":
        """A loader with the same parts that remembers no page yet; it needs no closing."""
        return Loader(
            pages=self._pages,
            clock=self._clock,
            client=self._client,
            politeness=self._politeness,
            renderer=self._renderer,
            drawn_folders=self._drawn_folders,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops the browser and closes all connections."""
        await self._renderer.close()
        await self._client.close()

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`; what went wrong outside is its `error`. `BrowserMissing` where one is needed for sure.

        `Render.AUTO` leaves the choice to the setting `pages.render`. A page already loaded by this loader, under
        this url or as the end of a redirect, is not asked for again. Where a page only points to another one, that
        one is loaded, under the same rules; `final_url` says where it ended.
        """
        address = clean_url(url)
        if address is None:
            return page_of_failure(url, await self._refusal(url), at=self._clock.now())
        mode = Render(self._pages.render) if render is Render.AUTO else render
        page = self._remembered.find(address, mode)
        if page is None:
            loaded = await self._followed(address, mode)
            page = await self._joined(loaded.page, mode) if loaded.is_sitemap_index else page_or_shell(loaded)
            page = page.model_copy(update={"url": address})
            self._remembered.add(page)
        return page

    async def download(self, url: str, folder: Path) -> Path:
        """Keeps the document at `url` in `folder`; `WorkFailed` says why it could not.

        The name is made of its content and of a kind from a closed list: nothing that the page says can lead a file
        out of its folder or make it a program. One that this run or an earlier one has seen is not carried again as
        long as the site says that it is the same.
        """
        try:
            address = clean_url(url)
            if address is None:
                raise await self._refusal(url)
            async with self._turns.turn(address):
                response = await self._client.fetch(
                    address, max_bytes=self._pages.max_bytes, timeout_s=self._pages.timeout_s, keep=Keep.REUSE
                )
        except FetchFailed as failure:
            raise WorkFailed(f"The document {url[:300]} could not be downloaded: {failure.error.message}") from failure
        name = f"{hashlib.sha256(response.body).hexdigest()[:16]}.{extension_of(response)}"
        return await asyncio.to_thread(_keep, folder, name, response.body)

    def notes(self) -> Mapping[str, str]:
        """What this run should say about getting there, by url: a robots.txt that could not be read."""
        return self._turns.notes()

    async def _followed(self, address: str, mode: Render) -> Seen:
        """What stands where signposts and frames end."""
        loaded = await self._ways.take(address, mode)
        visited = {address, loaded.page.final_url}
        for _ in range(_MAX_SIGNPOSTS):
            target = loaded.leads_to or loaded.frame
            if loaded.page.error is not None or target is None:
                break
            if target in visited:
                # Signposts in a circle: a wall that sets a cookie on the way, which a browser may pass.
                if mode is Render.AUTO and not loaded.page.rendered:
                    loaded = await self._ways.drawn_if_possible(address) or loaded
                break
            visited.add(target)
            found = await self._ways.take(target, mode)
            if loaded.leads_to is None and not _says_more(found.page, loaded.page):
                break
            loaded = found
            visited.add(loaded.page.final_url)
        return loaded

    async def _joined(self, index: Page, mode: Render) -> Page:
        """A sitemap index with the entries of its newest sitemaps; what was not read of it is noted."""
        urls, others = newest_sitemaps(index)
        sitemaps = [(await self._ways.take(url, mode)).page for url in urls]
        for sitemap in sitemaps:
            if sitemap.error is not None:
                self._turns.note(sitemap.url, f"The sitemap could not be read: {sitemap.error.message}")
        if others:
            self._turns.note(index.url, f"The index names {others} more sitemaps, undated, that were not read.")
        return joined(index, sitemaps)

    async def _refusal(self, url: str) -> FetchFailed:
        """Why a url that has no clean form is not loaded."""
        try:
            await self._client.guard.check(url, may_be_unresolved=True)
        except FetchFailed as failure:
            return failure
        return failed(PageErrorCode.INVALID_URL, f"“{url[:200]}” is no url.")


def _says_more(framed: Page, around: Page) -> bool:
    """Whether a frame holds what its page is about."""
    if framed.error is not None:
        return False
    return len(framed.candidates) > len(around.candidates) or len(framed.text) > len(around.text)


def _keep(folder: Path, name: str, body: bytes) -> Path:
    """Written under another name first, so that a file under its own name is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    part = folder / f"{name}.part"
    part.write_bytes(body)
    return part.replace(path)
