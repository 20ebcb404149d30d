"""Starts what assistants ask for: in the queue, or in this process where no worker is at work."""

import asyncio
from typing import Any

from monitor.bootstrap import App
from monitor.db.tables.collection import Source
from monitor.db.tables.research import ResearchEvent
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import Actor

_POLL_INTERVAL_S = 0.3


class Runner:
    """Starts runs and researches. With `runs_here`, what no worker takes is carried out here, each in a task."""

    def __init__(self, app: App, *, runs_here: bool) -> None:
        self._app = app
        self._runs_here = runs_here
        self._tasks: set[asyncio.Task[Any]] = set()
        self._starting = asyncio.Lock()

    async def start_run(self, source: Source, *, by: Actor) -> str:
        """Run the source; gives the id of the run, or of the one that waits or is under way already."""
        if not self._runs_here or await self._app.sweeps.has_worker():
            return await self._app.sweeps.enqueue(source, by=by)
        async with self._starting:  # two wishes at once are one run
            if (open_run := await self._find_open_run(source)) is not None:
                return open_run
            task = asyncio.create_task(self._app.sweeps.sweep(source, by=by))
            self._track(task)
            while not task.done():
                if (started := await self._find_open_run(source)) is not None:
                    return started
                await asyncio.wait([task], timeout=_POLL_INTERVAL_S)
        return (await task).run_id

    async def start_research(self, query: str, config: SearchConfig, options: ResearchOptions, *, by: Actor) -> str:
        service = self._app.research
        if not self._runs_here or await service.has_worker():
            return await service.enqueue(query, config=config, options=options, by=by)
        started = asyncio.get_running_loop().create_future()
        return await self._start_here(
            service.run_in_process(query, config=config, options=options, by=by, on_event=_take_task_id(started)),
            started,
        )

    async def start_follow_up(self, task_id: str, question: str, *, by: Actor) -> str:
        service = self._app.research
        if not self._runs_here or await service.has_worker():
            return await service.ask(task_id, question, by=by)
        started = asyncio.get_running_loop().create_future()
        return await self._start_here(
            service.ask_in_process(task_id, question, by=by, on_event=_take_task_id(started)), started
        )

    async def close(self) -> None:
        """Cancel what is under way here, and wait until that is on record."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start_here(self, work: Any, started: "asyncio.Future[str]") -> str:
        task: asyncio.Task[str] = asyncio.create_task(work)
        self._track(task)
        await asyncio.wait([task, started], return_when=asyncio.FIRST_COMPLETED)
        return started.result() if started.done() else await task

    def _track(self, task: asyncio.Task[Any]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _find_open_run(self, source: Source) -> str | None:
        open_runs = await self._app.store.runs.list_open()
        return next((run.id for run in open_runs if run.source_id == source.id), None)


def _take_task_id(started: "asyncio.Future[str]") -> Any:
    def on_event(event: ResearchEvent) -> None:
        if not started.done():
            started.set_result(event.task_id)

    return on_event
