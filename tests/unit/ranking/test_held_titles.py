"""The order of titles and documents that nobody saw who wrote its rules, beside that of a person."""

from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.ranking import measure

HELD = Path("fixtures/ranking")


# Some hundredths below what was measured in November 2026.
@pytest.mark.parametrize(("name", "tau", "best_ten"), [("held_titles", 0.73, 8.0), ("held_weeks", 0.78, 8.5)])
async def test_the_order_agrees_with_that_of_a_person_and_two_runs_of_a_model_agree(
    name: str, tau: float, best_ten: float
) -> None:
    figures = (await measure(HELD / f"{name}.jsonl")).sets
    assert fmean(figure.tau for figure in figures) >= tau
    assert fmean(figure.best_ten for figure in figures) >= best_ten
    assert fmean(figure.stable_tau for figure in figures) >= 0.9
