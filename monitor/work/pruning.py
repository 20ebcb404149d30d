"""Forgetting, once a day, what is older than the configuration wants it kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from monitor.app.upkeep import Upkeep
from monitor.logs import logger_of
from monitor.work.worker import every

_DAY_S = 86_400.0


@asynccontextmanager
async def pruning(upkeep: Upkeep) -> AsyncIterator[None]:
    """Prune at once and then daily, for as long as the block lasts; done twice it does no harm."""

    async def prune() -> None:
        pruned = await upkeep.prune()
        logger_of("upkeep").info("pruned", **pruned.model_dump())

    task = asyncio.create_task(every(_DAY_S, prune))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
