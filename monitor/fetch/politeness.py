"""Manners: robots.txt, one request at a time for a host, and a pause between them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from protego import Protego

from monitor.config.model import PagesSettings
from monitor.fetch.client import DEFAULT_USER_AGENT, PRODUCT, HttpClient
from monitor.fetch.result import CAPTCHA_REQUIRED, TOO_MANY_REQUESTS, FetchError, build_fetch_error
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.urls import get_host

_MAX_ROBOTS_BYTES = 524_288

_ROBOTS_TIMEOUT_S = 10.0

_ROBOTS_TTL_S = 86_400.0

_ROBOTS_ERROR_TTL_S = 3_600.0

_MAX_CRAWL_DELAY_S = 10.0

_MAX_HOSTS = 2_000


@dataclass(slots=True)
class _RobotsEntry:
    """What a host says about robots, until when that holds, and why it could not be read, if so."""

    rules: Protego | None
    expires_at_s: float
    note: Message | None = None


@dataclass(slots=True)
class _HostState:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting_count: int = 0
    free_at_s: float = 0.0
    robots: dict[str, _RobotsEntry] = field(default_factory=dict)  # by scheme: each is its own site


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
        self._hosts: dict[str, _HostState] = {}
        self._robots_agent = _get_robots_agent(client.user_agent)

    @asynccontextmanager
    async def acquire(self, url: str) -> AsyncIterator[None]:
        """Waits until the host may be asked for `url`, and keeps others away meanwhile.

        `FetchToolError` with WebBlocked/robots where robots.txt disallows it; then nothing was asked.
        """
        host = self._get_host(url)
        host.waiting_count += 1
        try:
            async with host.lock:
                robots = await self._get_robots(host, url) if self._respects_robots else None
                if robots and robots.rules and not robots.rules.can_fetch(url, self._robots_agent):
                    raise build_fetch_error(PageErrorCode.WEB_BLOCKED, "page.robots", detail_code="robots")
                await self._wait_for_host(host, robots, is_own=self._client.guard.is_own_host(get_host(url)))
                yield
        finally:
            host.waiting_count -= 1

    def pause(self, url: str, pause_s: float) -> None:
        """Leaves the host of `url` alone for at least so many seconds from now, as after a block."""
        host = self._get_host(url)
        host.free_at_s = max(host.free_at_s, self._monotonic() + pause_s)

    def find_robots_note(self, url: str) -> Message | None:
        """Why the robots.txt that rules over `url` could not be read, where that is so."""
        host = self._hosts.get(get_host(url))
        robots = host.robots.get(urlsplit(url).scheme) if host else None
        return robots.note if robots else None

    def _get_host(self, url: str) -> _HostState:
        name = get_host(url)
        if name not in self._hosts and len(self._hosts) >= _MAX_HOSTS:
            now = self._monotonic()
            idle = [key for key, host in self._hosts.items() if not host.waiting_count and host.free_at_s <= now]
            for key in idle[: _MAX_HOSTS // 2]:
                del self._hosts[key]
        return self._hosts.setdefault(name, _HostState())

    async def _wait_for_host(self, host: _HostState, robots: _RobotsEntry | None, *, is_own: bool = False) -> None:
        while (pause := host.free_at_s - self._monotonic()) > 0:
            await self._sleep(pause)
        crawl_delay = robots.rules.crawl_delay(self._robots_agent) if robots and robots.rules else None
        # Pauses are for other people's servers: what this process serves itself needs none.
        delay_s = 0.0 if is_own else max(self._delay_s, min(crawl_delay or 0.0, _MAX_CRAWL_DELAY_S))
        host.free_at_s = self._monotonic() + delay_s

    async def _get_robots(self, host: _HostState, url: str) -> _RobotsEntry:
        scheme = urlsplit(url).scheme
        known = host.robots.get(scheme)
        if known is None or known.expires_at_s <= self._monotonic():
            await self._wait_for_host(host, None, is_own=self._client.guard.is_own_host(get_host(url)))
            known = host.robots[scheme] = await self._fetch_robots(f"{scheme}://{urlsplit(url).netloc}/robots.txt")
        return known

    async def _fetch_robots(self, url: str) -> _RobotsEntry:
        try:
            response = await self._client.fetch(url, max_bytes=_MAX_ROBOTS_BYTES, timeout_s=self._robots_timeout_s)
        except FetchError as failure:
            status = failure.response.status if failure.response else None
            if status is not None and 400 <= status < 500 and status != 429:
                return _RobotsEntry(rules=None, expires_at_s=self._monotonic() + _ROBOTS_TTL_S)
            note = Message.of("cause.robots", reason=failure.error.message)
            return _RobotsEntry(rules=None, expires_at_s=self._monotonic() + _ROBOTS_ERROR_TTL_S, note=note)
        holds_until_s = self._monotonic() + _ROBOTS_TTL_S
        text = response.body.decode("utf-8", "replace").lstrip("\ufeff \r\n\t")
        if text.startswith("<"):  # an error page with status 200
            return _RobotsEntry(rules=None, expires_at_s=holds_until_s)
        return _RobotsEntry(rules=Protego.parse(text), expires_at_s=holds_until_s)


def _get_robots_agent(user_agent: str) -> str:
    """The name that robots.txt may call us by: ours, or the first word of the one that was configured."""
    if user_agent == DEFAULT_USER_AGENT:
        return PRODUCT.lower()
    return user_agent.split("/", 1)[0].split(" ", 1)[0].lower() or PRODUCT.lower()


MAX_BLOCKS = 3

_BLOCK_CODES = frozenset({CAPTCHA_REQUIRED, TOO_MANY_REQUESTS})


class HostCooldown:
    """The blocks of one run, by host.

    Only a captcha and a 429 count: they mean the asker, so that whatever is asked next makes it worse. A page that is
    refused (403) or kept from robots may have neighbours that are not.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, tuple[int, PageError]] = {}

    def find_block(self, url: str) -> PageError | None:
        """Why the url's host is not asked any more in this run; None while it may be."""
        count, last = self._blocks.get(get_host(url), (0, None))
        if last is None or count < MAX_BLOCKS:
            return None
        message = Message.of("page.blocked_before", count=count, reason=last.message)
        return last.model_copy(update={"message": message})

    def record(self, url: str, error: PageError | None) -> bool:
        """Take down what a request came to, `error` None where it was answered; whether it was such a block."""
        host = get_host(url)
        if error is not None and is_block(error):
            count, _ = self._blocks.get(host, (0, None))
            self._blocks[host] = (count + 1, error)
            return True
        if error is None or error.code is not PageErrorCode.WEB_BLOCKED:
            self._blocks.pop(host, None)
        return False


def is_block(error: PageError) -> bool:
    """Whether a site asks us to stop asking."""
    return error.code is PageErrorCode.WEB_BLOCKED and error.detail_code in _BLOCK_CODES


_PAUSE_FACTOR = 10  # a host that turned us away is given so many times the usual pause

_MAX_PAUSE_S = 30.0


class HostSession:
    """The turns that one run takes; those of all runs wait for each other."""

    def __init__(self, *, politeness: Politeness, delay_s: float) -> None:
        self._politeness = politeness
        self._pause_s = min(_PAUSE_FACTOR * delay_s, _MAX_PAUSE_S)
        self._cooldown = HostCooldown()

    @asynccontextmanager
    async def acquire(self, url: str) -> AsyncIterator[None]:
        """The host's turn, if it may be asked at all: `FetchToolError` where robots.txt or its blocks say no."""
        if verdict := self._cooldown.find_block(url):
            raise FetchError(verdict)
        try:
            async with self._politeness.acquire(url):
                yield
        except FetchError as failure:
            if self._cooldown.record(url, failure.error):
                self._politeness.pause(url, self._pause_s)
            raise
        else:
            self._cooldown.record(url, None)
