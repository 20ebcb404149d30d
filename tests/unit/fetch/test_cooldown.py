import pytest

from monitor.fetch.politeness import HostCooldown
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode

URL = "https://bureau.example/list"


def block(detail_code: str) -> PageError:
    return PageError(code=PageErrorCode.WEB_BLOCKED, detail_code=detail_code, message=Message.other("Go away."))


@pytest.mark.parametrize("detail_code", ["captcha_required", "http_429"])
def test_after_three_blocks_in_a_row_a_host_is_left_alone_and_the_others_are_not(detail_code: str) -> None:
    cooldown = HostCooldown()
    for path in "abc":
        assert cooldown.find_block(URL) is None
        assert cooldown.record(URL + path, block(detail_code))
    verdict = cooldown.find_block(URL + "/another")
    assert verdict is not None
    reason = render(verdict.message, "en")
    assert (verdict.detail_code, "3 times" in reason, "Go away." in reason) == (detail_code, True, True)
    assert cooldown.find_block("https://other.example/") is None


@pytest.mark.parametrize("between", [None, PageError(code=PageErrorCode.NOT_FOUND, message=Message.other("gone"))])
def test_an_answer_in_between_begins_the_count_anew(between: PageError | None) -> None:
    cooldown = HostCooldown()
    for error in (block("http_429"), block("http_429"), between, block("http_429"), block("http_429")):
        cooldown.record(URL, error)
    assert cooldown.find_block(URL) is None


@pytest.mark.parametrize("detail_code", ["http_403", "http_412", "robots", "empty_shell"])
def test_a_page_that_is_refused_says_nothing_about_its_neighbours(detail_code: str) -> None:
    cooldown = HostCooldown()
    assert not any(cooldown.record(URL, block(detail_code)) for _ in range(5))
    assert cooldown.find_block(URL) is None
