"""`monitor runs`: the run history."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.services.replay import ReplayResult
    from monitor.services.run_report import FullRunReport, RunSummary

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
    terminal = get_terminal(context)
    reports = asyncio.run(_load_runs(terminal, source, limit))
    if as_json:
        terminal.write_json({"runs": [one.model_dump(mode="json") for one in reports]})
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
        terminal.write_table(("id", "source", "status", "planned", "saved", "fallbacks", "error"), rows)
    else:
        terminal.write_status("No runs.")


@app.command()
def show(
    context: typer.Context,
    run_id: RunId,
    candidates: Annotated[bool, typer.Option("--candidates", help="Every candidate and what became of it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: sections, fallbacks, coverage, items."""
    from monitor.cli.progress import print_candidates, print_run

    terminal = get_terminal(context)
    report = asyncio.run(_load_run(terminal, run_id))
    if as_json:
        terminal.write_json(report.model_dump(mode="json"))
    else:
        print_run(terminal, report, top=0 if candidates else 10)
        if candidates:
            print_candidates(terminal, report)


@app.command()
def cancel(context: typer.Context, run_id: RunId) -> None:
    """Ask a run to stop; a queued one is cancelled at once, a running one at its next step."""
    terminal = get_terminal(context)
    status = asyncio.run(_cancel_run(terminal, run_id))
    word = "is cancelled" if status is RunStatus.CANCELLED else "was asked to stop and does so at its next step"
    terminal.write_line(f"The run {run_id} {word}.")


@app.command()
def retry(context: typer.Context, run_id: RunId, as_json: JsonOption = False) -> None:
    """Do a run again from the phase that failed; where no service runs, its source anew over the same dates."""
    from monitor.cli.sweep import retry_run

    retry_run(get_terminal(context), run_id, as_json=as_json)


async def _load_runs(terminal: Terminal, source: str | None, limit: int) -> "list[RunSummary]":
    from monitor.bootstrap import open_app
    from monitor.services.runs import RunQuery

    async with open_app(terminal.load_settings()) as parts:
        reports = await parts.runs.list_summaries(RunQuery(source=source), limit=limit)
        if source is not None and not reports:
            await parts.sources.get(source)
        return reports


async def _load_run(terminal: Terminal, run_id: str) -> "FullRunReport":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        return await parts.sweeps.get_report(run_id)


async def _cancel_run(terminal: Terminal, run_id: str) -> RunStatus:
    from monitor.bootstrap import open_app
    from monitor.services.audit import COMMAND_LINE

    async with open_app(terminal.load_settings()) as parts:
        status = await parts.sweeps.cancel(run_id, by=COMMAND_LINE)
        return status


_MAX_VALUE_CHARS = 300


def replay(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id that `runs list` shows.")],
    database: Annotated[
        Path | None, typer.Option("--database", metavar="FILE", help="Keep the replay in this new SQLite file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Do a run again from its records, with no network and no model, and say what differs."""
    terminal = get_terminal(context)
    replayed = asyncio.run(_run_replay(terminal, run_id, database))
    if as_json:
        terminal.write_json(replayed.model_dump(mode="json"))
    else:
        _print_replay(terminal, replayed)
    if not replayed.is_identical or replayed.is_briefing_identical is False:
        raise typer.Exit(1)


def _print_replay(terminal: Terminal, replayed: "ReplayResult") -> None:
    seen = f"{replayed.records} records, {replayed.answers} answers of the model"
    if replayed.is_identical:
        terminal.write_line(f"{replayed.run_id}: the same {len(replayed.replayed.items)} items, from {seen}.")
    else:
        terminal.write_line(f"{replayed.run_id}: {len(replayed.differences)} differences, from {seen}.")
    for difference in replayed.differences:
        terminal.write_line(
            f"{difference.what}\n  the run:    {_format_value(difference.recorded)}\n  the replay: {_format_value(difference.replayed)}"
        )
    if replayed.is_briefing_identical is not None:
        word = "is the same to the byte" if replayed.is_briefing_identical else "is another one"
        terminal.write_line(f"The day's briefing of {replayed.source} {word}.")


def _format_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"


async def _run_replay(terminal: Terminal, run_id: str, database: Path | None) -> "ReplayResult":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        return await parts.replays.replay(run_id, database=database)
