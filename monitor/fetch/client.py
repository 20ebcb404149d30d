"""The HTTP client: the one way out for everything but the browser."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from monitor.config.model import NetworkSettings
from monitor.errors import SettingsError
from monitor.fetch.cache import CachePolicy, CachingTransport, is_from_cache
from monitor.fetch.guard import Guard, GuardedBackend
from monitor.fetch.result import (
    ACCEPT_ENCODING,
    DecompressionError,
    DecompressionLimitError,
    FetchError,
    Response,
    build_fetch_error,
    classify_response,
    decompress,
    is_retryable,
)
from monitor.i18n.message import Message
from monitor.page import PageErrorCode

T = TypeVar("T")

_MAX_ATTEMPTS = 3

_MAX_RETRY_AFTER_S = 10.0


async def retry_request(
    send: Callable[[], Awaitable[T]], *, budget_s: float, may_retry: bool, sleep: Callable[[float], Awaitable[None]]
) -> T:
    """What `ask` gives, within `budget_s` for all tries together; asked again where its `FetchToolError` may pass."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + budget_s

    def may_try_again(error: BaseException) -> bool:
        return (
            may_retry
            and isinstance(error, FetchError)
            and error.may_retry
            and _compute_delay_s(error, _MAX_ATTEMPTS - 1) < deadline - loop.time()
        )

    tries = AsyncRetrying(
        stop=stop_after_attempt(_MAX_ATTEMPTS),
        wait=_wait_before_retry,
        retry=retry_if_exception(may_try_again),
        sleep=sleep,
        reraise=True,
    )
    try:
        async with asyncio.timeout(budget_s):
            return await tries(send)
    except TimeoutError:
        raise build_fetch_error(PageErrorCode.TIMEOUT, "page.no_answer_in_full", seconds=f"{budget_s:g}") from None


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; its other form, a date, is longer than we wait in practice and counts as too long."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    return float(value) if value.isascii() and value.isdigit() else float("inf")


def _wait_before_retry(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return _compute_delay_s(error, state.attempt_number)


def _compute_delay_s(error: BaseException | None, attempt: int) -> float:
    """Seconds to wait before asking again; endless where the site wants more than we give."""
    asked = error.retry_after_s if isinstance(error, FetchError) else None
    if asked is not None:
        return asked if asked <= _MAX_RETRY_AFTER_S else float("inf")
    return 0.5 * 2.0 ** (attempt - 1)


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """What is asked of one address; `keep` says how the answer may be kept, None not at all."""

    url: str
    method: str
    headers: Mapping[str, str]
    content: bytes | None
    cache_policy: CachePolicy | None

    def follow_redirect(self, status: int, location: str) -> "OutgoingRequest":
        """The next question. Keys and bodies do not travel to another host, nor out of https, nor a body with GET."""
        try:
            url = urljoin(self.url, location).split("#", 1)[0]
            here, there = urlsplit(self.url), urlsplit(url)
            stays = there.netloc == here.netloc and (there.scheme == "https" or here.scheme != "https")
        except ValueError:
            raise build_fetch_error(PageErrorCode.INVALID_URL, "page.redirect_no_url", url=location[:200]) from None
        keeps_body = status in (307, 308) and stays
        return OutgoingRequest(
            url=url,
            method=self.method if keeps_body or self.method == "HEAD" else "GET",
            headers={
                name: value
                for name, value in self.headers.items()
                if stays and (keeps_body or not name.lower().startswith("content-"))
            },
            content=self.content if keeps_body else None,
            cache_policy=self.cache_policy,
        )


def build_tls_context(*, ca_bundle: Path | None, allow_legacy_tls: bool) -> ssl.SSLContext:
    """The context for all connections: public roots and the system's, the organisation's in addition.

    `allow_legacy_tls` admits TLS 1.0 and 1.1, small keys, old ciphers and servers without secure renegotiation, as
    some old sites still need; certificates are checked all the same. `SettingsError` where `ca_bundle` holds none.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if ca_bundle is not None:
        try:
            context.load_verify_locations(cafile=str(ca_bundle))
        except (OSError, ssl.SSLError) as error:
            raise SettingsError(
                f"network.ca_bundle {ca_bundle} holds no certificates ({error}); name a file in PEM form."
            ) from error
    if allow_legacy_tls:
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.options |= getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
    return context


PRODUCT = "Monitor"

DEFAULT_USER_AGENT = "Mozilla/5.0 (compatible; Monitor/0.1; watches publications of public bodies)"

_MAX_REDIRECTS = 10

_CONNECT_TIMEOUT_S = 10.0

_REDIRECTS = (301, 302, 303, 307, 308)

_DEFAULT_MAX_BYTES = 10_485_760


class HttpClient:
    """Asks over HTTP/1.1 and HTTP/2, behind the guard, within limits of time, size and patience.

    One object serves the whole process: it keeps connections and cookies, and in `cache_folder`, where there is one,
    the answers to questions that may be kept. Close it, or use it as a context.
    """

    def __init__(
        self,
        *,
        network: NetworkSettings,
        guard: Guard | None = None,
        max_bytes: int = _DEFAULT_MAX_BYTES,
        cache_folder: Path | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.guard = guard or Guard(allowed_private_hosts=network.allowed_private_hosts)
        self.user_agent = network.user_agent or DEFAULT_USER_AGENT
        self._timeout_s = network.timeout_s
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._has_proxy = network.proxy is not None
        transport = _build_transport(network, self.guard)
        self._http = httpx.AsyncClient(
            transport=transport if cache_folder is None else CachingTransport(transport, cache_folder),
            headers={
                "user-agent": self.user_agent,
                "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                "accept-language": "zh-CN,zh;q=0.9,en;q=0.8",
                "accept-encoding": ACCEPT_ENCODING,
            },
            follow_redirects=False,
            event_hooks={"response": [_stash_location]},
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        max_bytes: int | None = None,
        timeout_s: float | None = None,
        cache_policy: CachePolicy | None = None,
    ) -> Response:
        """The answer to a question, its redirects followed; `FetchToolError` where it is an error or none came.

        The time bound holds for the whole: redirects, tries and a body that drips in. What is asked again, for GET
        and HEAD alone: lost connections, 502, 503, 504, and 429 where the site's Retry-After is short enough to wait.
        `keep` says whether the answer may be kept in the cache folder and an older one used; None: neither.
        """
        limit = max_bytes or self._max_bytes
        question = OutgoingRequest(
            url=url, method=method, headers=dict(headers or {}), content=content, cache_policy=cache_policy
        )

        async def follow() -> Response:
            return await self._follow_redirects(question, limit)

        return await retry_request(
            follow, budget_s=timeout_s or self._timeout_s, may_retry=method in ("GET", "HEAD"), sleep=self._sleep
        )

    async def request(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Response:
        """The answer to a question that changes nothing, whatever its status; `FetchToolError` where none came.

        It is asked again as `fetch` does, by POST as well. No redirect is followed: where it leads tells the asker.
        """
        question = OutgoingRequest(
            url=url, method=method, headers=dict(headers or {}), content=content, cache_policy=None
        )

        async def once() -> Response:
            return _raise_for_status(await self._send_guarded(question, self._max_bytes, []))

        try:
            return await retry_request(once, budget_s=timeout_s or self._timeout_s, may_retry=True, sleep=self._sleep)
        except FetchError as failure:
            if failure.response is None:
                raise
            return failure.response

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Response:
        """The answer to something that is handed over, whatever its status; `FetchToolError` where none came.

        It is handed over once: no second try, and no redirect followed, which would make another question of it.
        """
        question = OutgoingRequest(url=url, method="POST", headers=headers, content=content, cache_policy=None)

        async def once() -> Response:
            return await self._send_guarded(question, self._max_bytes, [])

        return await retry_request(once, budget_s=self._timeout_s, may_retry=False, sleep=self._sleep)

    async def _follow_redirects(self, request: OutgoingRequest, max_bytes: int) -> Response:
        hops: list[str] = []
        while True:
            response = await self._send_guarded(request, max_bytes, hops)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location:
                break
            hops.append(request.url)
            if len(hops) > _MAX_REDIRECTS:
                raise build_fetch_error(PageErrorCode.NETWORK, "page.too_many_redirects", count=_MAX_REDIRECTS)
            request = request.follow_redirect(response.status, location)
        return _raise_for_status(response)

    async def _send_guarded(self, request: OutgoingRequest, max_bytes: int, hops: list[str]) -> Response:
        await self.guard.check(request.url, may_be_unresolved=self._has_proxy)
        return await self._send(request, max_bytes, hops)

    async def _send(self, outgoing: OutgoingRequest, max_bytes: int, hops: list[str]) -> Response:
        try:
            request = self._http.build_request(
                outgoing.method,
                outgoing.url,
                headers=outgoing.headers,
                content=outgoing.content,
                timeout=httpx.Timeout(self._timeout_s, connect=min(_CONNECT_TIMEOUT_S, self._timeout_s)),
                extensions={"keep": outgoing.cache_policy},
            )
            answer = await self._http.send(request, stream=True)
            try:
                body = await _read_body(answer, max_bytes)
            finally:
                await answer.aclose()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise build_fetch_error(PageErrorCode.INVALID_URL, "page.invalid_url", url=outgoing.url[:200]) from error
        except httpx.HTTPError as error:
            raise _map_httpx_error(error) from error
        return Response(
            url=hops[0] if hops else outgoing.url,
            final_url=outgoing.url,
            status=answer.status_code,
            headers={name.lower(): value for name, value in answer.headers.items()} | _get_location_header(answer),
            body=body,
            hops=tuple(hops),
            is_from_cache=is_from_cache(answer.extensions),
        )


class _GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport, its connections made by the guard's backend."""

    def __init__(self, context: ssl.SSLContext, guard: Guard) -> None:
        super().__init__(verify=context, http2=True)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            http2=True,
            network_backend=GuardedBackend(guard),
        )


def _build_transport(network: NetworkSettings, guard: Guard) -> httpx.AsyncBaseTransport:
    context = _get_tls_context(network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
    if network.proxy is None:
        return _GuardedTransport(context, guard)
    # The proxy resolves and connects; every url and every redirect is checked by the guard before it is asked.
    try:
        return httpx.AsyncHTTPTransport(verify=context, http2=True, proxy=network.proxy)
    except (ValueError, httpx.InvalidURL) as error:
        raise SettingsError(f"network.proxy is not the url of a proxy ({error}); write http://host:port.") from error


@cache
def _get_tls_context(ca_bundle: Path | None, *, allow_legacy_tls: bool) -> ssl.SSLContext:
    """One for all clients of the process: reading all the roots takes longer than many a request."""
    return build_tls_context(ca_bundle=ca_bundle, allow_legacy_tls=allow_legacy_tls)


async def _stash_location(response: httpx.Response) -> None:
    """The library reads a redirect's address even when told not to follow it, and fails on an odd one."""
    if location := response.headers.pop("location", None):
        response.extensions["location"] = location


def _get_location_header(response: httpx.Response) -> dict[str, str]:
    return {"location": response.extensions["location"]} if "location" in response.extensions else {}


def _raise_for_status(response: Response) -> Response:
    """The answer, where it is no error."""
    if error := classify_response(response.status, response.headers, response.body, response.final_url):
        raise FetchError(
            error,
            response=response,
            may_retry=is_retryable(response.status, response.headers),
            retry_after_s=parse_retry_after(response.headers),
        )
    return response


async def _read_body(response: httpx.Response, max_bytes: int) -> bytes:
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise _build_too_large_error(max_bytes)
    received = bytearray()
    async for chunk in response.aiter_raw():
        received += chunk
        if len(received) > max_bytes:
            raise _build_too_large_error(max_bytes)
    try:
        return decompress(bytes(received), response.headers.get("content-encoding", ""), max_bytes=max_bytes)
    except DecompressionLimitError:
        raise _build_too_large_error(max_bytes) from None
    except DecompressionError as error:
        raise build_fetch_error(PageErrorCode.NETWORK, "page.not_decompressed", reason=str(error)) from error


def _build_too_large_error(max_bytes: int) -> FetchError:
    return build_fetch_error(PageErrorCode.TOO_LARGE, "page.answer_too_large", limit_mb=f"{max_bytes / 2**20:.3g}")


def _map_httpx_error(error: httpx.HTTPError) -> FetchError:
    if isinstance(error, httpx.ConnectTimeout):
        return build_fetch_error(PageErrorCode.TIMEOUT, "page.no_connection_in_time", may_retry=True)
    if isinstance(error, httpx.TimeoutException):
        return build_fetch_error(PageErrorCode.TIMEOUT, "page.no_answer")
    # A server that hangs up in the middle of the handshake leaves the library without words.
    said = " ".join(str(error).split()).rstrip(".")
    has_hung_up = not said and isinstance(error, httpx.ConnectError)
    reason = Message("page.hung_up") if has_hung_up else Message.other(said or type(error).__name__)
    if has_hung_up or "SSL" in said or "certificate" in said.lower():
        return build_fetch_error(PageErrorCode.NETWORK, "page.no_secure_connection", reason=reason)
    return build_fetch_error(PageErrorCode.NETWORK, "page.connection_failed", reason=reason, may_retry=True)
