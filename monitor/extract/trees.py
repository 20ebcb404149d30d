"""Scores by gradient-boosted trees, whose splits and values are plain numbers in `monitor/extract/weights`."""

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from importlib.resources import files
from itertools import repeat
from math import exp
from operator import and_, getitem
from struct import Struct
from typing import Any, Self, TypeAlias

Node: TypeAlias = "float | tuple[int, float, Node, Node]"
"""The value of a leaf, or the index of a feature, a threshold, and the nodes for values up to it and above it."""

_MAX_SUM = 30.0
_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}  # of an unpacked number, by the bytes of a tree


_Splits: TypeAlias = tuple[int, list[float], list[int]]
"""A feature, the thresholds of all trees by it, and the leaves that a value above so many of them can reach."""


class TreeScorer:
    """Trees over rows of features; the sum of their leaves and `bias` is the logit of a probability.

    All trees are asked at once (QuickScorer, Lucchese et al. 2015): a bit stands for a leaf, a number for the leaves of
    all trees. Each value of a row takes away the leaves on the lower side of the thresholds that it is above; what is
    left first in each tree is the leaf that a walk down the tree would reach. That takes a step for each feature, and
    not for each node.
    """

    def __init__(self, features: Sequence[str], bias: float, trees: Sequence[Node]) -> None:
        self.features = tuple(features)
        leaves = [list(_list_leaves(tree)) for tree in trees]
        most = max(map(len, leaves), default=1)
        size = next(size for size in _FORMATS if 8 * size >= most)
        self._bytes = size * len(trees)
        self._unpack = Struct(f"<{len(trees)}{_FORMATS[size]}").unpack
        self._bias = bias
        self._values: list[Mapping[int, float]] = [{1 << n: leaf for n, leaf in enumerate(each)} for each in leaves]
        bits = 8 * size
        self._all = (1 << 8 * self._bytes) - 1
        self._firsts = sum(1 << bits * place for place in range(len(trees)))
        lower: dict[int, list[tuple[float, int]]] = {}
        for place, tree in enumerate(trees):
            for feature, threshold, first, end in _list_splits(tree):
                lower.setdefault(feature, []).append((threshold, ((1 << end) - (1 << first)) << bits * place))
        self._splits = [self._build_splits(feature, sorted(found)) for feature, found in sorted(lower.items())]

    def _build_splits(self, feature: int, lower: Sequence[tuple[float, int]]) -> _Splits:
        left = [self._all]
        for _, leaves in lower:
            left.append(left[-1] & ~leaves)
        return feature, [threshold for threshold, _ in lower], left

    @classmethod
    def from_export(cls, stored: Any) -> Self:
        """Return the scorer of what `weights/NAME.json` holds: features, bias, and the trees as nested arrays."""
        return cls(stored["features"], stored["bias"], stored["trees"])

    def score(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the probability of each row; a row has a number for each of `features`, in their order."""
        if not rows:
            return []
        columns = list(zip(*rows, strict=True))
        always = self._all
        masks: list[Iterable[int]] = [repeat(always, len(rows))]
        for feature, thresholds, left in self._splits:
            column = columns[feature]
            places = {value: bisect_left(thresholds, value) for value in set(column)}
            if len(set(places.values())) == 1:  # of a page, as of all its rows
                always &= left[places[column[0]]]
            else:
                masks.append(map({value: left[place] for value, place in places.items()}.__getitem__, column))
        reachable = [reduce(and_, found, always) for found in zip(*masks, strict=True)]
        chances = {found: self._sum_leaves(found) for found in set(reachable)}
        return [chances[found] for found in reachable]

    def score_named(self, rows: Sequence[Mapping[str, float]]) -> list[float]:
        """Return the probability of each row, whose features have names; it may have more than were trained with."""
        return self.score([[row[name] for name in self.features] for row in rows])

    def _sum_leaves(self, reachable: int) -> float:
        first = reachable & ~(reachable - self._firsts)  # each tree has a leaf that is left, so that none borrows
        by_tree = self._unpack(first.to_bytes(self._bytes, "little"))
        total = sum(map(getitem, self._values, by_tree), self._bias)
        return 1 / (1 + exp(-min(max(total, -_MAX_SUM), _MAX_SUM)))


@cache
def load_scorer(name: str) -> TreeScorer:
    return TreeScorer.from_export(
        json.loads(files("monitor.extract").joinpath("weights", f"{name}.json").read_text("utf-8"))
    )


def _list_leaves(node: Any) -> Iterator[float]:
    """Yield the values of the leaves, those for lower values first."""
    if isinstance(node, int | float):
        yield float(node)
    else:
        yield from _list_leaves(node[2])
        yield from _list_leaves(node[3])


def _list_splits(node: Any, first: int = 0) -> Iterator[tuple[int, float, int, int]]:
    """Yield feature and threshold of each split, and the range of the leaves on its lower side."""
    if not isinstance(node, int | float):
        feature, threshold, low, high = node
        end = first + sum(1 for _ in _list_leaves(low))
        yield feature, threshold, first, end
        yield from _list_splits(low, first)
        yield from _list_splits(high, end)
