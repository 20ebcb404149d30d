"""The command `monitor search`, which prints what web.search finds."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.i18n.catalogue import get_system_language, render

if TYPE_CHECKING:
    from monitor.i18n.message import Message
    from monitor.search.contract import ToolResult


_MAX_SNIPPET_CHARS = 160


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    backend: Annotated[str | None, typer.Option("--backend", metavar="NAME", help="Ask this one.")] = None,
    max_results: Annotated[
        int | None, typer.Option("--max", metavar="N", help="At most so many results, 1 to 10.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search the web, or what was gathered, with the backends that search.backend names."""
    terminal = get_terminal(context)
    found, warnings = asyncio.run(_run_search(terminal, query, backend, max_results))
    for warning in warnings:
        terminal.write_status(f"monitor: {render(warning, get_system_language())}")
    if as_json:
        terminal.write_json(found.to_json())
    else:
        _print_results(terminal, found)
    for error in found.errors:
        code = f"{error.type}/{error.detail_code}" if error.detail_code else error.type
        terminal.write_status(f"monitor: {code}: {render(error.message, get_system_language())}")
    if found.errors and not found.items:
        raise typer.Exit(2 if found.is_refused else 1)


def _print_results(terminal: Terminal, found: "ToolResult") -> None:
    for item in found.items:
        day = f"  {item.published_at}" if item.published_at else ""
        terminal.write_line(f"{item.rank:>2}  {item.title or '(no title)'}  [{item.provider}]{day}")
        terminal.write_line(f"    {item.source or item.url}")
        if item.snippet:
            terminal.write_line(f"    {item.snippet[:_MAX_SNIPPET_CHARS]}")
    if not found.items and not found.errors:
        terminal.write_line("Nothing was found.")


async def _run_search(
    terminal: Terminal, query: str, backend: str | None, max_results: int | None
) -> "tuple[ToolResult, list[Message]]":
    from monitor.bootstrap import open_app

    arguments: dict[str, object] = {"query": query}
    if max_results is not None:
        arguments["max_results"] = max_results
    async with open_app(terminal.load_settings()) as parts:
        warnings = [] if backend else list(parts.search.list_warnings())
        return await parts.search.search(arguments, backend=backend), warnings
