"""A farm of simulated sites on loopback: many small bodies on a few hosts, for benchmarks and tests of the service.

Each site is a home page with three sections of twenty rows, two of them new; all is made from its number and the day.
"""

import datetime as dt
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from monitor.demo.serving import HOST, Answer, Request, plain_answer, serving

SECTIONS = ("通知公告", "政策文件", "工作动态")
ROWS = 20
NEW_ROWS = 2
_OLD_DAYS = 30
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Hit:
    """One request: when, to which host, for which site and page."""

    at: float
    host: str
    site: int
    path: str


class Farm:
    """The sites, each under `/<number>/` of one of the hosts. `hits` is what was asked; it may be cleared."""

    def __init__(self, *, today: dt.date, latency_s: float = 0.0) -> None:
        self.hits: list[Hit] = []
        self._today = today
        self._latency_s = latency_s

    @asynccontextmanager
    async def serve(self, hosts: int) -> AsyncIterator[list[str]]:
        """Serve on so many hosts, each a port of its own; gives their base urls."""
        async with AsyncExitStack() as stack:
            ports = [await stack.enter_async_context(serving(self.respond)) for _ in range(hosts)]
            yield [f"http://{HOST}:{port}" for port in ports]

    def respond(self, request: Request) -> Answer:
        """A page of a site; everything else is not there."""
        words = request.target.strip("/").split("/")
        if not words[0].isdigit():
            return plain_answer(404)
        site = int(words[0])
        self.hits.append(Hit(time.time(), request.host, site, request.target))
        body = _home(site) if len(words) == 1 else None
        if len(words) == 2 and words[1].isdigit() and int(words[1]) < len(SECTIONS):
            body = self._list(site, int(words[1]))
        if len(words) == 3 and words[2].endswith(".html"):
            body = self._article(site, words[1], words[2])
        if body is None:
            return plain_answer(404)
        return Answer(200, _HTML, body.encode(), delay_s=self._latency_s)

    def _list(self, site: int, section: int) -> str:
        rows = "".join(
            f'<li><a href="/{site}/{section}/{self._day(row):%Y%m%d}{row:02d}.html">{_title(site, section, row)}</a>'
            f"<span>{self._day(row)}</span></li>"
            for row in range(ROWS)
        )
        return _page(SECTIONS[section], f'<ul class="list">{rows}</ul>')

    def _article(self, site: int, section: str, name: str) -> str:
        row = int(name[8:10])
        title = _title(site, int(section), row)
        text = (
            f"{title}。经研究，现就有关事项通知如下：各单位应当于{self._day(row)}前完成第{row + 1}项工作，并报送结果。"
        )
        return _page(title, f"<h1>{title}</h1><p>{text}</p>" + f"<p>{text}</p>" * 3)

    def _day(self, row: int) -> dt.date:
        return self._today - dt.timedelta(days=0 if row < NEW_ROWS else _OLD_DAYS + row)


def _home(site: int) -> str:
    links = "".join(f'<li><a href="/{site}/{n}/">{name}</a></li>' for n, name in enumerate(SECTIONS))
    return _page(f"第{site}号示例局", f'<ul class="nav">{links}</ul>')


def _title(site: int, section: int, row: int) -> str:
    return f"第{site}号示例局关于{SECTIONS[section]}第{row + 1}项工作安排的通知"


def _page(title: str, body: str) -> str:
    return f'<html><head><meta charset="utf-8"><title>{title}</title></head><body>{body}</body></html>'
