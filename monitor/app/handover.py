"""A run that a service carries out for somebody who waits for it."""

import asyncio
from collections.abc import Awaitable, Callable

from monitor.domain.words import Phase
from monitor.errors import WorkFailed
from monitor.ports import Clock, Progress, ProgressCallback
from monitor.store import Store

_LOOK_EVERY_S = 0.5
SERVICE_PATIENCE_S = 60.0
"""So long a service may be gone before whoever waits for it is told."""


async def end_of(
    run_id: str,
    *,
    store: Store,
    clock: Clock,
    is_served: Callable[[], Awaitable[bool]],
    on_progress: ProgressCallback | None,
    cancel_event: asyncio.Event | None,
) -> None:
    """Wait for the end of a run, tell how far it is, and pass on the wish to stop it.

    `WorkFailed` where no service has been there for a minute: the run goes on when one is.
    """
    loop = asyncio.get_running_loop()
    seen = loop.time()
    while (run := await store.runs.get(run_id)) is not None and not run.status.is_final:
        if cancel_event is not None and cancel_event.is_set() and not run.is_cancel_requested:
            await store.runs.request_cancel(run_id, at=clock.now())
        if on_progress is not None:
            sections = await store.runs.sections(run_id)
            read = sum(section.ended is not None for section in sections)
            on_progress(Progress(phase=Phase.CRAWL, place=run.source, done=read, total=len(sections) or None))
        if await is_served():
            seen = loop.time()
        elif loop.time() - seen > SERVICE_PATIENCE_S:
            raise WorkFailed(f"The service that took the run {run_id} is gone; it goes on when the service does.")
        await asyncio.sleep(_LOOK_EVERY_S)
