"""web.fetch over the real page loader."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.i18n.catalogue import render
from monitor.page import PageErrorCode
from monitor.pages.loader import Loader
from monitor.search.tools import FETCH_TOOL_NAME, FetchToolResult, WebFetchTool, render_tool_schema

ARTICLE = (
    "<html lang=zh><head><title>关于光伏补贴的通知</title><meta name=PubDate content='2026-11-03'></head><body>"
    "<h1>关于光伏补贴的通知</h1>"
    f"<div class=content>{'<p>各省、自治区、直辖市能源主管部门：现将有关事项通知如下。</p>' * 8}"
    "</div></body></html>"
)
SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schemas"
Fetch = Callable[[Any], Awaitable[FetchToolResult]]


@pytest.fixture
async def tool(tmp_path: Path, network: NetworkSettings, clock, workers) -> AsyncIterator[WebFetchTool]:
    pages = PagesSettings(delay_s=0, timeout_s=1, max_bytes=100_000, browser=BrowserSettings(path=tmp_path / "none"))
    async with Loader.from_settings(pages=pages, network=network, clock=clock, workers=workers) as loader:
        yield WebFetchTool(loader.for_run())


@pytest.fixture
def fetch(tool: WebFetchTool) -> Fetch:
    return partial(tool.call, FETCH_TOOL_NAME)


async def test_a_page_is_read_behind_the_redirect_of_a_search_service(fetch, site, reply, clock) -> None:
    end = site.on("/art/1.html", ARTICLE)
    asked = site.on("/link", reply(status=302, headers={"location": "/art/1.html"})) + "?url=abc&utm_source=x#top"
    result = await fetch({"url": asked})
    assert (result.url, result.final_url) == (site.url("/link?url=abc"), end)
    assert (result.title, str(result.published_at), result.date_source) == ("关于光伏补贴的通知", "2026-11-03", "page")
    assert "现将有关事项通知如下" in result.text
    assert (result.http_status, result.content_type, result.fetched_at) == (
        200,
        "text/html; charset=utf-8",
        clock.now(),
    )
    assert result.errors == []
    assert result.to_json()["published_at"] == "2026-11-03"


async def test_a_page_is_asked_for_once_under_the_asked_and_under_the_final_url(fetch, site, reply) -> None:
    end = site.on("/art/1.html", ARTICLE)
    start = site.on("/link", reply(status=302, headers={"location": "/art/1.html"}))
    texts = {(await fetch({"url": url})).text for url in (start, f"{start}#again", end, f"{end}?utm_source=x")}
    assert len(texts) == 1
    assert site.paths().count("/link") == site.paths().count("/art/1.html") == 1


async def _never(writer: Any) -> None:
    await writer.drain()
    await writer.wait_closed()


async def _cut_off(writer: Any) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\nhalf")
    await writer.drain()


CAPTCHA = '<html><body><form id="challenge-form" action="//x/captcha"></form></body></html>'
ANSWERS = {
    "NotFound": ("", 404, None, False),
    "BadGateway": ("", 502, None, True),
    "WebBlocked": ("", 403, "http_403", False),
    "WebBlocked 412": ("", 412, "http_412", False),
    "WebBlocked 429": ("", 429, "http_429", True),
    "WebBlocked captcha": (CAPTCHA, 200, "captcha_required", False),
    "TooLarge": ("x" * 200_000, 200, None, False),
    "Timeout": (_never, None, None, True),
    "NetworkError": (_cut_off, None, None, True),
}


@pytest.mark.parametrize("code", ANSWERS)
async def test_what_goes_wrong_outside_is_the_answers_error(fetch, site, reply, code: str) -> None:
    body, status, detail, retryable = ANSWERS[code]
    url = site.on("/page", reply(body, status) if status else lambda _: body)
    result = await fetch({"url": url})
    assert [(error.type, error.detail_code, error.retryable) for error in result.errors] == [
        (code.split(maxsplit=1)[0], detail, retryable)
    ]
    assert render(result.errors[0].message, "en").endswith(".")
    assert (result.url, result.text) == (url, "")


async def test_robots_txt_is_obeyed_and_our_own_machines_are_left_alone(fetch, site) -> None:
    site.on("/robots.txt", "User-agent: *\nDisallow: /closed")
    closed = await fetch({"url": site.on("/closed", ARTICLE)})
    assert [(error.type, error.detail_code) for error in closed.errors] == [("WebBlocked", "robots")]
    for url in ("http://127.0.0.1:1/", "http://169.254.169.254/latest/", "file:///etc/passwd"):
        refused = await fetch({"url": url})
        assert [error.type for error in refused.errors] == ["Forbidden"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"url": ""},
        {"url": 5},
        {"url": None},
        {"url": "no url"},
        {"url": "http://a.example/", "depth": 1},
        [],
        "x",
        None,
        {"url": "http://[::"},
        {"url": "http://a.example/\ud800"},
        {"url": "h" * 9000},
    ],
)
async def test_arguments_that_break_the_contract_get_an_answer_of_the_same_shape(fetch, site, arguments: Any) -> None:
    result = await fetch(arguments)
    assert [(error.type, error.retryable) for error in result.errors] == [(PageErrorCode.INVALID_URL, False)]
    assert "\n" not in render(result.errors[0].message, "en")
    FetchToolResult.model_validate_json(json.dumps(result.to_json()))
    assert site.asked == []


async def test_another_tools_name_gets_an_answer_of_the_same_shape(tool, site) -> None:
    result = await tool.call("web.search", {"url": site.on("/page", ARTICLE)})
    assert [(error.type, render(error.message, "en")) for error in result.errors] == [
        ("ToolNotFound", "There is no tool 'web.search' here, only web.fetch.")
    ]
    assert site.asked == []


@pytest.mark.parametrize("name", ["web-fetch-input", "web-fetch-output"])
def test_the_published_schema_is_that_of_the_program(name: str) -> None:
    assert (SCHEMAS / f"{name}.json").read_text(encoding="utf-8") == render_tool_schema(name), (
        f"write it anew: .venv/bin/python -m monitor.search.tools {name} > docs/schemas/{name}.json"
    )
