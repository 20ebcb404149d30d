import pytest

from monitor.research.searching import build_subject_queries, extract_subjects


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("碳市场和电价的最新政策", ["碳市场", "电价"]),
        ("2026年新型储能的发展现状与政策走向如何？", ["新型储能"]),
        ("欧盟碳边境调节机制对中国钢铁出口的影响", ["欧盟碳边境调节机制", "钢铁出口"]),
        ("《能源法》实施以来有哪些配套规定？", ["能源法"]),
        ("电力市场、绿证与碳排放权交易如何衔接", ["电力市场", "绿证", "碳排放权交易"]),
        ("和平利用核能", ["和平利用核能"]),
        ("饱和度", ["饱和度"]),
        ("储能?", ["储能"]),
        ("如何？", ["如何"]),
        ("How is energy storage developing in 2026, and where is policy heading?", ["energy storage"]),
        (
            "What did the Federal Register say about battery tariffs and solar panels",
            ["Federal Register", "battery tariffs", "solar panels"],
        ),
        ("https://evil.example/ 绿证", ["绿证"]),
    ],
)
def test_the_subjects_of_a_question_are_its_own_words_without_those_that_only_ask(
    question: str, subjects: list[str]
) -> None:
    assert extract_subjects(question) == subjects


def test_paragraphs_begin_with_different_subjects_and_together_search_for_all() -> None:
    question = "碳市场和电价的最新政策"
    assert build_subject_queries(question, 0, "背景")[:3] == ["碳市场 电价", "碳市场", "电价"]
    assert build_subject_queries(question, 1, "背景")[:3] == ["碳市场 电价", "电价", "碳市场"]
    assert "电价 背景" in build_subject_queries(question, 1, "背景")


def test_a_question_of_one_subject_is_searched_for_once_alone_then_with_the_aspect() -> None:
    assert build_subject_queries("新型储能的现状", 3, "趋势与展望") == ["新型储能", "新型储能 趋势与展望"]
