"""The use cases of those who watch the service: is it ready, and how does it fare."""

import datetime as dt

from pydantic import BaseModel, Field

from monitor.app.doctor import WARN_BYTES, free_bytes
from monitor.errors import MonitorError
from monitor.pages.browser import find_browser
from monitor.ports import Clock, Presence
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.address import DatabaseAddress
from monitor.store.figures import ServiceFigures


class Readiness(BaseModel):
    """Whether work can be done; each of the three says `ok` or what is wrong."""

    is_ready: bool
    database: str
    queue: str
    browser: str


class Process(BaseModel):
    name: str = Field(examples=["office-worker-1"])
    kind: str = Field(examples=["worker"])


class Machine(BaseModel):
    """What the work stands on: who is at work, what waits and since when, how much room is left for the data.

    `database_bytes` is the size of a SQLite file, None for another database.
    """

    processes: list[Process]
    queued: int = Field(examples=[2])
    running: int = Field(examples=[1])
    waits_s: float = Field(examples=[12.5])
    free_bytes: int = Field(examples=[78_700_000_000])
    is_room_low: bool = Field(examples=[False])
    database_bytes: int | None = Field(examples=[10_300_000])


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
        waits_s = _since(figures.oldest_queued_at, self._clock.now())
        alive = list((await self._presence.alive()).values())
        return figures, waits_s, {kind: alive.count(kind) for kind in ("worker", "scheduler")}

    async def machine(self) -> Machine:
        """What the work stands on at this moment."""
        now = self._clock.now()
        pulse = await self._store.outlook.pulse(now)
        alive = await self._presence.alive()
        free = free_bytes(self._settings.data_dir)
        file = DatabaseAddress.parse(self._settings.database_url).file
        return Machine(
            processes=[Process(name=name, kind=kind) for name, kind in sorted(alive.items())],
            queued=pulse.queued,
            running=pulse.running,
            waits_s=_since(pulse.oldest_queued_at, now),
            free_bytes=free,
            is_room_low=free < WARN_BYTES,
            database_bytes=file.stat().st_size if file is not None and file.exists() else None,
        )


def _since(instant: dt.datetime | None, now: dt.datetime) -> float:
    return max(0.0, (now - instant).total_seconds()) if instant else 0.0
