"""The statistics of comparisons: an exact sign test, Kendall's tau-b, precision and recall, percentiles."""

import math
from collections.abc import Collection, Sequence
from itertools import combinations


def compute_sign_test(wins: int, losses: int) -> float:
    """Return the two-sided p value of the exact sign test: ties are left out, and without any pair it is 1."""
    pairs = wins + losses
    if pairs == 0:
        return 1.0
    tail = sum(math.comb(pairs, count) for count in range(min(wins, losses) + 1))
    return min(1.0, float(2 * tail / 2**pairs))


def compute_tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same things, from -1 to 1; None where one has nothing but ties."""
    agreeing = opposed = tied_first = tied_second = 0
    for here, there in combinations(range(len(first)), 2):
        a, b = first[here] - first[there], second[here] - second[there]
        tied_first += a == 0
        tied_second += b == 0
        agreeing += a * b > 0
        opposed += a * b < 0
    pairs = len(first) * (len(first) - 1) // 2
    spread = math.sqrt((pairs - tied_first) * (pairs - tied_second))
    return (agreeing - opposed) / spread if spread else None


def compute_f1(wanted: Collection[str], found: Collection[str], *, wrong: int = 0) -> tuple[float, float, float]:
    """Return precision, recall and their harmonic mean; `wrong` are further finds that count as none."""
    hits = len(set(wanted) & set(found))
    total = len(set(found)) + wrong
    precision = hits / total if total else 0.0
    recall = hits / len(set(wanted)) if wanted else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def compute_percentile(values: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile, as 0.5 for the median; None for no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def compute_mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
