import io

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from monitor.cli.progress import _ProgressBars, show_progress
from monitor.cli.terminal import Terminal
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind, Phase


def test_where_stderr_is_no_terminal_a_line_tells_each_phase_and_each_section(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with show_progress(Terminal("en"), is_quiet=False) as on_progress:
        on_progress(Progress(phase=Phase.CRAWL, place="通知"))
        on_progress(Progress(phase=Phase.CRAWL, place="通知", done=1))
        on_progress(Progress(phase=Phase.CRAWL, place="通知", message="2 saved"))
    assert capsys.readouterr() == ("", "crawl …\n  通知: 2 saved\n")


def test_what_only_the_desk_shows_does_not_move_the_display() -> None:
    bars = Bars(console=Console(file=io.StringIO(), width=100))
    live = _ProgressBars(Terminal("en"), bars)
    live(Progress(phase=Phase.SUMMARISE, kind=EventKind.PHASE, done=1, total=3, place="通知"))
    for kind in (EventKind.PAGE, EventKind.ASKED, EventKind.ANSWERED, EventKind.SAVED, EventKind.FALLBACK):
        live(Progress(phase=Phase.SUMMARISE, kind=kind, place="https://o.gov/"))
    (summaries,) = bars.tasks
    assert (summaries.completed, summaries.total, summaries.description) == (1, 3, "通知")


def test_nothing_is_said_beside_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(Terminal("en"), is_quiet=True) as on_progress:
        on_progress(Progress(phase=Phase.RANK, message="done"))
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_sections_are_counted_and_markup_in_their_names_is_shown_as_it_is() -> None:
    screen = io.StringIO()
    bars = Bars(console=Console(file=screen, width=100))
    live = _ProgressBars(Terminal("en"), bars)
    live(Progress(phase=Phase.NAVIGATE, done=2, total=2))
    live(Progress(phase=Phase.CRAWL, place="[red]通知[/red]"))
    live(Progress(phase=Phase.CRAWL, place="[red]通知[/red]", done=7))
    live(Progress(phase=Phase.CRAWL, place="[red]通知[/red]", message="7 saved"))
    crawl = bars.tasks[1]
    assert (crawl.completed, crawl.total) == (1, 2)
    assert screen.getvalue() == "  [red]通知[/red]: 7 saved\n"
