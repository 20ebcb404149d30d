"""The sites themselves, asked over HTTP or in the browser, and what came of it kept before anybody reads it."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self
from urllib.parse import urljoin, urlsplit

from monitor.clock import Clock
from monitor.config.model import NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing, WorkFailed
from monitor.fetch.browser.renderer import BrowserProvider
from monitor.fetch.cache import CachePolicy
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.politeness import HostSession, Politeness
from monitor.fetch.result import NO_BROWSER, FetchError, FetchResult, Recorder, Response
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.urls import get_host
from monitor.vocabulary import FetchMode

FILE_NAME = "drawn-folders.tsv"

# A site that was rebuilt is tried without a browser again after this time.
_TTL_DAYS = 30

_MAX_FOLDERS = 5_000

_LINE = re.compile(r"^(\d{4}-\d\d-\d\d)\t(\S+)$")


class RenderedFolders:
    """The findings, each with its day; kept in a file of `folder` where there is one.

    A finding is worth a second, no more: a file that cannot be read or written is done without. Each finding is a
    line of its own, added at the end, so that several processes can share the file.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / FILE_NAME if folder else None
        self._days_by_folder = _read_folders(self._file) if self._file else {}

    def contains(self, url: str, today: dt.date) -> bool:
        """Whether pages beside this one were found to need the browser, not too long ago."""
        found = self._days_by_folder.get(_get_folder(url))
        return found is not None and (today - found).days <= _TTL_DAYS

    def add(self, url: str, today: dt.date) -> None:
        """Takes down that the page at `url` needs the browser."""
        folder = _get_folder(url)
        if len(self._days_by_folder) < _MAX_FOLDERS or folder in self._days_by_folder:
            self._days_by_folder[folder] = today
            if self._file:
                _append_line(self._file, f"{today.isoformat()}\t{folder}\n")


def _get_folder(url: str) -> str:
    """Where pages of one make stand together: one section drawn by scripts does not make its whole site slow."""
    return get_host(url) + urlsplit(url).path.rpartition("/")[0]


def _read_folders(file: Path) -> dict[str, dt.date]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines[-_MAX_FOLDERS:]:
        if match := _LINE.match(line):
            try:
                found[match[2]] = dt.date.fromisoformat(match[1])
            except ValueError:
                continue
    return found


def _append_line(file: Path, line: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(line)
    except OSError:
        return


class SiteTransport:
    """What answers in earnest (`ports.Outside`).

    The parts (client, manners, browser, and the folders that were found to need the browser) serve the whole process;
    what the sites said to being asked, each run has for itself.
    """

    def __init__(
        self,
        *,
        pages: PagesSettings,
        clock: Clock,
        client: HttpClient,
        politeness: Politeness,
        browser: BrowserProvider,
        rendered_folders: RenderedFolders,
        recorder: Recorder | None = None,
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._client = client
        self._politeness = politeness
        self._browser = browser
        self._rendered_folders = rendered_folders
        self._recorder = recorder
        self._host_session = HostSession(politeness=politeness, delay_s=pages.delay_s)

    @classmethod
    def from_settings(
        cls, *, pages: PagesSettings, network: NetworkSettings, clock: Clock, guard: Guard, cache_folder: Path | None
    ) -> Self:
        """With parts of its own; what is to outlive the process is kept in `cache_folder`, if there is one."""
        client = HttpClient(network=network, guard=guard, max_bytes=pages.max_bytes, cache_folder=cache_folder)
        return cls(
            pages=pages,
            clock=clock,
            client=client,
            politeness=Politeness(client=client, pages=pages),
            browser=BrowserProvider(pages=pages, network=network, guard=guard),
            rendered_folders=RenderedFolders(cache_folder),
        )

    def for_run(self, recorder: Recorder | None) -> "SiteTransport":
        """The same sites, which have not turned this run away yet."""
        return SiteTransport(
            pages=self._pages,
            clock=self._clock,
            client=self._client,
            politeness=self._politeness,
            browser=self._browser,
            rendered_folders=self._rendered_folders,
            recorder=recorder,
        )

    async def close(self) -> None:
        """Stops the browser and closes all connections."""
        await self._browser.close()
        await self._client.close()

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        """What came of asking, kept by the recorder of the run where it has one."""
        at = self._clock.now()
        error: PageError | None = None
        response: Response | None = None
        try:
            async with self._host_session.acquire(url):
                response = await self._send(url, mode)
        except FetchError as failure:
            error, response = failure.error, failure.response
        except BrowserMissing as missing:
            error = PageError(code=PageErrorCode.NETWORK, detail_code=NO_BROWSER, message=missing.message)
        sighting = FetchResult(url=url, mode=mode, at=at, final_url=url, error=error, notes=self._list_notes(url))
        if response is not None:
            sighting = _add_response(sighting, response)
        return sighting if self._recorder is None else await self._record_result(sighting, self._recorder)

    def can_render(self) -> bool:
        """Whether a browser is to be found."""
        return self._browser.is_available()

    def renders_first(self, url: str) -> bool:
        """Whether pages beside this one were found to need the browser, not too long ago."""
        return self._rendered_folders.contains(url, self._clock.now().date())

    def mark_rendered(self, url: str) -> None:
        """Takes down that the page at `url` needs the browser."""
        self._rendered_folders.add(url, self._clock.now().date())

    async def _send(self, url: str, mode: FetchMode) -> Response:
        if mode is FetchMode.RENDERED:
            return await self._browser.render(url)
        keep = CachePolicy.REUSE if mode is FetchMode.DOCUMENT else CachePolicy.REVALIDATE
        return await self._client.fetch(
            url, max_bytes=self._pages.max_bytes, timeout_s=self._pages.timeout_s, cache_policy=keep
        )

    def _list_notes(self, url: str) -> Mapping[str, Message]:
        note = self._politeness.find_robots_note(url)
        return {urljoin(url, "/robots.txt"): note} if note else {}

    async def _record_result(self, result: FetchResult, recorder: Recorder) -> FetchResult:
        """The sighting under its record; a run whose records cannot be kept goes on and says so."""
        try:
            return replace(result, record=await recorder.keep(result))
        except WorkFailed as error:
            return replace(
                result, notes={**result.notes, result.url: Message.of("cause.not_recorded", reason=error.message)}
            )


def _add_response(result: FetchResult, response: Response) -> FetchResult:
    return replace(
        result,
        final_url=response.final_url,
        status=response.status,
        headers=dict(response.headers),
        body=response.body,
        hops=response.hops,
        is_cut_short=response.is_cut_short,
    )
