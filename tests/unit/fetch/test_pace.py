from collections import Counter

import pytest

from monitor.fetch.browser.pace import MAX_SETTLE_S, PageWatch, SitePace

URL = "https://www.example.gov.cn/notices/list.html"
POLL = "www.example.gov.cn/status"
ROWS = "www.example.gov.cn/rows"


class Watched:
    """One page whose requests, rows and timers a test tells."""

    def __init__(self, pace: SitePace, url: str = URL) -> None:
        self.watch = PageWatch(pace, url, started=100.0, deadline=130.0)
        self.answers: Counter[str] = Counter()
        self.pending: frozenset[str] = frozenset()

    def is_settled(
        self,
        after_s: float,
        *,
        rows: str = "12",
        has_list: bool = True,
        scrolls: int = 0,
        is_awaited: bool = False,
        late_s: float | None = None,
    ) -> bool:
        return self.watch.is_settled(
            now=100.0 + after_s,
            rows=rows,
            has_list=has_list,
            scrolls=scrolls,
            is_awaited=is_awaited,
            late_s=late_s,
            pending=self.pending,
            answers=self.answers,
        )

    def note(self) -> None:
        self.watch.note(pending=self.pending, answers=self.answers)


@pytest.fixture
def pace() -> SitePace:
    return SitePace()


def test_a_page_that_requests_nothing_more_is_settled(pace) -> None:
    assert Watched(pace).is_settled(0.05)


def test_a_first_request_is_waited_for_until_the_bound(pace) -> None:
    page = Watched(pace)
    page.pending = frozenset({ROWS})
    assert [page.is_settled(after_s) for after_s in (1, 4, 7.9, 8)] == [False, False, False, True]


def test_an_answer_that_the_page_has_not_got_yet_is_waited_for(pace) -> None:
    page = Watched(pace)
    assert [page.is_settled(after_s, is_awaited=True) for after_s in (1, 7.9, 8)] == [False, False, True]
    assert page.is_settled(1)


def test_a_list_that_was_scrolled_is_given_as_long_again_but_never_beyond_the_deadline(pace) -> None:
    page = Watched(pace)
    page.pending = frozenset({ROWS})
    looks = [(7, 1), (14, 1), (14.9, 2), (22, 2), (22.8, 3), (29.9, 3), (30, 3)]
    assert [page.is_settled(after_s, scrolls=scrolls) for after_s, scrolls in looks] == [False] * 6 + [True]


def test_a_page_without_its_list_is_given_longer(pace) -> None:
    page = Watched(pace)
    page.pending = frozenset({ROWS})
    assert not page.is_settled(8, has_list=False)
    assert page.is_settled(MAX_SETTLE_S, has_list=False)


def test_polling_that_leaves_the_list_as_it_is_ends_the_waiting(pace) -> None:
    page = Watched(pace)
    page.pending = frozenset({POLL})
    page.answers[POLL] = 2
    assert not page.is_settled(0.5)
    page.answers[POLL] = 5
    assert not page.is_settled(0.9)
    assert page.is_settled(1.6)


def test_what_a_page_of_the_host_polled_has_to_answer_only_once_on_the_next(pace) -> None:
    first = Watched(pace)
    first.pending = frozenset({POLL})
    assert not first.is_settled(0.1)
    first.answers[POLL] = 3
    assert first.is_settled(1.2)
    following = Watched(pace)
    following.pending = frozenset({POLL})
    assert not following.is_settled(0.1)
    following.answers[POLL] = 1
    assert not following.is_settled(0.2, rows="13")
    following.answers[POLL] = 2
    assert following.is_settled(0.3, rows="13")


def test_polling_does_not_end_the_waiting_for_another_request(pace) -> None:
    page = Watched(pace)
    page.pending = frozenset({POLL, ROWS})
    assert not page.is_settled(0.5)
    page.answers[POLL] = 50
    assert not page.is_settled(6)


def test_a_list_that_grows_with_each_answer_is_waited_for(pace) -> None:
    page = Watched(pace)
    page.pending = frozenset({ROWS})
    for number in range(1, 30):
        page.answers[ROWS] = number
        assert not page.is_settled(number / 4, rows=str(number))


def test_a_request_that_outlasted_a_page_is_waited_for_less_on_the_next(pace) -> None:
    first = Watched(pace)
    first.pending = frozenset({POLL})
    assert not first.is_settled(1.5)
    assert first.is_settled(8)
    first.note()
    following = Watched(pace, "https://www.example.gov.cn/other/index.html")
    following.pending = frozenset({POLL})
    assert [following.is_settled(after_s) for after_s in (1, 2.9, 3)] == [False, False, True]
    following.pending = frozenset({POLL, ROWS})
    assert not following.is_settled(5)


def test_a_request_that_was_answered_after_all_is_waited_for_again(pace) -> None:
    first = Watched(pace)
    first.pending = frozenset({ROWS})
    assert first.is_settled(8)
    first.note()
    second = Watched(pace)
    second.answers[ROWS] = 1
    assert second.is_settled(1)
    second.note()
    third = Watched(pace)
    third.pending = frozenset({ROWS})
    assert not third.is_settled(5)


def test_another_host_is_another_pace(pace) -> None:
    first = Watched(pace)
    first.pending = frozenset({POLL})
    assert first.is_settled(8)
    first.note()
    other = Watched(pace, "https://elsewhere.example/list.html")
    other.pending = frozenset({POLL})
    assert not other.is_settled(5)


def test_timers_are_waited_for_only_where_the_list_is_not_there(pace) -> None:
    page = Watched(pace)
    assert not page.is_settled(0.1, has_list=False, late_s=3)
    assert page.watch.timer_s == 3
    assert page.is_settled(3.3)
    assert page.watch.timer_s is None


def test_a_timer_beyond_the_bound_is_not_waited_for(pace) -> None:
    assert Watched(pace).is_settled(0.1, has_list=False, late_s=60)


def wait_for_a_timer(pace: SitePace, *, brings: str, url: str = URL) -> bool:
    """Whether the page's timer of three seconds is waited for."""
    page = Watched(pace, url)
    has_waited = not page.is_settled(0.1, rows="0", has_list=False, late_s=3)
    assert page.is_settled(3.3, rows=brings, has_list=brings != "0")
    page.note()
    return has_waited


def test_timers_that_brought_nothing_twice_are_not_waited_for_a_third_time(pace) -> None:
    assert [wait_for_a_timer(pace, brings="0") for _ in range(3)] == [True, True, False]
    assert wait_for_a_timer(pace, brings="0", url="https://www.example.gov.cn/laws/list.html")


def test_timers_that_bring_the_list_are_waited_for_every_time(pace) -> None:
    assert all(wait_for_a_timer(pace, brings="12") for _ in range(5))
