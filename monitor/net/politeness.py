"""Manners: robots.txt, one request at a time for a host, and a pause between them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from protego import Protego

from monitor.domain.causes import Cause
from monitor.domain.page import PageErrorCode
from monitor.domain.urls import host_of
from monitor.net.client import DEFAULT_USER_AGENT, PRODUCT, HttpClient
from monitor.net.failure import FetchFailed, failed
from monitor.settings import PagesSettings

_ROBOTS_MAX_BYTES = 524_288
_ROBOTS_TIMEOUT_S = 10.0
_ROBOTS_KEPT_S = 86_400.0
_ROBOTS_ERROR_KEPT_S = 3_600.0
_MAX_CRAWL_DELAY_S = 10.0
_MAX_HOSTS = 2_000


@dataclass(slots=True)
class _Robots:
    """What a host says about robots, until when that holds, and why it could not be read, if so."""

    rules: Protego | None
    holds_until_s: float
    note: str | None = None


@dataclass(slots=True)
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    free_at_s: float = 0.0
    robots: dict[str, _Robots] = field(default_factory=dict)  # by scheme: each is its own site


class Politeness:
    """Gives out turns: who holds a host's turn is the only one that asks it.

    A robots.txt that is missing (4xx) allows all; one that cannot be had (5xx, no connection) allows all too, and
    `robots_note` says so: a broken server must not silence a source without a word.
    """

    def __init__(
        self,
        *,
        client: HttpClient,
        pages: PagesSettings,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._delay_s = pages.delay_s
        self._respects_robots = pages.respect_robots
        self._robots_timeout_s = min(_ROBOTS_TIMEOUT_S, pages.timeout_s)
        self._monotonic = monotonic
        self._sleep = sleep
        self._hosts: dict[str, _Host] = {}
        self._agent = _agent_name(client.user_agent)

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[None]:
        """Waits until the host may be asked for `url`, and keeps others away meanwhile.

        `FetchFailed` with WebBlocked/robots where robots.txt disallows it; then nothing was asked.
        """
        host = self._host(url)
        host.waiting += 1
        try:
            async with host.lock:
                robots = await self._robots(host, url) if self._respects_robots else None
                if robots and robots.rules and not robots.rules.can_fetch(url, self._agent):
                    raise failed(
                        PageErrorCode.WEB_BLOCKED,
                        "The site's robots.txt asks us not to load this page.",
                        detail_code="robots",
                    )
                await self._wait(host, robots, is_own=self._client.guard.is_own(host_of(url)))
                yield
        finally:
            host.waiting -= 1

    def rest(self, url: str, pause_s: float) -> None:
        """Leaves the host of `url` alone for at least so many seconds from now, as after a block."""
        host = self._host(url)
        host.free_at_s = max(host.free_at_s, self._monotonic() + pause_s)

    def robots_note(self, url: str) -> str | None:
        """Why the robots.txt that rules over `url` could not be read, where that is so."""
        host = self._hosts.get(host_of(url))
        robots = host.robots.get(urlsplit(url).scheme) if host else None
        return robots.note if robots else None

    def _host(self, url: str) -> _Host:
        name = host_of(url)
        if name not in self._hosts and len(self._hosts) >= _MAX_HOSTS:
            now = self._monotonic()
            idle = [key for key, host in self._hosts.items() if not host.waiting and host.free_at_s <= now]
            for key in idle[: _MAX_HOSTS // 2]:
                del self._hosts[key]
        return self._hosts.setdefault(name, _Host())

    async def _wait(self, host: _Host, robots: _Robots | None, *, is_own: bool = False) -> None:
        while (pause := host.free_at_s - self._monotonic()) > 0:
            await self._sleep(pause)
        crawl_delay = robots.rules.crawl_delay(self._agent) if robots and robots.rules else None
        # Pauses are for other people's servers: what this process serves itself needs none.
        delay_s = 0.0 if is_own else max(self._delay_s, min(crawl_delay or 0.0, _MAX_CRAWL_DELAY_S))
        host.free_at_s = self._monotonic() + delay_s

    async def _robots(self, host: _Host, url: str) -> _Robots:
        scheme = urlsplit(url).scheme
        known = host.robots.get(scheme)
        if known is None or known.holds_until_s <= self._monotonic():
            await self._wait(host, None, is_own=self._client.guard.is_own(host_of(url)))
            known = host.robots[scheme] = await self._read_robots(f"{scheme}://{urlsplit(url).netloc}/robots.txt")
        return known

    async def _read_robots(self, url: str) -> _Robots:
        try:
            response = await self._client.fetch(url, max_bytes=_ROBOTS_MAX_BYTES, timeout_s=self._robots_timeout_s)
        except FetchFailed as failure:
            status = failure.response.status if failure.response else None
            if status is not None and 400 <= status < 500 and status != 429:
                return _Robots(rules=None, holds_until_s=self._monotonic() + _ROBOTS_KEPT_S)
            note = Cause.ROBOTS.told(failure.error.message)
            return _Robots(rules=None, holds_until_s=self._monotonic() + _ROBOTS_ERROR_KEPT_S, note=note)
        holds_until_s = self._monotonic() + _ROBOTS_KEPT_S
        text = response.body.decode("utf-8", "replace").lstrip("\ufeff \r\n\t")
        if text.startswith("<"):  # an error page with status 200
            return _Robots(rules=None, holds_until_s=holds_until_s)
        return _Robots(rules=Protego.parse(text), holds_until_s=holds_until_s)


def _agent_name(user_agent: str) -> str:
    """The name that robots.txt may call us by: ours, or the first word of the one that was configured."""
    if user_agent == DEFAULT_USER_AGENT:
        return PRODUCT.lower()
    return user_agent.split("/", 1)[0].split(" ", 1)[0].lower() or PRODUCT.lower()
