"""A small web on loopback for researches: the pages of one subject on several hosts, and a search service over them.

Hosts have names that only this server knows, so it is asked as a forward proxy: `network.proxy` points at it, and with
it hosts are as independent of each other, and carry as much authority, as in the world outside. The search speaks
Tavily's wire format.
"""

import datetime as dt
import html
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field

from monitor.demo.serving import (
    HOST,
    BusyTimer,
    LoopbackRequest,
    LoopbackResponse,
    build_status_response,
    serve_loopback,
)

FOLDER = Path(__file__).parents[1] / "fixtures" / "research"

KEY_VARIABLE = "TAVILY_API_KEY"

_END_OF_TEXT = '</div>\n</div>\n<div class="footer">'

_TITLE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)

_MARKUP = re.compile(r"<(script|style|head)\b.*?</\1>|<[^>]*>", re.DOTALL)

_MAX_SNIPPET_CHARS = 160


class WorldPage(BaseModel):
    """A page of this web: `file` is what it shows; title and snippet are the search's own where they are given."""

    model_config = ConfigDict(extra="forbid")

    url: str
    day: dt.date
    file: str | None = None
    title: str = ""
    snippet: str = ""
    status: int = 200
    delay_s: float = 0.0


class _WorldSpec(BaseModel):
    model_config = ConfigDict(extra="forbid")

    authority: dict[str, float] = Field(default_factory=dict)
    pages: list[WorldPage]


class ResearchWorld:
    """The web of one subject. `asked` logs every url, `searches` the documents that the search was asked with.

    `strays` are urls that were asked for and that no page here has; a robots.txt is none. `latency_s` is the time that
    every answer takes, a page's own delay besides; it may be changed while the web is served. What is found for a query
    stays the same whatever is written into the pages later: the search has its index from the beginning.
    """

    def __init__(self, name: str = "storage") -> None:
        self._folder = FOLDER / name
        text = _WorldSpec.model_validate(yaml.safe_load((self._folder / "world.yaml").read_text(encoding="utf-8")))
        self._authority = text.authority
        self._pages = {page.url: page for page in text.pages}
        self._bodies = {page.url: self._read_body(page) for page in text.pages}
        self._index = {
            page.url: (self._get_title(page).lower(), self._get_searchable_text(page).lower()) for page in text.pages
        }
        self.latency_s = 0.0
        self.requested_urls: list[str] = []
        self.search_requests: list[dict[str, Any]] = []
        self.unknown_urls: list[str] = []

    @property
    def urls(self) -> list[str]:
        """All pages that can be seen."""
        return [url for url, page in self._pages.items() if page.status == 200]

    def get_body(self, url: str) -> bytes:
        """What a page is served as."""
        return self._bodies[url]

    def append_markup(self, url: str, markup: str) -> None:
        """Write more markup at the end of a page's text."""
        written = self._bodies[url].decode()
        if _END_OF_TEXT not in written:
            raise ValueError(f"{url} has no text to add to")
        self._bodies[url] = written.replace(_END_OF_TEXT, f"{markup}\n{_END_OF_TEXT}").encode()

    def set_title(self, url: str, title: str) -> None:
        """Give a page another title, on the page itself and in the search."""
        self._pages[url] = self._pages[url].model_copy(update={"title": title})
        written = self._bodies[url].decode()
        for old in _TITLE.findall(written):
            written = written.replace(old, html.escape(title))
        self._bodies[url] = written.encode()

    def set_snippet(self, url: str, snippet: str) -> None:
        """Have the search tell something else of a page."""
        self._pages[url] = self._pages[url].model_copy(update={"snippet": snippet})

    def build_settings(self, port: int) -> dict[str, Any]:
        """The settings with which this web is searched; the environment needs something under `KEY_VARIABLE`."""
        address = f"{HOST}:{port}"
        return {
            "network": {
                "proxy": f"http://{address}",
                "allowed_private_hosts": [address],
                "proxy_suffixes": sorted({urlsplit(url).hostname or "" for url in self._pages}),
            },
            "pages": {"delay_s": 0, "render": "never"},
            "search": {"backend": "tavily", "backends": {"tavily": {"base_url": f"http://{address}"}}},
            "retrieval": {"authority": self._authority},
        }

    @asynccontextmanager
    async def serve(self, port: int = 0, *, busy: BusyTimer | None = None) -> AsyncIterator[dict[str, Any]]:
        """Serve for as long as the block lasts; gives the settings with which it is searched."""
        async with serve_loopback(self._respond, port=port, methods=("GET", "HEAD", "POST"), busy=busy) as listening:
            yield self.build_settings(listening)

    def _read_body(self, page: WorldPage) -> bytes:
        return b"" if page.file is None else (self._folder / "pages" / page.file).read_bytes()

    def _respond(self, request: LoopbackRequest) -> LoopbackResponse:
        if request.method == "POST":
            return self._search(json.loads(request.body))
        url = request.target if "://" in request.target else f"http://{request.host}{request.target}"
        self.requested_urls.append(url)
        page = self._pages.get(url)
        if page is None:
            if urlsplit(url).path != "/robots.txt":
                self.unknown_urls.append(url)
            return build_status_response(404)
        if page.file is None:
            return build_status_response(page.status)
        kind = "application/pdf" if page.file.endswith(".pdf") else "text/html; charset=utf-8"
        return LoopbackResponse(page.status, kind, self._bodies[url], delay_s=self.latency_s + page.delay_s)

    def _search(self, asked: dict[str, Any]) -> LoopbackResponse:
        self.search_requests.append(asked)
        found = self._find_pages(str(asked["query"]), asked.get("start_date"), asked.get("end_date"))
        results = [
            {
                "title": self._get_title(page),
                "url": page.url,
                "content": self._get_snippet(page, str(asked["query"])),
                "score": round(score / found[0][0], 3),
                "raw_content": None,
                "published_date": f"{page.day}",
            }
            for score, page in found[: int(asked.get("max_results") or 5)]
        ]
        document = {
            "query": asked["query"],
            "answer": None,
            "images": [],
            "results": results,
            "response_time": 0.1,
            "request_id": f"w-{len(self.search_requests)}",
        }
        body = json.dumps(document, ensure_ascii=False).encode()
        return LoopbackResponse(200, "application/json", body, delay_s=self.latency_s)

    def _find_pages(self, query: str, start: str | None, end: str | None) -> list[tuple[int, WorldPage]]:
        """The pages that share words with the query, those that share most first."""
        wanted = split_query(query)
        fitting = (page for page in self._pages.values() if (start or "") <= f"{page.day}" <= (end or "9999"))
        scored = [(self._score_page(page, wanted), page) for page in fitting]
        return sorted((entry for entry in scored if entry[0]), key=lambda one: (-one[0], one[1].url))

    def _score_page(self, page: WorldPage, wanted: Sequence[str]) -> int:
        title, text = self._index[page.url]
        return sum(3 * (piece in title) + (piece in text) for piece in wanted)

    def _get_title(self, page: WorldPage) -> str:
        if page.title:
            return page.title
        found = _TITLE.search(self._bodies[page.url].decode())
        return html.unescape(found.group(1)) if found else page.url

    def _get_searchable_text(self, page: WorldPage) -> str:
        return f"{self._get_text(page)} {page.snippet}"

    def _get_text(self, page: WorldPage) -> str:
        if page.file is None or page.file.endswith(".pdf"):
            return ""
        return html.unescape(_MARKUP.sub(" ", self._bodies[page.url].decode()))

    def _get_snippet(self, page: WorldPage, query: str) -> str:
        """The part of the text that shares most words with the query."""
        if page.snippet:
            return page.snippet
        lines = [line.strip() for line in self._get_text(page).splitlines() if len(line.strip()) > 20]
        matches = partial(_count_shared, split_query(query))
        return max(lines, key=matches, default="")[:_MAX_SNIPPET_CHARS]


def split_query(query: str) -> list[str]:
    """What of a query is looked for: pairs of Chinese characters, and words of three letters and more."""
    runs = re.findall(r"[\u4e00-\u9fff]+", query)
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    return [*dict.fromkeys([*pairs, *(word.lower() for word in re.findall(r"[A-Za-z][\w-]{2,}", query))])]


def _count_shared(wanted: Sequence[str], line: str) -> int:
    return sum(piece in line.lower() for piece in wanted)
