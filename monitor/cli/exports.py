"""`monitor export`: the archive for tools of one's own, on a schedule or by hand."""

import asyncio
import time
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, get_terminal
from monitor.db.tables.exports import ExportFormat
from monitor.errors import Conflict, UsageError, WorkFailed

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.i18n.message import Message
    from monitor.services.archive_export import ExportDetail
    from monitor.services.audit import Actor

app = build_group()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the export, which is its folder.")]
Schedule = Annotated[
    str | None, typer.Option("--schedule", metavar="CRON", help="When, as cron: minute, hour, day, month, weekday.")
]


@app.command("list")
def list_exports(as_json: JsonOption = False) -> None:
    """List the exports, and how they go."""
    terminal = get_terminal()
    terminal.write_list(
        "exports",
        terminal.act(lambda app, by: app.archive_exports.list(by=by)),
        lambda export: {
            "name": export.name,
            "format": export.format,
            "bucket": export.bucket,
            "schedule": export.schedule,
            "last_success": export.last_success_at,
            "next": export.next_at,
            "error": export.last_error,
        },
        as_json=as_json,
        none="exports.none",
    )


@app.command()
def add(
    name: Name,
    form: Annotated[ExportFormat, typer.Option("--format", help="What is written.")] = ExportFormat.JSON_LINES,
    bucket: Annotated[
        str | None, typer.Option("--bucket", metavar="NAME", help="A configured bucket, else the configured folder.")
    ] = None,
    schedule: Schedule = None,
    team: Annotated[str | None, typer.Option("--team", metavar="NAME", help="What belongs to this team too.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Add an export; its first run writes the whole archive."""
    from pydantic import ValidationError

    from monitor.i18n.model import describe_validation_error
    from monitor.services.archive_export import ExportForm

    try:
        wanted = ExportForm(name=name, format=form, bucket=bucket, schedule=schedule, team=team)
    except ValidationError as error:
        raise UsageError(describe_validation_error(error.errors()[0])) from None
    terminal = get_terminal()
    terminal.act(lambda app, by: app.archive_exports.add(wanted, by=by))
    terminal.report("exports.added", name=name, as_json=as_json)


@app.command()
def edit(
    name: Name,
    schedule: Annotated[
        str | None, typer.Option("--schedule", metavar="CRON", help="When, as cron; empty: when somebody asks.")
    ] = None,
    form: Annotated[ExportFormat | None, typer.Option("--format", help="What is written.")] = None,
    bucket: Annotated[
        str | None, typer.Option("--bucket", metavar="NAME", help="A configured bucket; empty: the configured folder.")
    ] = None,
    team: Annotated[
        str | None, typer.Option("--team", metavar="NAME", help="What belongs to this team too; empty: to all alone.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Change an export; what is out stays where and as it is."""
    from pydantic import ValidationError

    from monitor.i18n.model import describe_validation_error
    from monitor.services.archive_export import ExportPatch

    given = {"schedule": schedule, "format": form, "bucket": bucket, "team": team}
    try:
        patch = ExportPatch.model_validate({field: value for field, value in given.items() if value is not None})
    except ValidationError as error:
        raise UsageError(describe_validation_error(error.errors()[0])) from None
    terminal = get_terminal()
    terminal.act(lambda app, by: app.archive_exports.edit(name, patch, by=by))
    terminal.report("exports.changed", name=name, as_json=as_json)


@app.command()
def remove(name: Name, as_json: JsonOption = False) -> None:
    """Remove an export; its files stay."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.archive_exports.remove(name, by=by))
    terminal.report("exports.removed", name=name, as_json=as_json)


@app.command()
def run(name: Name, as_json: JsonOption = False) -> None:
    """Write what is new or changed now, and wait for it."""
    terminal = get_terminal()
    error, detail = terminal.act(lambda app, by: _run(app, name, by))
    if error is not None:
        raise WorkFailed(error)
    terminal.report("exports.written", name=name, count=detail.exported_items, as_json=as_json)


async def _run(app: "App", name: str, by: "Actor") -> "tuple[Message | None, ExportDetail]":
    """Run an export in this process, as the only one that exports; `Conflict` while a worker does.

    A claim that a killed process left behind is waited out.
    """
    from monitor.jobs.presence import LEASE_TIMEOUT_S, LeaseHolder
    from monitor.jobs.worker import EXPORT_LEASE

    await app.archive_exports.request_run(name, by=by)
    lease = LeaseHolder(EXPORT_LEASE, holder=f"export-{app.clock.now().timestamp()}", store=app.store, clock=app.clock)
    ends_at_s = time.monotonic() + LEASE_TIMEOUT_S + 1
    while not await lease.acquire():
        if time.monotonic() > ends_at_s:
            raise Conflict("export.busy")
        await asyncio.sleep(1)
    try:
        export = await app.store.exports.get(name)
        error = await app.archive_exporter.run(export, lease.acquire) if export is not None else None
    finally:
        await lease.release()
    return error, await app.archive_exports.get(name, by=by)
