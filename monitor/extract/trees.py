"""Scores by gradient-boosted trees, whose splits and values are plain numbers in `monitor/extract/weights`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp
from typing import Any, Self, TypeAlias

Node: TypeAlias = "float | tuple[int, float, Node, Node]"
"""The value of a leaf, or the index of a feature, a threshold, and the nodes for values up to it and above it."""

_MAX_SUM = 30.0


@dataclass(frozen=True)
class TreeScorer:
    """Trees over rows of features; the sum of their leaves and `bias` is the logit of a probability."""

    features: tuple[str, ...]
    bias: float
    trees: tuple[Node, ...]

    @classmethod
    def from_export(cls, stored: Any) -> Self:
        """Return the scorer of what `weights/NAME.json` holds: features, bias, and the trees as nested arrays."""
        return cls(tuple(stored["features"]), stored["bias"], tuple(map(_read_node, stored["trees"])))

    def score(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """Return the probability of each row; a row has a number for each of `features`, in their order."""
        return [self._score_row(row) for row in rows]

    def _score_row(self, row: Sequence[float]) -> float:
        total = self.bias
        for node in self.trees:
            while isinstance(node, tuple):
                feature, threshold, low, high = node
                node = low if row[feature] <= threshold else high  # noqa: PLW2901  the walk down one tree
            total += node
        return 1 / (1 + exp(-min(max(total, -_MAX_SUM), _MAX_SUM)))


@cache
def load_scorer(name: str) -> TreeScorer:
    return TreeScorer.from_export(
        json.loads(files("monitor.extract").joinpath("weights", f"{name}.json").read_text("utf-8"))
    )


def _read_node(stored: Any) -> Node:
    if not isinstance(stored, list):
        return float(stored)
    feature, threshold, low, high = stored
    return feature, threshold, _read_node(low), _read_node(high)
