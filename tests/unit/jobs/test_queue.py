import pytest

from monitor.jobs.queue import _find_first_step
from monitor.vocabulary import Phase

STEPS = ["begin", "navigate", "crawl:0", "crawl:1", "unsummarised", "summarise:7", "rank", "end"]
WHOLE = [(number, name, None) for number, name in enumerate(STEPS, start=1)]


@pytest.mark.parametrize(
    ("phase", "first"), [(Phase.NAVIGATE, 2), (Phase.CRAWL, 3), (Phase.SUMMARISE, 5), (Phase.RANK, 7)]
)
def test_a_retry_begins_with_the_first_step_of_its_phase(phase: Phase, first: int) -> None:
    assert _find_first_step(phase, WHOLE) == first


def test_a_run_that_was_broken_off_goes_on_with_the_step_that_was_never_kept() -> None:
    assert _find_first_step(Phase.SUMMARISE, WHOLE[:4]) == 5


def test_a_step_that_failed_is_done_again_whatever_its_phase() -> None:
    assert _find_first_step(Phase.RANK, [*WHOLE[:3], (4, "crawl:1", ValueError())]) == 4


def test_the_end_of_a_run_is_never_kept_for_a_retry() -> None:
    assert _find_first_step(Phase.SUMMARISE, [*WHOLE[:4], (5, "end", None)]) == 5
