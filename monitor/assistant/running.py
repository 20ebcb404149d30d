"""Runs that were asked for here: the service's where one is at work, else carried out in this process."""

import asyncio
from contextlib import suppress

from monitor.app.report import RunReport
from monitor.bootstrap import App
from monitor.domain.tables import Source

_LOOK_EVERY_S = 0.3


class Running:
    """The runs that this process carries out itself, each in a task of its own."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._tasks: set[asyncio.Task[RunReport]] = set()

    async def begin(self, source: Source) -> str:
        """Have the source run; answers the run's id, or that of one that waits or is under way already."""
        if await self._app.sweeps.is_served():
            return await self._app.sweeps.enqueue(source)
        if (under_way := await self._of(source)) is not None:
            return under_way
        task = asyncio.create_task(self._app.sweeps.sweep(source))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        while not task.done():
            if (begun := await self._of(source)) is not None:
                return begun
            await asyncio.wait([task], timeout=_LOOK_EVERY_S)
        return (await task).run_id

    async def wait(self, run_id: str, *, at_most_s: float) -> None:
        """Wait for the end of a run, or so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                while True:
                    if (await self._app.runs.get(run_id)).status.is_final:
                        return
                    await asyncio.sleep(_LOOK_EVERY_S)

    async def close(self) -> None:
        """Cancel what is under way here, and wait until that is on record."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _of(self, source: Source) -> str | None:
        open_runs = await self._app.store.runs.open()
        return next((run.id for run in open_runs if run.source_id == source.id), None)
