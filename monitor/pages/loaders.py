"""The page loader that the settings want now."""

from pathlib import Path
from weakref import WeakSet

from monitor.pages.loader import Loader
from monitor.ports import Clock, Recorder
from monitor.settings import Settings


class Loaders:
    """Gives each run a loader of its own, made as the settings of the moment want it.

    Runs share browser and connections. When `pages` or `network` is set otherwise, the next run gets new ones, and the
    earlier ones are closed as soon as no run holds them any more.
    """

    def __init__(self, *, settings: Settings, clock: Clock, cache_folder: Path | None) -> None:
        self._settings = settings
        self._clock = clock
        self._cache_folder = cache_folder
        self._own_hosts: set[str] = set()
        self._made_of: object = None
        self._shared: list[tuple[Loader, WeakSet[Loader]]] = []

    def for_run(self, recorder: Recorder | None = None) -> Loader:
        """A loader for one run, its sightings kept by `recorder`; it needs no closing."""
        pages, network = self._settings.pages, self._settings.network
        if self._made_of != (pages, network):
            first = Loader.from_settings(
                pages=pages,
                network=network,
                clock=self._clock,
                cache_folder=self._cache_folder,
                own_hosts=self._own_hosts,
            )
            self._shared.append((first, WeakSet()))
            self._made_of = (pages, network)
        first, runs = self._shared[-1]
        loader = first.for_run(recorder)
        runs.add(loader)
        return loader

    def open_to(self, host: str) -> None:
        """Let runs ask a `host:port` of loopback that this process itself serves, whatever the settings say."""
        self._own_hosts.add(host)

    def shut_to(self, host: str) -> None:
        """That it is served no more."""
        self._own_hosts.discard(host)

    @property
    def ways_out(self) -> int:
        """How many sets of browser and connections there are: more than one while runs of earlier settings last."""
        return len(self._shared)

    async def close_unused(self) -> None:
        """Close what only runs of earlier settings used, and none uses any more."""
        unused = [one for one in self._shared[:-1] if not one[1]]
        self._shared = [one for one in self._shared if one not in unused]
        for first, _ in unused:
            await first.close()

    async def close(self) -> None:
        """Stop all browsers and close all connections."""
        for first, _ in self._shared:
            await first.close()
