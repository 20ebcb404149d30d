import pytest

from monitor.jobs.queue import _find_first_step
from monitor.vocabulary import Phase

STEPS = ["begin", "navigate", "crawl:0", "crawl:1", "summarise:7", "rank", "end"]


@pytest.mark.parametrize(
    ("phase", "first"), [(Phase.NAVIGATE, 1), (Phase.CRAWL, 2), (Phase.SUMMARISE, 4), (Phase.RANK, 5)]
)
def test_a_retry_begins_with_the_first_step_of_its_phase(phase: Phase, first: int) -> None:
    assert _find_first_step(phase, STEPS) == first


def test_a_run_that_was_broken_off_goes_on_with_the_step_that_was_never_kept() -> None:
    assert _find_first_step(Phase.SUMMARISE, STEPS[:4]) == 4


def test_the_end_of_a_run_is_never_kept_for_a_retry() -> None:
    assert _find_first_step(Phase.SUMMARISE, [*STEPS[:4], "end"]) == 4
