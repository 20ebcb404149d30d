"""The sites themselves as a run's transport: over HTTP or in the browser, each result recorded before it is parsed."""

import datetime as dt
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit

from monitor.clock import Clock
from monitor.config.model import NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing, WorkFailed
from monitor.extras import needs_extra
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.client import CachePolicy, HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.politeness import HostBudget, HostSession, Politeness
from monitor.fetch.result import NO_BROWSER, FetchError, FetchResult, Recorder, Response
from monitor.i18n.message import Message
from monitor.metrics import FETCH_SECONDS
from monitor.page import PageError, PageErrorCode
from monitor.tracing import trace
from monitor.urls import get_host
from monitor.vocabulary import FetchMode

if TYPE_CHECKING:
    from playwright.async_api import StorageState

    from monitor.fetch.browser.renderer import Renderer

_DATA_HEADERS = {"accept": "application/json, application/xml;q=0.9, */*;q=0.8"}
_CACHE_POLICIES = {FetchMode.HTTP: CachePolicy.REVALIDATE, FetchMode.DOCUMENT: CachePolicy.REUSE}

RENDERED_FOLDERS_FILE = "drawn-folders.tsv"

# After this time a site is tried without a browser again; it may have been rebuilt.
_RENDERED_TTL_DAYS = 30
_MAX_RENDERED_FOLDERS = 5_000
_RENDERED_FOLDER_LINE = re.compile(r"^(\d{4}-\d\d-\d\d)\t(\S+)$")


class RenderedFolders:
    """Folders of sites whose pages need the browser, with the day of the finding; kept in a file of `folder`.

    A finding saves a second, no more: a file that cannot be read or written is ignored. Each finding is a line
    appended to the file, so that several processes can share it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / RENDERED_FOLDERS_FILE if folder else None
        self._days_by_folder = _read_folders(self._file) if self._file else {}

    def contains(self, url: str, today: dt.date) -> bool:
        """Whether a page in the same folder was found to need the browser in the last 30 days."""
        found_on = self._days_by_folder.get(_get_folder(url))
        return found_on is not None and (today - found_on).days <= _RENDERED_TTL_DAYS

    def add(self, url: str, today: dt.date) -> None:
        folder = _get_folder(url)
        if len(self._days_by_folder) < _MAX_RENDERED_FOLDERS or folder in self._days_by_folder:
            self._days_by_folder[folder] = today
            if self._file:
                with suppress(OSError):
                    self._file.parent.mkdir(parents=True, exist_ok=True)
                    with self._file.open("a", encoding="utf-8") as opened:
                        opened.write(f"{today.isoformat()}\t{folder}\n")


def _get_folder(url: str) -> str:
    """Return host and folder: pages of one kind share it, and one section with scripts must not slow its whole site."""
    return get_host(url) + urlsplit(url).path.rpartition("/")[0]


def _read_folders(file: Path) -> dict[str, dt.date]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    days_by_folder = {}
    for line in lines[-_MAX_RENDERED_FOLDERS:]:
        if match := _RENDERED_FOLDER_LINE.match(line):
            with suppress(ValueError):
                days_by_folder[match[2]] = dt.date.fromisoformat(match[1])
    return days_by_folder


@dataclass(kw_only=True, eq=False)
class LazyRenderer:
    """The renderer, which is imported and built when the first page is drawn: most sites need none.

    `state` has the cookies of a log-in.
    """

    pages: PagesSettings
    network: NetworkSettings
    guard: Guard
    state: "StorageState | None" = None
    _renderer: "Renderer | None" = field(default=None, init=False)

    async def render(self, url: str) -> Response:
        if self._renderer is None:
            with needs_extra("browser", BrowserMissing):
                from monitor.fetch.browser.renderer import Renderer

            self._renderer = Renderer(pages=self.pages, network=self.network, guard=self.guard, state=self.state)
        return await self._renderer.render(url)

    def is_available(self) -> bool:
        """Whether there is a browser; it may still fail to start."""
        if self.pages.browser.endpoint:
            return True
        with suppress(BrowserMissing):
            return find_browser(self.pages.browser) is not None
        return False

    async def close(self) -> None:
        if self._renderer is not None:
            await self._renderer.close()


@dataclass(kw_only=True, eq=False)
class SiteTransport:
    """The `Transport` that asks the sites.

    Client, politeness, browser and rendered folders serve the whole process; `for_run` gives each run its own count of
    blocks and its own recorder. `scrub` takes from responses what must not be kept.
    """

    pages: PagesSettings
    clock: Clock
    client: HttpClient
    politeness: Politeness
    renderer: LazyRenderer
    rendered_folders: RenderedFolders
    recorder: Recorder | None = None
    scrub: Callable[[Response], Response] | None = None

    def __post_init__(self) -> None:
        self._host_session = HostSession(politeness=self.politeness, delay_s=self.pages.delay_s)

    @classmethod
    def from_settings(
        cls,
        *,
        pages: PagesSettings,
        network: NetworkSettings,
        clock: Clock,
        guard: Guard,
        cache_folder: Path | None,
        budget: HostBudget | None = None,
    ) -> Self:
        """Build a transport with its own client and browser; what outlives the process is kept in `cache_folder`."""
        client = HttpClient(network=network, guard=guard, max_bytes=pages.max_bytes, cache_folder=cache_folder)
        return cls(
            pages=pages,
            clock=clock,
            client=client,
            politeness=Politeness(client=client, pages=pages, budget=budget),
            renderer=LazyRenderer(pages=pages, network=network, guard=guard),
            rendered_folders=RenderedFolders(cache_folder),
        )

    def for_run(self, recorder: Recorder | None) -> "SiteTransport":
        return replace(self, recorder=recorder)

    async def close(self) -> None:
        """Stop the browser and close all connections."""
        await self.renderer.close()
        await self.client.close()

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        at = self.clock.now()
        began_s: float | None = None
        error: PageError | None = None
        response: Response | None = None
        try:
            async with self._host_session.acquire(url):
                began_s = time.perf_counter()
                with trace("fetch", mode=mode, **{"server.address": urlsplit(url).hostname or ""}):
                    response = await self._load(url, mode)
        except FetchError as failure:
            error, response = failure.error, failure.response
        except BrowserMissing as missing:
            error = PageError(code=PageErrorCode.NETWORK, detail_code=NO_BROWSER, message=missing.message)
        if began_s is not None:
            outcome = "ok" if error is None else error.code
            FETCH_SECONDS.labels(mode, outcome).observe(time.perf_counter() - began_s)
        if response is not None and self.scrub is not None:
            response = self.scrub(response)
        robots_note = self.politeness.find_robots_note(url)
        result = FetchResult(
            url=url,
            mode=mode,
            at=at,
            final_url=url,
            error=error,
            notes={urljoin(url, "/robots.txt"): robots_note} if robots_note else {},
        )
        if response is not None:
            result = replace(
                result,
                final_url=response.final_url,
                status=response.status,
                headers=dict(response.headers),
                body=response.body,
                hops=response.hops,
                is_cut_short=response.is_cut_short,
                data_urls=response.data_urls,
            )
        return result if self.recorder is None else await _record(result, self.recorder)

    async def _load(self, url: str, mode: FetchMode) -> Response:
        if mode is FetchMode.RENDERED:
            return await self.renderer.render(url)
        return await self.client.fetch(
            url,
            max_bytes=self.pages.max_bytes,
            timeout_s=self.pages.timeout_s,
            headers=_DATA_HEADERS if mode is FetchMode.DATA else None,
            cache_policy=_CACHE_POLICIES.get(mode),
            sends_cookies=mode is not FetchMode.DATA,
        )

    def can_render(self) -> bool:
        return self.renderer.is_available()

    def list_sitemaps(self, url: str) -> list[str]:
        return self.politeness.list_sitemaps(url)

    def renders_first(self, url: str) -> bool:
        return self.rendered_folders.contains(url, self.clock.now().date())

    def mark_rendered(self, url: str) -> None:
        self.rendered_folders.add(url, self.clock.now().date())


async def _record(result: FetchResult, recorder: Recorder) -> FetchResult:
    """Return the result with the id of its record; a run whose records cannot be kept continues and notes it."""
    try:
        return replace(result, record=await recorder.keep(result))
    except WorkFailed as error:
        note = Message("cause.not_recorded", {"reason": error.message})
        return replace(result, notes={**result.notes, result.url: note})
