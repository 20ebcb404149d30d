"""The statistics of evaluations, against values from the literature."""

import math

import pytest

from monitor.evaluation.statistics import compute_f1, compute_percentile, compute_sign_test, compute_tau_b


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (9, 1, 22 / 1024), (1, 9, 22 / 1024)],
)
def test_the_sign_test_is_exact_and_two_sided(wins: int, losses: int, p: float) -> None:
    assert compute_sign_test(wins, losses) == pytest.approx(p)


def test_equal_orders_agree_and_reversed_ones_do_not() -> None:
    order = [1.0, 2.0, 3.0, 4.0]
    assert compute_tau_b(order, order) == 1
    assert compute_tau_b(order, order[::-1]) == -1


def test_ties_are_corrected_for() -> None:
    # Two of three pairs agree and one is tied in the first: 2 / sqrt(2 * 3).
    assert compute_tau_b([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / math.sqrt(6))
    assert compute_tau_b([1, 1], [1, 2]) is None


def test_wrong_finds_lower_precision_alone() -> None:
    assert compute_f1(["a", "b"], ["a", "c"], wrong=2) == pytest.approx((0.25, 0.5, 1 / 3))
    assert compute_f1(["a"], []) == (0.0, 0.0, 0.0)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(value) for value in range(1, 21)]
    assert (compute_percentile(values, 0.5), compute_percentile(values, 0.95)) == (10, 19)
    assert compute_percentile([7.0], 0.95) == 7
    assert compute_percentile([], 0.5) is None
