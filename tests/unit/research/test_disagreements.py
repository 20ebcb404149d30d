"""When figures of two sources are values of one metric that cannot both be true."""

import pytest

from monitor.research.disagreements import find_disagreements
from monitor.research.shapes import NoteEvidence, ResearchNote


def note(number: int, quote: str) -> ResearchNote:
    url = f"https://a{number}.example/p"
    evidence = [NoteEvidence(quote=quote, source=url, confidence=0.5)]
    return ResearchNote(summary=quote, evidence=evidence, topic="t", source_url=url, engine="e")


def find(*quotes: str) -> list[list[str]]:
    return [
        [value.value for value in found.values]
        for found in find_disagreements([note(number, quote) for number, quote in enumerate(quotes)])
    ]


@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        ("2025年全国粮食产量为7.06亿吨。", "2025年全国粮食产量达到6.9亿吨。", ["7.06亿吨", "6.9亿吨"]),
        ("2025年，粮食总产量70600万吨。", "2025年全国粮食产量7.2亿吨。", []),  # not one name
        ("2025年装机规模增至1.2亿千瓦，同比增长45%。", "2025年装机规模同比增长54%。", ["45%", "54%"]),
        ("Storage capacity reached 73.8 GW in 2025.", "In 2025 storage capacity stood at 69 GW.", ["73.8 GW", "69 GW"]),
        ("2025年上半年项目投资达到860亿元。", "2025年上半年项目投资为910亿元。", ["860亿元", "910亿元"]),
    ],
)
def test_different_values_of_one_metric_and_period_stand_side_by_side(one: str, other: str, values: list[str]) -> None:
    assert find(one, other) == ([values] if values else [])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2025年粮食产量为7.06亿吨。", "2025年粮食产量为7.1亿吨。"),
        ("2025年粮食产量为7.06亿吨。", "2025年粮食产量为70600万吨。"),
        ("2025年粮食产量超过7亿吨。", "2025年粮食产量为7.06亿吨。"),
        ("2025年粮食产量约7亿吨。", "2025年粮食产量为7.06亿吨。"),
        ("2024年粮食产量为6.9亿吨。", "2025年粮食产量为7.06亿吨。"),
        ("2025年上半年项目投资达到860亿元。", "2025年前三季度项目投资达到1300亿元。"),
        ("2025年粮食产量为7.06亿吨。", "2025年粮食产量增长3%。"),
        ("粮食产量为7.06亿吨。", "粮食产量为6.9亿吨。"),
        ("2025年全省粮食产量为0.3亿吨。", "2025年全国粮食产量为7.06亿吨。"),
    ],
    ids=["rounded", "in another scale", "a bound", "about", "year", "part of the year", "unit", "no period", "place"],
)
def test_values_that_can_both_be_true_are_no_disagreement(one: str, other: str) -> None:
    assert find(one, other) == []


def test_a_name_that_one_page_gives_several_values_says_not_which_is_meant() -> None:
    assert find("2025年项目投资为3亿元。2025年项目投资为5亿元。", "2025年项目投资为4亿元。") == []
