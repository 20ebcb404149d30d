import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.search.bundles.scoring import compute_overlap

CASES = [
    ("光伏补贴政策", "光伏发电的补贴新政策", 1.0),
    ("光伏补贴政策", "光明与补贴", 2 / 6),
    ("光伏补贴政策", "伏天补光", 0.0),
    ("光伏补贴政策", "光\n伏", 2 / 6),
    ("碳", "碳排放", 1.0),
    ("solar subsidies", "The SOLAR subsidy is cut", 1.0),
    ("solar subsidies", "solarium", 0.0),
    ("new taxes", "A new tax", 1.0),
    ("gas", "glass gasoline", 0.0),
    ("IFRS 9 新规", "ＩＦＲＳ 9 的新规定", 1.0),
    ("IFRS 9 新规", "IFRS 17", 2 / 6),
    ("2026年规划", "规划（2026年）", 4 / 5),
    ("태양광 보조금", "태양광 발전 보조금", 1.0),
    ("", "anything", None),
    ("？——！", "anything", None),
    ("光伏", "", 0.0),
]


@pytest.mark.parametrize(("query", "text", "share"), CASES)
def test_the_share_of_the_query_that_stands_in_the_text(query: str, text: str, share: float | None) -> None:
    assert compute_overlap(query, text) == (share if share is None else pytest.approx(share))


@given(st.text(max_size=40), st.text(max_size=80), st.text(max_size=40))
def test_it_lies_between_0_and_1_is_whole_in_itself_and_more_text_takes_nothing_away(
    query: str, text: str, more: str
) -> None:
    share = compute_overlap(query, text)
    if share is None:
        assert compute_overlap(query, query) is None
        return
    assert 0 <= share <= 1
    assert compute_overlap(query, query) == 1
    assert compute_overlap(query, f"{text}\n{more}") >= share
