"""Sentences that are known to be true or false of a page."""

import pytest

from monitor.evaluation.pieces import PlantKind
from monitor.evaluation.planting import change_sentence, plant_statements

PAGE = """国家绿色能源总署印发通知。
到2030年，新型储能装机规模达到2.4亿千瓦以上。
电网企业应当按季度公布县级区域可开放容量。"""
OTHER = "全国碳市场第二个履约周期的配额总量为50亿吨左右，覆盖2257家企业。"


@pytest.mark.parametrize(
    ("sentence", "changed"),
    [
        ("产量同比增长5%。", "产量同比下降5%。"),
        ("配额总量为50亿吨。", "配额总量为53亿吨。"),
        ("Output increased by 4 percent.", "Output decreased by 4 percent."),
        ("部门会商了有关工作。", None),
    ],
)
def test_one_word_or_one_figure_is_changed(sentence: str, changed: str | None) -> None:
    assert change_sentence(sentence) == changed


def test_true_sentences_are_of_the_page_and_false_ones_are_not() -> None:
    planted = plant_statements(PAGE, OTHER)
    own = [statement.text for statement, _ in planted if statement.kind is PlantKind.OWN]
    false = [statement.text for statement, _ in planted if statement.kind is not PlantKind.OWN]
    assert own
    assert all(text in PAGE for text in own)
    assert len(false) == len(own) + 1
    assert not any(text in PAGE for text in false)
    assert all(judgement.is_open and judgement.context for _, judgement in planted)
    assert planted == plant_statements(PAGE, OTHER)


def test_a_page_without_sentences_has_none() -> None:
    assert plant_statements("附件", OTHER) == []
