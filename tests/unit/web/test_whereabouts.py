"""Addresses of ours: behind a prefix, and never anywhere else."""

import pytest
from starlette.requests import Request

from monitor.web.middleware import (
    build_sign_in_path,
    get_app_path,
    get_url_prefix,
    is_page_request,
    sanitize_redirect_path,
)


def request(path: str, *, root_path: str = "", query: str = "") -> Request:
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": path,
            "root_path": root_path,
            "query_string": query.encode(),
            "headers": [(b"host", b"monitor.test")],
            "scheme": "https",
            "server": ("monitor.test", 443),
        }
    )


@pytest.mark.parametrize(
    ("path", "root_path", "own"),
    [
        ("/runs", "", "/runs"),
        ("/runs", "/monitor", "/runs"),
        ("/monitor/runs", "/monitor", "/runs"),
        ("/monitor", "/monitor", "/"),
        ("/monitors", "/monitor", "/monitors"),
    ],
)
def test_a_path_is_ours_whether_the_proxy_strips_its_prefix_or_not(path: str, root_path: str, own: str) -> None:
    assert get_app_path(request(path, root_path=root_path)) == own


@pytest.mark.parametrize(
    ("path", "is_page"),
    [("/", True), ("/items", True), ("/apiary", True), ("/api", False), ("/api/items", False), ("/feeds/x", False)],
)
def test_people_look_at_everything_but_what_programs_ask(path: str, is_page: bool) -> None:
    assert is_page_request(request(path)) is is_page


@pytest.mark.parametrize(
    ("url", "prefix"),
    [(None, ""), ("https://h", ""), ("https://h/", ""), ("https://h/monitor/", "/monitor"), ("https://h/a/b", "/a/b")],
)
def test_the_prefix_is_the_path_of_the_public_url(url: str | None, prefix: str) -> None:
    assert get_url_prefix(url) == prefix


def test_who_signs_in_comes_back_to_what_was_asked_for() -> None:
    asked = request("/items", root_path="/monitor", query="q=光伏&next=%2F".replace("光伏", "%E5%85%89"))
    assert build_sign_in_path(asked) == "/monitor/sign-in?next=%2Fitems%3Fq%3D%25E5%2585%2589%26next%3D%252F"
    assert build_sign_in_path(request("/")) == "/sign-in"


@pytest.mark.parametrize("text", ["/items?q=1", "/"])
def test_a_path_of_ours_is_taken(text: str) -> None:
    assert sanitize_redirect_path(text) == text


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nSet-Cookie: x",
        "/\t/evil.example",
        "/a\\b",
        "items",
    ],
)
def test_an_address_that_could_lead_elsewhere_is_the_first_page(text: str | None) -> None:
    assert sanitize_redirect_path(text) == "/"
