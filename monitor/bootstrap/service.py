"""The program at work."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from monitor.bootstrap.app import App, open_app
from monitor.settings import Settings
from monitor.store.address import DatabaseAddress
from monitor.work.presence import alone_on


@asynccontextmanager
async def open_service(settings: Settings, *, worker: bool, scheduler: bool) -> AsyncIterator[App]:
    """The program at work: it takes runs out of the queue, decides when sources are due, or both.

    `UsageError` where a SQLite database has a service already.
    """
    from monitor.work.following import following
    from monitor.work.pruning import pruning
    from monitor.work.scheduler import Scheduler
    from monitor.work.worker import Worker  # its library takes a second to import

    async with AsyncExitStack() as stack:
        database = DatabaseAddress.parse(settings.database_url).file
        if database is not None and (worker or scheduler):
            stack.enter_context(alone_on(database))
        app = await stack.enter_async_context(open_app(settings))
        await stack.enter_async_context(following(app.configuring, tidy=app.loaders.close_unused))
        settings, store, clock, presence = app.settings, app.store, app.clock, app.presence
        if worker:
            taking = Worker(
                store=store,
                settings=settings,
                clock=clock,
                sweeps=app.sweeps,
                dispatch=app.dispatch,
                research=app.research,
                presence=presence,
            )
            await stack.enter_async_context(taking.running())
        if scheduler:
            planning = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
            await stack.enter_async_context(planning.running())
            await stack.enter_async_context(pruning(app.upkeep))
        yield app
