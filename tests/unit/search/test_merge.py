"""The order of a merged answer."""

import datetime as dt

from hypothesis import given
from hypothesis import strategies as st

from monitor.search.contract import SearchItem
from monitor.search.merge import RANK_CONSTANT, fuse_results
from monitor.urls import url_key


def items_of(name: str, numbers: list[int]) -> list[SearchItem]:
    return [
        SearchItem(title=f"{name}{n}", url=f"https://a.example/{n}", snippet="", provider=name, rank=rank)
        for rank, n in enumerate(numbers, start=1)
    ]


lists = st.lists(st.lists(st.integers(0, 15), unique=True, max_size=10), min_size=1, max_size=4)


@given(lists, st.integers(1, 20))
def test_every_document_stands_once_and_higher_scores_stand_higher(numbers: list[list[int]], limit: int) -> None:
    merged = fuse_results([items_of(str(at), number) for at, number in enumerate(numbers)], limit=limit)
    scores = {
        n: sum(1 / (RANK_CONSTANT + number.index(n) + 1) for number in numbers if n in number)
        for number in numbers
        for n in number
    }
    keys = [int(item.url.rsplit("/", 1)[1]) for item in merged]
    assert len(keys) == len(set(keys)) == min(limit, len(scores))
    assert [item.rank for item in merged] == list(range(1, len(merged) + 1))
    shown = [round(scores[key], 12) for key in keys]
    assert shown == sorted(shown, reverse=True)
    left_out = [score for key, score in scores.items() if key not in keys]
    assert not left_out or max(left_out) <= min(shown) + 1e-12


@given(st.lists(st.integers(0, 15), unique=True, max_size=10))
def test_one_list_alone_keeps_its_order(numbers: list[int]) -> None:
    items = items_of("a", numbers)
    assert fuse_results([items], limit=20) == items


def test_the_result_with_a_real_address_is_shown_with_what_others_tell() -> None:
    day = dt.date(2026, 2, 3)
    redirect = SearchItem(
        title="T",
        url="http://www.baidu.com/link?url=1",
        snippet="S",
        provider="baidu_html",
        rank=1,
        source="https://a.example/1",
        published_at=day,
    )
    direct = SearchItem(title="", url="https://a.example/1", snippet="", provider="brave", rank=4)
    (shown,) = fuse_results([[redirect], [direct]], limit=5)
    assert (shown.url, shown.title, shown.snippet, shown.published_at) == (direct.url, "T", "S", day)
    assert url_key(shown.url) == url_key(redirect.source or "")
