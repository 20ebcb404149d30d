"""`monitor items`: the archive."""

import asyncio
import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from monitor.cli.handover import check_outlet, hand_over
from monitor.cli.terminal import JsonOption, Terminal, day, terminal_of
from monitor.domain.words import ItemType

if TYPE_CHECKING:
    from monitor.app.archive import FoundWire, ItemQuery, RevisionWire, WholeItem
    from monitor.app.proof import Proof
    from monitor.briefing.wire import ItemWire

app = typer.Typer(help="The archive of what was gathered.", rich_markup_mode=None)

SourceNames = Annotated[list[str] | None, typer.Option("--source", help="Only of this source; may be repeated.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only of sources with this tag; may be repeated.")]
Types = Annotated[list[ItemType] | None, typer.Option("--type", help="Only of this type; may be repeated.")]
Since = Annotated[
    dt.date | None, typer.Option("--since", parser=day, metavar="DATE", help="The first day, as 2026-02-03.")
]
Text = Annotated[str, typer.Option("--text", help="Only items in which all these words stand.")]
Until = Annotated[dt.date | None, typer.Option("--until", parser=day, metavar="DATE", help="The last day.")]


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
    terminal = terminal_of(context)
    items = asyncio.run(_listed(terminal, source or (), tag or (), kind or (), since, until, text, limit))
    _show(terminal, items, as_json=as_json)


@app.command()
def show(
    context: typer.Context,
    item_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `items list` shows.")],
    evidence: Annotated[bool, typer.Option("--evidence", help="What each statement rests on, and where.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one item with the text of its page and what was changed in it."""
    from monitor.cli.proof import tell_proof

    terminal = terminal_of(context)
    item, proof = asyncio.run(_one(terminal, item_id, with_proof=evidence))
    if as_json:
        proved = {} if proof is None else proof.model_dump(mode="json", include={"claims", "records"})
        terminal.document(item.model_dump(mode="json") | proved)
        return
    for name, value in item.model_dump(mode="json", exclude={"text", "attachments", "evidence", "revisions"}).items():
        if value not in (None, ""):
            terminal.say(f"{name:<16} {value}")
    for attachment in item.attachments:
        terminal.say(f"attachment       [{attachment.type}] {attachment.title} {attachment.url}")
    for revision in item.revisions:
        _say_revision(terminal, revision)
    if proof is not None:
        tell_proof(terminal, proof)
    elif item.text:
        terminal.say(f"\n{item.text}")


def _say_revision(terminal: Terminal, revision: "RevisionWire") -> None:
    """A change: the sentence that says it, then each place as it was and as it is."""
    because = f" ({revision.reason})" if revision.reason else ""
    terminal.say(f"\nrevision         {revision.seen_at:%Y-%m-%d %H:%M} UTC: {revision.said}{because}")
    for edit in revision.edits:
        place = edit.article or str(edit.part)
        terminal.say(f"  {place} {edit.op}")
        for sign, text in (("-", edit.before), ("+", edit.after)):
            for line in text.splitlines():
                terminal.say(f"  {sign} {line}")
    if revision.more_edits:
        terminal.say(f"  and {revision.more_edits} more")


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
    from monitor.app.archive import ItemQuery

    terminal = terminal_of(context)
    wanted = ItemQuery(
        sources=source or (), tags=tag or (), types=kind or (), since=since, until=until, text=query, site=site
    )
    found = asyncio.run(_found(terminal, wanted, limit))
    if as_json:
        terminal.document({"items": [one.model_dump(mode="json") for one in found]})
    elif found:
        rows = [(one.id, one.date, one.source, one.title, one.snippet, one.url) for one in found]
        terminal.table(("id", "date", "source", "title", "found in", "url"), rows)
    else:
        terminal.note("No items.")


@app.command()
def export(
    context: typer.Context,
    form: Annotated[str, typer.Option("--format", metavar="FMT", help="csv xlsx json jsonl atom.")] = "csv",
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
    """Write all items that are meant: csv, json and jsonl for programs, xlsx for people, atom for readers of feeds."""
    from monitor.bootstrap import SystemClock
    from monitor.briefing.render import ITEM_FORMATS, render_items
    from monitor.formats.render import check_format

    terminal = terminal_of(context)
    check_format(form, ITEM_FORMATS)
    check_outlet(form, out)
    items = asyncio.run(_listed(terminal, source or (), tag or (), kind or (), since, until, text, None))
    now = SystemClock().now().astimezone(ZoneInfo(terminal.settings().timezone))
    hand_over(terminal, render_items(items, form, language=lang, now=now), form, out, len(items))


async def _listed(
    terminal: Terminal,
    sources: Sequence[str],
    tags: Sequence[str],
    kinds: Sequence[ItemType],
    since: dt.date | None,
    until: dt.date | None,
    text: str,
    limit: int | None,
) -> "list[ItemWire]":
    from monitor.app.archive import ItemQuery
    from monitor.bootstrap import open_app

    wanted = ItemQuery(sources=sources, tags=tags, types=kinds, since=since, until=until, text=text)
    async with open_app(terminal.settings()) as parts:
        return await parts.archive.items(wanted, limit)


async def _one(terminal: Terminal, item_id: int, *, with_proof: bool) -> "tuple[WholeItem, Proof | None]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        item = await parts.archive.item(item_id)
        return item, await parts.proofs.of_item(item_id) if with_proof else None


async def _found(terminal: Terminal, wanted: "ItemQuery", limit: int) -> "list[FoundWire]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.archive.search(wanted, limit)


def _show(terminal: Terminal, items: "list[ItemWire]", *, as_json: bool) -> None:
    if as_json:
        terminal.document({"items": [item.model_dump(mode="json") for item in items]})
    elif items:
        rows = [(one.id, one.date, one.date_source, one.type, one.source, one.title, one.url) for one in items]
        terminal.table(("id", "date", "from", "type", "source", "title", "url"), rows)
    else:
        terminal.note("No items.")
