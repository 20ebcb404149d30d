"""The long-running commands: `monitor serve`, its parts `worker`, `scheduler` and `web`, and `monitor mcp`."""

import asyncio
import datetime as dt
import gc
import logging
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.errors import DatabaseError, UsageError
from monitor.extras import needs_extra
from monitor.vocabulary import Role

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.config.model import Settings

_log = logging.getLogger(__name__)
_GC_THRESHOLDS = (5_000, 10, 10)
"""At 700 new objects, as Python has it, a seventh of the time of a long page is collections."""


def serve(as_json: JsonOption = False) -> None:
    asyncio.run(_serve(get_terminal(), worker=True, scheduler=True, web=True, as_json=as_json))


def worker(as_json: JsonOption = False) -> None:
    asyncio.run(_serve(get_terminal(), worker=True, as_json=as_json))


def scheduler(as_json: JsonOption = False) -> None:
    asyncio.run(_serve(get_terminal(), scheduler=True, as_json=as_json))


def web(as_json: JsonOption = False) -> None:
    asyncio.run(_serve(get_terminal(), web=True, as_json=as_json))


async def _serve(
    terminal: Terminal, *, worker: bool = False, scheduler: bool = False, web: bool = False, as_json: bool
) -> None:
    """Work until a signal asks for the end; then no new step begins, and those under way get 30 seconds.

    As JSON, one document on stdout says that all is at work, and at which address the pages are.
    """
    from monitor.bootstrap import open_service
    from monitor.logs import configure_logging

    configure_logging(level=logging.DEBUG if terminal.is_debug else logging.INFO)
    settings = terminal.load_settings()
    if not settings.work.scheduler:
        if scheduler and not worker:
            raise UsageError("serve.scheduler_off")
        scheduler = False
    await _check_installation(settings)
    async with AsyncExitStack() as stack:
        _start_metrics(settings, stack)
        await _start_traces(settings, stack)
        stop = await stack.enter_async_context(_handle_stop_signals())
        app = await stack.enter_async_context(open_service(settings, worker=worker, scheduler=scheduler))
        address = await _start_web(terminal, app, stack) if web else None
        if worker:
            app.workers.start()
            if app.settings.llm.is_on:
                with needs_extra("models"):
                    import_module("monitor.llm.client")  # the first run would hold the event loop for its seconds
        _tune_garbage_collection()
        stack.enter_context(app.watchdog.watch())  # the start itself holds the event loop with its imports
        parts = [name for name, is_on in (("worker", worker), ("scheduler", scheduler), ("web", web)) if is_on]
        terminal.notify("serve.working", parts=parts)
        if as_json:
            terminal.write_json({"parts": parts, "url": address})
            sys.stdout.flush()  # whoever waits for it starts to ask now
        await stop.wait()
        terminal.notify("serve.stopping")


async def _check_installation(settings: "Settings") -> None:
    """Close to others what an older version left open, and refuse to work on a damaged SQLite file.

    PostgreSQL only counts pages that were damaged at some time: that is logged.
    """
    from monitor.db.engines import DatabaseAddress
    from monitor.db.integrity import BackupLog, check_integrity
    from monitor.services.private_files import close_open_paths

    for closed in close_open_paths(settings):
        _log.warning("%s could be read by others; it is closed to them now.", closed)
    try:
        await asyncio.to_thread(check_integrity, settings.database_url, BackupLog(settings.data_dir))
    except DatabaseError as error:
        if DatabaseAddress.parse(settings.database_url).file is not None:
            raise
        _log.warning("%s", error)


def _start_metrics(settings: "Settings", stack: AsyncExitStack) -> None:
    """Show what this process measures until the stack ends, where a port is set."""
    from monitor.metrics import serve_process_metrics

    host, port = settings.web.host, settings.work.metrics_port
    if port is not None:
        try:
            stack.enter_context(serve_process_metrics(host, port))
        except OSError as error:
            raise UsageError("serve.metrics_unusable", host=host, port=port, reason=error.strerror or "") from None


async def _start_traces(settings: "Settings", stack: AsyncExitStack) -> None:
    if settings.work.traces_url is not None:
        from monitor.tracing import send_traces

        await stack.enter_async_context(send_traces(settings.work.traces_url, instance=settings.work.executor_id))


async def _start_web(terminal: Terminal, app: "App", stack: AsyncExitStack) -> str:
    """Serve the pages until the stack ends; return their address."""
    from monitor.mcp_server.http import open_assistants
    from monitor.services.people import FIRST_ADMIN_NAME, FIRST_PASSWORD_LIFETIME
    from monitor.web.app import serve_web

    app.build_all()
    assistants = await stack.enter_async_context(open_assistants(app))
    address = await stack.enter_async_context(serve_web(app, assistants))
    terminal.notify("serve.web_address", url=address)
    if password := await app.people.create_first_admin():
        file, hours = app.people.first_password_file, FIRST_PASSWORD_LIFETIME // dt.timedelta(hours=1)
        terminal.notify("serve.first_admin", name=FIRST_ADMIN_NAME, password=password, file=file, hours=hours)
    return address


def _tune_garbage_collection() -> None:
    """Leave alone what the start has made, and collect soon what runs leave behind, for months on end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


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


def mcp(
    role: Annotated[Role, typer.Option(help="What the assistant may do, at most.")] = Role.EDITOR,
    as_json: JsonOption = False,  # noqa: ARG001 -- stdout is the protocol's; a start that fails says why
) -> None:
    from monitor.logs import configure_logging
    from monitor.services.audit import ASSISTANT

    terminal = get_terminal()
    configure_logging(level=logging.DEBUG if terminal.is_debug else logging.WARNING)

    async def serve(app: "App") -> None:
        with needs_extra("mcp"):
            from monitor.mcp_server.server import open_server

        async with open_server(app, replace(ASSISTANT, role=role)) as server:
            await server.run_stdio_async()

    terminal.run(serve)
