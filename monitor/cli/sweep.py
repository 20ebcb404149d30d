"""`monitor sweep`: run sources now and wait."""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.progress import print_run, show_progress
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
    from monitor.services.run_report import RunReport


def sweep(
    source: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]…", help="Names of sources.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every source that is enabled.")] = False,
    since: SinceOption = None,
    until: UntilOption = None,
    as_json: JsonOption = False,
) -> None:
    if source and every:
        raise UsageError("sweep.names_and_all")
    command = _SweepCommand(get_terminal(), is_quiet=as_json)
    command.run_to_end(lambda app, by: command.sweep(app, by, source or [], every=every, since=since, until=until))


def retry_run(terminal: Terminal, run_id: str, *, as_json: bool) -> None:
    """Do an ended run again and print its account; exit codes as of a sweep."""
    command = _SweepCommand(terminal, is_quiet=as_json)
    command.run_to_end(lambda app, by: command.retry(app, by, run_id))


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
            recorded = await app.sweeps.get_latest_report(source.name)
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
