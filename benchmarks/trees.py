"""Exports trained trees as the plain numbers that `monitor.extract.trees` reads."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WEIGHTS = Path("monitor/extract/weights")
_DIGITS = 4


def export_trees(booster: Any, feature_names: Sequence[str]) -> dict[str, object]:
    """Return features, bias and trees of a binary LightGBM booster, each tree as nested arrays.

    A node is [feature, threshold, node up to the threshold, node above it], a leaf its value. The booster has its
    bias in its first tree, so that of the export is 0. Features must have no missing values and no categories.
    """
    trees = [_export_node(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    return {"features": list(feature_names), "bias": 0.0, "trees": trees}


def write_trees(exported: dict[str, object], name: str) -> Path:
    """Write what was exported to where `load_scorer(name)` reads it, and return the file."""
    file = WEIGHTS / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(exported, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    return file


def _export_node(node: dict[str, Any]) -> list[Any] | float:
    if "leaf_value" in node:
        return round(float(node["leaf_value"]), _DIGITS)
    if node["decision_type"] != "<=":
        raise ValueError(f"A split is no threshold: {node['decision_type']}")
    children = (_export_node(node[side]) for side in ("left_child", "right_child"))
    return [node["split_feature"], float(f"{node['threshold']:.6g}"), *children]
