"""Tells classes of short texts apart by their words, with the weights that `make bench NAME=train` writes."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Classifier:
    """A score for each class: its bias, and a weight for each feature that a text has."""

    classes: tuple[str, ...]
    bias: tuple[float, ...]
    weights: Mapping[str, tuple[float, ...]]

    def predict(self, features: Iterable[str]) -> dict[str, float]:
        """Return the probability of each class; a feature counts once."""
        scores = list(self.bias)
        for feature in set(features):
            for place, weight in enumerate(self.weights.get(feature, ())):
                scores[place] += weight
        highest = max(scores)
        powers = [math.exp(score - highest) for score in scores]
        return {name: power / sum(powers) for name, power in zip(self.classes, powers, strict=True)}


@cache
def load_classifier(name: str) -> Classifier:
    """Return a classifier of `policies/weights`: {"classes": […], "bias": […], "weights": {feature: […]}}."""
    stored = json.loads(files("monitor.policies").joinpath("weights", f"{name}.json").read_text("utf-8"))
    return Classifier(
        tuple(stored["classes"]), tuple(stored["bias"]), {key: tuple(row) for key, row in stored["weights"].items()}
    )
