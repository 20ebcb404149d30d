"""The dated Chinese list pages of the corpus, swept as pinned sections (issue 2, point 2)."""

import asyncio
import csv
import datetime as dt
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from monitor.urls import clean_url, url_key

TUNED_ROWS = 272  # the rows of the manifest that 0.1.0 was tuned on
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
HOST = re.compile(rb"https?://[\w.-]+(?::\d+)?")
ARTICLE = "<html><title>正文</title><body><h1>正文</h1><p>本页内容用于测试，共有若干段落。</p></body></html>".encode()

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="needs ../shared/corpus, which is not here")


def dated_chinese_lists() -> list[dict[str, Any]]:
    found = []
    with (CORPUS / "manifest.csv").open(encoding="utf-8") as manifest:
        for row in list(csv.DictReader(manifest))[:TUNED_ROWS]:
            if row["kind"] == "list" and row["language"].startswith("zh"):
                gold = json.loads((CORPUS / row["gold"]).read_text(encoding="utf-8"))
                if any(item.get("date") for item in gold["items"]):
                    found.append({"id": row["id"], "page": CORPUS / row["page"], "gold": gold, "url": gold["base_url"]})
    return found


class Pages:
    """The corpus pages under their own paths; whatever else is asked for is a short article."""

    def __init__(self) -> None:
        self.lists = dated_chinese_lists()
        self.base = ""

    def body(self, path: str) -> bytes:
        for page in self.lists:
            if urlsplit(page["url"]).path == path:
                return HOST.sub(self.base.encode(), page["page"].read_bytes())
        return ARTICLE

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
        found = b"" if request == "/robots.txt" else self.body(urlsplit(request).path)
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(found)}\r\nconnection: close\r\n\r\n"
        )
        writer.write(head.encode() + found)
        await writer.drain()
        writer.close()

    def section(self, page: dict[str, Any]) -> dict[str, str]:
        return {"name": page["id"], "url": self.base + urlsplit(page["url"]).path}

    def gold(self, page: dict[str, Any], since: dt.date, until: dt.date) -> set[str]:
        def key(url: str) -> str:
            return url_key(HOST.sub(self.base.encode(), (clean_url(url) or url).encode()).decode())

        items = page["gold"]["items"]
        return {
            key(item["url"])
            for item in items
            if item.get("date") and since <= dt.date.fromisoformat(item["date"]) <= until
        }

    def tolerated(self) -> set[str]:
        blocks = [b for page in self.lists for b in (page["gold"].get("other_blocks") or {}).values()]
        urls = [text if isinstance(text, str) else text["url"] for block in blocks for text in block]
        return {url_key(HOST.sub(self.base.encode(), url.encode()).decode()) for url in urls}


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    pages = Pages()
    server = await asyncio.start_server(pages.serve, "127.0.0.1", 0)
    pages.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield pages


@pytest.mark.parametrize(
    ("since", "until"),
    [(dt.date(2019, 1, 1), dt.date(2026, 11, 21)), (dt.date(2026, 5, 12), dt.date(2026, 9, 14))],
    ids=["all their dates", "a part of them"],
)
async def test_the_sweep_saves_exactly_the_gold_items_in_the_window(
    workplace: Any, pages: Pages, since: dt.date, until: dt.date
) -> None:
    assert len(pages.lists) == 7
    source = {
        "name": "corpus",
        "url": pages.base,
        "sections": [pages.section(page) for page in pages.lists],
        "max_items": 100,
        "render": "never",
    }
    workplace.configure(network={"allowed_private_hosts": [urlsplit(pages.base).netloc]}, sources=[source])
    run = await workplace.sweep_here("corpus", since=since, until=until)
    for page in pages.lists:
        saved = {url_key(item["url"]) for item in run["items"] if item["section"] == page["id"]}
        assert saved - pages.tolerated() == pages.gold(page, since, until) - pages.tolerated(), page["id"]
    assert all(item["date_source"] in ("listed", "url") for item in run["items"])
