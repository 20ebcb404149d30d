import pytest

from monitor.fetch.client import OutgoingRequest
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode


def a_question(url: str = "https://a.example/x", method: str = "POST") -> OutgoingRequest:
    headers = {"authorization": "key", "Content-Type": "text/plain"}
    return OutgoingRequest(url=url, method=method, headers=headers, content=b"body", cache_policy=None)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/y?a=1#part", "https://a.example/y?a=1"),
        ("y", "https://a.example/y"),
        ("//b.example/", "https://b.example/"),
        ("http://b.example/", "http://b.example/"),
    ],
)
def test_a_redirect_is_read_as_seen_from_the_page(location: str, url: str) -> None:
    assert a_question().follow_redirect(302, location).url == url


@pytest.mark.parametrize(
    "location", ["https://b.example/", "https://a.example:8443/", "http://a.example/", "https://a.example@b.example/"]
)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_keys_and_bodies_do_not_travel_to_another_host_or_out_of_https(status: int, location: str) -> None:
    next_one = a_question().follow_redirect(status, location)
    assert (next_one.method, next_one.headers, next_one.content) == ("GET", {}, None)


def test_the_same_host_is_asked_as_the_status_says() -> None:
    plain = a_question("http://a.example/x")
    for question, location in ((a_question(), "/y"), (plain, "/y"), (plain, "https://a.example/y")):
        kept, seen = question.follow_redirect(307, location), question.follow_redirect(302, location)
        assert (kept.method, kept.headers, kept.content) == ("POST", question.headers, b"body")
        assert (seen.method, seen.headers, seen.content) == ("GET", {"authorization": "key"}, None)
    assert a_question(method="HEAD").follow_redirect(302, "/y").method == "HEAD"


def test_a_redirect_to_what_is_no_url_says_so() -> None:
    with pytest.raises(FetchError) as caught:
        a_question().follow_redirect(302, "http://[::1/")
    assert caught.value.error.code is PageErrorCode.INVALID_URL
