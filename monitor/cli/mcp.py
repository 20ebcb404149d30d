"""`monitor mcp`: the archive and the sources as tools for a language model's program."""

import asyncio
import logging

import typer

from monitor.cli.terminal import Terminal, terminal_of


def mcp(context: typer.Context) -> None:
    """Serve the Model Context Protocol on stdin and stdout, for a language model's program that starts it."""
    asyncio.run(_serve(terminal_of(context)))


async def _serve(terminal: Terminal) -> None:
    from monitor.assistant.server import new_server
    from monitor.bootstrap import open_app
    from monitor.logs import begin_logs

    begin_logs(level=logging.DEBUG if terminal.is_debug else logging.WARNING)
    async with open_app(terminal.settings()) as app, new_server(app) as server:
        await server.run_stdio_async()
