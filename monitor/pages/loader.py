"""The page loader: what one run asks for, wherever it is led, and each page once."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from monitor.domain.causes import Cause
from monitor.domain.page import Page, PageError, PageErrorCode
from monitor.domain.urls import clean_url
from monitor.domain.words import Render
from monitor.errors import WorkFailed
from monitor.net.failure import FetchFailed
from monitor.net.guard import Guard
from monitor.pages.fetch import Seen
from monitor.pages.filetype import extension_of
from monitor.pages.remembered import Remembered
from monitor.pages.sitemaps import joined, newest_sitemaps
from monitor.pages.sites import Sites
from monitor.pages.ways import Ways, page_or_shell
from monitor.ports import Clock, Outside, Recorder
from monitor.settings import NetworkSettings, PagesSettings

_MAX_SIGNPOSTS = 5


class Loader:
    """Loads pages and documents (`ports.PageLoader`).

    What was loaded each loader has for itself, so one loader is one run: `for_run` gives the next. Closing the first
    loader closes what it asks.
    """

    def __init__(self, *, pages: PagesSettings, clock: Clock, guard: Guard, outside: Outside) -> None:
        self._pages = pages
        self._clock = clock
        self._guard = guard
        self._outside = outside
        self._remembered = Remembered()
        self._ways = Ways(outside)

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
        sites = Sites.from_settings(pages=pages, network=network, clock=clock, guard=guard, cache_folder=cache_folder)
        return cls(pages=pages, clock=clock, guard=guard, outside=sites)

    def for_run(self, recorder: Recorder | None = None) -> "Loader":
        """A loader that asks the same and remembers no page yet, its sightings kept; it needs no closing."""
        return Loader(pages=self._pages, clock=self._clock, guard=self._guard, outside=self._outside.for_run(recorder))

    def can_draw(self) -> bool:
        """Whether there is a browser to draw with."""
        return self._outside.can_draw()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops the browser and closes all connections."""
        await self._outside.close()

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`; what went wrong outside is its `error`. `BrowserMissing` where one is needed for sure.

        `Render.AUTO` leaves the choice to the setting `pages.render`. A page already loaded by this loader, under
        this url or as the end of a redirect, is not asked for again. Where a page only points to another one, that
        one is loaded, under the same rules; `final_url` says where it ended.
        """
        address = clean_url(url)
        if address is None:
            return Page(url=url, final_url=url, fetched_at=self._clock.now(), error=await self._refusal(url))
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
        address = clean_url(url)
        sighting = None if address is None else await self._ways.document(address)
        error = await self._refusal(url) if sighting is None else sighting.error
        if error is not None or sighting is None:
            reason = error.message if error else ""
            raise WorkFailed(Cause.DOWNLOAD.told(url[:300], reason))
        body = sighting.body or b""
        extension = extension_of(body, url=sighting.final_url, content_type=sighting.content_type)
        name = f"{hashlib.sha256(body).hexdigest()[:16]}.{extension}"
        return await asyncio.to_thread(_keep, folder, name, body)

    def notes(self) -> Mapping[str, str]:
        """What this run should say about getting there, by url: a robots.txt that could not be read."""
        return self._ways.notes()

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
                self._ways.note(sitemap.url, f"The sitemap could not be read: {sitemap.error.message}")
        if others:
            self._ways.note(index.url, f"The index names {others} more sitemaps, undated, that were not read.")
        return joined(index, sitemaps)

    async def _refusal(self, url: str) -> PageError:
        """Why a url that has no clean form is not loaded."""
        try:
            await self._guard.check(url, may_be_unresolved=True)
        except FetchFailed as failure:
            return failure.error
        return PageError(code=PageErrorCode.INVALID_URL, message=f"“{url[:200]}” is no url.")


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
