"""`monitor search`: web.search."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of

if TYPE_CHECKING:
    from monitor.domain.searching import ToolResult

_SNIPPET_CHARS = 160


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    backend: Annotated[str | None, typer.Option("--backend", metavar="NAME", help="Ask this one.")] = None,
    most: Annotated[int | None, typer.Option("--max", metavar="N", help="At most so many results, 1 to 10.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Search the web, or what was gathered, with the backends that search.backend names."""
    terminal = terminal_of(context)
    found, warnings = asyncio.run(_found(terminal, query, backend, most))
    for warning in warnings:
        terminal.note(f"monitor: {warning}")
    if as_json:
        terminal.document(found.wire())
    else:
        _show(terminal, found)
    for error in found.errors:
        code = f"{error.type}/{error.detail_code}" if error.detail_code else error.type
        terminal.note(f"monitor: {code}: {error.message}")
    if found.errors and not found.items:
        raise typer.Exit(2 if found.is_refused else 1)


def _show(terminal: Terminal, found: "ToolResult") -> None:
    for item in found.items:
        day = f"  {item.published_at}" if item.published_at else ""
        terminal.say(f"{item.rank:>2}  {item.title or '(no title)'}  [{item.provider}]{day}")
        terminal.say(f"    {item.source or item.url}")
        if item.snippet:
            terminal.say(f"    {item.snippet[:_SNIPPET_CHARS]}")
    if not found.items and not found.errors:
        terminal.say("Nothing was found.")


async def _found(
    terminal: Terminal, query: str, backend: str | None, most: int | None
) -> "tuple[ToolResult, list[str]]":
    from monitor.bootstrap import open_app

    arguments: dict[str, object] = {"query": query}
    if most is not None:
        arguments["max_results"] = most
    async with open_app(terminal.settings()) as parts:
        warnings = [] if backend else list(parts.searching.warnings())
        return await parts.searching.search(arguments, backend=backend), warnings
