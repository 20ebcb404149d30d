"""Search services as they answer on the wire, for tests and benchmarks: markup and JSON made from results."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol
from urllib.parse import parse_qs, quote, urlsplit

from monitor.demo.serving import Answer


@dataclass(frozen=True)
class Result:
    title: str
    url: str
    snippet: str
    day: dt.date | None = None


class Asked(Protocol):
    """A request to a service, as far as it tells which page of results is meant."""

    @property
    def path(self) -> str: ...

    @property
    def body(self) -> bytes: ...


class DdgWire:
    """DuckDuckGo's page for browsers without scripts."""

    name, path, per_page, is_for_people = "ddg_html", "/html/", 10, True

    def answer(self, results: Sequence[Result], *, page: int = 1, has_more: bool = False) -> Answer:
        """A page of results; with `has_more`, the form for the next."""
        rows = "".join(self._row(result) for result in results)
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
        return _page(f'<html><body><div id="links">{rows or nothing}{more}</div></body></html>')

    def page_of(self, asked: Asked) -> int:
        """The number of the page that is asked for."""
        return int(parse_qs(asked.body.decode()).get("s", ["0"])[0]) // 10 + 1

    def _row(self, one: Result) -> str:
        link = escape(f"//duckduckgo.com/l/?uddg={quote(one.url, safe='')}&rut=abc")
        day = f"<span>&nbsp; {one.day}T00:00:00.0000000</span>" if one.day else ""
        return (
            '<div class="result results_links results_links_deep web-result "><div class="links_main result__body">'
            f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="{link}">{escape(one.title)}</a></h2>'
            f'<div class="result__extras"><div class="result__extras__url">{day}</div></div>'
            f'<a class="result__snippet" href="{link}">{escape(one.snippet)}</a></div></div>'
        )


class BaiduWire:
    name, path, per_page, is_for_people = "baidu_html", "/s", 10, True

    def answer(self, results: Sequence[Result], *, page: int = 1, has_more: bool = False) -> Answer:
        del has_more
        rows = "".join(self._row(result, number) for number, result in enumerate(results, start=1 + (page - 1) * 10))
        nothing = '<div class="content_none"><div class="nors"><p>很抱歉，没有找到相关的网页。</p></div></div>'
        head = "<html><head><title>echo_百度搜索</title></head>"
        return _page(f'{head}<body><div id="content_left">{rows or nothing}</div></body></html>')

    def page_of(self, asked: Asked) -> int:
        """The number of the page that is asked for."""
        return int(parse_qs(urlsplit(asked.path).query)["pn"][0]) // 10 + 1

    def _row(self, one: Result, number: int) -> str:
        link = f"http://www.baidu.com/link?url={quote(one.url, safe='')[::-1].replace('%', '')}"
        told = f"{one.day.year}年{one.day.month}月{one.day.day}日" if one.day else ""
        return (
            f'<div class="result c-container xpath-log new-pmd" id="{number}" srcid="1599" tpl="www_index" '
            f'mu="{escape(one.url)}"><div class="c-container"><h3 class="c-title t"><a href="{link}">'
            f'<em>{escape(one.title)}</em></a></h3><div><span class="newTimeFactor_before_abs">{told}</span>'
            f'<span class="summary-text_560AW"><!--s-text-->{escape(one.snippet)}</span></div></div></div>'
        )


@dataclass(frozen=True, kw_only=True)
class JsonWire:
    """A service for programs: `document` makes its answer of entries whose fields are named `fields`."""

    name: str
    path: str
    document: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]
    fields: tuple[str, str, str, str]
    per_page: int = 20
    is_for_people: bool = False

    def answer(self, results: Sequence[Result], *, page: int = 1, has_more: bool = False) -> Answer:
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
        return Answer(200, "application/json", json.dumps(self.document(entries), ensure_ascii=False).encode())

    def page_of(self, asked: Asked) -> int:
        """The number of the page that is asked for."""
        return int(parse_qs(urlsplit(asked.path).query).get("pageno", ["1"])[0])


def _searxng(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"query": "q", "results": [{**entry, "engine": "bing"} for entry in entries], "unresponsive_engines": []}


def _bocha(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    pages = {"totalEstimatedMatches": len(entries), "value": entries}
    return {"code": 200, "log_id": "log-1", "msg": None, "data": {"webPages": pages, "images": {}}}


def _brave(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"query": {"original": "q"}, **({"web": {"results": entries}} if entries else {})}


def _tavily(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"query": "q", "answer": None, "images": [], "results": entries, "request_id": "t-1"}


def _page(html: str) -> Answer:
    return Answer(200, "text/html; charset=utf-8", html.encode())


WIRES = (
    DdgWire(),
    BaiduWire(),
    JsonWire(
        name="searxng",
        path="/search",
        document=_searxng,
        per_page=10,
        fields=("title", "url", "content", "publishedDate"),
    ),
    JsonWire(name="bocha", path="/v1/web-search", document=_bocha, fields=("name", "url", "snippet", "datePublished")),
    JsonWire(
        name="brave", path="/res/v1/web/search", document=_brave, fields=("title", "url", "description", "page_age")
    ),
    JsonWire(name="tavily", path="/search", document=_tavily, fields=("title", "url", "content", "published_date")),
)
"""The wire formats of all services."""
