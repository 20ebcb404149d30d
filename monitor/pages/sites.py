"""The sites themselves, asked over HTTP or in the browser, and what came of it kept before anybody reads it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self
from urllib.parse import urljoin

from monitor.domain.page import PageError, PageErrorCode
from monitor.domain.sighting import NO_BROWSER, Sighting, Way
from monitor.errors import BrowserMissing, WorkFailed
from monitor.net.caching import Keep
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed
from monitor.net.guard import Guard
from monitor.net.politeness import Politeness
from monitor.net.response import Response
from monitor.pages.drawing import Drawing
from monitor.pages.drawnfolders import DrawnFolders
from monitor.pages.turns import Turns
from monitor.ports import Clock, Recorder
from monitor.settings import NetworkSettings, PagesSettings


class Sites:
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
        drawing: Drawing,
        drawn_folders: DrawnFolders,
        recorder: Recorder | None = None,
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._client = client
        self._politeness = politeness
        self._drawing = drawing
        self._drawn_folders = drawn_folders
        self._recorder = recorder
        self._turns = Turns(politeness=politeness, delay_s=pages.delay_s)

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
            drawing=Drawing(pages=pages, network=network, guard=guard),
            drawn_folders=DrawnFolders(cache_folder),
        )

    def for_run(self, recorder: Recorder | None) -> "Sites":
        """The same sites, which have not turned this run away yet."""
        return Sites(
            pages=self._pages,
            clock=self._clock,
            client=self._client,
            politeness=self._politeness,
            drawing=self._drawing,
            drawn_folders=self._drawn_folders,
            recorder=recorder,
        )

    async def close(self) -> None:
        """Stops the browser and closes all connections."""
        await self._drawing.close()
        await self._client.close()

    async def see(self, url: str, way: Way) -> Sighting:
        """What came of asking, kept by the recorder of the run where it has one."""
        at = self._clock.now()
        error: PageError | None = None
        response: Response | None = None
        try:
            async with self._turns.turn(url):
                response = await self._ask(url, way)
        except FetchFailed as failure:
            error, response = failure.error, failure.response
        except BrowserMissing as missing:
            error = PageError(code=PageErrorCode.NETWORK, detail_code=NO_BROWSER, message=str(missing))
        sighting = Sighting(url=url, way=way, at=at, final_url=url, error=error, notes=self._notes(url))
        if response is not None:
            sighting = _answered(sighting, response)
        return sighting if self._recorder is None else await self._kept(sighting, self._recorder)

    def can_draw(self) -> bool:
        """Whether a browser is to be found."""
        return self._drawing.is_available()

    def draws_first(self, url: str) -> bool:
        """Whether pages beside this one were found to need the browser, not too long ago."""
        return self._drawn_folders.holds(url, self._clock.now().date())

    def found_drawn(self, url: str) -> None:
        """Takes down that the page at `url` needs the browser."""
        self._drawn_folders.add(url, self._clock.now().date())

    async def _ask(self, url: str, way: Way) -> Response:
        if way is Way.DRAWN:
            return await self._drawing.render(url)
        keep = Keep.REUSE if way is Way.DOCUMENT else Keep.ASK
        return await self._client.fetch(
            url, max_bytes=self._pages.max_bytes, timeout_s=self._pages.timeout_s, keep=keep
        )

    def _notes(self, url: str) -> Mapping[str, str]:
        note = self._politeness.robots_note(url)
        return {urljoin(url, "/robots.txt"): note} if note else {}

    async def _kept(self, sighting: Sighting, recorder: Recorder) -> Sighting:
        """The sighting under its record; a run whose records cannot be kept goes on and says so."""
        try:
            return replace(sighting, record=await recorder.keep(sighting))
        except WorkFailed as error:
            return replace(sighting, notes={**sighting.notes, sighting.url: f"not kept as evidence: {error}"})


def _answered(sighting: Sighting, response: Response) -> Sighting:
    return replace(
        sighting,
        final_url=response.final_url,
        status=response.status,
        headers=dict(response.headers),
        body=response.body,
        hops=response.hops,
        is_cut_short=response.is_cut_short,
    )
