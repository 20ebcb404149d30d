"""The browser of a process. Its library takes long to import: nothing of it is there before a page is to be drawn."""

from typing import TYPE_CHECKING

from monitor.errors import BrowserMissing
from monitor.net.guard import Guard
from monitor.net.response import Response
from monitor.pages.browser import find_browser
from monitor.settings import NetworkSettings, PagesSettings

if TYPE_CHECKING:
    from monitor.pages.render import Renderer


class Drawing:
    """Draws pages as `render.Renderer` does, which is made for the first one. Close it, or the browser stays."""

    def __init__(self, *, pages: PagesSettings, network: NetworkSettings, guard: Guard) -> None:
        self._pages = pages
        self._network = network
        self._guard = guard
        self._renderer: Renderer | None = None

    async def close(self) -> None:
        """Stops the browser, if there is one."""
        if self._renderer is not None:
            await self._renderer.close()

    def is_available(self) -> bool:
        """Whether there is a browser to draw with; it may still fail to start."""
        if self._pages.browser.endpoint:
            return True
        try:
            find_browser(self._pages.browser)
        except BrowserMissing:
            return False
        return True

    async def render(self, url: str) -> Response:
        """The page once its scripts have come to rest; errors as of `Renderer.render`."""
        if self._renderer is None:
            from monitor.pages.render import Renderer

            self._renderer = Renderer(pages=self._pages, network=self._network, guard=self._guard)
        return await self._renderer.render(url)
