"""How politely a site is asked: robots.txt, one request at a time per host, pauses, and a stop after blocks."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from protego import Protego

from monitor.config.model import PagesSettings
from monitor.fetch.client import PRODUCT, CachePolicy, HttpClient
from monitor.fetch.result import CAPTCHA_REQUIRED, TOO_MANY_REQUESTS, FetchError
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode

_MAX_ROBOTS_BYTES = 524_288
_ROBOTS_TIMEOUT_S = 10.0
_ROBOTS_TTL_S = 86_400.0
_ROBOTS_ERROR_TTL_S = 3_600.0
_MAX_CRAWL_DELAY_S = 10.0
_MAX_HOSTS = 2_000
_MAX_BLOCKS = 3
_BLOCK_CODES = frozenset({CAPTCHA_REQUIRED, TOO_MANY_REQUESTS})
_BLOCK_PAUSE_FACTOR = 10  # a host that blocks us is left alone for so many times the usual pause
_MAX_BLOCK_PAUSE_S = 30.0


@dataclass(slots=True)
class _RobotsEntry:
    """The rules of a robots.txt, until when they hold, and why they could not be read, if so."""

    rules: Protego | None
    expires_at_s: float
    note: Message | None = None


@dataclass(slots=True)
class _HostState:
    name: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting_count: int = 0
    free_at_s: float = 0.0
    robots: dict[str, _RobotsEntry] = field(default_factory=dict)  # by scheme: each is its own site


class HostBudget(Protocol):
    async def spend(self, host: str) -> bool:
        """Count a request to a host; False where none is left for today, and none is to be made."""
        ...


class Politeness:
    """Lets one request at a time through to a host, if its robots.txt allows it and its pause is over.

    A robots.txt that is missing (4xx) allows everything. One that cannot be loaded (5xx, no connection) does too, and
    `find_robots_note` says so: a broken server must not silence a source without a word.
    """

    def __init__(
        self,
        *,
        client: HttpClient,
        pages: PagesSettings,
        budget: HostBudget | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._budget = budget
        self._delay_s = pages.delay_s
        self._respects_robots = pages.respect_robots
        self._robots_timeout_s = min(_ROBOTS_TIMEOUT_S, pages.timeout_s)
        self._monotonic = monotonic
        self._sleep = sleep
        self._hosts: dict[str, _HostState] = {}
        self._robots_agent = _get_robots_agent(client.user_agent)

    @asynccontextmanager
    async def acquire(self, url: str) -> AsyncIterator[None]:
        """Wait until `url` may be requested, and keep other requests from its host inside the block.

        Raises `FetchError`, without any request for `url`: WebBlocked/robots if robots.txt disallows it, Forbidden if
        the requests of today are used up.
        """
        scheme, name = _split_origin(url)
        host = self._get_host(name)
        host.waiting_count += 1
        try:
            async with host.lock:
                rules = (await self._get_robots(host, scheme)).rules if self._respects_robots else None
                if rules and not rules.can_fetch(url, self._robots_agent):
                    raise FetchError.of(PageErrorCode.WEB_BLOCKED, "page.robots", detail_code="robots")
                await self._spend(host)
                await self._wait_for_host(host, rules)
                yield
        finally:
            host.waiting_count -= 1

    async def _spend(self, host: _HostState) -> None:
        is_own = self._client.guard.is_own_host(host.name)
        if self._budget is not None and not is_own and not await self._budget.spend(host.name):
            raise FetchError.of(PageErrorCode.FORBIDDEN, "page.host_budget", host=host.name)

    def pause(self, url: str, pause_s: float) -> None:
        """Leave the host of `url` alone for at least `pause_s` from now, as after a block."""
        host = self._get_host(_split_origin(url)[1])
        host.free_at_s = max(host.free_at_s, self._monotonic() + pause_s)

    def find_robots_note(self, url: str) -> Message | None:
        """Return why the robots.txt that applies to `url` could not be read, if so."""
        scheme, name = _split_origin(url)
        host = self._hosts.get(name)
        robots = host.robots.get(scheme) if host else None
        return robots.note if robots else None

    def list_sitemaps(self, url: str) -> list[str]:
        """Return the sitemaps that the robots.txt that applies to `url` names, if it was read."""
        scheme, name = _split_origin(url)
        host = self._hosts.get(name)
        robots = host.robots.get(scheme) if host else None
        return list(robots.rules.sitemaps) if robots and robots.rules else []

    def _get_host(self, name: str) -> _HostState:
        if host := self._hosts.get(name):
            return host
        if len(self._hosts) >= _MAX_HOSTS:
            now = self._monotonic()
            idle = [key for key, host in self._hosts.items() if not host.waiting_count and host.free_at_s <= now]
            for key in idle[: _MAX_HOSTS // 2]:
                del self._hosts[key]
        host = self._hosts[name] = _HostState(name)
        return host

    async def _wait_for_host(self, host: _HostState, rules: Protego | None) -> None:
        while (pause := host.free_at_s - self._monotonic()) > 0:
            await self._sleep(pause)
        crawl_delay_s = rules.crawl_delay(self._robots_agent) if rules else None
        # Pauses are for other people's servers: what this process serves itself needs none.
        is_own = self._client.guard.is_own_host(host.name)
        delay_s = 0.0 if is_own else max(self._delay_s, min(crawl_delay_s or 0.0, _MAX_CRAWL_DELAY_S))
        host.free_at_s = self._monotonic() + delay_s

    async def _get_robots(self, host: _HostState, scheme: str) -> _RobotsEntry:
        known = host.robots.get(scheme)
        if known is None or known.expires_at_s <= self._monotonic():
            await self._wait_for_host(host, None)
            known = host.robots[scheme] = await self._fetch_robots(f"{scheme}://{host.name}/robots.txt")
        return known

    async def _fetch_robots(self, url: str) -> _RobotsEntry:
        try:
            response = await self._client.fetch(
                url, max_bytes=_MAX_ROBOTS_BYTES, timeout_s=self._robots_timeout_s, cache_policy=CachePolicy.REVALIDATE
            )
        except FetchError as failure:
            status = failure.response.status if failure.response else None
            if status is not None and 400 <= status < 500 and status != 429:
                return _RobotsEntry(rules=None, expires_at_s=self._monotonic() + _ROBOTS_TTL_S)
            note = Message("cause.robots", {"reason": failure.message})
            return _RobotsEntry(rules=None, expires_at_s=self._monotonic() + _ROBOTS_ERROR_TTL_S, note=note)
        text = response.body.decode("utf-8", "replace").lstrip("\ufeff \r\n\t")
        rules = None if text.startswith("<") else Protego.parse(text)  # an error page with status 200
        return _RobotsEntry(rules=rules, expires_at_s=self._monotonic() + _ROBOTS_TTL_S)


def _split_origin(url: str) -> tuple[str, str]:
    """Return a URL's scheme and its host with port, in lower case; empty strings if it cannot be parsed."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc.lower()


def _get_robots_agent(user_agent: str) -> str:
    """Return the name that robots.txt may call us by: ours, or the first word of the configured user agent."""
    if f" {PRODUCT}/" in user_agent:
        return PRODUCT.lower()
    return user_agent.split("/", 1)[0].split(" ", 1)[0].lower() or PRODUCT.lower()


class HostCooldown:
    """The blocks of one run by host.

    Only a captcha and a 429 count: they concern the client, and every further request makes it worse. A page that is
    refused (403) or disallowed for robots may have neighbours that are not.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, tuple[int, PageError]] = {}

    def find_block(self, url: str) -> PageError | None:
        """Return why the URL's host is not asked any more in this run, or None while it may be."""
        count, last = self._blocks.get(_split_origin(url)[1], (0, None))
        if last is None or count < _MAX_BLOCKS:
            return None
        message = Message("page.blocked_before", {"count": count, "reason": last.message})
        return last.model_copy(update={"message": message})

    def record(self, url: str, error: PageError | None) -> bool:
        """Record the outcome of a request, and return whether it was a block; `error` is None for a response."""
        host = _split_origin(url)[1]
        is_web_block = error is not None and error.code is PageErrorCode.WEB_BLOCKED
        if error is not None and is_web_block and error.detail_code in _BLOCK_CODES:
            self._blocks[host] = (self._blocks.get(host, (0, None))[0] + 1, error)
            return True
        if not is_web_block:
            self._blocks.pop(host, None)
        return False


class HostSession:
    """One run's access to hosts: the pace is shared with all other runs, the blocks are its own."""

    def __init__(self, *, politeness: Politeness, delay_s: float) -> None:
        self._politeness = politeness
        self._pause_s = min(_BLOCK_PAUSE_FACTOR * delay_s, _MAX_BLOCK_PAUSE_S)
        self._cooldown = HostCooldown()

    @asynccontextmanager
    async def acquire(self, url: str) -> AsyncIterator[None]:
        """Wait for the host as `Politeness.acquire` does; raises `FetchError` if it blocked this run too often."""
        if block := self._cooldown.find_block(url):
            raise FetchError(block)
        try:
            async with self._politeness.acquire(url):
                yield
        except FetchError as failure:
            if self._cooldown.record(url, failure.error):
                self._politeness.pause(url, self._pause_s)
            raise
        else:
            self._cooldown.record(url, None)
