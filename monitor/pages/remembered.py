"""The pages that one run has loaded, so that none is asked for twice."""

from collections import OrderedDict

from monitor.domain.page import Page
from monitor.domain.words import Render

_MOST_PAGES = 200


class Remembered:
    """The latest pages, each under its url and under the one where its redirects ended; a failure is not remembered."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def find(self, address: str, mode: Render) -> Page | None:
        """The page at `address`, under that name; a drawn one where drawing is asked for."""
        page = self._pages.get(address)
        if page is None or (mode is Render.ALWAYS and not page.rendered):
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
        while len(self._pages) > _MOST_PAGES:
            self._pages.popitem(last=False)
