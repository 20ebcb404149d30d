"""`monitor serve`, and its parts as processes of their own: `worker`, `scheduler`, `web`."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import typer

from monitor.cli.terminal import Terminal, get_terminal
from monitor.errors import UsageError

_DEFAULT_GC_THRESHOLDS = (700, 10, 10)


def serve(context: typer.Context) -> None:
    """Run the service in one process: web, scheduler and worker."""
    _run(get_terminal(context), worker=True, scheduler=True, web=True)


def worker(context: typer.Context) -> None:
    """Run a worker alone: it takes runs out of the queue. Any number of them on PostgreSQL."""
    _run(get_terminal(context), worker=True)


def scheduler(context: typer.Context) -> None:
    """Run a scheduler alone: it puts what is due into the queue. The second and further ones stand by."""
    _run(get_terminal(context), scheduler=True)


def web(context: typer.Context) -> None:
    _run(get_terminal(context), web=True)


def _run(terminal: Terminal, *, worker: bool = False, scheduler: bool = False, web: bool = False) -> None:
    asyncio.run(_serve(terminal, worker=worker, scheduler=scheduler, web=web))


async def _serve(terminal: Terminal, *, worker: bool, scheduler: bool, web: bool) -> None:
    """Work until somebody asks for the end; then no new step begins, and those under way get 30 seconds."""
    from monitor.bootstrap import open_service
    from monitor.logs import configure_logging

    configure_logging(level=logging.DEBUG if terminal.is_debug else logging.INFO)
    settings = terminal.load_settings()
    if not settings.work.scheduler:
        if scheduler and not worker:
            raise UsageError("work.scheduler is false: set it to true, or do not start a scheduler.")
        scheduler = False
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(_handle_stop_signals())
        app = await stack.enter_async_context(open_service(settings, worker=worker, scheduler=scheduler))
        parts = [name for name, is_on in (("worker", worker), ("scheduler", scheduler), ("web", web)) if is_on]
        if web:
            from monitor.services.people import FIRST_ADMIN_NAME
            from monitor.web.server import serve_web

            address = await stack.enter_async_context(serve_web(app))
            terminal.write_status(f"The web part answers at {address}.")
            if password := await app.people.create_first_admin():
                terminal.write_status(
                    f"Sign in as {FIRST_ADMIN_NAME} with the password {password} – it is shown this once."
                )
        _tune_garbage_collection()
        terminal.write_status(f"At work: {', '.join(parts)}. SIGTERM or Ctrl-C ends it.")
        await stop.wait()
        terminal.write_status(
            "Stopping: what is under way gets up to 30 seconds; what does not end is gone on with later."
        )


def _tune_garbage_collection() -> None:
    """What the start has made stays and is not looked at again; what runs leave behind goes soon, for months on end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_DEFAULT_GC_THRESHOLDS)


@asynccontextmanager
async def _handle_stop_signals() -> AsyncIterator[asyncio.Event]:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def mcp(context: typer.Context) -> None:
    """Serve the Model Context Protocol on stdin and stdout, for a language model's program that starts it."""
    asyncio.run(_serve_mcp(get_terminal(context)))


async def _serve_mcp(terminal: Terminal) -> None:
    from monitor.bootstrap import open_app
    from monitor.logs import configure_logging
    from monitor.mcp_server.server import open_server

    configure_logging(level=logging.DEBUG if terminal.is_debug else logging.WARNING)
    async with open_app(terminal.load_settings()) as app, open_server(app) as server:
        await server.run_stdio_async()
