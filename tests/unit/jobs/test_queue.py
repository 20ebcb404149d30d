import pytest

from monitor.jobs.queue import _find_first_step
from monitor.vocabulary import Phase

STEPS = ["look", "crawl:0", "crawl:1", "unsummarised", "summarise:7", "rank", "end"]
WHOLE = [(number, name, None) for number, name in enumerate(STEPS, start=1)]


@pytest.mark.parametrize(
    ("phase", "first"), [(Phase.NAVIGATE, 1), (Phase.CRAWL, 2), (Phase.SUMMARISE, 4), (Phase.RANK, 6)]
)
def test_a_retry_begins_with_the_first_step_of_its_phase(phase: Phase, first: int) -> None:
    assert _find_first_step(phase, WHOLE) == first


def test_a_run_that_was_broken_off_goes_on_with_the_step_that_was_never_kept() -> None:
    assert _find_first_step(Phase.SUMMARISE, WHOLE[:3]) == 4


def test_a_step_that_failed_is_done_again_whatever_its_phase() -> None:
    assert _find_first_step(Phase.RANK, [*WHOLE[:2], (3, "crawl:1", ValueError())]) == 3


def test_the_end_of_a_run_is_never_kept_for_a_retry() -> None:
    assert _find_first_step(Phase.SUMMARISE, [*WHOLE[:3], (4, "end", None)]) == 4


@pytest.mark.parametrize("phase", [Phase.NAVIGATE, Phase.CRAWL, Phase.SUMMARISE, Phase.RANK])
def test_a_run_that_was_over_with_its_first_look_is_done_from_the_start(phase: Phase) -> None:
    assert _find_first_step(phase, [(1, "look", None)]) == 1


def test_sections_that_the_first_look_has_read_are_read_again_with_it() -> None:
    steps = [(1, "look", None), (2, "crawl:2", None), (3, "unsummarised", None), (4, "end", None)]
    assert _find_first_step(Phase.CRAWL, steps) == 1
    assert _find_first_step(Phase.SUMMARISE, steps) == 3


def test_what_another_version_began_is_done_from_the_start() -> None:
    assert _find_first_step(Phase.RANK, [(1, "begin", None), (2, "navigate", None), (3, "rank", None)]) == 1
