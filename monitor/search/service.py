"""A search service as we reach it: within its quota, after its cool-down, at its pace, every request on record."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from monitor.domain.searches import SearchCall
from monitor.domain.searching import SearchErrorCode, SearchFailed, SearchHit
from monitor.logs import logger_of
from monitor.net.blocks import CAPTCHA_REQUIRED
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed
from monitor.net.politeness import Politeness
from monitor.net.response import Response
from monitor.ports import Clock
from monitor.search.failures import failure, of_fetch, redirect_within
from monitor.search.keeping import KeptPages
from monitor.settings import NetworkSettings, SearchSettings
from monitor.store.searches import Searches

COOL_DOWN = dt.timedelta(minutes=10)
"""So long a service that asked for a captcha is left alone."""

_MAX_REDIRECTS = 4

Read = Callable[[Response], Sequence[SearchHit]]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A question to a service: the path is the service's own; a form or a JSON document makes it a POST."""

    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str | int] | None = None
    document: Mapping[str, object] | None = None

    def sent(self) -> tuple[str, dict[str, str], bytes | None]:
        if self.form is not None:
            kind = {"content-type": "application/x-www-form-urlencoded"}
            return "POST", {**kind, **self.headers}, urlencode(self.form).encode()
        if self.document is not None:
            body = json.dumps(self.document, ensure_ascii=False).encode("utf-8", "replace")
            return "POST", {"content-type": "application/json", **self.headers}, body
        return "GET", dict(self.headers), None


@dataclass(frozen=True, kw_only=True)
class Reach:
    """What the ways to all services share; `politeness` gives out turns at those that are made for people."""

    settings: SearchSettings
    network: NetworkSettings
    timezone: str
    client: HttpClient
    politeness: Politeness
    ledger: Searches
    pages: KeptPages
    clock: Clock

    @property
    def route(self) -> str:
        """Proxy and user agent in short: a captcha is meant for them."""
        return sha256(f"{self.network.proxy or ''} {self.client.user_agent}".encode()).hexdigest()[:16]


class Service:
    """The way to one service, for its backend. Everything that is asked leaves a row in the ledger.

    `address` is where the service is when its settings name no `base_url`.
    """

    def __init__(self, name: str, reach: Reach, *, address: str | None = None, is_for_people: bool = False) -> None:
        self.name = name
        self.timeout_s = reach.settings.timeout_s(name) or reach.network.timeout_s
        self.key = reach.settings.key(name)
        self._settings = reach.settings.of(name)
        self._key_variable = reach.settings.key_variable(name)
        self._base_url = self._settings.base_url or address
        self._reach = reach
        self._politeness = reach.politeness if is_for_people else None
        self._zone = ZoneInfo(reach.timezone)

    def required_key(self) -> str:
        """The key; `SearchFailed` (AuthError) says where it belongs where there is none."""
        if self.key is None:
            raise failure(SearchErrorCode.AUTH, f"There is no key: set the environment variable {self._key_variable}.")
        return self.key

    def today(self) -> dt.date:
        """The day it is, in the time zone of the service."""
        return self._reach.clock.now().astimezone(self._zone).date()

    def url(self, path: str) -> str:
        """The address of a path; one that the configured address ends with already is not written twice."""
        base = self._base_url
        if base is None:
            raise failure(
                SearchErrorCode.PROVIDER, f"Where it is is not known: set search.backends.{self.name}.base_url."
            )
        given = urlsplit(base).path
        if given and (path == given or path.startswith(f"{given}/")):
            path = path.removeprefix(given)
        return f"{base}{path}"

    async def ask(self, request: Request, read: Read) -> Sequence[SearchHit]:
        """What `read` finds in the answer; `SearchFailed` where it finds none, none came, or none may be asked for."""
        url = self.url(request.path)
        async with self._turn(url):
            # Here and not before: while others had their turn, the service may have turned us away.
            await self._admit()
            return await self._recorded(url, request, read)

    async def _recorded(self, url: str, request: Request, read: Read) -> Sequence[SearchHit]:
        call = SearchCall(backend=self.name, route=self._reach.route, at=self._reach.clock.now())
        loop = asyncio.get_running_loop()
        began = loop.time()
        response: Response | None = None
        try:
            response = self._without_key(await self._sent(url, request))
            hits = read(response)
        except SearchFailed as failed:
            call.outcome, call.detail_code = str(failed.error.type), failed.error.detail_code
            raise await self._explained(failed, response) from None
        except asyncio.CancelledError:
            call.outcome = str(SearchErrorCode.TIMEOUT)
            raise
        except Exception:
            call.outcome = str(SearchErrorCode.PROVIDER)
            raise
        else:
            call.results = len(hits)
            return hits
        finally:
            call.latency_ms = round((loop.time() - began) * 1000)
            if self._settings.price is not None:
                call.cost = self._settings.price if call.outcome == "ok" else 0.0
            await self._reach.ledger.add(call)

    async def _sent(self, url: str, request: Request) -> Response:
        """The answer; redirects are followed for a GET as long as they stay on the service's host."""
        method, headers, body = request.sent()
        target: str | None = f"{url}?{urlencode(request.params)}" if request.params else url
        try:
            for _ in range(_MAX_REDIRECTS):
                response = await self._reach.client.ask(
                    target or url, method=method, headers=headers, content=body, timeout_s=self.timeout_s
                )
                target = redirect_within(response) if method == "GET" else None
                if target is None:
                    break
        except FetchFailed as failed:
            raise of_fetch(failed.error) from None
        return response

    def _without_key(self, response: Response) -> Response:
        """The answer without an echo of the key, which would get into messages and kept pages."""
        key = (self.key or "").encode()
        return replace(response, body=response.body.replace(key, b"***")) if key and key in response.body else response

    def _turn(self, url: str) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._politeness is None else self._politeness.turn(url)

    async def _admit(self) -> None:
        """Refuse what would not be answered, or may not be asked any more."""
        now = self._reach.clock.now()
        blocked_at = await self._reach.ledger.last_seen(self.name, self._reach.route, CAPTCHA_REQUIRED)
        if blocked_at is not None and now - blocked_at < COOL_DOWN:
            minutes = max(1, round((blocked_at + COOL_DOWN - now).total_seconds() / 60))
            message = f"Not asked: the service asked for a captcha and is left alone for {minutes} more minutes."
            raise failure(SearchErrorCode.WEB_BLOCKED, message, detail_code=CAPTCHA_REQUIRED)
        quota = self._settings.daily_quota
        if quota is not None and await self._reach.ledger.requests_since(self.name, self._midnight(now)) >= quota:
            message = f"Not asked: search.backends.{self.name}.daily_quota of {quota} requests is spent for today."
            raise failure(SearchErrorCode.PROVIDER, message)

    def _midnight(self, now: dt.datetime) -> dt.datetime:
        day = now.astimezone(self._zone).date()
        return dt.datetime.combine(day, dt.time.min, tzinfo=self._zone).astimezone(dt.UTC)

    async def _explained(self, failed: SearchFailed, response: Response | None) -> SearchFailed:
        """The failure, and the page that showed it kept where that helps."""
        error, message = failed.error, failed.error.message
        is_riddle = error.type in (SearchErrorCode.WEB_BLOCKED, SearchErrorCode.PARSE)
        if is_riddle and response is not None and response.body:
            name = await self._reach.pages.keep(self.name, response.body, self._reach.clock.now())
            logger_of("search").warning("page kept", backend=self.name, error=error.type, page=name)
            message = f"{message} The page is kept as {name}."
        return SearchFailed(error.model_copy(update={"message": message}))
