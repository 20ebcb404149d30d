import pytest

from monitor.research.summarising import GAP_MARK, allocate_chars, select_passages

FILLER = "这是一句与主题无关的话，说的是别的事情。"


def test_a_short_text_stays_as_it_is() -> None:
    assert select_passages("第一句。 第二句。\n\n第三句", "储能", 100) == "第一句。 第二句。\n\n第三句"


def test_what_is_wanted_is_found_wherever_it_stands_and_keeps_the_pages_order() -> None:
    text = "\n".join(
        [FILLER * 5, f"{FILLER}储能装机达到一亿千瓦。储能投资增长三成。{FILLER}", FILLER * 20, "储能政策已印发。"]
    )
    cut = select_passages(text, "储能 装机 投资 政策", 160)
    assert len(cut) <= 160
    assert "储能装机达到一亿千瓦。储能投资增长三成。" in cut
    assert cut.endswith(f"\n{GAP_MARK}\n储能政策已印发。")


@pytest.mark.parametrize("limit", [40, 90, 200, 400])
def test_whatever_is_cut_stands_on_the_page_word_for_word(limit: int) -> None:
    lines = [
        f"Line {n} tells of storage in 202{n}. It grew by {n}.5%, says No. {n} of the list. Nothing else."
        for n in range(9)
    ]
    text = "\n".join(lines)
    cut = select_passages(text, "storage grew list", limit)
    assert 0 < len(cut) <= limit
    for passage in cut.split(f"\n{GAP_MARK}\n"):
        assert passage.removeprefix(f"{GAP_MARK}\n") in text


def test_the_first_sentences_win_among_equals() -> None:
    assert select_passages("甲在此。" * 3 + FILLER * 30, "无关词语", 20).startswith("甲在此。")


@pytest.mark.parametrize(
    ("lengths", "room", "shares"),
    [([10, 20], 100, [10, 20]), ([10, 100, 100], 90, [10, 40, 40]), ([], 9, []), ([5, 0, 300], 50, [5, 0, 45])],
    ids=["enough", "fair", "none", "empty"],
)
def test_room_is_shared_fairly(lengths: list[int], room: int, shares: list[int]) -> None:
    assert allocate_chars(lengths, room) == shares
