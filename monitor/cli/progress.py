"""Signs of life from long work, on stderr: a live display on a terminal, plain lines elsewhere."""

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.cli.terminal import Terminal, replace_control_characters
from monitor.i18n.catalogue import render
from monitor.services.run_report import FullRunReport, RunReport
from monitor.vocabulary import Disposition, EventKind, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.sweep.progress import ProgressCallback

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from monitor.sweep.progress import Progress


_MAX_PLACE_CHARS = 40

_SHOWN_KINDS = {EventKind.STEP, EventKind.PHASE, EventKind.SECTION}


@contextmanager
def show_progress(terminal: Terminal, *, is_quiet: bool) -> "Iterator[ProgressCallback]":
    """Gives what long work is to call; `is_quiet` leaves the plain lines out, the live display stays."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.fields[phase]:<10}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
            yield _ProgressBars(bars)
    else:
        yield _SilentProgress() if is_quiet else _ProgressLines(terminal)


class _SilentProgress:
    def __call__(self, progress: "Progress") -> None:
        """Nothing: somebody reads only the document."""


class _ProgressLines:
    """A line for each phase that begins and each section that ends."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._phase = ""

    def __call__(self, progress: "Progress") -> None:
        if progress.kind not in _SHOWN_KINDS:
            return
        if progress.phase != self._phase:
            self._phase = progress.phase
            self._terminal.write_status(f"{progress.phase} …")
        if progress.message:
            self._terminal.write_status(f"  {progress.place}: {render(progress.message, 'en')}")


class _ProgressBars:
    """A bar for each phase; what a section brought stays above the bars.

    Reading sections counts sections: how many there are is known once navigation has ended.
    """

    def __init__(self, bars: "Bars") -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._sections: int | None = None
        self._sections_read = 0

    def __call__(self, progress: "Progress") -> None:
        if progress.kind not in _SHOWN_KINDS:
            return
        phase, done, total = progress.phase, progress.done, progress.total
        if phase is Phase.NAVIGATE:
            self._sections = total
        elif phase is Phase.CRAWL:
            self._sections_read += bool(progress.message)
            done, total = self._sections_read, self._sections
        if phase not in self._tasks:
            self._tasks[phase] = self._bars.add_task("", total=None, phase=str(phase))
        place = replace_control_characters(progress.place)[:_MAX_PLACE_CHARS]
        self._bars.update(self._tasks[phase], completed=done, total=total, description=place)
        if progress.message:
            self._bars.console.print(
                replace_control_characters(f"  {progress.place}: {render(progress.message, 'en')}"),
                markup=False,
                highlight=False,
            )


def print_run(terminal: Terminal, report: RunReport, *, top: int = 10) -> None:
    """Print the account of a run with so many of its items; 0 leaves them to whoever prints them next."""
    dates = f"{report.since} to {report.until}"
    baseline = "; the first run of this source, its baseline" if report.is_baseline else ""
    terminal.write_line(f"{report.source}: {report.state} ({report.run_id}, {dates}{baseline})")
    if report.error:
        terminal.write_line(f"  {render(report.error, 'en')}")
    if report.sections:
        terminal.write_line()
        rows = [
            (section.name, section.ended, section.pages, section.candidates, section.found_by, section.url)
            for section in report.sections
        ]
        terminal.write_table(("section", "ended", "pages", "candidates", "found by", "url"), rows)
    _print_coverage(terminal, report)
    for fallback in report.fallbacks:
        terminal.write_line(f"  fell back: {fallback.phase} · {fallback.where} · {render(fallback.reason, 'en')}")
    for place in report.coverage.unseen:
        terminal.write_line(f"  not seen: {place.section} {place.url} ({render(place.reason, 'en')})")
    for alarm in report.alarms:
        terminal.write_line(f"  alarm: {alarm.kind} · {alarm.section or report.source} · {render(alarm.message, 'en')}")
    usage = report.usage
    if usage.calls:
        spent = f"{usage.calls} calls, {usage.prompt_tokens} + {usage.completion_tokens} tokens"
        spent += "" if usage.cost is None else f", cost {usage.cost:.4f}"
        terminal.write_line(f"  model: {spent}, largest context {usage.largest_context_chars} characters")
    else:
        terminal.write_line("  model: not asked, every phase went by rule")
    if top:
        _print_items(terminal, report, top)


def print_candidates(terminal: Terminal, run: FullRunReport) -> None:
    """Print the ledger of a run: each candidate in the order of its page, and what became of it."""
    terminal.write_line()
    rows = [
        (candidate.section, candidate.disposition, candidate.reason, candidate.date, candidate.title, candidate.url)
        for candidate in run.candidates
    ]
    terminal.write_table(("section", "became", "reason", "date", "title", "url"), rows)


def _print_coverage(terminal: Terminal, report: RunReport) -> None:
    counts = {word: int(getattr(report.coverage, word)) for word in Disposition}
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    candidates = sum(section.candidates for section in report.sections)
    terminal.write_line(f"\n  coverage: {candidates} candidates = {told or '0'}")


def _print_items(terminal: Terminal, report: RunReport, top: int) -> None:
    if not report.items:
        terminal.write_line("\nNo new items.\n")
        return
    terminal.write_line()
    rows = [
        (item.rank, item.tier, item.date, item.date_source, item.type, item.title, item.url)
        for item in report.items[:top]
    ]
    terminal.write_table(("rank", "tier", "date", "from", "type", "title", "url"), rows)
    more = len(report.items) - top
    terminal.write_line(
        f"… and {more} more: `monitor runs show {report.run_id}`, `monitor brief`\n" if more > 0 else ""
    )
