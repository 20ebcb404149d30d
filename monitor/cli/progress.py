"""How runs are shown: their progress while they work, and their account afterwards."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.cli.terminal import Terminal, replace_control_characters
from monitor.vocabulary import Disposition, EventKind, Phase

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn, TaskID

    from monitor.services.runs import FullRunReport, RunReport
    from monitor.sweep.progress import Progress, ProgressCallback


_MAX_PLACE_CHARS = 40
_SHOWN_KINDS = {EventKind.STEP, EventKind.PHASE, EventKind.SECTION}


@contextmanager
def show_progress(terminal: Terminal, *, is_quiet: bool) -> "Iterator[ProgressCallback]":
    """Give what long work is to call; `is_quiet` leaves the plain lines out, the live display stays."""
    if sys.stderr.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

        phase = TextColumn("{task.fields[phase]:<10}", markup=False)
        with open_bars(phase, BarColumn(bar_width=20), MofNCompleteColumn()) as bars:
            yield _ProgressBars(terminal, bars)
    else:
        yield (lambda _: None) if is_quiet else _ProgressLines(terminal)


def open_bars(*columns: "ProgressColumn") -> "Bars":
    """Return a display on stderr with these columns between a spinner, and the time and description of each task."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = (SpinnerColumn(), *columns, TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    return Progress(*shown, console=Console(stderr=True), transient=True)


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
            self._terminal.write_status(f"{self._terminal.word('phase', progress.phase)} …")
        if progress.message:
            self._terminal.write_status(f"  {progress.place}: {self._terminal.render(progress.message)}")


class _ProgressBars:
    """A bar for each phase; what a section brought stays above the bars.

    Reading sections counts sections: how many there are is known once navigation has ended.
    """

    def __init__(self, terminal: Terminal, bars: "Bars") -> None:
        self._terminal = terminal
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
            self._tasks[phase] = self._bars.add_task("", total=None, phase=self._terminal.word("phase", phase))
        place = replace_control_characters(progress.place)[:_MAX_PLACE_CHARS]
        self._bars.update(self._tasks[phase], completed=done, total=total, description=place)
        if progress.message:
            line = f"  {progress.place}: {self._terminal.render(progress.message)}"
            self._bars.console.print(replace_control_characters(line), markup=False, highlight=False)


def print_run(terminal: Terminal, report: "RunReport", *, top: int = 10) -> None:
    terminal.print(
        "run.heading_baseline" if report.is_baseline else "run.heading",
        source=report.source,
        status=terminal.word("status", report.state),
        run=report.run_id,
        since=report.since,
        until=report.until,
    )
    if report.error:
        terminal.write_line(f"  {terminal.render(report.error)}")
    if report.sections:
        terminal.write_line()
    terminal.write_records(
        report.sections,
        lambda section: {
            "section": section.name,
            "ended": terminal.word("ended", section.ended) if section.ended else None,
            "pages": section.pages,
            "candidates": section.candidates,
            "found_by": terminal.word("by", section.found_by),
            "url": section.url,
        },
    )
    _print_coverage(terminal, report)
    for fallback in report.fallbacks:
        phase = terminal.word("phase", fallback.phase)
        terminal.print("run.fallback", phase=phase, where=fallback.where, reason=fallback.reason)
    for place in report.coverage.unseen:
        terminal.print("run.unseen", section=place.section, url=place.url, reason=place.reason)
    for alarm in report.alarms:
        kind = terminal.word("alarm", alarm.kind)
        terminal.print("run.alarm", kind=kind, place=alarm.section or report.source, message=alarm.message)
    usage = report.usage
    if usage.calls:
        terminal.print(
            "run.usage" if usage.cost is None else "run.usage_cost",
            calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost="" if usage.cost is None else f"{usage.cost:.4f}",
            chars=usage.largest_context_chars,
        )
    else:
        terminal.print("run.no_model")
    if top:
        _print_items(terminal, report, top)


def print_candidates(terminal: Terminal, run: "FullRunReport") -> None:
    """Print the ledger of a run: each candidate in the order of its page, and what became of it."""
    terminal.write_line()
    head = ("section", "became", "reason", "date", "title", "url")
    rows = [
        (
            candidate.section,
            terminal.word("disposition", candidate.disposition),
            candidate.reason,
            candidate.date,
            candidate.title,
            candidate.url,
        )
        for candidate in run.candidates
    ]
    terminal.write_table(head, rows)


def _print_coverage(terminal: Terminal, report: "RunReport") -> None:
    counts = [
        f"{count} {terminal.word('disposition', disposition)}"
        for disposition in Disposition
        if (count := int(getattr(report.coverage, disposition)))
    ]
    candidates = sum(section.candidates for section in report.sections)
    terminal.write_line()
    terminal.print("run.coverage", candidates=candidates, counts=counts or ["0"])


def _print_items(terminal: Terminal, report: "RunReport", top: int) -> None:
    terminal.write_line()
    if not report.items:
        terminal.print("run.no_items")
        terminal.write_line()
        return
    terminal.write_records(
        report.items[:top],
        lambda item: {
            "rank": item.rank,
            "tier": item.tier,
            "date": item.date,
            "from": terminal.word("date_source", item.date_source),
            "type": terminal.word("type", item.type),
            "title": item.title,
            "url": item.url,
        },
    )
    if len(report.items) > top:
        terminal.print("run.more_items", number=len(report.items) - top, run=report.run_id)
    terminal.write_line()
