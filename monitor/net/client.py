"""The HTTP client: the one way out for everything but the browser."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import httpcore
import httpx

from monitor.domain.page import PageErrorCode
from monitor.errors import SettingsError
from monitor.net.blocks import error_of_status, may_change
from monitor.net.caching import CachingTransport, Keep, is_from_cache
from monitor.net.decompress import ACCEPTED, Garbled, TooMuch, decompress
from monitor.net.failure import FetchFailed, failed
from monitor.net.guard import Guard, GuardedBackend
from monitor.net.patience import patiently, retry_after_s
from monitor.net.question import Question
from monitor.net.response import Response
from monitor.net.tls import tls_context
from monitor.settings import NetworkSettings

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
        limit = max_bytes or self._max_bytes
        question = Question(url=url, method=method, headers=dict(headers or {}), content=content, keep=keep)

        async def follow() -> Response:
            return await self._follow(question, limit)

        return await patiently(
            follow, budget_s=timeout_s or self._timeout_s, may_repeat=method in ("GET", "HEAD"), sleep=self._sleep
        )

    async def ask(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Response:
        """The answer to a question that changes nothing, whatever its status; `FetchFailed` where none came.

        It is asked again as `fetch` does, by POST as well. No redirect is followed: where it leads tells the asker.
        """
        question = Question(url=url, method=method, headers=dict(headers or {}), content=content, keep=None)

        async def once() -> Response:
            return _checked(await self._guarded(question, self._max_bytes, []))

        try:
            return await patiently(once, budget_s=timeout_s or self._timeout_s, may_repeat=True, sleep=self._sleep)
        except FetchFailed as failure:
            if failure.response is None:
                raise
            return failure.response

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> Response:
        """The answer to something that is handed over, whatever its status; `FetchFailed` where none came.

        It is handed over once: no second try, and no redirect followed, which would make another question of it.
        """
        question = Question(url=url, method="POST", headers=headers, content=content, keep=None)

        async def once() -> Response:
            return await self._guarded(question, self._max_bytes, [])

        return await patiently(once, budget_s=self._timeout_s, may_repeat=False, sleep=self._sleep)

    async def _follow(self, question: Question, max_bytes: int) -> Response:
        hops: list[str] = []
        while True:
            response = await self._guarded(question, max_bytes, hops)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location:
                break
            hops.append(question.url)
            if len(hops) > _MAX_REDIRECTS:
                raise failed(PageErrorCode.NETWORK, f"The site redirects more than {_MAX_REDIRECTS} times.")
            question = question.redirected(response.status, location)
        return _checked(response)

    async def _guarded(self, question: Question, max_bytes: int, hops: list[str]) -> Response:
        await self.guard.check(question.url, may_be_unresolved=self._has_proxy)
        return await self._exchange(question, max_bytes, hops)

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
    context = _context(network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
    if network.proxy is None:
        return _GuardedTransport(context, guard)
    # The proxy resolves and connects; every url and every redirect is checked by the guard before it is asked.
    try:
        return httpx.AsyncHTTPTransport(verify=context, http2=True, proxy=network.proxy)
    except (ValueError, httpx.InvalidURL) as error:
        raise SettingsError(f"network.proxy is not the url of a proxy ({error}); write http://host:port.") from error


@cache
def _context(ca_bundle: Path | None, *, allow_legacy_tls: bool) -> ssl.SSLContext:
    """One for all clients of the process: reading all the roots takes longer than many a request."""
    return tls_context(ca_bundle=ca_bundle, allow_legacy_tls=allow_legacy_tls)


async def _set_location_aside(answer: httpx.Response) -> None:
    """The library reads a redirect's address even when told not to follow it, and fails on an odd one."""
    if location := answer.headers.pop("location", None):
        answer.extensions["location"] = location


def _location(answer: httpx.Response) -> dict[str, str]:
    return {"location": answer.extensions["location"]} if "location" in answer.extensions else {}


def _checked(response: Response) -> Response:
    """The answer, where it is no error."""
    if error := error_of_status(response.status, response.headers, response.body, response.final_url):
        raise FetchFailed(
            error,
            response=response,
            may_retry=may_change(response.status, response.headers),
            retry_after_s=retry_after_s(response.headers),
        )
    return response


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
