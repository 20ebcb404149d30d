"""`monitor runs`: the run history."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of
from monitor.domain.words import RunStatus

if TYPE_CHECKING:
    from monitor.app.report import RunSummary, WholeRun

app = typer.Typer(help="The run history.", rich_markup_mode=None)

RunId = Annotated[str, typer.Argument(metavar="ID", help="The id that `runs list` shows.")]


@app.command("list")
def list_runs(
    context: typer.Context,
    source: Annotated[str | None, typer.Option("--source", help="Only runs of this source.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the recorded runs, newest first."""
    terminal = terminal_of(context)
    reports = asyncio.run(_listed(terminal, source, limit))
    if as_json:
        terminal.document({"runs": [one.model_dump(mode="json") for one in reports]})
    elif reports:
        rows = [
            (
                report.run_id,
                report.source,
                report.state,
                report.planned_at,
                report.coverage.saved,
                len(report.fallbacks),
                report.error,
            )
            for report in reports
        ]
        terminal.table(("id", "source", "status", "planned", "saved", "fallbacks", "error"), rows)
    else:
        terminal.note("No runs.")


@app.command()
def show(
    context: typer.Context,
    run_id: RunId,
    candidates: Annotated[bool, typer.Option("--candidates", help="Every candidate and what became of it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: sections, fallbacks, coverage, items."""
    from monitor.cli.account import tell, tell_candidates

    terminal = terminal_of(context)
    report = asyncio.run(_one(terminal, run_id))
    if as_json:
        terminal.document(report.model_dump(mode="json"))
    else:
        tell(terminal, report, top=0 if candidates else 10)
        if candidates:
            tell_candidates(terminal, report)


@app.command()
def cancel(context: typer.Context, run_id: RunId) -> None:
    """Ask a run to stop; a queued one is cancelled at once, a running one at its next step."""
    terminal = terminal_of(context)
    status = asyncio.run(_cancelled(terminal, run_id))
    word = "is cancelled" if status is RunStatus.CANCELLED else "was asked to stop and does so at its next step"
    terminal.say(f"The run {run_id} {word}.")


@app.command()
def retry(context: typer.Context, run_id: RunId, as_json: JsonOption = False) -> None:
    """Do a run again from the phase that failed; where no service runs, its source anew over the same dates."""
    from monitor.cli.sweep import retry_run

    retry_run(terminal_of(context), run_id, as_json=as_json)


async def _listed(terminal: Terminal, source: str | None, limit: int) -> "list[RunSummary]":
    from monitor.app.runs import RunWish
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        reports = await parts.runs.listed(RunWish(source=source), limit=limit)
        if source is not None and not reports:
            await parts.sources.get(source)
        return reports


async def _one(terminal: Terminal, run_id: str) -> "WholeRun":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.sweeps.report(run_id)


async def _cancelled(terminal: Terminal, run_id: str) -> RunStatus:
    from monitor.app.audit import BY_COMMAND
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        status = await parts.sweeps.cancel(run_id)
        await parts.audit.record(BY_COMMAND, "run.cancel", run_id)
        return status
