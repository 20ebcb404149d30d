"""What the backends of search services share: quota, cool-down after a captcha, pace, a ledger row for each request."""

import asyncio
import datetime as dt
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.queries.usage import SearchStore
from monitor.db.tables.research import SearchCall
from monitor.fetch.client import HttpClient
from monitor.fetch.politeness import Politeness
from monitor.fetch.result import CAPTCHA_REQUIRED, FetchError, Response
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.search.contract import SearchErrorCode, SearchFailed, SearchQuery, SearchResults
from monitor.search.responses import build_failure, convert_page_error, find_same_host_redirect

MAX_PAGES_PER_BACKEND = 20  # debug pages that are kept, the newest ones


def save_debug_page(folder: Path, backend: str, body: bytes, at: dt.datetime) -> str:
    """Save a failed result page and return its file name; of each backend only the newest pages stay."""
    name = f"{backend}-{at:%Y%m%dT%H%M%S}-{sha256(body).hexdigest()[:8]}.html"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(body)
    for old in sorted(folder.glob(f"{backend}-*.html"))[:-MAX_PAGES_PER_BACKEND]:
        old.unlink(missing_ok=True)
    return name


CAPTCHA_COOLDOWN = dt.timedelta(minutes=10)  # in which a service that asked for a captcha is left alone

_MAX_REDIRECTS = 4


@dataclass(frozen=True, kw_only=True)
class BackendRequest:
    """A request to a service; one with a form or a JSON body is a POST."""

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
class ServiceDependencies:
    """What all services share; `politeness` limits the pace at services made for people."""

    settings: Settings
    client: HttpClient
    politeness: Politeness
    ledger: SearchStore
    clock: Clock

    @property
    def route(self) -> str:
        """A hash of proxy and user agent, which a captcha applies to."""
        return sha256(f"{self.settings.network.proxy or ''} {self.client.user_agent}".encode()).hexdigest()[:16]


class ServiceBackend(ABC):
    """A backend that asks a service; each of its requests leaves a row in the ledger.

    `is_html` marks a service made for people, which is asked one request at a time.
    """

    name: ClassVar[str]
    is_html: ClassVar[bool] = False

    def __init__(self, deps: ServiceDependencies) -> None:
        search = deps.settings.search
        self.timeout_s = search.get_timeout_s(self.name) or deps.settings.network.timeout_s
        self.key = search.get_key(self.name)
        self._settings = search.get_backend(self.name)
        self._deps = deps
        self._zone = ZoneInfo(deps.settings.timezone)

    @abstractmethod
    async def search(self, query: SearchQuery, limit: int) -> SearchResults: ...

    def require_key(self) -> str:
        """Return the key; raise `SearchFailed` (AuthError) where none is set for the service's host."""
        if self.key is None:
            if problem := self._deps.settings.search.describe_key_problem(self.name):
                raise build_failure(SearchErrorCode.AUTH, problem)
            variable = self._deps.settings.search.get_key_variable(self.name)
            raise build_failure(SearchErrorCode.AUTH, "search.key_missing", variable=variable)
        return self.key

    def get_today(self) -> dt.date:
        """Return today in the time zone of the settings."""
        return self._deps.clock.now().astimezone(self._zone).date()

    def build_url(self, path: str) -> str:
        """Return the url of a path; a path that the configured address ends with already is not repeated."""
        base = self._deps.settings.search.get_base_url(self.name)
        if base is None:
            raise build_failure(SearchErrorCode.PROVIDER, "search.address_missing", backend=self.name)
        given = urlsplit(base).path
        if given and (path == given or path.startswith(f"{given}/")):
            path = path.removeprefix(given)
        return f"{base}{path}"

    async def fetch_results(
        self, request: BackendRequest, parse_results: Callable[[Response], SearchResults]
    ) -> SearchResults:
        """Send a request and parse its answer; raise `SearchFailed` on failure or where it may not be sent."""
        url = self.build_url(request.path)
        async with self._deps.politeness.acquire(url) if self.is_html else nullcontext():
            # Only now: while this request waited for its turn, the service may have blocked us.
            await self._check_limits()
            return await self._fetch_recorded(url, request, parse_results)

    async def _fetch_recorded(
        self, url: str, request: BackendRequest, parse_results: Callable[[Response], SearchResults]
    ) -> SearchResults:
        call = SearchCall(backend=self.name, route=self._deps.route, at=self._deps.clock.now())
        loop = asyncio.get_running_loop()
        began = loop.time()
        response: Response | None = None
        try:
            response = self._redact_key(await self._send(url, request))
            results = parse_results(response)
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
            call.results = len(results.hits)
            return results
        finally:
            call.latency_ms = round((loop.time() - began) * 1000)
            if self._settings.price is not None:
                call.cost = self._settings.price if call.outcome == "ok" else 0.0
            await self._deps.ledger.add(call)

    async def _send(self, url: str, request: BackendRequest) -> Response:
        """Send the request; redirects of a GET are followed as long as they stay on the service's host."""
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
        """Mask an echo of the key, so that it gets into no message and no debug page."""
        key = (self.key or "").encode()
        return replace(response, body=response.body.replace(key, b"***")) if key and key in response.body else response

    async def _check_limits(self) -> None:
        """Raise `SearchFailed` during the cool-down after a captcha and when the daily quota is spent."""
        now = self._deps.clock.now()
        blocked_at = await self._deps.ledger.get_last_seen(self.name, self._deps.route, CAPTCHA_REQUIRED)
        if blocked_at is not None and now - blocked_at < CAPTCHA_COOLDOWN:
            minutes = max(1, round((blocked_at + CAPTCHA_COOLDOWN - now).total_seconds() / 60))
            raise build_failure(
                SearchErrorCode.WEB_BLOCKED, "search.cooling_down", detail_code=CAPTCHA_REQUIRED, minutes=minutes
            )
        quota = self._settings.daily_quota
        if quota is None:
            return
        midnight = dt.datetime.combine(self.get_today(), dt.time.min, tzinfo=self._zone).astimezone(dt.UTC)
        if await self._deps.ledger.count_requests_since(self.name, midnight) >= quota:
            raise build_failure(SearchErrorCode.PROVIDER, "search.quota_spent", backend=self.name, quota=quota)

    async def _save_failed_page(self, failed: SearchFailed, response: Response | None) -> SearchFailed:
        """Return the failure; the page of a block or a parse error is saved for debugging and named in its message."""
        error, message = failed.error, failed.error.message
        is_saved = error.type in (SearchErrorCode.WEB_BLOCKED, SearchErrorCode.PARSE)
        if is_saved and response is not None and response.body:
            folder = self._deps.settings.data_dir / "debug" / "search"
            name = await asyncio.to_thread(save_debug_page, folder, self.name, response.body, self._deps.clock.now())
            get_logger("search").warning("page kept", backend=self.name, error=error.type, page=name)
            message = Message.of("search.page_kept", problem=message, page=name)
        return SearchFailed(error.model_copy(update={"message": message}))
