"""The blueprint as a picture."""

from monitor.research.appendix import ASSOCIATION, draw_blueprint, translate_relationship_type
from monitor.research.shapes import Driver, ModelBlueprint, Relationship


def blueprint(*kinds: str) -> ModelBlueprint:
    drivers = [Driver(name=name, description="说明", evidence_refs=[0]) for name in ("规模", "机制")]
    reported = [{"from": "机制", "to": "规模", "type": kind, "confidence": 0.5} for kind in kinds]
    return ModelBlueprint(core_drivers=drivers, relationships=[Relationship.model_validate(text) for text in reported])


def test_types_of_relationships_have_words() -> None:
    assert (
        translate_relationship_type("influence", "zh"),
        translate_relationship_type("Enable", "zh"),
        translate_relationship_type("refers_to", "zh"),
    ) == ("影响", "促进", "提及")
    assert (translate_relationship_type("refers_to", "en"), translate_relationship_type("strange", "zh")) == (
        "refers to",
        "strange",
    )


def test_drivers_are_boxes_and_relationships_arrows_with_their_words() -> None:
    picture = draw_blueprint(blueprint("influence"), title="模型", language="zh")
    assert picture.count("<rect") == 2
    assert "机制 → 规模 (影响)" in picture
    assert "<polygon" in picture


def test_an_association_has_no_direction() -> None:
    assert "<polygon" not in draw_blueprint(blueprint(ASSOCIATION), title="模型", language="zh")


def test_boxes_alone_are_no_picture() -> None:
    assert draw_blueprint(blueprint(), title="模型", language="zh") == ""
