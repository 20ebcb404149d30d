"""What every request and answer goes through: addresses of ours, the language, the limit of a body, headers."""

from collections.abc import AsyncIterator
from ipaddress import ip_network

import httpx
import pytest
from fastapi import FastAPI, Request, Response

from monitor.web.middleware import (
    MAX_BODY_BYTES,
    BodyLimitMiddleware,
    Problem,
    ResponseHeadersMiddleware,
    build_sign_in_path,
    find_client_address,
    get_app_path,
    get_url_prefix,
    is_page_request,
    negotiate_language,
    sanitize_redirect_path,
)
from monitor.web.problems import build_problem_answer


def request(path: str, *, root_path: str = "", query: str = "", headers: dict[str, str] | None = None) -> Request:
    sent = {"host": "monitor.test", **(headers or {})}
    return Request(
        {
            "type": "http",
            "method": "GET",
            "path": path,
            "root_path": root_path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
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
    [("/", True), ("/items", True), ("/apiary", True), ("/api", False), ("/api/v1/items", False), ("/feeds/x", False)],
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


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        (None, "zh"),
        ("", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("zh-Hant-TW", "zh"),
        ("en-GB,en;q=0.5", "en"),
        ("en-US,zh;q=0.5", "en"),
        ("de-DE,en;q=0.5", "en"),
        ("de-DE", "zh"),
        ("*", "zh"),
        ("\xff\xfe;;;=,,-", "zh"),
    ],
)
def test_a_browser_gets_its_language_and_chinese_where_it_wants_neither(accepted: str | None, language: str) -> None:
    headers = {} if accepted is None else {"accept-language": accepted}
    assert negotiate_language(request("/", headers=headers)) == language


def test_the_choice_of_a_person_comes_first_then_the_cookie() -> None:
    cookie = {"accept-language": "en", "cookie": "monitor_language=zh"}
    assert negotiate_language(request("/", headers=cookie)) == "zh"
    assert negotiate_language(request("/", headers=cookie), "en") == "en"
    assert (
        negotiate_language(request("/", headers={"accept-language": "en", "cookie": "monitor_language=tlh"}), "xx")
        == "en"
    )


@pytest.mark.parametrize(("accepted", "language"), [(None, "en"), ("de", "en"), ("zh-CN,en;q=0.5", "zh")])
def test_the_api_answers_in_english_unless_chinese_is_asked_for(accepted: str | None, language: str) -> None:
    headers = {} if accepted is None else {"accept-language": accepted}
    assert negotiate_language(request("/api/v1/items", headers=headers)) == language


def refuse(request: Request) -> Response:
    return build_problem_answer(Problem(413, "request.too_large"), negotiate_language(request))


def client() -> httpx.AsyncClient:
    web = FastAPI()

    @web.post("/")
    async def take(request: Request) -> int:
        return len(await request.body())

    async def find_upload_limit(_: Request) -> int:
        return 0

    web.add_middleware(BodyLimitMiddleware, refuse=refuse, find_upload_limit=find_upload_limit)
    web.add_middleware(ResponseHeadersMiddleware, headers={"X-One": "ours"})
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=web), base_url="http://monitor.test")


async def in_pieces(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 65536 + 1):
        yield b"x" * 65536


async def test_a_body_that_is_too_long_is_refused_whether_it_says_so_or_not() -> None:
    async with client() as asked:
        declared = await asked.post("/", content=b"x" * (MAX_BODY_BYTES + 1))
        undeclared = await asked.post("/", content=in_pieces(MAX_BODY_BYTES))
        assert (declared.status_code, undeclared.status_code) == (413, 413)
        assert declared.headers["content-type"] == "application/problem+json"
        assert undeclared.headers["x-one"] == "ours"


async def test_a_body_that_fits_is_taken_whole() -> None:
    async with client() as asked:
        assert (await asked.post("/", content=b"x" * MAX_BODY_BYTES)).json() == MAX_BODY_BYTES


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["1.1.1.1", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("127.0.0.1", ["10.0.0.3,10.0.0.2"], "10.0.0.3"),
        ("127.0.0.1", ["198.51.100.1, not an address"], "127.0.0.1"),
        ("127.0.0.1", ["not an address, 10.0.0.2"], "10.0.0.2"),
        ("127.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("127.0.0.1", ['"[2001:db8::1]:4711"'], "2001:db8::1"),
        ("::ffff:127.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("::1", ["198.51.100.1"], "::1"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("testclient", ["198.51.100.1"], "testclient"),
    ],
)
def test_the_client_is_whom_the_last_trusted_proxy_was_asked_by(peer: str, forwarded: list[str], client: str) -> None:
    trusted = [ip_network("127.0.0.1"), ip_network("10.0.0.0/8")]
    assert find_client_address(peer, forwarded, trusted) == client


def test_without_trusted_proxies_the_client_is_who_connected() -> None:
    assert find_client_address("127.0.0.1", ["198.51.100.1"], []) == "127.0.0.1"
