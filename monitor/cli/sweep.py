"""`monitor sweep`: run sources now and wait."""

import asyncio
import datetime as dt
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.progress import show_progress
from monitor.cli.terminal import JsonOption, Terminal, get_terminal, handle_interrupts, parse_day
from monitor.errors import UsageError, WorkFailed
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.db.tables.collection import Source
    from monitor.services.run_report import RunReport


_EXIT_INTERRUPTED = 130


def sweep(
    context: typer.Context,
    source: Annotated[list[str] | None, typer.Argument(metavar="[SOURCE]…", help="Names of sources.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every source that is enabled.")] = False,
    since: Annotated[
        dt.date | None, typer.Option("--since", parser=parse_day, metavar="DATE", help="The first day, as 2026-02-03.")
    ] = None,
    until: Annotated[
        dt.date | None, typer.Option("--until", parser=parse_day, metavar="DATE", help="The last day.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run sources now, one after another, and wait for them."""
    if source and every:
        raise UsageError("Name sources or give --all, not both.")
    run_sources(get_terminal(context), source or [], since=since, until=until, as_json=as_json, every=every)


def run_sources(
    terminal: Terminal,
    names: Sequence[str],
    *,
    since: dt.date | None,
    until: dt.date | None,
    as_json: bool,
    every: bool = False,
) -> None:
    """Run these sources and tell how it went; exit code 1 if one failed, 130 if a person stopped them.

    Without names it is every enabled source, or the only one there is; `UsageError` where that is not clear.
    """
    sweeps = _SweepCommand(terminal, since=since, until=until, is_quiet=as_json)
    _run_to_end(terminal, sweeps, sweeps.run(names, every=every), as_json=as_json)


def retry_run(terminal: Terminal, run_id: str, *, as_json: bool) -> None:
    """Do an ended run again and tell how it went; exit codes as of `run_sources`."""
    sweeps = _SweepCommand(terminal, since=None, until=None, is_quiet=as_json)
    _run_to_end(terminal, sweeps, sweeps.retry(run_id), as_json=as_json)


def _run_to_end(terminal: Terminal, sweeps: "_SweepCommand", work: Coroutine[Any, Any, None], *, as_json: bool) -> None:
    try:
        asyncio.run(work)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        # Also when a later source ends all: the runs that came to their end are told.
        if sweeps.reports:
            _print_reports(terminal, sweeps.reports, as_json=as_json)
    for complaint in sweeps.list_errors():
        terminal.write_status(f"monitor: {complaint}")
    if sweeps.is_interrupted:
        raise typer.Exit(_EXIT_INTERRUPTED)
    if any(report.status in (RunStatus.FAILED, RunStatus.CANCELLED) for report in sweeps.reports):
        raise typer.Exit(1)


def _print_reports(terminal: Terminal, reports: "Sequence[RunReport]", *, as_json: bool) -> None:
    from monitor.cli.progress import print_run

    if as_json:
        terminal.write_json({"runs": [report.model_dump(mode="json") for report in reports]})
        return
    for report in reports:
        print_run(terminal, report)


class _SweepCommand:
    """Several sources, one after another; `reports` holds those that ended."""

    def __init__(self, terminal: Terminal, *, since: dt.date | None, until: dt.date | None, is_quiet: bool) -> None:
        self.reports: list[RunReport] = []
        self.is_interrupted = False
        self._cancel_event = asyncio.Event()
        self._terminal = terminal
        self._since = since
        self._until = until
        self._is_quiet = is_quiet

    async def run(self, names: Sequence[str], *, every: bool) -> None:
        """Run the sources; one that fails does not stop the others."""
        from monitor.bootstrap import open_app

        async with open_app(self._terminal.load_settings()) as parts:
            sources = await _select_sources(parts, names, every=every)
            with handle_interrupts(self._terminal, self._request_stop):
                for source in sources:
                    if not self.is_interrupted:
                        await self._run_one(parts, source)

    async def retry(self, run_id: str) -> None:
        from monitor.bootstrap import open_app
        from monitor.services.audit import COMMAND_LINE

        async with open_app(self._terminal.load_settings()) as parts:
            with (
                handle_interrupts(self._terminal, self._request_stop),
                show_progress(self._terminal, is_quiet=self._is_quiet) as on_progress,
            ):
                report = await parts.sweeps.retry(
                    run_id, by=COMMAND_LINE, on_progress=on_progress, cancel_event=self._cancel_event
                )
        self.reports.append(report)

    def list_errors(self) -> list[str]:
        """What a person has to mend: sources that failed, and a model server that refused the key."""
        failed = [
            f"{report.source}: {report.error or 'the run failed'}"
            for report in self.reports
            if report.status is RunStatus.FAILED
        ]
        refused = [
            fallback.reason.removeprefix("auth: ")
            for report in self.reports
            for fallback in report.fallbacks
            if fallback.reason.startswith("auth: ")
        ]
        return [*failed, *dict.fromkeys(refused)]

    async def _run_one(self, parts: "App", source: "Source") -> None:
        from monitor.services.audit import COMMAND_LINE

        if not self._is_quiet:
            self._terminal.write_status(f"{source.name}  {source.url}")
        # One event a run: somebody may cancel this one alone, from elsewhere.
        self._cancel_event = asyncio.Event()
        try:
            with show_progress(self._terminal, is_quiet=self._is_quiet) as on_progress:
                report = await parts.sweeps.sweep(
                    source,
                    by=COMMAND_LINE,
                    since=self._since,
                    until=self._until,
                    on_progress=on_progress,
                    cancel_event=self._cancel_event,
                )
        except WorkFailed as error:
            # The run stands in the history as failed; its report says what it had kept.
            recorded = await parts.sweeps.get_latest_report(source.name)
            if recorded is None:
                raise
            report = recorded.model_copy(update={"status": RunStatus.FAILED, "error": str(error)})
        self.reports.append(report)

    def _request_stop(self) -> None:
        self.is_interrupted = True
        self._cancel_event.set()


async def _select_sources(parts: "App", names: Sequence[str], *, every: bool) -> "list[Source]":
    if names:
        return [await parts.sources.get(name) for name in dict.fromkeys(names)]
    enabled = list(reversed(await parts.sources.list_sources(only_enabled=True)))
    if not enabled:
        raise UsageError(
            "No source is enabled: add one with `monitor sources add URL`, or enable one with `monitor sources enable`."
        )
    if not every and len(enabled) > 1:
        raise UsageError(f"Name a source or give --all; enabled are {', '.join(one.name for one in enabled[:10])}.")
    return enabled
