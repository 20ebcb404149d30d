"""Search services as they answer on the wire, for tests and benchmarks: markup and JSON made from results."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol
from urllib.parse import parse_qs, quote, urlsplit

from monitor.demo.serving import LoopbackResponse


@dataclass(frozen=True)
class SimulatedResult:
    title: str
    url: str
    snippet: str
    day: dt.date | None = None


class SimulatedSearchRequest(Protocol):
    """A request to a service, as far as it tells which page of results is meant."""

    @property
    def path(self) -> str: ...

    @property
    def body(self) -> bytes: ...


class SimulatedDdg:
    """DuckDuckGo's page for browsers without scripts."""

    name, path, per_page, is_for_people = "ddg_html", "/html/", 10, True

    def build_response(
        self, results: Sequence[SimulatedResult], *, page: int = 1, has_more: bool = False
    ) -> LoopbackResponse:
        """A page of results; with `has_more`, the form for the next."""
        rows = "".join(self._render_row(result) for result in results)
        fields = {
            "q": "echo",
            "s": page * 10,
            "nextParams": "",
            "v": "l",
            "o": "json",
            "dc": page * 10 + 1,
            "api": "d.js",
            "vqd": "4-123",
        }
        inputs = "".join(f'<input type="hidden" name="{name}" value="{value}">' for name, value in fields.items())
        form = f'<form action="/html/" method="post"><input type="submit" value="Next">{inputs}</form>'
        nothing = '<div class="result result--no-result"><div class="no-results">No results.</div></div>'
        more = f'<div class="nav-link">{form}</div>' if has_more else ""
        return _build_html_response(f'<html><body><div id="links">{rows or nothing}{more}</div></body></html>')

    def get_page_number(self, request: SimulatedSearchRequest) -> int:
        """The number of the page that is asked for."""
        return int(parse_qs(request.body.decode()).get("s", ["0"])[0]) // 10 + 1

    def _render_row(self, result: SimulatedResult) -> str:
        link = escape(f"//duckduckgo.com/l/?uddg={quote(result.url, safe='')}&rut=abc")
        day = f"<span>&nbsp; {result.day}T00:00:00.0000000</span>" if result.day else ""
        return (
            '<div class="result results_links results_links_deep web-result "><div class="links_main result__body">'
            f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">'
            f"{escape(result.title)}</a></h2>"
            f'<div class="result__extras"><div class="result__extras__url">{day}</div></div>'
            f'<a class="result__snippet" href="{link}">{escape(result.snippet)}</a></div></div>'
        )


class SimulatedBaidu:
    name, path, per_page, is_for_people = "baidu_html", "/s", 10, True

    def build_response(
        self, results: Sequence[SimulatedResult], *, page: int = 1, has_more: bool = False
    ) -> LoopbackResponse:
        del has_more
        rows = "".join(
            self._render_row(result, number) for number, result in enumerate(results, start=1 + (page - 1) * 10)
        )
        nothing = '<div class="content_none"><div class="nors"><p>很抱歉，没有找到相关的网页。</p></div></div>'
        head = "<html><head><title>echo_百度搜索</title></head>"
        return _build_html_response(f'{head}<body><div id="content_left">{rows or nothing}</div></body></html>')

    def get_page_number(self, request: SimulatedSearchRequest) -> int:
        """The number of the page that is asked for."""
        return int(parse_qs(urlsplit(request.path).query)["pn"][0]) // 10 + 1

    def _render_row(self, result: SimulatedResult, number: int) -> str:
        link = f"http://www.baidu.com/link?url={quote(result.url, safe='')[::-1].replace('%', '')}"
        answered = f"{result.day.year}年{result.day.month}月{result.day.day}日" if result.day else ""
        return (
            f'<div class="result c-container xpath-log new-pmd" id="{number}" srcid="1599" tpl="www_index" '
            f'mu="{escape(result.url)}"><div class="c-container"><h3 class="c-title t"><a href="{link}">'
            f'<em>{escape(result.title)}</em></a></h3><div><span class="newTimeFactor_before_abs">{answered}</span>'
            f'<span class="summary-text_560AW"><!--s-text-->{escape(result.snippet)}</span></div></div></div>'
        )


@dataclass(frozen=True, kw_only=True)
class SimulatedJsonBackend:
    """A service for programs: `document` makes its answer of entries whose fields are named `fields`."""

    name: str
    path: str
    build_document: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]
    fields: tuple[str, str, str, str]
    per_page: int = 20
    is_for_people: bool = False

    def build_response(
        self, results: Sequence[SimulatedResult], *, page: int = 1, has_more: bool = False
    ) -> LoopbackResponse:
        del page, has_more
        title, url, snippet, day = self.fields
        entries = [
            {
                title: result.title,
                url: result.url,
                snippet: result.snippet,
                **({day: f"{result.day}T08:00:00Z"} if result.day else {}),
            }
            for result in results
        ]
        return LoopbackResponse(
            200, "application/json", json.dumps(self.build_document(entries), ensure_ascii=False).encode()
        )

    def get_page_number(self, request: SimulatedSearchRequest) -> int:
        """The number of the page that is asked for."""
        return int(parse_qs(urlsplit(request.path).query).get("pageno", ["1"])[0])


def _build_searxng_document(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"query": "q", "results": [{**entry, "engine": "bing"} for entry in entries], "unresponsive_engines": []}


def _build_bocha_document(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    pages = {"totalEstimatedMatches": len(entries), "value": entries}
    return {"code": 200, "log_id": "log-1", "msg": None, "data": {"webPages": pages, "images": {}}}


def _build_brave_document(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"query": {"original": "q"}, **({"web": {"results": entries}} if entries else {})}


def _build_tavily_document(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"query": "q", "answer": None, "images": [], "results": entries, "request_id": "t-1"}


def _build_html_response(html: str) -> LoopbackResponse:
    return LoopbackResponse(200, "text/html; charset=utf-8", html.encode())


SIMULATED_BACKENDS = (
    SimulatedDdg(),
    SimulatedBaidu(),
    SimulatedJsonBackend(
        name="searxng",
        path="/search",
        build_document=_build_searxng_document,
        per_page=10,
        fields=("title", "url", "content", "publishedDate"),
    ),
    SimulatedJsonBackend(
        name="bocha",
        path="/v1/web-search",
        build_document=_build_bocha_document,
        fields=("name", "url", "snippet", "datePublished"),
    ),
    SimulatedJsonBackend(
        name="brave",
        path="/res/v1/web/search",
        build_document=_build_brave_document,
        fields=("title", "url", "description", "page_age"),
    ),
    SimulatedJsonBackend(
        name="tavily",
        path="/search",
        build_document=_build_tavily_document,
        fields=("title", "url", "content", "published_date"),
    ),
)
"""The wire formats of all services."""
