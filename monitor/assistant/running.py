"""What was asked for here: the service's work where one is at work, else carried out in this process."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from monitor.app.audit import BY_COMMAND
from monitor.bootstrap import App
from monitor.domain.research import ResearchEvent
from monitor.domain.tables import Source
from monitor.research.shapes import ResearchOptions, SearchConfig

_LOOK_EVERY_S = 0.3


class Running:
    """The runs and researches that this process carries out itself, each in a task of its own."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._tasks: set[asyncio.Task[Any]] = set()

    async def begin(self, source: Source) -> str:
        """Have the source run; answers the run's id, or that of one that waits or is under way already."""
        if await self._app.sweeps.is_served():
            return await self._app.sweeps.enqueue(source)
        if (under_way := await self._of(source)) is not None:
            return under_way
        task = asyncio.create_task(self._app.sweeps.sweep(source))
        self._keep(task)
        while not task.done():
            if (begun := await self._of(source)) is not None:
                return begun
            await asyncio.wait([task], timeout=_LOOK_EVERY_S)
        return (await task).run_id

    async def wait(self, run_id: str, *, at_most_s: float) -> None:
        """Wait for the end of a run, or so many seconds."""

        async def is_over() -> bool:
            return (await self._app.runs.get(run_id)).status.is_final

        await _until(is_over, at_most_s)

    async def ask(self, query: str) -> str:
        """Have a question answered; the id of the research."""
        desk, config, options = self._app.research, SearchConfig(), ResearchOptions()
        if await desk.is_served():
            return await desk.ask(query, config=config, options=options, by=BY_COMMAND)
        begun = asyncio.get_running_loop().create_future()

        def on_event(event: ResearchEvent) -> None:
            if not begun.done():
                begun.set_result(event.task_id)

        task = asyncio.create_task(
            desk.run_here(query, config=config, options=options, by=BY_COMMAND, on_event=on_event)
        )
        self._keep(task)
        await asyncio.wait([task, begun], return_when=asyncio.FIRST_COMPLETED)
        return str(begun.result()) if begun.done() else await task

    async def wait_for_research(self, task_id: str, *, at_most_s: float) -> None:
        """Wait for the end of a research, or so many seconds."""

        async def is_over() -> bool:
            return (await self._app.research.row(task_id)).status.is_final

        await _until(is_over, at_most_s)

    async def close(self) -> None:
        """Cancel what is under way here, and wait until that is on record."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _of(self, source: Source) -> str | None:
        open_runs = await self._app.store.runs.open()
        return next((run.id for run in open_runs if run.source_id == source.id), None)


async def _until(is_over: Callable[[], Awaitable[bool]], at_most_s: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            while not await is_over():  # noqa: ASYNC110 -- it may go on in another process
                await asyncio.sleep(_LOOK_EVERY_S)
