"""The sample ministry inside the service: served on loopback while the service lives, and watched as any source is."""

import asyncio
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from monitor.app.sweeps import WORKER
from monitor.bootstrap import App
from monitor.demo.sample_settings import TIMEZONE
from monitor.demo.serving import HOST
from monitor.demo.site import SampleSite
from monitor.domain.tables import Source
from monitor.errors import UsageError
from monitor.logs import logger_of

TAG = "sample"
_log = logger_of("sample")


class SampleHost:
    """Serves the sample site to runs of this process; its source bears the tag `sample`.

    The site stands as it was on the day on which its source was made, on the port that the source's address names, so
    that a service which starts again finds what it knew.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._served_on: int | None = None
        self._one_at_a_time = asyncio.Lock()

    async def begin(self) -> tuple[Source, str]:
        """Serve the site, watch it and run it; answers its source and the run's id.

        `UsageError` where its runs would not be carried out by this process, or would go through a proxy.
        """
        if self._app.settings.network.proxy is not None:
            raise UsageError("The sample site is on this machine, and network.proxy leads away from it.")
        if not await self._app.presence.is_here(WORKER):
            raise UsageError("The sample site needs a worker in this very process: start `monitor serve`.")
        async with self._one_at_a_time:
            source = await self._source()
            source = await (self._added() if source is None else self._served(source))
            if not source.enabled:
                source = await self._app.sources.edit(source.name, {"enabled": True})
            return source, await self._app.sweeps.enqueue(source)

    async def resume(self) -> None:
        """Serve the site again where its source is still watched, and runs are carried out by this process."""
        async with self._one_at_a_time:
            source = await self._source()
            if source is not None and source.enabled and await self._app.presence.is_here(WORKER):
                await self._served(source)

    async def _source(self) -> Source | None:
        tagged = await self._app.sources.all(tag=TAG)
        return next((one for one in tagged if urlsplit(one.url).hostname == HOST), None)

    async def _added(self) -> Source:
        site = SampleSite(today=self._app.clock.now().astimezone(ZoneInfo(TIMEZONE)).date())
        port = await self._serve(site, 0)
        taken = {source.name for source in await self._app.sources.all()}
        focus = [area["name"] for area in site.focus_areas]
        values = {"url": f"http://{HOST}:{port}/", "focus_areas": focus, "tags": [TAG]}
        names = (site.title, f"{site.title} ({TAG})", f"{site.title} :{port}")
        name = next(one for one in names if one not in taken)
        return await self._app.sources.add({"name": name, **values})

    async def _served(self, source: Source) -> Source:
        """The source, whose site is served from now on; under another port where its own is taken."""
        if self._served_on is not None and self._served_on == urlsplit(source.url).port:
            return source
        site = SampleSite(today=source.created_at.astimezone(ZoneInfo(TIMEZONE)).date())
        try:
            await self._serve(site, urlsplit(source.url).port or 0)
        except OSError:
            port = await self._serve(site, 0)
            return await self._app.sources.edit(source.name, {"url": f"http://{HOST}:{port}/"})
        return source

    async def _serve(self, site: SampleSite, port: int) -> int:
        base_url = await self._app.lifetime.enter_async_context(site.serve(port))
        served_on = self._served_on = int(urlsplit(base_url).port or 0)
        for name in (HOST, "localhost"):  # the site names some of its pages by the other name, as reposts
            self._app.loaders.open_to(f"{name}:{served_on}")
        _log.info("sample site", url=base_url)
        return served_on
