"""The blueprint as a picture: its drivers and how they act on each other."""

from monitor.formats.graph import GraphEdge, GraphNode, draw_graph
from monitor.research.shapes import ModelBlueprint

ASSOCIATION = "association"
"""The type of a relationship that has no direction."""

_WORDS = {
    "influence": "影响",
    "refers_to": "提及",
    ASSOCIATION: "关联",
    "constrain": "制约",
    "enable": "促进",
    "support": "支撑",
    "require": "要求",
    "increase": "推高",
    "decrease": "压低",
    "cause": "导致",
    "depend": "依赖",
    "conflict": "冲突",
}


def word_of(kind: str, language: str) -> str:
    """What a type of relationship is called in a language; one that is not known stays as it is."""
    return _WORDS.get(kind.lower(), kind) if language == "zh" else kind.replace("_", " ")


def blueprint_picture(blueprint: ModelBlueprint, *, title: str, language: str) -> str:
    """The blueprint's graph as SVG; empty where nothing in it acts on anything: boxes alone are a list."""
    if not blueprint.relationships:
        return ""
    nodes = [GraphNode(driver.name, driver.description) for driver in blueprint.core_drivers]
    edges = [
        GraphEdge(
            relationship.from_,
            relationship.to,
            word_of(relationship.type, language),
            is_directed=relationship.type != ASSOCIATION,
        )
        for relationship in blueprint.relationships
    ]
    return draw_graph(nodes, edges, title=title)
