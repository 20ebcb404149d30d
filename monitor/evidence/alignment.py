"""Which part of a text became which: two sequences of texts, brought together in order."""

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from rapidfuzz.fuzz import ratio

ALIKE = 0.5
"""From which likeness on two texts, 0 to 1, are two versions of one."""

# To weigh each with each takes time, some 50 microseconds a pair; where so many differ, nothing is found out by it.
_MOST_PAIRS = 40_000
_WEIGHED_CHARS = 300

Pair = tuple[int | None, int | None]


def likeness(one: str, other: str) -> float:
    """How much of two texts is the same, in order, from 0 to 1; of long ones their beginnings are weighed."""
    return ratio(one[:_WEIGHED_CHARS], other[:_WEIGHED_CHARS]) / 100


def align(
    before: Sequence[str], after: Sequence[str], *, weight: Callable[[int, int], float] | None = None
) -> list[Pair]:
    """The places of both sequences in order, each once: together where one became the other, else alone.

    Equal ones come together first; between them the pairs with the largest sum of weights. Without `weight` that is
    the likeness of the two texts, where they are alike; a weight of 0 keeps two apart.
    """

    def alike(i: int, j: int) -> float:
        found = likeness(before[i], after[j])
        return found if found >= ALIKE else 0.0

    weigh = weight or alike
    pairs: list[Pair] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after).get_opcodes():
        if tag == "equal":
            pairs += zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs += _heaviest(range(i1, i2), range(j1, j2), weigh)
    return pairs


def _heaviest(left: range, right: range, weigh: Callable[[int, int], float]) -> list[Pair]:
    """The pairs of two stretches whose weights sum up highest, without changing the order of either."""
    if len(left) * len(right) > _MOST_PAIRS:
        return [*((i, None) for i in left), *((None, j) for j in right)]
    weights = [[weigh(i, j) for j in right] for i in left]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            together = best[i + 1][j + 1] + weights[i][j] if weights[i][j] else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    pairs: list[Pair] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and best[i][j] == best[i + 1][j]:
            pairs.append((left[i], None))
            i += 1
        elif j < len(right) and best[i][j] == best[i][j + 1]:
            pairs.append((None, right[j]))
            j += 1
        else:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
    return pairs
