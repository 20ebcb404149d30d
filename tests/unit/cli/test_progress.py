import pytest

from monitor.cli.progress import watching
from monitor.cli.terminal import Terminal
from monitor.domain.words import Phase
from monitor.ports import Progress


def test_where_stderr_is_no_terminal_a_line_tells_each_phase_and_each_section(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with watching(Terminal(), is_quiet=False) as on_progress:
        on_progress(Progress(phase=Phase.CRAWL, place="通知"))
        on_progress(Progress(phase=Phase.CRAWL, place="通知", done=1))
        on_progress(Progress(phase=Phase.CRAWL, place="通知", message="2 saved"))
    assert capsys.readouterr() == ("", "crawl …\n  通知: 2 saved\n")


def test_nothing_is_said_beside_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(Terminal(), is_quiet=True) as on_progress:
        on_progress(Progress(phase=Phase.RANK, message="done"))
    assert capsys.readouterr() == ("", "")
