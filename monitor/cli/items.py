"""`monitor items`: the archive."""

import asyncio
import datetime as dt
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, day, terminal_of, write_file
from monitor.domain.words import ItemType
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.app.archive import WholeItem
    from monitor.briefing.wire import ItemWire

app = typer.Typer(help="The archive of what was gathered.", rich_markup_mode=None)

_LATER = ("xlsx", "atom", "docx", "pdf", "md", "html")

SourceNames = Annotated[list[str] | None, typer.Option("--source", help="Only of this source; may be repeated.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only of sources with this tag; may be repeated.")]
Types = Annotated[list[ItemType] | None, typer.Option("--type", help="Only of this type; may be repeated.")]
Since = Annotated[
    dt.date | None, typer.Option("--since", parser=day, metavar="DATE", help="The first day, as 2026-02-03.")
]
Until = Annotated[dt.date | None, typer.Option("--until", parser=day, metavar="DATE", help="The last day.")]


class ExportFormat(StrEnum):
    """What an export is written in now."""

    CSV = "csv"
    JSON = "json"


@app.command("list")
def list_items(
    context: typer.Context,
    source: SourceNames = None,
    tag: Tags = None,
    kind: Types = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List items, newest first."""
    terminal = terminal_of(context)
    items = asyncio.run(_listed(terminal, source or (), tag or (), kind or (), since, until, limit))
    _show(terminal, items, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    item_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `items list` shows.")],
    as_json: JsonOption = False,
) -> None:
    """Show one item with the text of its page."""
    terminal = terminal_of(context)
    item = asyncio.run(_one(terminal, item_id))
    if as_json:
        terminal.document(item.model_dump(mode="json"))
        return
    for name, value in item.model_dump(mode="json", exclude={"text", "attachments", "evidence"}).items():
        if value not in (None, ""):
            terminal.say(f"{name:<16} {value}")
    for attachment in item.attachments:
        terminal.say(f"attachment       [{attachment.type}] {attachment.title} {attachment.url}")
    if item.text:
        terminal.say(f"\n{item.text}")


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="Words as they stand in a title, a summary or a text.")],
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Find items by words of their title, summary or text."""
    terminal = terminal_of(context)
    _show(terminal, asyncio.run(_found(terminal, query, limit)), as_json=as_json)


@app.command()
def export(
    context: typer.Context,
    form: Annotated[str, typer.Option("--format", metavar="FMT", help="csv or json.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    source: SourceNames = None,
    tag: Tags = None,
    kind: Types = None,
    since: Since = None,
    until: Until = None,
) -> None:
    """Write all items that are meant as csv or json."""
    from monitor.cli.export import to_csv, to_json

    terminal = terminal_of(context)
    if form in _LATER:
        raise UsageError(f"Items are exported as csv or json for now; {form} comes in a later version.")
    if form not in set(ExportFormat):
        raise UsageError(f"There is no export format {form!r}; choose csv or json.")
    items = asyncio.run(_listed(terminal, source or (), tag or (), kind or (), since, until, None))
    text = to_csv(items) if form == ExportFormat.CSV else to_json(items)
    if out is None:
        sys.stdout.write(text)
        return
    # A spreadsheet takes a file without this mark for one in the encoding of its country.
    write_file(out, text.encode("utf-8-sig" if form == ExportFormat.CSV else "utf-8"))
    terminal.note(f"{len(items)} items were written to {out}.")


async def _listed(
    terminal: Terminal,
    sources: Sequence[str],
    tags: Sequence[str],
    kinds: Sequence[ItemType],
    since: dt.date | None,
    until: dt.date | None,
    limit: int | None,
) -> "list[ItemWire]":
    from monitor.app.archive import ItemQuery
    from monitor.bootstrap import open_app

    wanted = ItemQuery(sources=sources, tags=tags, types=kinds, since=since, until=until)
    async with open_app(terminal.settings()) as parts:
        return await parts.archive.items(wanted, limit)


async def _one(terminal: Terminal, item_id: int) -> "WholeItem":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.archive.item(item_id)


async def _found(terminal: Terminal, query: str, limit: int) -> "list[ItemWire]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.archive.search(query, limit)


def _show(terminal: Terminal, items: "list[ItemWire]", *, as_json: bool) -> None:
    if as_json:
        terminal.document({"items": [item.model_dump(mode="json") for item in items]})
    elif items:
        rows = [(one.id, one.date, one.date_source, one.type, one.source, one.title, one.url) for one in items]
        terminal.table(("id", "date", "from", "type", "source", "title", "url"), rows)
    else:
        terminal.note("No items.")
