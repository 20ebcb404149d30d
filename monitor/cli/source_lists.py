"""`monitor sources import` and `export`: lists of sources as files."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal, write_file
from monitor.i18n.catalogue import render

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.sources.importing import ImportPlan


def import_file(
    file: Annotated[Path, typer.Argument(help="YAML as in config.yaml, OPML, or CSV.")],
    rejected: Annotated[
        Path | None, typer.Option("--rejected", metavar="FILE", help="Write the wrong entries there, with reasons.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added, and add nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Add the sources of a file; those that exist are skipped, wrong ones are named and fail the command."""
    terminal = get_terminal()

    async def bring_in(app: "App", by: "Actor") -> "ImportPlan":
        from monitor.services.sources.exchange import read_source_file

        if dry_run:
            return await app.sources.plan_import(read_source_file(file))
        return await app.sources.import_file(file, by=by)

    plan = terminal.act(bring_in)
    text = plan.format_rejected(lambda message: render(message, terminal.language))
    if rejected is not None and text:
        write_file(rejected, text.encode("utf-8-sig" if plan.source_list.list_format == "csv" else "utf-8"))
    _report_plan(terminal, plan, is_stored=not dry_run, as_json=as_json)
    if text:
        raise typer.Exit(1)


def _report_plan(terminal: Terminal, plan: "ImportPlan", *, is_stored: bool, as_json: bool) -> None:
    counts = Counter(str(entry.newness) for entry in plan.entries)
    names = [source.name for source in plan.sources] or ["-"]
    terminal.report(
        "sources.imported" if is_stored else "sources.would_be_imported",
        as_json=as_json,
        document={"sources": names if plan.sources else [], "entries": plan.entries},
        number=len(plan.sources),
        names=names,
    )
    if not as_json and counts["known"]:
        terminal.print("sources.import_skipped", number=counts["known"])
    for entry in plan.entries:
        if entry.newness == "wrong":
            complaint = terminal.to_text(entry.complaint)
            terminal.notify("sources.import_wrong", number=entry.number, name=entry.name or "-", reason=complaint)


def export(
    form: Annotated[str, typer.Option("--format", metavar="yaml|opml|csv", help="yaml, opml or csv.")] = "yaml",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write all sources as YAML, OPML or CSV."""
    terminal = get_terminal()
    text = terminal.run(lambda app: app.sources.export(form))
    if out is not None:
        write_file(out, text.encode("utf-8-sig" if form == "csv" else "utf-8"))  # spreadsheets ask for the mark
    if as_json:
        terminal.write_json({"format": form} | ({"text": text} if out is None else {"path": out}))
    elif out is None:
        sys.stdout.write(text)
    else:
        terminal.notify("sources.written", path=out)
