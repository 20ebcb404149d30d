"""The HTTP client: the one way out for everything but the browser."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpcore
import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from monitor.domain.page import PageErrorCode
from monitor.errors import SettingsError
from monitor.net.blocks import error_of_status, may_change
from monitor.net.caching import CachingTransport, Keep, is_from_cache
from monitor.net.decompress import ACCEPTED, Garbled, TooMuch, decompress
from monitor.net.failure import FetchFailed, failed
from monitor.net.guard import Guard, GuardedBackend
from monitor.net.question import Question
from monitor.net.response import Response
from monitor.net.tls import tls_context
from monitor.settings import NetworkSettings

PRODUCT = "Monitor"
DEFAULT_USER_AGENT = "Mozilla/5.0 (compatible; Monitor/0.1; watches publications of public bodies)"

_MAX_REDIRECTS = 10
_MAX_TRIES = 3
_CONNECT_TIMEOUT_S = 10.0
_MAX_RETRY_AFTER_S = 10.0
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
        transport = _transport(network, self.guard)
        self._http = httpx.AsyncClient(
            transport=transport if cache_folder is None else CachingTransport(transport, cache_folder),
            headers={
                "user-agent": self.user_agent,
                "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                "accept-language": "zh-CN,zh;q=0.9,en;q=0.8",
                "accept-encoding": ACCEPTED,
            },
            follow_redirects=False,
            event_hooks={"response": [_set_location_aside]},
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
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
        keep: Keep | None = None,
    ) -> Response:
        """The answer to a question, its redirects followed; `FetchFailed` where it is an error or none came.

        The time bound holds for the whole: redirects, tries and a body that drips in. What is asked again, for GET
        and HEAD alone: lost connections, 502, 503, 504, and 429 where the site's Retry-After is short enough to wait.
        `keep` says whether the answer may be kept in the cache folder and an older one used; None: neither.
        """
        budget_s = timeout_s or self._timeout_s
        limit = max_bytes or self._max_bytes
        request = Question(url=url, method=method, headers=dict(headers or {}), content=content, keep=keep)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + budget_s

        def may_try_again(error: BaseException) -> bool:
            return (
                isinstance(error, FetchFailed)
                and error.may_retry
                and method in ("GET", "HEAD")
                and _patience(error, _MAX_TRIES - 1) < deadline - loop.time()
            )

        tries = AsyncRetrying(
            stop=stop_after_attempt(_MAX_TRIES),
            wait=_wait,
            retry=retry_if_exception(may_try_again),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            async with asyncio.timeout(budget_s):
                return await tries(self._follow, request, limit)
        except TimeoutError:
            raise failed(PageErrorCode.TIMEOUT, f"The site did not answer in full within {budget_s:g} s.") from None

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Response:
        """The answer to something that is handed over, whatever its status; `FetchFailed` where none came.

        It is handed over once: no second try, and no redirect followed, which would make another question of it.
        """
        await self.guard.check(url, may_be_unresolved=self._has_proxy)
        question = Question(url=url, method="POST", headers=headers, content=content, keep=None)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(question, self._max_bytes, [])
        except TimeoutError:
            raise failed(PageErrorCode.TIMEOUT, f"No answer came within {self._timeout_s:g} s.") from None

    async def _follow(self, question: Question, max_bytes: int) -> Response:
        hops: list[str] = []
        while True:
            await self.guard.check(question.url, may_be_unresolved=self._has_proxy)
            response = await self._exchange(question, max_bytes, hops)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location:
                break
            hops.append(question.url)
            if len(hops) > _MAX_REDIRECTS:
                raise failed(PageErrorCode.NETWORK, f"The site redirects more than {_MAX_REDIRECTS} times.")
            question = question.redirected(response.status, location)
        if error := error_of_status(response.status, response.headers, response.body, response.final_url):
            raise FetchFailed(
                error,
                response=response,
                may_retry=may_change(response.status, response.headers),
                retry_after_s=_retry_after_s(response.headers),
            )
        return response

    async def _exchange(self, question: Question, max_bytes: int, hops: list[str]) -> Response:
        try:
            request = self._http.build_request(
                question.method,
                question.url,
                headers=question.headers,
                content=question.content,
                timeout=httpx.Timeout(self._timeout_s, connect=min(_CONNECT_TIMEOUT_S, self._timeout_s)),
                extensions={"keep": question.keep},
            )
            answer = await self._http.send(request, stream=True)
            try:
                body = await _read(answer, max_bytes)
            finally:
                await answer.aclose()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise failed(PageErrorCode.INVALID_URL, f"“{question.url[:200]}” is no url.") from error
        except httpx.HTTPError as error:
            raise _failure_of(error) from error
        return Response(
            url=hops[0] if hops else question.url,
            final_url=question.url,
            status=answer.status_code,
            headers={name.lower(): value for name, value in answer.headers.items()} | _location(answer),
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


def _transport(network: NetworkSettings, guard: Guard) -> httpx.AsyncBaseTransport:
    context = tls_context(ca_bundle=network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
    if network.proxy is None:
        return _GuardedTransport(context, guard)
    # The proxy resolves and connects; every url and every redirect is checked by the guard before it is asked.
    try:
        return httpx.AsyncHTTPTransport(verify=context, http2=True, proxy=network.proxy)
    except (ValueError, httpx.InvalidURL) as error:
        raise SettingsError(f"network.proxy is not the url of a proxy ({error}); write http://host:port.") from error


async def _set_location_aside(answer: httpx.Response) -> None:
    """The library reads a redirect's address even when told not to follow it, and fails on an odd one."""
    if location := answer.headers.pop("location", None):
        answer.extensions["location"] = location


def _location(answer: httpx.Response) -> dict[str, str]:
    return {"location": answer.extensions["location"]} if "location" in answer.extensions else {}


async def _read(answer: httpx.Response, max_bytes: int) -> bytes:
    length = answer.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise _too_large(max_bytes)
    received = bytearray()
    async for chunk in answer.aiter_raw():
        received += chunk
        if len(received) > max_bytes:
            raise _too_large(max_bytes)
    try:
        return decompress(bytes(received), answer.headers.get("content-encoding", ""), max_bytes=max_bytes)
    except TooMuch:
        raise _too_large(max_bytes) from None
    except Garbled as error:
        raise failed(PageErrorCode.NETWORK, f"The answer cannot be decompressed: {error}.") from error


def _too_large(max_bytes: int) -> FetchFailed:
    return failed(
        PageErrorCode.TOO_LARGE, f"The answer is larger than {max_bytes / 2**20:.3g} MB, the limit pages.max_bytes."
    )


def _failure_of(error: httpx.HTTPError) -> FetchFailed:
    if isinstance(error, httpx.ConnectTimeout):
        return failed(PageErrorCode.TIMEOUT, "The site did not accept a connection in time.", may_retry=True)
    if isinstance(error, httpx.TimeoutException):
        return failed(PageErrorCode.TIMEOUT, "The site did not answer in time.")
    # A server that hangs up in the middle of the handshake leaves the library without words.
    hung_up = "the site hung up" if isinstance(error, httpx.ConnectError) else ""
    reason = " ".join(str(error).split()).rstrip(".") or hung_up or type(error).__name__
    if reason == hung_up or "SSL" in reason or "certificate" in reason.lower():
        message = (
            f"No secure connection could be made ({reason}); "
            "network.ca_bundle adds certificates, network.allow_legacy_tls admits old servers."
        )
        return failed(PageErrorCode.NETWORK, message)
    return failed(PageErrorCode.NETWORK, f"The connection failed: {reason}.", may_retry=True)


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return _patience(error, state.attempt_number)


def _patience(error: BaseException | None, attempt: int) -> float:
    """Seconds to wait before asking again; endless where the site wants more than we give."""
    asked = error.retry_after_s if isinstance(error, FetchFailed) else None
    if asked is not None:
        return asked if asked <= _MAX_RETRY_AFTER_S else float("inf")
    return 0.5 * 2.0 ** (attempt - 1)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; its other form, a date, is longer than we wait in practice and counts as too long."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    return float(value) if value.isascii() and value.isdigit() else float("inf")
