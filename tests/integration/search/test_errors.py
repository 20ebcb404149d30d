"""Every error code, from real answers of real servers, for every backend that can meet it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from monitor.fetch.result import ACCEPT_ENCODING
from monitor.i18n.catalogue import render
from monitor.search.contract import SearchError, SearchQuery

JSON = {"content-type": "application/json"}
BLOCKED_PAGE = "<html><body>Forbidden</body></html>"


async def cut_off(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5000\r\n\r\n<html>")
    await writer.drain()


async def slow(writer: asyncio.StreamWriter) -> None:
    del writer
    await asyncio.Event().wait()


@pytest.fixture
def one_error(searching: Any, site: Any) -> Callable[..., Any]:
    """The one error of a search by a backend whose service answers so."""

    async def ask_for_error(service: Any, answer: Any, **settings: Any) -> SearchError:
        searching.asked_at(service.name, site.on(service.path, answer), **settings)
        found = await searching.found(service.name)
        assert found.items == []
        (error,) = found.errors
        assert "\n" not in render(error.message, "en")
        assert "key-of-" not in render(error.message, "en")
        return error

    return ask_for_error


STATUSES = {  # status: what it means for a service for programs, and for one for people
    400: (("WebProviderError", None, False), ("WebProviderError", None, False)),
    401: (("AuthError", None, False), ("WebBlocked", "http_403", False)),
    403: (("AuthError", None, False), ("WebBlocked", "http_403", False)),
    404: (("WebProviderError", None, False), ("WebProviderError", None, False)),
    408: (("Timeout", None, True), ("Timeout", None, True)),
    429: (("WebBlocked", "http_429", True), ("WebBlocked", "http_429", True)),
    500: (("BadGateway", None, True), ("BadGateway", None, True)),
    502: (("BadGateway", None, True), ("BadGateway", None, True)),
    301: (("WebProviderError", None, False), ("WebProviderError", None, False)),
}


@pytest.mark.parametrize("status", STATUSES)
async def test_a_status_is_told_by_its_code(service: Any, reply: Any, one_error: Any, status: int) -> None:
    echo = f"no, key-of-{service.name.upper()}_API_KEY"
    body = BLOCKED_PAGE if service.is_for_people else json.dumps({"detail": {"error": echo}})
    headers = {"location": "/elsewhere"} if status == 301 else {}
    error = await one_error(service, reply(body, status, headers))
    assert (error.type, error.detail_code, error.retryable) == STATUSES[status][service.is_for_people]


@pytest.mark.parametrize("name", ["bocha", "brave", "tavily", "searxng"])
async def test_a_key_that_a_service_echoes_gets_neither_into_messages_nor_into_kept_pages(
    name: str, services: dict[str, Any], reply: Any, one_error: Any, searching: Any
) -> None:
    echo = f"{'x' * 190} key-of-{name.upper()}_API_KEY"
    await one_error(services[name], reply(json.dumps({"message": echo}), 400, JSON))
    await one_error(services[name], reply(f"<html>{echo}</html>", 200, JSON))
    (page,) = (searching.folder / "debug" / "search").iterdir()
    assert "key-of" not in page.read_text()


async def test_a_slow_service_is_a_timeout(service: Any, one_error: Any) -> None:
    error = await one_error(service, lambda _: slow, timeout_ms=200)
    assert (error.type, error.retryable) == ("Timeout", True)


async def test_an_answer_that_is_cut_off_is_a_network_error(service: Any, one_error: Any) -> None:
    error = await one_error(service, lambda _: cut_off)
    assert (error.type, error.retryable) == ("NetworkError", True)


async def test_nobody_there_is_a_network_error(service: Any, searching: Any, free_port: int) -> None:
    searching.asked_at(service.name, f"http://127.0.0.1:{free_port}/")
    (error,) = (await searching.found(service.name)).errors
    assert (error.type, error.retryable) == ("NetworkError", True)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", "text/html"),
        ("", "application/json"),
        ("<html><body><p>Welcome</p></body></html>", "text/html"),
        ('{"results": [', "application/json"),
        ("[]", "application/json"),
        ("{}", "application/json"),
        ('{"results": "many", "web": 3, "query": 1, "data": []}', "application/json"),
        ("[" * 100_000, "application/json"),
        ("\x89PNG\r\n\x1a\n", "image/png"),
    ],
    ids=["empty", "empty json", "other page", "broken", "list", "nothing", "wrong types", "deep", "picture"],
)
async def test_an_answer_of_another_kind_is_a_parse_error_and_is_kept(
    service: Any, reply: Any, one_error: Any, searching: Any, body: str, kind: str
) -> None:
    error = await one_error(service, reply(body, 200, {"content-type": kind}))
    assert (error.type, error.retryable) == ("WebParseError", False)
    kept = list((searching.folder / "debug" / "search").glob(f"{service.name}-*.html"))
    assert [page.read_bytes() for page in kept] == ([body.encode()] if body else [])
    assert all(page.name in render(error.message, "en") for page in kept)


async def test_an_address_that_is_not_allowed_is_said_to_be_so(service: Any, searching: Any, site: Any) -> None:
    searching.asked_at(service.name, site.url("/"))
    backends = searching.open(network={"allowed_private_hosts": []})
    (error,) = (await backends.build_search([service.name]).search(SearchQuery(text="x"), 3)).errors
    assert error.type == "WebProviderError"
    assert "network.allowed_private_hosts" in render(error.message, "en")
    assert site.asked == []


@pytest.mark.parametrize("name", ["bocha", "brave", "tavily"])
async def test_without_a_key_nobody_is_asked(
    name: str, services: dict[str, Any], one_error: Any, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{name.upper()}_API_KEY")
    error = await one_error(services[name], "")
    assert error.type == "AuthError"
    assert f"{name.upper()}_API_KEY" in render(error.message, "en")
    assert site.asked == []


async def test_searxng_without_an_address_says_where_it_belongs(searching: Any) -> None:
    (error,) = (await searching.found("searxng")).errors
    assert "search.backends.searxng.base_url" in render(error.message, "en")


async def test_searxng_that_refuses_json_says_what_to_change(
    services: dict[str, Any], reply: Any, one_error: Any
) -> None:
    error = await one_error(services["searxng"], reply("<h1>Forbidden</h1>", 403))
    assert error.type == "AuthError"
    assert "settings.yml" in render(error.message, "en")
    assert "`json`" in render(error.message, "en")
    assert "search.formats" in render(error.message, "en")


async def test_searxng_without_results_of_engines_that_did_not_answer_is_an_error(
    services: dict[str, Any], reply: Any, one_error: Any
) -> None:
    body = '{"query": "q", "results": [], "unresponsive_engines": [["bing", "timeout"], ["baidu", "CAPTCHA"]]}'
    error = await one_error(services["searxng"], reply(body, 200, JSON))
    assert (error.type, error.retryable) == ("BadGateway", True)
    assert "did not answer: bing, baidu" in render(error.message, "en")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("401", ("AuthError", None)),
        (403, ("AuthError", None)),
        (429, ("WebBlocked", "http_429")),
        ("500", ("BadGateway", None)),
        (400, ("WebProviderError", None)),
        (7, ("WebProviderError", None)),
        ("NOT_ENOUGH", ("WebProviderError", None)),
    ],
)
async def test_bocha_says_its_errors_in_answers_with_status_200(
    services: dict[str, Any], reply: Any, one_error: Any, code: Any, expected: Any
) -> None:
    body = json.dumps({"code": code, "log_id": "1", "msg": "key-of-BOCHA_API_KEY is <b>no</b> good", "data": None})
    error = await one_error(services["bocha"], reply(body, 200, JSON))
    assert (error.type, error.detail_code) == expected
    text = render(error.message, "en")
    assert str(code).lower() in text
    assert "good" not in text, "the service's words are not shown"


async def test_bocha_of_an_older_deployment_has_its_pages_at_the_top(
    searching: Any, services: dict[str, Any], site: Any, reply: Any
) -> None:
    body = '{"webPages": {"value": [{"name": "A", "url": "https://a.example/", "summary": "S"}]}}'
    searching.asked_at("bocha", site.on(services["bocha"].path, reply(body, 200, JSON)))
    (item,) = (await searching.found("bocha")).items
    assert (item.title, item.snippet) == ("A", "S")


@pytest.mark.parametrize("status", [403, 432, 433])
async def test_tavily_tells_a_plan_that_allows_no_more(
    services: dict[str, Any], reply: Any, one_error: Any, status: int
) -> None:
    assert (
        await one_error(services["tavily"], reply('{"detail": {"error": "over"}}', status, JSON))
    ).type == "AuthError"


async def test_brave_tells_a_wrong_key_by_422(services: dict[str, Any], reply: Any, one_error: Any) -> None:
    body = '{"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "no", "status": 422}}'
    assert (await one_error(services["brave"], reply(body, 422, JSON))).type == "AuthError"
    assert (await one_error(services["brave"], reply("{}", 422, JSON))).type == "WebProviderError"


@pytest.mark.parametrize(("name", "most"), [("brave", 400), ("tavily", 400), ("ddg_html", 499)])
async def test_a_query_longer_than_the_service_takes_is_refused_not_cut(
    searching: Any, services: dict[str, Any], site: Any, name: str, most: int
) -> None:
    searching.asked_at(name, site.on(services[name].path, ""))
    (error,) = (await searching.found(name, text="光" * (most + 1))).errors
    assert error.type == "InvalidInput"
    assert str(most) in render(error.message, "en")
    assert site.asked == []


async def test_what_may_pass_is_asked_again_and_what_may_not_is_not(
    service: Any, searching: Any, site: Any, send: Any, reply: Any, result: Any
) -> None:
    good = send(service.build_response([result("A", "https://a.example/", "")]))
    answers = [reply("", 503), reply("", 429, {"retry-after": "0"}), good]
    searching.asked_at(
        service.name, site.on(service.path, lambda _: answers.pop(0) if len(answers) > 1 else answers[0])
    )
    found = await searching.found(service.name)
    assert [item.title for item in found.items] == ["A"]
    assert found.errors == []
    for status in (401, 404, 500):
        site.forget()
        site.on(service.path, reply("", status))
        assert (await searching.found(service.name)).errors
        assert len(site.asked) == 1


async def test_an_answer_may_be_packed_in_all_the_ways_that_are_offered(
    service: Any, searching: Any, site: Any, send: Any, result: Any
) -> None:
    answer = service.build_response([result("A", "https://a.example/", "")])
    searching.asked_at(service.name, site.on(service.path, send(answer)))
    await searching.found(service.name)
    assert site.asked[0].headers["accept-encoding"] == ACCEPT_ENCODING


async def test_a_key_with_a_line_end_is_not_sent_and_not_shown(
    services: dict[str, Any], one_error: Any, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "first-half\r\nX-Other: second-half")
    error = await one_error(services["tavily"], "{}")
    text = render(error.message, "en")
    assert "characters that no header can carry" in text
    assert "half" not in text
    assert site.asked == []
