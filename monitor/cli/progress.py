"""Signs of life from long work, on stderr: a live display on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from monitor.cli.terminal import Terminal, plain
from monitor.domain.words import EventKind, Phase

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from monitor.ports import Progress, ProgressCallback

_PLACE_CHARS = 40
_SHOWN = {EventKind.STEP, EventKind.PHASE, EventKind.SECTION}


@contextmanager
def watching(terminal: Terminal, *, is_quiet: bool) -> "Iterator[ProgressCallback]":
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
            yield _Live(bars)
    else:
        yield _Silent() if is_quiet else _Lines(terminal)


class _Silent:
    def __call__(self, progress: "Progress") -> None:
        """Nothing: somebody reads only the document."""


class _Lines:
    """A line for each phase that begins and each section that ends."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._phase = ""

    def __call__(self, progress: "Progress") -> None:
        if progress.kind not in _SHOWN:
            return
        if progress.phase != self._phase:
            self._phase = progress.phase
            self._terminal.note(f"{progress.phase} …")
        if progress.message:
            self._terminal.note(f"  {progress.place}: {progress.message}")


class _Live:
    """A bar for each phase; what a section brought stays above the bars.

    Reading sections counts sections: how many there are is known once navigation has ended.
    """

    def __init__(self, bars: "Bars") -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._sections: int | None = None
        self._sections_read = 0

    def __call__(self, progress: "Progress") -> None:
        if progress.kind not in _SHOWN:
            return
        phase, done, total = progress.phase, progress.done, progress.total
        if phase is Phase.NAVIGATE:
            self._sections = total
        elif phase is Phase.CRAWL:
            self._sections_read += bool(progress.message)
            done, total = self._sections_read, self._sections
        if phase not in self._tasks:
            self._tasks[phase] = self._bars.add_task("", total=None, phase=str(phase))
        place = plain(progress.place)[:_PLACE_CHARS]
        self._bars.update(self._tasks[phase], completed=done, total=total, description=place)
        if progress.message:
            self._bars.console.print(plain(f"  {progress.place}: {progress.message}"), markup=False, highlight=False)
