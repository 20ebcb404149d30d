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

from monitor.demo.busy import Busy
from monitor.demo.serving import HOST, Answer, Request, plain_answer, serving

FOLDER = Path(__file__).parents[2] / "fixtures" / "research"
KEY_VARIABLE = "TAVILY_API_KEY"

_END_OF_TEXT = '</div>\n</div>\n<div class="footer">'
_TITLE = re.compile(r"<h1>(.*?)</h1>", re.DOTALL)
_MARKUP = re.compile(r"<(script|style|head)\b.*?</\1>|<[^>]*>", re.DOTALL)
_SNIPPET_CHARS = 160


class WebPage(BaseModel):
    """A page of this web: `file` is what it shows; title and snippet are the search's own where they are given."""

    model_config = ConfigDict(extra="forbid")

    url: str
    day: dt.date
    file: str | None = None
    title: str = ""
    snippet: str = ""
    status: int = 200
    delay_s: float = 0.0


class _WorldText(BaseModel):
    model_config = ConfigDict(extra="forbid")

    authority: dict[str, float] = Field(default_factory=dict)
    pages: list[WebPage]


class ResearchWorld:
    """The web of one subject. `asked` logs every url, `searches` the documents that the search was asked with.

    `strays` are urls that were asked for and that no page here has; a robots.txt is none. `latency_s` is the time that
    every answer takes, a page's own delay besides; it may be changed while the web is served. What is found for a query
    stays the same whatever is written into the pages later: the search has its index from the beginning.
    """

    def __init__(self, name: str = "storage") -> None:
        self._folder = FOLDER / name
        text = _WorldText.model_validate(yaml.safe_load((self._folder / "world.yaml").read_text(encoding="utf-8")))
        self._authority = text.authority
        self._pages = {page.url: page for page in text.pages}
        self._bodies = {page.url: self._read(page) for page in text.pages}
        self._index = {page.url: (self._title(page).lower(), self._words(page).lower()) for page in text.pages}
        self.latency_s = 0.0
        self.asked: list[str] = []
        self.searches: list[dict[str, Any]] = []
        self.strays: list[str] = []

    @property
    def urls(self) -> list[str]:
        """All pages that can be seen."""
        return [url for url, page in self._pages.items() if page.status == 200]

    def body(self, url: str) -> bytes:
        """What a page is served as."""
        return self._bodies[url]

    def append(self, url: str, markup: str) -> None:
        """Write more markup at the end of a page's text."""
        written = self._bodies[url].decode()
        if _END_OF_TEXT not in written:
            raise ValueError(f"{url} has no text to add to")
        self._bodies[url] = written.replace(_END_OF_TEXT, f"{markup}\n{_END_OF_TEXT}").encode()

    def retitle(self, url: str, title: str) -> None:
        """Give a page another title, on the page itself and in the search."""
        self._pages[url] = self._pages[url].model_copy(update={"title": title})
        written = self._bodies[url].decode()
        for old in _TITLE.findall(written):
            written = written.replace(old, html.escape(title))
        self._bodies[url] = written.encode()

    def advertise(self, url: str, snippet: str) -> None:
        """Have the search tell something else of a page."""
        self._pages[url] = self._pages[url].model_copy(update={"snippet": snippet})

    def settings(self, port: int) -> dict[str, Any]:
        """The settings with which this web is searched; the environment needs something under `KEY_VARIABLE`."""
        address = f"{HOST}:{port}"
        return {
            "network": {"proxy": f"http://{address}", "allowed_private_hosts": [address]},
            "pages": {"delay_s": 0, "render": "never"},
            "search": {"backend": "tavily", "backends": {"tavily": {"base_url": f"http://{address}"}}},
            "retrieval": {"authority": self._authority},
        }

    @asynccontextmanager
    async def serve(self, port: int = 0, *, busy: Busy | None = None) -> AsyncIterator[dict[str, Any]]:
        """Serve for as long as the block lasts; gives the settings with which it is searched."""
        async with serving(self._respond, port=port, methods=("GET", "HEAD", "POST"), busy=busy) as listening:
            yield self.settings(listening)

    def _read(self, page: WebPage) -> bytes:
        return b"" if page.file is None else (self._folder / "pages" / page.file).read_bytes()

    def _respond(self, request: Request) -> Answer:
        if request.method == "POST":
            return self._search(json.loads(request.body))
        url = request.target if "://" in request.target else f"http://{request.host}{request.target}"
        self.asked.append(url)
        page = self._pages.get(url)
        if page is None:
            if urlsplit(url).path != "/robots.txt":
                self.strays.append(url)
            return plain_answer(404)
        if page.file is None:
            return plain_answer(page.status)
        kind = "application/pdf" if page.file.endswith(".pdf") else "text/html; charset=utf-8"
        return Answer(page.status, kind, self._bodies[url], delay_s=self.latency_s + page.delay_s)

    def _search(self, asked: dict[str, Any]) -> Answer:
        self.searches.append(asked)
        found = self._found(str(asked["query"]), asked.get("start_date"), asked.get("end_date"))
        results = [
            {
                "title": self._title(page),
                "url": page.url,
                "content": self._snippet(page, str(asked["query"])),
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
            "request_id": f"w-{len(self.searches)}",
        }
        body = json.dumps(document, ensure_ascii=False).encode()
        return Answer(200, "application/json", body, delay_s=self.latency_s)

    def _found(self, query: str, start: str | None, end: str | None) -> list[tuple[int, WebPage]]:
        """The pages that share words with the query, those that share most first."""
        wanted = pieces_of(query)
        fitting = (page for page in self._pages.values() if (start or "") <= f"{page.day}" <= (end or "9999"))
        scored = [(self._score(page, wanted), page) for page in fitting]
        return sorted((one for one in scored if one[0]), key=lambda one: (-one[0], one[1].url))

    def _score(self, page: WebPage, wanted: Sequence[str]) -> int:
        title, text = self._index[page.url]
        return sum(3 * (piece in title) + (piece in text) for piece in wanted)

    def _title(self, page: WebPage) -> str:
        if page.title:
            return page.title
        found = _TITLE.search(self._bodies[page.url].decode())
        return html.unescape(found.group(1)) if found else page.url

    def _words(self, page: WebPage) -> str:
        return f"{self._text(page)} {page.snippet}"

    def _text(self, page: WebPage) -> str:
        if page.file is None or page.file.endswith(".pdf"):
            return ""
        return html.unescape(_MARKUP.sub(" ", self._bodies[page.url].decode()))

    def _snippet(self, page: WebPage, query: str) -> str:
        """The part of the text that shares most words with the query."""
        if page.snippet:
            return page.snippet
        lines = [line.strip() for line in self._text(page).splitlines() if len(line.strip()) > 20]
        matches = partial(_shared, pieces_of(query))
        return max(lines, key=matches, default="")[:_SNIPPET_CHARS]


def pieces_of(query: str) -> list[str]:
    """What of a query is looked for: pairs of Chinese characters, and words of three letters and more."""
    runs = re.findall(r"[\u4e00-\u9fff]+", query)
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    return [*dict.fromkeys([*pairs, *(word.lower() for word in re.findall(r"[A-Za-z][\w-]{2,}", query))])]


def _shared(wanted: Sequence[str], line: str) -> int:
    return sum(piece in line.lower() for piece in wanted)
