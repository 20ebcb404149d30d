import pytest

from monitor.fetch.result import classify_response, is_retryable
from monitor.page import PageErrorCode

ARTICLE = (
    "<html><body><h1>关于验证码 captcha 与 challenge 的通知</h1>" + "<p>正文很长。</p>" * 400 + "</body></html>"
).encode()
COOKIE_WALL = b"<html><head><script>document.cookie='a=1';location.reload()</script></head><body></body></html>"
CHALLENGE = b"<html><body><form id='challenge-form' action='/x'>Please wait</form></body></html>"


@pytest.mark.parametrize(
    ("status", "code", "detail_code"),
    [
        (401, PageErrorCode.WEB_BLOCKED, "http_403"),
        (403, PageErrorCode.WEB_BLOCKED, "http_403"),
        (412, PageErrorCode.WEB_BLOCKED, "http_412"),
        (429, PageErrorCode.WEB_BLOCKED, "http_429"),
        (404, PageErrorCode.NOT_FOUND, None),
        (410, PageErrorCode.NOT_FOUND, None),
        (500, PageErrorCode.BAD_GATEWAY, None),
        (503, PageErrorCode.BAD_GATEWAY, None),
        (400, PageErrorCode.BAD_GATEWAY, None),
    ],
)
def test_statuses_are_named_by_the_kind_of_failure(status: int, code: PageErrorCode, detail_code: str | None) -> None:
    error = classify_response(status, {}, b"<p>sorry</p>", "http://a.example/")
    assert error is not None
    assert (error.code, error.detail_code) == (code, detail_code)


def test_a_page_is_no_error() -> None:
    assert classify_response(200, {}, ARTICLE, "http://a.example/") is None


def test_an_article_about_captchas_and_a_query_for_one_are_no_block() -> None:
    assert classify_response(200, {}, ARTICLE, "http://a.example/search?q=captcha") is None
    echo = (
        b"<html><body><form><input value='captcha challenge anomaly'></form><p>No results for captcha</p></body></html>"
    )
    assert classify_response(200, {}, echo, "http://a.example/html?q=/captcha/") is None
    assert classify_response(200, {}, b"<p>short</p>", "http://a.example/2026/captcha-rules.html") is None


@pytest.mark.parametrize("status", [200, 202, 403, 503])
def test_a_challenge_is_recognised_by_its_structure(status: int) -> None:
    error = classify_response(status, {}, CHALLENGE, "http://a.example/")
    assert error is not None
    assert error.detail_code == "captcha_required"


def test_a_redirect_that_ended_at_a_captcha_is_one() -> None:
    error = classify_response(200, {}, b"<p>x</p>", "https://wall.example/static/captcha/tuxing.html?ak=1")
    assert error is not None
    assert error.detail_code == "captcha_required"


@pytest.mark.parametrize("status", [202, 412, 521])
def test_a_script_that_sets_a_cookie_and_nothing_else_is_a_cookie_wall(status: int) -> None:
    error = classify_response(status, {}, COOKIE_WALL, "http://a.example/")
    assert error is not None
    assert error.detail_code == "http_412"


def test_only_what_may_pass_is_worth_asking_again() -> None:
    assert [status for status in range(400, 600) if is_retryable(status, {})] == [502, 503, 504]
    assert is_retryable(429, {"retry-after": "1"})
