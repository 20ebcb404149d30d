"""The use cases of those who watch the service: is it ready, and how does it fare."""

from pydantic import BaseModel

from monitor.errors import MonitorError
from monitor.pages.browser import find_browser
from monitor.ports import Clock, Presence
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.figures import ServiceFigures


class Readiness(BaseModel):
    """Whether work can be done; each of the three says `ok` or what is wrong."""

    is_ready: bool
    database: str
    queue: str
    browser: str


class Condition:
    """What can be said of the service from its database alone, in whatever process."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock, presence: Presence) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._presence = presence

    async def readiness(self) -> Readiness:
        """Database and a living worker are needed; a missing browser is told, but most pages do without."""
        try:
            await self._store.check()
            database = "ok"
            queue = "ok" if "worker" in (await self._presence.alive()).values() else "no worker is at work"
        except MonitorError as error:
            database = queue = str(error)
        try:
            browser = "ok" if self._settings.pages.browser.endpoint else str(find_browser(self._settings.pages.browser))
        except MonitorError as error:
            browser = str(error)
        return Readiness(is_ready=database == queue == "ok", database=database, queue=queue, browser=browser)

    async def figures(self) -> tuple[ServiceFigures, float, dict[str, int]]:
        """The counts, how long the oldest queued run waits in seconds, and how many processes of each kind live."""
        figures = await self._store.figures.service()
        since = figures.oldest_queued_at
        waits_s = max(0.0, (self._clock.now() - since).total_seconds()) if since else 0.0
        alive = list((await self._presence.alive()).values())
        return figures, waits_s, {kind: alive.count(kind) for kind in ("worker", "scheduler")}
