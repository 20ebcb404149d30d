"""`monitor search` and `monitor fetch`: the tools web.search and web.fetch."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.bootstrap import App
    from monitor.search.contract import ToolResult


_MAX_SNIPPET_CHARS = 160


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    backend: Annotated[
        str | None, typer.Option("--backend", metavar="NAME", help="Ask this one, or several with commas.")
    ] = None,
    max_results: Annotated[
        int | None, typer.Option("--max", metavar="N", help="At most so many results, 1 to 10.")
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", metavar="TAG", help="As zh or en-GB.")] = None,
    time_range: Annotated[
        str | None, typer.Option("--time-range", metavar="RANGE", help="No older than a day, week, month or year.")
    ] = None,
    site: Annotated[str | None, typer.Option("--site", metavar="HOST", help="Only this site, as gov.cn.")] = None,
    need_summary: Annotated[
        bool, typer.Option("--summary", help="Longer texts, from a service that summarises.")
    ] = False,
    budget_ms: Annotated[
        int | None, typer.Option("--budget", metavar="MS", help="Answer within so many milliseconds.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    wished = {
        "max_results": max_results,
        "lang": lang,
        "time_range": time_range,
        "site_filter": site,
        "need_summary": need_summary or None,
        "budget_ms": budget_ms,
    }
    arguments = {"query": query} | {name: value for name, value in wished.items() if value is not None}

    async def ask(app: "App") -> "tuple[ToolResult, Sequence[Any]]":
        warnings = () if backend else app.search.list_warnings()
        return await app.search.search(arguments, backend=backend), warnings

    terminal = get_terminal()
    result, warnings = terminal.run(ask)
    for warning in warnings:
        terminal.complain(warning)
    if as_json:
        terminal.write_json(result.to_json())
    else:
        _print_results(terminal, result)
    _print_errors(terminal, result.errors)
    if result.errors and not result.items:
        raise typer.Exit(2 if result.is_refused else 1)


def _print_results(terminal: Terminal, result: "ToolResult") -> None:
    for item in result.items:
        day = f"  {item.published_at}" if item.published_at else ""
        title = item.title or terminal.translate("(no title)")
        terminal.write_line(f"{item.rank:>2}  {title}  [{item.provider}]{day}")
        terminal.write_line(f"    {item.source or item.url}")
        if item.snippet:
            terminal.write_line(f"    {item.snippet[:_MAX_SNIPPET_CHARS]}")
    if not result.items and not result.errors:
        terminal.print("search.nothing_found")


def _print_errors(terminal: Terminal, errors: "Sequence[Any]") -> None:
    for error in errors:
        code = f"{error.type}/{error.detail_code}" if error.detail_code else error.type
        terminal.complain(f"{code}: {terminal.to_text(error.message)}")


def fetch(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to fetch.")], as_json: JsonOption = False
) -> None:
    terminal = get_terminal()
    result = terminal.run(lambda app: app.search.fetch(url))
    if as_json:
        terminal.write_json(result.to_json())
    elif not result.errors:
        published = f"  {result.published_at}" if result.published_at else ""
        terminal.write_line(f"{result.title or terminal.translate('(no title)')}{published}")
        terminal.write_line(result.final_url)
        terminal.write_line(f"\n{result.text}")
    _print_errors(terminal, result.errors)
    if result.errors:
        raise typer.Exit(1)
