"""`monitor items`: list, show, search and export the archive."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import (
    ORIGIN_OPTIONS,
    JsonOption,
    OptionValue,
    SinceOption,
    Terminal,
    UntilOption,
    add_options,
    choose_format,
    collect_given,
    get_terminal,
    write_output,
)
from monitor.exports.registry import ITEM_FORMATS
from monitor.i18n.catalogue import get_word

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.evidence import ItemProof
    from monitor.services.items import FullItemSchema, ItemQuery, RevisionSchema

app = build_group()
_SELECTION: dict[str, Any] = {
    **ORIGIN_OPTIONS,
    "topic": Annotated[str | None, typer.Option("--topic", metavar="NAME", help="Only what fits this topic.")],
    "since": SinceOption,
    "until": UntilOption,
}
"""By the fields of an item query."""

_FILTERS = _SELECTION | {
    "text": Annotated[str | None, typer.Option("--text", help="Only items in which all these words stand.")]
}


@app.command("list")
@add_options(_FILTERS)
def list_items(
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
    **filters: OptionValue,
) -> None:
    """List the collected items, newest first."""
    terminal = get_terminal()
    query = _build_query(filters)
    terminal.write_list(
        "items",
        terminal.run(lambda app: app.archive.list_items(query, limit)),
        lambda item: {
            "id": item.id,
            "date": item.date,
            "from": terminal.word("date_source", item.date_source),
            "type": terminal.word("type", item.type),
            "source": item.source,
            "title": item.title,
            "url": item.url,
        },
        as_json=as_json,
        none="items.none",
    )


@app.command()
def show(
    item_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `items list` shows.")],
    evidence: Annotated[bool, typer.Option("--evidence", help="What each statement rests on, and where.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one item with the text of its page and what was changed in it."""
    from monitor.briefing.item import describe_statements

    async def load(app: "App") -> "tuple[FullItemSchema, ItemProof | None]":
        item = await app.archive.get_item(item_id)
        return item, await app.proofs.get_proof(item_id) if evidence else None

    terminal = get_terminal()
    item, proof = terminal.run(load)
    if as_json:
        proved = {} if proof is None else proof.model_dump(mode="json", include={"claims", "records"})
        terminal.write_json(item.model_dump(mode="json") | proved)
        return
    hidden = {"text", "topics", "attachments", "evidence", "revisions", "statements", "facts", "policy"}
    fields = item.model_dump(exclude=hidden)
    if item.statements is not None:
        fields["statements"] = describe_statements(item.statements)
    terminal.write_fields(fields)
    _print_subject(terminal, item)
    for attachment in item.attachments:
        terminal.print("item.attachment", type=attachment.type, title=attachment.title, url=attachment.url)
    for revision in item.revisions:
        _print_revision(terminal, revision)
    if proof is not None:
        _print_proof(terminal, proof)
    elif item.text:
        terminal.write_line(f"\n{item.text}")


def _print_subject(terminal: Terminal, item: "FullItemSchema") -> None:
    """Print the policy, the deadlines and the topics of an item."""
    if item.policy is not None:
        terminal.write_line(f"{'policy':<16} {item.policy.id} {item.policy.name}")
    for deadline in item.facts.deadlines if item.facts is not None else ():
        terminal.write_line(f"{deadline.kind:<16} {deadline.day} {deadline.subject}".rstrip())
    for topic in item.topics:
        terminal.print("item.topic", topic=topic.name, percent=round(100 * topic.score), reason=topic.reason)


def _print_revision(terminal: Terminal, revision: "RevisionSchema") -> None:
    """Print the sentence that says what was changed, then each place as it was and as it is."""
    terminal.write_line()
    because = f" ({terminal.to_text(revision.reason)})" if revision.reason else ""
    seen_at = terminal.format_instant(revision.seen_at)
    terminal.print("item.revision", at=seen_at, change=f"{terminal.to_text(revision.said)}{because}")
    for edit in revision.edits:
        place = edit.article or terminal.word("part", edit.part)
        terminal.write_line(f"  {place} {terminal.word('op', edit.op)}")
        for sign, text in (("-", edit.before), ("+", edit.after)):
            for line in text.splitlines():
                terminal.write_line(f"  {sign} {line}")
    if revision.more_edits:
        terminal.print("item.more_edits", number=revision.more_edits)


@app.command()
@add_options(_SELECTION)
def search(
    query: Annotated[
        str, typer.Argument(help='Words that all have to stand there; what is in "quotes", word for word.')
    ],
    site: Annotated[
        str | None, typer.Option("--site", metavar="HOST", help="Only pages of this host, as gov.cn.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_json: JsonOption = False,
    **filters: OptionValue,
) -> None:
    """Find items by words of their title, summary or text, the best first."""
    terminal = get_terminal()
    item_query = _build_query({**filters, "text": query, "site": site})
    found = terminal.run(lambda app: app.archive.search(item_query, limit))
    terminal.write_list(
        "items",
        found.items,
        lambda match: {
            "id": match.id,
            "date": match.date,
            "source": match.source,
            "title": match.title,
            "found_in": match.snippet,
            "url": match.url,
        },
        as_json=as_json,
        none="items.none",
    )
    if found.ranked_since is not None:
        terminal.notify("items.ranked_since", day=found.ranked_since)


@app.command()
@add_options(_FILTERS)
def export(
    form: Annotated[str, typer.Option("--format", metavar="FMT", help=f"{' '.join(ITEM_FORMATS)}.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    lang: Annotated[
        str, typer.Option("--lang", metavar="zh|en", help="The language of the words in xlsx and atom.")
    ] = "zh",
    as_json: JsonOption = False,
    **filters: OptionValue,
) -> None:
    """Write the selected items to a file or to stdout."""
    from monitor.briefing.render import render_items
    from monitor.clock import SystemClock

    terminal = get_terminal()
    form = choose_format(form, ITEM_FORMATS, out, default="csv", as_json=as_json)
    query = _build_query(filters)
    items = terminal.run(lambda app: app.archive.list_items(query, None))
    now = SystemClock().now().astimezone(ZoneInfo(terminal.load_settings().timezone))
    write_output(terminal, render_items(items, form, language=lang, now=now), form, out, len(items), as_json=as_json)


def _build_query(fields: Mapping[str, OptionValue]) -> "ItemQuery":
    from monitor.services.items import ItemQuery

    return ItemQuery(**collect_given(fields))


def _print_proof(terminal: Terminal, proof: "ItemProof") -> None:
    if not proof.claims:
        terminal.notify("proof.none")
        return
    numbers = {record.id: number for number, record in enumerate(proof.records, start=1)}
    terminal.write_line()
    for claim in proof.claims:
        terminal.write_line(f"{terminal.word('claim', claim.kind):<16} {claim.claim}")
        if claim.verdict is not None:
            by = "" if claim.judged_by is None else get_word(terminal.language, "judged_by", claim.judged_by)
            said = [terminal.render(reason.message) for reason in claim.reasons]
            verdict = get_word(terminal.language, "verdict", claim.verdict)
            terminal.write_line(f"{'':<16}   {' '.join(filter(None, [verdict, by, *said]))}")
        words = f"“{claim.passage}”" if claim.passage else terminal.translate("the page as a whole")
        terminal.write_line(f"{'':<16}   [{numbers.get(claim.record, claim.record)}] {words}")
    for record in proof.records:
        status = "" if record.status is None else f", {record.status}"
        terminal.write_line()
        terminal.print("proof.record", number=numbers[record.id], id=record.id, url=record.final_url)
        terminal.print(
            "proof.seen",
            at=terminal.format_instant(record.fetched_at, seconds=True),
            way=f"{terminal.word('fetch_mode', record.way)}{status}",
            run=record.run_id,
        )
        terminal.write_line(f"    sha256   {record.sha256 or '-'}")
        terminal.print("proof.file", path=record.file or "-")
        if record.problem:
            terminal.print("proof.problem", problem=record.problem)
