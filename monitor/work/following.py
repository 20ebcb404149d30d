"""Taking note, every few seconds, of settings that another process stored."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from monitor.app.configuring import SettingsDesk
from monitor.work.worker import every

_LOOK_EVERY_S = 2.0


@asynccontextmanager
async def following(desk: SettingsDesk, *, tidy: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Follow for as long as the block lasts; `tidy` closes what only earlier settings needed."""

    async def look() -> None:
        await desk.follow()
        await tidy()

    task = asyncio.create_task(every(_LOOK_EVERY_S, look))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
