"""The memory of a site in a run: what repeats on its pages, told to the parser, and the pages that the run adds."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.page import NO_HINTS, ExpectedPage, Page, PageHints
from monitor.pages.loader import PageLoader
from monitor.pages.parsing import PageTask
from monitor.site_memory import NO_REPEATS, SeenPage, SitePageKind, SiteRepeats
from monitor.sweep.article import ArticleTask
from monitor.urls import get_host, is_same_site, url_key
from monitor.vocabulary import Render


class RememberingLoader:
    """A `PageLoader` whose pages are read by what repeats on their hosts; `list_seen` has the pages it has loaded.

    What it is given at the start holds to the end: a run that goes on after a kill, or is done again, reads alike. Of a
    page that may be anything, as the home page, nothing is told and nothing kept: its box of news is its list.
    """

    def __init__(self, loader: PageLoader, repeats: Mapping[str, SiteRepeats], sites: Sequence[str]) -> None:
        self._loader = loader
        self._repeats = repeats
        self._sites = sites
        self._seen: dict[tuple[str, SitePageKind], tuple[str, SeenPage]] = {}

    async def load(
        self, url: str, *, render: Render = Render.AUTO, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> Page:
        kind = _find_kind(task, hints)
        if kind is None:
            return await self._loader.load(url, render=render, task=task, hints=hints)
        memory = self._repeats.get(get_host(url), NO_REPEATS)
        hints = hints.model_copy(update={"memory": memory})
        page = await self._loader.load(url, render=render, task=task, hints=hints)
        self._note(page, kind)
        return page

    def _note(self, page: Page, kind: SitePageKind) -> None:
        """Keep a page of one of the source's own sites: only those are read often enough to be known."""
        if page.error is None and any(is_same_site(page.final_url, site) for site in self._sites):
            key = url_key(page.final_url)
            self._seen[key, kind] = (get_host(page.final_url), SeenPage(key, kind, page.title, page.marks))

    def list_seen(self) -> list[tuple[str, SeenPage]]:
        """Return the pages with their hosts."""
        return list(self._seen.values())

    async def download(self, url: str, folder: Path) -> Path:
        return await self._loader.download(url, folder)

    async def fetch_data(self, url: str) -> FetchResult:
        return await self._loader.fetch_data(url)

    def list_sitemaps(self, url: str) -> list[str]:
        return self._loader.list_sitemaps(url)

    def can_render(self) -> bool:
        return self._loader.can_render()

    def notes(self) -> Mapping[str, Message]:
        return self._loader.notes()


def _find_kind(task: PageTask | None, hints: PageHints) -> SitePageKind | None:
    """Return what the run takes a page for, None where it does not know."""
    if hints.expected is ExpectedPage.LIST:
        return SitePageKind.LIST
    is_article = hints.expected is ExpectedPage.ARTICLE or isinstance(task, ArticleTask)
    return SitePageKind.ARTICLE if is_article else None
