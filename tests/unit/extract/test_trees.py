import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.trees import export_trees
from monitor.extract.articles.dates import DAY_FEATURES
from monitor.extract.articles.lines import LINE_FEATURES
from monitor.extract.articles.title import TITLE_FEATURES
from monitor.extract.trees import TreeScorer, load_scorer


class _Booster:
    """What LightGBM's `dump_model` gives for one tree of two splits."""

    def dump_model(self) -> dict[str, object]:
        def split(feature: int, threshold: float, low: object, high: object) -> dict[str, object]:
            return {
                "split_feature": feature,
                "threshold": threshold,
                "decision_type": "<=",
                "left_child": low,
                "right_child": high,
            }

        tree = split(1, 0.5, {"leaf_value": -2.0}, split(0, 3.0, {"leaf_value": 0.0}, {"leaf_value": 1.5}))
        return {"tree_info": [{"tree_structure": tree}]}


def test_exported_trees_are_nested_arrays() -> None:
    assert export_trees(_Booster(), ["length", "share"]) == {
        "features": ["length", "share"],
        "bias": 0.0,
        "trees": [[1, 0.5, -2.0, [0, 3.0, 0.0, 1.5]]],
    }


def test_a_score_is_the_probability_of_the_sum_of_leaves() -> None:
    scorer = TreeScorer(("length", "share"), 0.5, ((1, 0.5, -2.0, (0, 3.0, 0.0, 1.5)), 0.25))
    sums = [-1.25, 0.75, 2.25]
    assert scorer.score([(9, 0.5), (3, 0.6), (4, 1)]) == pytest.approx([1 / (1 + math.exp(-total)) for total in sums])


def test_features_are_found_by_their_names() -> None:
    scorer = TreeScorer(("length", "share"), 0.0, ((1, 0.5, -2.0, (0, 3.0, 0.0, 1.5)),))
    rows = [{"other": 7.0, "share": 0.6, "length": 4.0}, {"length": 9.0, "share": 0.5}]
    assert scorer.score_named(rows) == scorer.score([(4.0, 0.6), (9.0, 0.5)])


@given(
    st.lists(
        st.recursive(
            st.floats(-3, 3), lambda node: st.tuples(st.integers(0, 2), st.floats(-2, 2), node, node), max_leaves=20
        ),
        max_size=9,
    ),
    st.tuples(*[st.floats(-2, 2)] * 3),
)
def test_all_trees_at_once_reach_the_leaves_of_a_walk(trees: list[Any], row: tuple[float, ...]) -> None:
    def walk(node: Any) -> float:
        if isinstance(node, float):
            return node
        feature, threshold, low, high = node
        return walk(low if row[feature] <= threshold else high)

    total = sum(map(walk, trees))
    assert TreeScorer("abc", 0.0, trees).score([row]) == [1 / (1 + math.exp(-total))]


def test_extreme_sums_do_not_overflow() -> None:
    scorer = TreeScorer(("length",), 0.0, ((0, 0, -5_000.0, 5_000.0),))
    assert scorer.score([(0,), (1,)]) == pytest.approx([0, 1])


@pytest.mark.parametrize(
    ("name", "features"),
    [("article_line", LINE_FEATURES), ("article_title", TITLE_FEATURES), ("article_date", DAY_FEATURES)],
)
def test_trees_of_articles_were_trained_with_the_features_that_are_measured(
    name: str, features: tuple[str, ...]
) -> None:
    scorer = load_scorer(name)
    assert scorer.features == features
    assert 0 < scorer.score([(0.0,) * len(features)])[0] < 1
