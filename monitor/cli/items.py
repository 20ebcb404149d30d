"""`monitor items`: the archive."""

import asyncio
import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from monitor.cli.terminal import JsonOption, Terminal, check_output, get_terminal, parse_day, write_output
from monitor.exports.registry import ITEM_FORMATS, get_format
from monitor.i18n.catalogue import render
from monitor.services.evidence import ItemProof
from monitor.vocabulary import ItemType

if TYPE_CHECKING:
    from monitor.briefing.item import ItemSchema
    from monitor.services.items import FullItemSchema, ItemMatchSchema, RevisionSchema

if TYPE_CHECKING:
    from monitor.services.items import ItemQuery


app = typer.Typer(help="The archive of what was gathered.", rich_markup_mode=None)

SourceNames = Annotated[list[str] | None, typer.Option("--source", help="Only of this source; may be repeated.")]

Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only of sources with this tag; may be repeated.")]

Types = Annotated[list[ItemType] | None, typer.Option("--type", help="Only of this type; may be repeated.")]

Since = Annotated[
    dt.date | None, typer.Option("--since", parser=parse_day, metavar="DATE", help="The first day, as 2026-02-03.")
]

Text = Annotated[str, typer.Option("--text", help="Only items in which all these words stand.")]

Until = Annotated[dt.date | None, typer.Option("--until", parser=parse_day, metavar="DATE", help="The last day.")]


@app.command("list")
def list_items(
    context: typer.Context,
    source: SourceNames = None,
    tag: Tags = None,
    kind: Types = None,
    since: Since = None,
    until: Until = None,
    text: Text = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List the collected items, newest first."""
    terminal = get_terminal(context)
    items = asyncio.run(_load_items(terminal, source or (), tag or (), kind or (), since, until, text, limit))
    _print_items(terminal, items, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    item_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `items list` shows.")],
    evidence: Annotated[bool, typer.Option("--evidence", help="What each statement rests on, and where.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one item with the text of its page and what was changed in it."""
    terminal = get_terminal(context)
    item, proof = asyncio.run(_load_item(terminal, item_id, with_proof=evidence))
    if as_json:
        proved = {} if proof is None else proof.model_dump(mode="json", include={"claims", "records"})
        terminal.write_json(item.model_dump(mode="json") | proved)
        return
    for name, value in item.model_dump(mode="json", exclude={"text", "attachments", "evidence", "revisions"}).items():
        if value not in (None, ""):
            terminal.write_line(f"{name:<16} {value}")
    for attachment in item.attachments:
        terminal.write_line(f"attachment       [{attachment.type}] {attachment.title} {attachment.url}")
    for revision in item.revisions:
        _print_revision(terminal, revision)
    if proof is not None:
        print_proof(terminal, proof)
    elif item.text:
        terminal.write_line(f"\n{item.text}")


def _print_revision(terminal: Terminal, revision: "RevisionSchema") -> None:
    """A change: the sentence that says it, then each place as it was and as it is."""
    because = f" ({render(revision.reason, 'en')})" if revision.reason else ""
    terminal.write_line(f"\nrevision         {revision.seen_at:%Y-%m-%d %H:%M} UTC: {revision.said}{because}")
    for edit in revision.edits:
        place = edit.article or str(edit.part)
        terminal.write_line(f"  {place} {edit.op}")
        for sign, text in (("-", edit.before), ("+", edit.after)):
            for line in text.splitlines():
                terminal.write_line(f"  {sign} {line}")
    if revision.more_edits:
        terminal.write_line(f"  and {revision.more_edits} more")


@app.command()
def search(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(help='Words that all have to stand there; what is in "quotes", word for word.')
    ],
    source: SourceNames = None,
    tag: Tags = None,
    kind: Types = None,
    since: Since = None,
    until: Until = None,
    site: Annotated[
        str | None, typer.Option("--site", metavar="HOST", help="Only pages of this host, as gov.cn.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """Find items by words of their title, summary or text, the best first."""
    from monitor.services.items import ItemQuery

    terminal = get_terminal(context)
    wanted = ItemQuery(
        sources=source or (), tags=tag or (), types=kind or (), since=since, until=until, text=query, site=site
    )
    found = asyncio.run(_search_items(terminal, wanted, limit))
    if as_json:
        terminal.write_json({"items": [one.model_dump(mode="json") for one in found]})
    elif found:
        rows = [(one.id, one.date, one.source, one.title, one.snippet, one.url) for one in found]
        terminal.write_table(("id", "date", "source", "title", "found in", "url"), rows)
    else:
        terminal.write_status("No items.")


@app.command()
def export(
    context: typer.Context,
    form: Annotated[str, typer.Option("--format", metavar="FMT", help=f"{' '.join(ITEM_FORMATS)}.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    source: SourceNames = None,
    tag: Tags = None,
    kind: Types = None,
    since: Since = None,
    until: Until = None,
    text: Text = "",
    lang: Annotated[
        str, typer.Option("--lang", metavar="zh|en", help="The language of the words in xlsx and atom.")
    ] = "zh",
) -> None:
    """Write the selected items to a file or to stdout."""
    from monitor.briefing.render import render_items
    from monitor.clock import SystemClock

    terminal = get_terminal(context)
    get_format(form, ITEM_FORMATS)
    check_output(form, out)
    items = asyncio.run(_load_items(terminal, source or (), tag or (), kind or (), since, until, text, None))
    now = SystemClock().now().astimezone(ZoneInfo(terminal.load_settings().timezone))
    write_output(terminal, render_items(items, form, language=lang, now=now), form, out, len(items))


async def _load_items(
    terminal: Terminal,
    sources: Sequence[str],
    tags: Sequence[str],
    kinds: Sequence[ItemType],
    since: dt.date | None,
    until: dt.date | None,
    text: str,
    limit: int | None,
) -> "list[ItemSchema]":
    from monitor.bootstrap import open_app
    from monitor.services.items import ItemQuery

    wanted = ItemQuery(sources=sources, tags=tags, types=kinds, since=since, until=until, text=text)
    async with open_app(terminal.load_settings()) as parts:
        return await parts.archive.list_items(wanted, limit)


async def _load_item(
    terminal: Terminal, item_id: int, *, with_proof: bool
) -> "tuple[FullItemSchema, ItemProof | None]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        item = await parts.archive.get_item(item_id)
        return item, await parts.proofs.get_proof(item_id) if with_proof else None


async def _search_items(terminal: Terminal, wanted: "ItemQuery", limit: int) -> "list[ItemMatchSchema]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        return await parts.archive.search(wanted, limit)


def _print_items(terminal: Terminal, items: "list[ItemSchema]", *, as_json: bool) -> None:
    if as_json:
        terminal.write_json({"items": [item.model_dump(mode="json") for item in items]})
    elif items:
        rows = [(one.id, one.date, one.date_source, one.type, one.source, one.title, one.url) for one in items]
        terminal.write_table(("id", "date", "from", "type", "source", "title", "url"), rows)
    else:
        terminal.write_status("No items.")


def print_proof(terminal: Terminal, proof: ItemProof) -> None:
    """Claim by claim, then record by record."""
    if not proof.claims:
        terminal.write_status(
            "Nothing is recorded for this item: it was saved before records were kept, or they are gone."
        )
        return
    numbers = {record.id: number for number, record in enumerate(proof.records, start=1)}
    terminal.write_line()
    for claim in proof.claims:
        terminal.write_line(f"{claim.kind:<16} {claim.claim}")
        words = f"“{claim.passage}”" if claim.passage else "the page as a whole"
        terminal.write_line(f"{'':<16}   [{numbers.get(claim.record, claim.record)}] {words}")
    for record in proof.records:
        status = "" if record.status is None else f", {record.status}"
        terminal.write_line(f"\n[{numbers[record.id]}] record {record.id}: {record.final_url}")
        terminal.write_line(
            f"    seen     {record.fetched_at:%Y-%m-%d %H:%M:%S} UTC ({record.way}{status}), run {record.run_id}"
        )
        terminal.write_line(f"    sha256   {record.sha256 or '-'}")
        terminal.write_line(f"    file     {record.file or '-'}")
        if record.problem:
            terminal.write_line(f"    PROBLEM  {record.problem}")
