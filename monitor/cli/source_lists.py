"""`monitor sources import` and `export`: lists of sources as files, and a source as JSON."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal, write_file
from monitor.i18n.catalogue import render
from monitor.i18n.model import reader_language

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.db.tables.collection import Source
    from monitor.services.audit import Actor
    from monitor.services.sources.importing import ImportPlan

TIME_FIELDS = ("created_at", "last_run_at", "last_success_at", "last_new_item_at")
TeamOption = Annotated[
    str | None, typer.Option("--team", metavar="NAME", help="Only for this team; else for everybody.")
]
_HEALTH_FIELDS = (*TIME_FIELDS, "consecutive_failures", "last_error")


def import_file(
    file: Annotated[Path, typer.Argument(help="YAML as in config.yaml, OPML, CSV or XLSX.")],
    rejected: Annotated[
        Path | None, typer.Option("--rejected", metavar="FILE", help="Write the wrong entries there, with reasons.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be added, and add nothing.")] = False,
    team: TeamOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add the sources of a file; those that exist are skipped, wrong ones are named and fail the command."""
    terminal = get_terminal()

    async def bring_in(app: "App", by: "Actor") -> "ImportPlan":
        from monitor.services.sources.exchange import read_source_file

        source_list = await read_source_file(file, app.documents)
        if dry_run:
            return await app.sources.plan_import(source_list)
        return await app.sources.import_list(source_list, by=by, team_id=await app.teams.resolve(team, by))

    plan = terminal.act(bring_in)
    wrong = plan.format_rejected(lambda message: render(message, terminal.language))
    if rejected is not None and wrong:
        write_file(rejected, wrong)
    _report_plan(terminal, plan, is_stored=not dry_run, as_json=as_json)
    if wrong:
        raise typer.Exit(1)


def _report_plan(terminal: Terminal, plan: "ImportPlan", *, is_stored: bool, as_json: bool) -> None:
    counts = Counter(str(entry.newness) for entry in plan.entries)
    terminal.report(
        "sources.imported" if is_stored else "sources.would_be_imported",
        as_json=as_json,
        document={"sources": [build_source_json(source) for source in plan.sources], "entries": plan.entries},
        number=len(plan.sources),
        names=[source.name for source in plan.sources] or ["-"],
    )
    if not as_json and counts["known"]:
        terminal.print("sources.import_skipped", number=counts["known"])
    for entry in plan.entries:
        if entry.newness == "wrong":
            complaint = terminal.to_text(entry.complaint)
            terminal.notify("sources.import_wrong", number=entry.number, name=entry.name or "-", reason=complaint)


def export(
    form: Annotated[str, typer.Option("--format", metavar="FORM", help="yaml, opml, csv or xlsx.")] = "yaml",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write all sources as YAML, OPML, CSV or XLSX; in JSON, a workbook is in base64."""
    from monitor.services.sources.exchange import to_text
    from monitor.services.sources.tables import SourceListFormat

    terminal = get_terminal()
    content = terminal.run(lambda app: app.sources.export(form))
    if out is not None:
        write_file(out, content)
    if as_json:
        text = {"text": to_text(content, SourceListFormat(form))}
        terminal.write_json({"format": form} | (text if out is None else {"path": out}))
    elif out is None and form == SourceListFormat.XLSX:
        sys.stdout.buffer.write(content)
    elif out is None:
        sys.stdout.write(to_text(content, SourceListFormat(form)))
    else:
        terminal.notify("sources.written", path=out)


def build_source_json(source: "Source") -> dict[str, Any]:
    from monitor.services.sources.form import SourceForm

    values = source.model_dump(mode="json")
    if error := source.last_error:
        written = error.to_json()
        values |= {
            "last_error": render(error, reader_language.get()),
            "last_error_code": written["code"],
            "last_error_args": written["args"],
        }
    return {name: values[name] for name in dict.fromkeys(("id", *SourceForm.model_fields, *_HEALTH_FIELDS))}
