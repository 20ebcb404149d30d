"""`monitor sweep`, `monitor runs` and `monitor replay`: run sources now and wait, and the run history."""

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.progress import print_candidates, print_run, show_progress
from monitor.cli.terminal import (
    EXIT_INTERRUPTED,
    JsonOption,
    SinceOption,
    Terminal,
    UntilOption,
    get_terminal,
    handle_interrupts,
)
from monitor.errors import UsageError, WorkFailed
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.db.tables.collection import Source
    from monitor.services.audit import Actor
    from monitor.services.replay import ReplayResult
    from monitor.services.runs import RunReport, RunSummary

app = build_group()
RunId = Annotated[str, typer.Argument(metavar="ID", help="The id that `runs list` shows.")]
_MAX_VALUE_CHARS = 300


def sweep(
    source: Annotated[list[str] | None, typer.Argument(metavar="SOURCE", help="Names of sources.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every source that is enabled.")] = False,
    since: SinceOption = None,
    until: UntilOption = None,
    as_json: JsonOption = False,
) -> None:
    if source and every:
        raise UsageError("sweep.names_and_all")
    command = _SweepCommand(get_terminal(), is_quiet=as_json)
    command.run_to_end(lambda app, by: command.sweep(app, by, source or [], every=every, since=since, until=until))


@dataclass
class _SweepCommand:
    """Several runs, one after another; `reports` holds those that ended."""

    terminal: Terminal
    is_quiet: bool
    reports: "list[RunReport]" = field(default_factory=list)
    is_interrupted: bool = False
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)

    def run_to_end(self, work: "Callable[[App, Actor], Awaitable[None]]") -> None:
        """Work and print the accounts; exit code 1 if a run failed, 130 if a person stopped them."""
        try:
            self.terminal.act(work)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            # Also when a later source ends all: the runs that ended are printed.
            if self.reports:
                self._print_reports()
        for problem in self._list_problems():
            self.terminal.complain(problem)
        if self.is_interrupted:
            raise typer.Exit(EXIT_INTERRUPTED)
        if any(report.status in (RunStatus.FAILED, RunStatus.CANCELLED) for report in self.reports):
            raise typer.Exit(1)

    async def sweep(
        self,
        app: "App",
        by: "Actor",
        names: Sequence[str],
        *,
        every: bool,
        since: dt.date | None,
        until: dt.date | None,
    ) -> None:
        """Run the sources; one that fails does not stop the others."""
        sources = await _select_sources(app, names, every=every)
        with handle_interrupts(self.terminal, self._request_stop):
            for source in sources:
                if not self.is_interrupted:
                    self.reports.append(await self._run_one(app, by, source, since, until))

    async def retry(self, app: "App", by: "Actor", run_id: str) -> None:
        with (
            handle_interrupts(self.terminal, self._request_stop),
            show_progress(self.terminal, is_quiet=self.is_quiet) as on_progress,
        ):
            report = await app.sweeps.retry(run_id, by=by, on_progress=on_progress, cancel_event=self.cancel_event)
        self.reports.append(report)

    async def _run_one(
        self, app: "App", by: "Actor", source: "Source", since: dt.date | None, until: dt.date | None
    ) -> "RunReport":
        if not self.is_quiet:
            self.terminal.write_status(f"{source.name}  {source.url}")
        self.cancel_event = asyncio.Event()  # one a run: somebody may cancel this one alone, from elsewhere
        try:
            with show_progress(self.terminal, is_quiet=self.is_quiet) as on_progress:
                return await app.sweeps.sweep(
                    source, by=by, since=since, until=until, on_progress=on_progress, cancel_event=self.cancel_event
                )
        except WorkFailed as error:
            # The run stands in the history as failed; its report has what was saved before.
            recorded = await app.runs.get_latest_report(source.name)
            if recorded is None:
                raise
            return recorded.model_copy(update={"status": RunStatus.FAILED, "error": error.message})

    def _print_reports(self) -> None:
        if self.is_quiet:
            self.terminal.write_json({"runs": self.reports})
            return
        for report in self.reports:
            print_run(self.terminal, report)

    def _list_problems(self) -> list[str]:
        """Return what a person has to mend: sources that failed, and a model server that refused the key."""
        failed = [
            f"{report.source}: {self.terminal.to_text(report.error) or self.terminal.translate('the run failed')}"
            for report in self.reports
            if report.status is RunStatus.FAILED
        ]
        refused = [
            self.terminal.render(fallback.reason.args["error"])
            for report in self.reports
            for fallback in report.fallbacks
            if fallback.reason.code == "cause.model_auth"
        ]
        return [*failed, *dict.fromkeys(refused)]

    def _request_stop(self) -> None:
        self.is_interrupted = True
        self.cancel_event.set()


async def _select_sources(app: "App", names: Sequence[str], *, every: bool) -> "list[Source]":
    if names:
        return [await app.sources.get(name) for name in dict.fromkeys(names)]
    enabled = list(reversed(await app.sources.list_sources(only_enabled=True)))
    if not enabled:
        raise UsageError("sweep.nothing_enabled")
    if not every and len(enabled) > 1:
        raise UsageError("sweep.which_source", sources=[source.name for source in enabled[:10]])
    return enabled


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
    report = terminal.run(lambda app: app.runs.get_full_report(run_id))
    if as_json:
        terminal.write_json(report)
    else:
        print_run(terminal, report, top=0 if candidates else 10)
        if candidates:
            print_candidates(terminal, report)


@app.command()
def cancel(run_id: RunId, as_json: JsonOption = False) -> None:
    """Ask a run to stop; a queued one is cancelled at once, a running one at its next step."""
    terminal = get_terminal()
    status = terminal.act(lambda app, by: app.sweeps.cancel(run_id, by=by))
    code = "run.cancelled" if status is RunStatus.CANCELLED else "run.asked_to_stop"
    terminal.report(code, run=run_id, document={"run_id": run_id, "status": status}, as_json=as_json)


@app.command()
def retry(run_id: RunId, as_json: JsonOption = False) -> None:
    """Do a run again from the phase that failed; where no service runs, its source anew over the same dates."""
    command = _SweepCommand(get_terminal(), is_quiet=as_json)
    command.run_to_end(lambda app, by: command.retry(app, by, run_id))


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
