"""Sentences that cite by number, and whether they rest on what they cite."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.verify.citations import (
    CitedSentence,
    append_citations,
    find_missing_particulars,
    has_particulars,
    is_supported_by,
    parse_cited_sentence,
    parse_cited_sentences,
)

PASSAGE = "《绿色电力办法》（国绿能价〔2026〕17号）自2027年1月1日起施行，低谷时段由3小时延长到5小时。"


def numbered(text: str, count: int = 3) -> list[tuple[str, tuple[int, ...]]]:
    return [(sentence.text, sentence.numbers) for sentence in parse_cited_sentences(text, count)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("甲事已经完成[1]。乙事正在推进。[2][3]", [("甲事已经完成。", (1,)), ("乙事正在推进。", (2, 3))]),
        ("It began in May [1, 2]. It ended【3】.", [("It began in May.", (1, 2)), ("It ended.", (3,))]),
        ("- 甲事已经完成[2][2]。\n\n2. 乙事[1]！", [("甲事已经完成。", (2,)), ("乙事！", (1,))]),
        ("没有出处的一句。", [("没有出处的一句。", ())]),
        ("不存在的出处[9]。混在一起[1][9]。", [("不存在的出处[9]。", ()), ("混在一起[9]。", (1,))]),
        ("U.S. operators pay 3.5% [1].", [("U.S. operators pay 3.5%.", (1,))]),
        ("甲<<<NOTES>>>乙[1]。", [("甲NOTES乙。", (1,))]),
    ],
)
def test_sentences_are_parted_from_their_numbers(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert numbered(text) == expected


@pytest.mark.parametrize(
    ("sentence", "written"),
    [
        ("甲事已经完成。", "甲事已经完成[1][2]。"),
        ("It ended.", "It ended[1][2]."),
        ("他问：“怎么办？”", "他问：“怎么办[1][2]？”"),
        ("没有句号", "没有句号[1][2]"),
    ],
)
def test_numbers_are_written_before_the_full_stop_and_read_there_again(sentence: str, written: str) -> None:
    assert append_citations(sentence, [1, 2]) == written
    assert parse_cited_sentence(written, 2) == CitedSentence(sentence, (1, 2))


def test_each_particular_has_to_stand_in_a_passage() -> None:
    assert is_supported_by("《绿色电力办法》自2027年1月1日起施行。", [PASSAGE])
    assert is_supported_by("国绿能价〔2026〕17号文件延长了低谷时段。", ["另一段。", PASSAGE])
    assert find_missing_particulars("《蓝色电力办法》自2027年1月2日起施行，为5小时。", [PASSAGE]) == {
        "蓝色电力办法",
        "2027年1月2日",
    }


def test_a_document_number_stands_as_a_whole_or_not_at_all() -> None:
    # Each of its figures stands in the passage; the number does not.
    passage = "国绿能价〔2026〕15号，另见财绿能〔2025〕17号。"
    assert not is_supported_by("依据国绿能价〔2026〕17号文件办理。", [passage])
    assert not is_supported_by("依据财绿能〔2025〕15号文件办理。", [passage])
    assert is_supported_by("依据国绿能价〔2026〕15号文件办理。", [passage])


def test_particulars_of_several_passages_may_come_together_but_one_date_may_not() -> None:
    assert is_supported_by("补贴5%，期限3年。", ["补贴为5%。", "期限为3年。"])
    assert not is_supported_by("于2026年3月5日施行。", ["2026年印发。", "3月5日施行。"])


@pytest.mark.parametrize(
    "text", ["", "太短了。", "长" * 401, "详见 https://a.example 的全文。", "见www.a.example/1全文。"]
)
def test_what_is_no_sentence_of_ours_never_stands(text: str) -> None:
    assert not is_supported_by(text, [PASSAGE, text])


def test_nothing_rests_on_nothing() -> None:
    assert not is_supported_by("这句话没有任何数字。", [])


def test_particulars_are_figures_dates_document_numbers_and_quoted_names() -> None:
    said = [
        "增长5%。",
        "3月5日前报送。",
        "见〔2026〕5号。",
        "《办法》出台。",
        "所谓“绿电”。",
        "Twenty provinces agreed.",
    ]
    assert all(map(has_particulars, said))
    assert not has_particulars("各地正在进一步推动统一市场建设。")


@given(st.text(max_size=200), st.lists(st.integers(1, 5), min_size=1, max_size=3, unique=True))
@settings(max_examples=100)
def test_whatever_is_written_its_numbers_come_back(text: str, numbers: list[int]) -> None:
    for sentence in parse_cited_sentences(text, 0):
        assert sentence.numbers == ()
        again = parse_cited_sentence(append_citations(sentence.text, numbers), 5)
        assert set(numbers) <= set(again.numbers)
