"""`monitor runs` and `monitor replay`: the run history."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.progress import print_candidates, print_run
from monitor.cli.sweep import retry_run
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.replay import ReplayResult
    from monitor.services.run_report import RunSummary

app = build_group()
RunId = Annotated[str, typer.Argument(metavar="ID", help="The id that `runs list` shows.")]
_MAX_VALUE_CHARS = 300


@app.command("list")
def list_runs(
    source: Annotated[str | None, typer.Option("--source", help="Only runs of this source.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List the recorded runs, newest first."""

    async def load(app: "App") -> "list[RunSummary]":
        from monitor.services.runs import RunQuery

        reports = await app.runs.list_summaries(RunQuery(source=source), limit=limit)
        if source is not None and not reports:
            await app.sources.get(source)
        return reports

    terminal = get_terminal()
    terminal.write_list(
        "runs",
        terminal.run(load),
        lambda report: {
            "id": report.run_id,
            "source": report.source,
            "status": terminal.word("status", report.state),
            "planned": report.planned_at,
            "saved": report.coverage.saved,
            "fallbacks": len(report.fallbacks),
            "error": report.error,
        },
        as_json=as_json,
        none="runs.none",
    )


@app.command()
def show(
    run_id: RunId,
    candidates: Annotated[bool, typer.Option("--candidates", help="Every candidate and what became of it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: sections, fallbacks, coverage, items."""
    terminal = get_terminal()
    report = terminal.run(lambda app: app.sweeps.get_report(run_id))
    if as_json:
        terminal.write_json(report)
    else:
        print_run(terminal, report, top=0 if candidates else 10)
        if candidates:
            print_candidates(terminal, report)


@app.command()
def cancel(run_id: RunId) -> None:
    """Ask a run to stop; a queued one is cancelled at once, a running one at its next step."""
    terminal = get_terminal()
    is_cancelled = terminal.act(lambda app, by: app.sweeps.cancel(run_id, by=by)) is RunStatus.CANCELLED
    terminal.print("run.cancelled" if is_cancelled else "run.asked_to_stop", run=run_id)


@app.command()
def retry(run_id: RunId, as_json: JsonOption = False) -> None:
    """Do a run again from the phase that failed; where no service runs, its source anew over the same dates."""
    retry_run(get_terminal(), run_id, as_json=as_json)


def replay(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id that `runs list` shows.")],
    database: Annotated[
        Path | None, typer.Option("--database", metavar="FILE", help="Keep the replay in this new SQLite file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal()
    replayed = terminal.run(lambda app: app.replays.replay(run_id, database=database))
    if as_json:
        terminal.write_json(replayed)
    else:
        _print_replay(terminal, replayed)
    if not replayed.is_identical or replayed.is_briefing_identical is False:
        raise typer.Exit(1)


def _print_replay(terminal: Terminal, replayed: "ReplayResult") -> None:
    terminal.print(
        "replay.same" if replayed.is_identical else "replay.differs",
        run=replayed.run_id,
        number=len(replayed.replayed.items) if replayed.is_identical else len(replayed.differences),
        records=replayed.records,
        answers=replayed.answers,
    )
    for difference in replayed.differences:
        terminal.write_line(terminal.to_text(difference.what))
        terminal.print("replay.recorded", value=_format_value(difference.recorded))
        terminal.print("replay.replayed", value=_format_value(difference.replayed))
    if replayed.is_briefing_identical is not None:
        code = "replay.same_briefing" if replayed.is_briefing_identical else "replay.other_briefing"
        terminal.print(code, source=replayed.source)


def _format_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"
