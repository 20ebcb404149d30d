"""`monitor serve`, and its parts as processes of their own: `worker`, `scheduler`, `web`."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import typer

from monitor.cli.terminal import Terminal, terminal_of
from monitor.errors import UsageError

_USUAL_COLLECTING = (700, 10, 10)


def serve(context: typer.Context) -> None:
    """Run the service in one process: web, scheduler and worker."""
    _run(terminal_of(context), worker=True, scheduler=True, web=True)


def worker(context: typer.Context) -> None:
    """Run a worker alone: it takes runs out of the queue. Any number of them on PostgreSQL."""
    _run(terminal_of(context), worker=True)


def scheduler(context: typer.Context) -> None:
    """Run a scheduler alone: it puts what is due into the queue. The second and further ones stand by."""
    _run(terminal_of(context), scheduler=True)


def web(context: typer.Context) -> None:
    _run(terminal_of(context), web=True)


def _run(terminal: Terminal, *, worker: bool = False, scheduler: bool = False, web: bool = False) -> None:
    asyncio.run(_serve(terminal, worker=worker, scheduler=scheduler, web=web))


async def _serve(terminal: Terminal, *, worker: bool, scheduler: bool, web: bool) -> None:
    """Work until somebody asks for the end; then no new step begins, and those under way get 30 seconds."""
    from monitor.bootstrap import open_service
    from monitor.logs import begin_logs

    begin_logs(level=logging.DEBUG if terminal.is_debug else logging.INFO)
    settings = terminal.settings()
    if not settings.work.scheduler:
        if scheduler and not worker:
            raise UsageError("work.scheduler is false: set it to true, or do not start a scheduler.")
        scheduler = False
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(_asked_to_stop())
        app = await stack.enter_async_context(open_service(settings, worker=worker, scheduler=scheduler))
        parts = [name for name, is_on in (("worker", worker), ("scheduler", scheduler), ("web", web)) if is_on]
        if web:
            from monitor.app.audit import BY_COMMAND
            from monitor.app.people import FIRST
            from monitor.web.server import serving

            address = await stack.enter_async_context(serving(app))
            terminal.note(f"The web part answers at {address}.")
            if password := await app.people.begin():
                await app.audit.record(BY_COMMAND, "person.add", FIRST, after={"role": "admin"})
                terminal.note(f"Sign in as {FIRST} with the password {password} – it is shown this once.")
        _collect_often()
        terminal.note(f"At work: {', '.join(parts)}. SIGTERM or Ctrl-C ends it.")
        await stop.wait()
        terminal.note("Stopping: what is under way gets up to 30 seconds; what does not end is gone on with later.")


def _collect_often() -> None:
    """What the start has made stays and is not looked at again; what runs leave behind goes soon, for months on end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_USUAL_COLLECTING)


@asynccontextmanager
async def _asked_to_stop() -> AsyncIterator[asyncio.Event]:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
