import pytest

from monitor.fetch.politeness import HostCooldown
from monitor.page import PageError, PageErrorCode

URL = "https://bureau.example/list"


def block(detail_code: str) -> PageError:
    return PageError(code=PageErrorCode.WEB_BLOCKED, detail_code=detail_code, message="Go away.")


@pytest.mark.parametrize("detail_code", ["captcha_required", "http_429"])
def test_after_three_blocks_in_a_row_a_host_is_left_alone_and_the_others_are_not(detail_code: str) -> None:
    cool_down = HostCooldown()
    for path in "abc":
        assert cool_down.find_block(URL) is None
        assert cool_down.record(URL + path, block(detail_code))
    verdict = cool_down.find_block(URL + "/another")
    assert verdict is not None
    assert (verdict.detail_code, "3 times" in verdict.message, "Go away." in verdict.message) == (
        detail_code,
        True,
        True,
    )
    assert cool_down.find_block("https://other.example/") is None


@pytest.mark.parametrize("between", [None, PageError(code=PageErrorCode.NOT_FOUND, message="gone")])
def test_an_answer_in_between_begins_the_count_anew(between: PageError | None) -> None:
    cool_down = HostCooldown()
    for error in (block("http_429"), block("http_429"), between, block("http_429"), block("http_429")):
        cool_down.record(URL, error)
    assert cool_down.find_block(URL) is None


@pytest.mark.parametrize("detail_code", ["http_403", "http_412", "robots", "empty_shell"])
def test_a_page_that_is_refused_says_nothing_about_its_neighbours(detail_code: str) -> None:
    cool_down = HostCooldown()
    assert not any(cool_down.record(URL, block(detail_code)) for _ in range(5))
    assert cool_down.find_block(URL) is None
