"""The sample ministry inside the service: served on loopback while the service lives, and watched as any source is."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.tables.collection import Source
from monitor.demo.serving import HOST
from monitor.demo.site import TIMEZONE, SampleSite
from monitor.errors import UsageError
from monitor.jobs.presence import HeartbeatRegistry
from monitor.logs import get_logger
from monitor.pages.loader import LoaderPool
from monitor.services.audit import COMMAND_LINE, Actor, AuditAction, AuditRecord
from monitor.services.runtime import WORKER_KIND
from monitor.services.sources.service import SourceService
from monitor.services.sweeps import SweepService

SAMPLE_TAG = "sample"
_log = get_logger("sample")


@dataclass(kw_only=True)
class SampleSiteHost:
    """Serves the sample site to runs of this process; its source bears the tag `sample`.

    The site stands as it was on the day on which its source was made, on the port that the source's address names, so
    that a service which starts again finds what it knew.
    """

    settings: Settings
    clock: Clock
    sources: SourceService
    sweeps: SweepService
    presence: HeartbeatRegistry
    loaders: LoaderPool
    lifetime: AsyncExitStack
    _port: int | None = field(default=None, init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def start(self, *, by: Actor) -> tuple[Source, str]:
        """Serve the site, watch it and run it; answers its source and the run's id.

        `UsageError` where its runs would not be carried out by this process, or would go through a proxy.
        """
        if self.settings.network.proxy is not None:
            raise UsageError("sample.behind_proxy")
        if not await self.presence.is_here(WORKER_KIND):
            raise UsageError("sample.no_worker")
        async with self._lock:
            source = await self._find_source()
            source = await (self._add_source(by) if source is None else self._serve_source(source, by))
            if not source.enabled:
                source = await self.sources.edit(source.id or 0, {"enabled": True}, by=by)
            record = AuditRecord(AuditAction.SOURCE_SAMPLE, source.name)
            return source, await self.sweeps.enqueue(source, by=by, record=record)

    async def resume(self) -> None:
        """Serve the site again where its source is still watched, and runs are carried out by this process."""
        async with self._lock:
            source = await self._find_source()
            if source is not None and source.enabled and await self.presence.is_here(WORKER_KIND):
                await self._serve_source(source, COMMAND_LINE)

    async def _find_source(self) -> Source | None:
        tagged = await self.sources.list_sources(tag=SAMPLE_TAG)
        return next((entry for entry in tagged if urlsplit(entry.url).hostname == HOST), None)

    async def _add_source(self, by: Actor) -> Source:
        site = SampleSite(today=self.clock.now().astimezone(ZoneInfo(TIMEZONE)).date())
        port = await self._serve(site, 0)
        taken = {source.name for source in await self.sources.list_sources()}
        focus = [area["name"] for area in site.focus_areas]
        values = {"url": f"http://{HOST}:{port}/", "focus_areas": focus, "tags": [SAMPLE_TAG], "schedule": None}
        names = (site.title, f"{site.title} ({SAMPLE_TAG})", f"{site.title} :{port}")
        name = next(name for name in names if name not in taken)
        return await self.sources.add({"name": name, **values}, by=by)

    async def _serve_source(self, source: Source, by: Actor) -> Source:
        """The source, whose site is served from now on; under another port where its own is taken."""
        if self._port is not None and self._port == urlsplit(source.url).port:
            return source
        site = SampleSite(today=source.created_at.astimezone(ZoneInfo(TIMEZONE)).date())
        try:
            await self._serve(site, urlsplit(source.url).port or 0)
        except OSError:
            port = await self._serve(site, 0)
            return await self.sources.edit(source.id or 0, {"url": f"http://{HOST}:{port}/"}, by=by)
        return source

    async def _serve(self, site: SampleSite, port: int) -> int:
        base_url = await self.lifetime.enter_async_context(site.serve(port))
        served_on = self._port = int(urlsplit(base_url).port or 0)
        for name in (HOST, "localhost"):  # the site names some of its pages by the other name, as reposts
            self.loaders.allow_host(f"{name}:{served_on}")
        _log.info("sample site", url=base_url)
        return served_on
