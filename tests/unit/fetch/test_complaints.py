from pathlib import Path

import pytest

from monitor.config.model import BrowserSettings
from monitor.fetch.browser.launch import build_start_error, map_browser_error
from monitor.page import PageErrorCode as Code


@pytest.mark.parametrize(
    ("complaint", "code"),
    [
        ("Page.goto: net::ERR_BLOCKED_BY_CLIENT at http://10.0.0.1/\nCall log:\n  - navigating", Code.FORBIDDEN),
        ("Page.goto: net::ERR_UNSAFE_REDIRECT at http://a.example/", Code.FORBIDDEN),
        ("Page.goto: net::ERR_INVALID_REDIRECT at http://a.example/", Code.INVALID_URL),
        ("Page.goto: Download is starting", Code.UNSUPPORTED_TYPE),
        ("Page.goto: net::ERR_TOO_MANY_REDIRECTS at http://a.example/", Code.NETWORK),
        ("net::ERR_INVALID_CHUNKED_ENCODING", Code.NETWORK),
        ("", Code.NETWORK),
    ],
)
def test_a_complaint_of_the_browser_is_an_error_of_the_page(complaint: str, code: Code) -> None:
    assert map_browser_error(complaint).error.code is code


def test_the_reason_is_one_short_sentence() -> None:
    failure = map_browser_error("Page.goto: net::ERR_CONNECTION_RESET at http://a.example/\nCall log:")
    assert str(failure) == "The browser could not load the page: ERR_CONNECTION_RESET."
    assert len(str(map_browser_error("x" * 5_000))) < 300


def test_a_browser_that_does_not_start_names_the_setting_to_mend() -> None:
    local, remote = BrowserSettings(), BrowserSettings(endpoint="http://10.0.0.1:9222")
    assert "pages.browser.path" in str(build_start_error("exit code 3\nlog", local, Path("/opt/chrome")))
    assert "pages.browser.endpoint" in str(build_start_error("refused", remote))
