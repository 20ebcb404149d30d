"""A search service as we reach it: within its quota, after its cool-down, at its pace, every request on record."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from monitor.clock import Clock
from monitor.config.model import NetworkSettings, SearchSettings
from monitor.db.queries.usage import SearchStore
from monitor.db.tables.research import SearchCall
from monitor.fetch.client import HttpClient
from monitor.fetch.politeness import Politeness
from monitor.fetch.result import CAPTCHA_REQUIRED, FetchError, Response
from monitor.logs import get_logger
from monitor.search.contract import SearchErrorCode, SearchFailed, SearchHit
from monitor.search.responses import build_failure, convert_page_error, find_same_host_redirect

MAX_PAGES_PER_BACKEND = 20
"""So many pages of one backend are kept, the newest."""


class DebugPageStore:
    """A folder of pages; older ones make room."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def save(self, backend: str, body: bytes, at: dt.datetime) -> str:
        """Keep a page; answers the name of its file."""
        return await asyncio.to_thread(self._save, backend, body, at)

    def _save(self, backend: str, body: bytes, at: dt.datetime) -> str:
        name = f"{backend}-{at:%Y%m%dT%H%M%S}-{sha256(body).hexdigest()[:8]}.html"
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / name).write_bytes(body)
        for old in sorted(self._folder.glob(f"{backend}-*.html"))[:-MAX_PAGES_PER_BACKEND]:
            old.unlink(missing_ok=True)
        return name


CAPTCHA_COOLDOWN = dt.timedelta(minutes=10)
"""So long a service that asked for a captcha is left alone."""

_MAX_REDIRECTS = 4
ParseHits = Callable[[Response], Sequence[SearchHit]]


@dataclass(frozen=True, kw_only=True)
class BackendRequest:
    """A question to a service: the path is the service's own; a form or a JSON document makes it a POST."""

    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str | int] | None = None
    json_body: Mapping[str, object] | None = None

    def encode(self) -> tuple[str, dict[str, str], bytes | None]:
        if self.form is not None:
            kind = {"content-type": "application/x-www-form-urlencoded"}
            return "POST", {**kind, **self.headers}, urlencode(self.form).encode()
        if self.json_body is not None:
            body = json.dumps(self.json_body, ensure_ascii=False).encode("utf-8", "replace")
            return "POST", {"content-type": "application/json", **self.headers}, body
        return "GET", dict(self.headers), None


@dataclass(frozen=True, kw_only=True)
class BackendClientDependencies:
    """What the ways to all services share; `politeness` gives out turns at those that are made for people."""

    settings: SearchSettings
    network: NetworkSettings
    timezone: str
    client: HttpClient
    politeness: Politeness
    ledger: SearchStore
    debug_pages: DebugPageStore
    clock: Clock

    @property
    def route(self) -> str:
        """Proxy and user agent in short: a captcha is meant for them."""
        return sha256(f"{self.network.proxy or ''} {self.client.user_agent}".encode()).hexdigest()[:16]


class BackendClient:
    """The way to one service, for its backend. Everything that is asked leaves a row in the ledger.

    `address` is where the service is when its settings name no `base_url`.
    """

    def __init__(
        self, name: str, deps: BackendClientDependencies, *, default_base_url: str | None = None, is_html: bool = False
    ) -> None:
        self.name = name
        self.timeout_s = deps.settings.get_timeout_s(name) or deps.network.timeout_s
        self.key = deps.settings.get_key(name)
        self._settings = deps.settings.get_backend(name)
        self._key_variable = deps.settings.get_key_variable(name)
        self._base_url = self._settings.base_url or default_base_url
        self._deps = deps
        self._politeness = deps.politeness if is_html else None
        self._zone = ZoneInfo(deps.timezone)

    def require_key(self) -> str:
        """The key; `SearchFailed` (AuthError) says where it belongs where there is none."""
        if self.key is None:
            raise build_failure(
                SearchErrorCode.AUTH, f"There is no key: set the environment variable {self._key_variable}."
            )
        return self.key

    def get_today(self) -> dt.date:
        """The day it is, in the time zone of the service."""
        return self._deps.clock.now().astimezone(self._zone).date()

    def build_url(self, path: str) -> str:
        """The address of a path; one that the configured address ends with already is not written twice."""
        base = self._base_url
        if base is None:
            raise build_failure(
                SearchErrorCode.PROVIDER, f"Where it is is not known: set search.backends.{self.name}.base_url."
            )
        given = urlsplit(base).path
        if given and (path == given or path.startswith(f"{given}/")):
            path = path.removeprefix(given)
        return f"{base}{path}"

    async def fetch_hits(self, request: BackendRequest, parse_hits: ParseHits) -> Sequence[SearchHit]:
        """What `read` finds in the answer; `SearchFailed` where it finds none, none came, or none may be asked for."""
        url = self.build_url(request.path)
        async with self._wait_for_turn(url):
            # Here and not before: while others had their turn, the service may have turned us away.
            await self._check_limits()
            return await self._fetch_recorded(url, request, parse_hits)

    async def _fetch_recorded(self, url: str, request: BackendRequest, parse_hits: ParseHits) -> Sequence[SearchHit]:
        call = SearchCall(backend=self.name, route=self._deps.route, at=self._deps.clock.now())
        loop = asyncio.get_running_loop()
        began = loop.time()
        response: Response | None = None
        try:
            response = self._redact_key(await self._send(url, request))
            hits = parse_hits(response)
        except SearchFailed as failed:
            call.outcome, call.detail_code = str(failed.error.type), failed.error.detail_code
            raise await self._save_failed_page(failed, response) from None
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
            await self._deps.ledger.add(call)

    async def _send(self, url: str, request: BackendRequest) -> Response:
        """The answer; redirects are followed for a GET as long as they stay on the service's host."""
        method, headers, body = request.encode()
        target: str | None = f"{url}?{urlencode(request.params)}" if request.params else url
        try:
            for _ in range(_MAX_REDIRECTS):
                response = await self._deps.client.request(
                    target or url, method=method, headers=headers, content=body, timeout_s=self.timeout_s
                )
                target = find_same_host_redirect(response) if method == "GET" else None
                if target is None:
                    break
        except FetchError as failed:
            raise convert_page_error(failed.error) from None
        return response

    def _redact_key(self, response: Response) -> Response:
        """The answer without an echo of the key, which would get into messages and kept pages."""
        key = (self.key or "").encode()
        return replace(response, body=response.body.replace(key, b"***")) if key and key in response.body else response

    def _wait_for_turn(self, url: str) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._politeness is None else self._politeness.acquire(url)

    async def _check_limits(self) -> None:
        """Refuse what would not be answered, or may not be asked any more."""
        now = self._deps.clock.now()
        blocked_at = await self._deps.ledger.get_last_seen(self.name, self._deps.route, CAPTCHA_REQUIRED)
        if blocked_at is not None and now - blocked_at < CAPTCHA_COOLDOWN:
            minutes = max(1, round((blocked_at + CAPTCHA_COOLDOWN - now).total_seconds() / 60))
            message = f"Not asked: the service asked for a captcha and is left alone for {minutes} more minutes."
            raise build_failure(SearchErrorCode.WEB_BLOCKED, message, detail_code=CAPTCHA_REQUIRED)
        quota = self._settings.daily_quota
        if (
            quota is not None
            and await self._deps.ledger.count_requests_since(self.name, self._get_midnight(now)) >= quota
        ):
            message = f"Not asked: search.backends.{self.name}.daily_quota of {quota} requests is spent for today."
            raise build_failure(SearchErrorCode.PROVIDER, message)

    def _get_midnight(self, now: dt.datetime) -> dt.datetime:
        day = now.astimezone(self._zone).date()
        return dt.datetime.combine(day, dt.time.min, tzinfo=self._zone).astimezone(dt.UTC)

    async def _save_failed_page(self, failed: SearchFailed, response: Response | None) -> SearchFailed:
        """The failure, and the page that showed it kept where that helps."""
        error, message = failed.error, failed.error.message
        is_riddle = error.type in (SearchErrorCode.WEB_BLOCKED, SearchErrorCode.PARSE)
        if is_riddle and response is not None and response.body:
            name = await self._deps.debug_pages.save(self.name, response.body, self._deps.clock.now())
            get_logger("search").warning("page kept", backend=self.name, error=error.type, page=name)
            message = f"{message} The page is kept as {name}."
        return SearchFailed(error.model_copy(update={"message": message}))
