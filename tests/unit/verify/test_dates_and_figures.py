"""Statements that say a date, a period or a figure in another form than their page: true ones stay, false ones go."""

import datetime as dt
from pathlib import Path

import pytest
import yaml

from monitor.verify.citations import PassageIndex
from monitor.verify.grounding import NumberIndex, find_ungrounded_numbers

STATEMENTS = yaml.safe_load(
    (Path(__file__).parents[3] / "fixtures" / "statements" / "dates.yaml").read_text(encoding="utf-8")
)
PUBLISHED = dt.date(2026, 11, 2)


def find_missing(entry: dict[str, str | dt.date]) -> set[str]:
    published_on = entry.get("published")
    assert not isinstance(published_on, str)
    return PassageIndex(str(entry["page"]), published_on=published_on).find_missing(str(entry["sentence"]))


def test_the_lists_are_long_enough_to_say_something() -> None:
    assert len(STATEMENTS["true"]) >= 300
    assert len(STATEMENTS["false"]) >= 140


@pytest.mark.parametrize("entry", STATEMENTS["true"], ids=lambda entry: entry["sentence"])
def test_a_true_statement_is_kept(entry: dict[str, str | dt.date]) -> None:
    assert find_missing(entry) == set()


def test_a_false_statement_is_refused_in_95_of_100_cases() -> None:
    kept = [entry["sentence"] for entry in STATEMENTS["false"] if not find_missing(entry)]
    assert len(kept) <= 0.05 * len(STATEMENTS["false"]), kept


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("今年投资5亿元。", "投资5亿元。"),
        ("去年投资5亿元。", "今年投资5亿元。"),
        ("上半年增长5%。", "增长5%。"),
        ("年底前完成。", "抓紧完成。"),
    ],
)
def test_a_period_in_words_alone_is_no_claim_where_nothing_can_tell(summary: str, text: str) -> None:
    assert find_ungrounded_numbers(summary, text) == []


def test_a_period_that_rests_on_the_page_is_linked_to_its_sentence() -> None:
    index = NumberIndex("报告已经发布。前三季度，投资5亿元。", published_on=PUBLISHED)
    grounded = {number.written: number.passage for number in index.ground("2026年1至9月投资5亿元。")}
    assert grounded == {"2026年1至9月": "前三季度，投资5亿元。", "5亿元": "前三季度，投资5亿元。"}


def test_the_day_of_publication_may_be_said_though_the_page_does_not_write_it() -> None:
    index = NumberIndex("办法自发布之日起施行。", published_on=PUBLISHED)
    assert index.find_ungrounded("办法于2026年11月2日发布。") == []
    assert index.find_ungrounded("办法于2026年11月发布。") == []
    assert index.find_ungrounded("办法于2026年11月3日发布。") == ["2026年11月3日"]


@pytest.mark.parametrize("name", ["“十四五”", "《办法》"])
def test_a_quoted_name_is_wanted_but_a_plan_in_quotation_marks_is_a_period(name: str) -> None:
    missing = PassageIndex("2021—2025年造林3亿亩。").find_missing(f"{name}期间造林3亿亩。")
    assert missing == (set() if name == "“十四五”" else {"办法"})
