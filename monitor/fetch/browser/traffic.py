"""What the page of a tab requests and receives, from the DevTools protocol, and what is blocked on the way."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from monitor.urls import get_host

BLOCKED_TYPES = ("Image", "Media", "Font")
_UNAWAITED_TYPES = frozenset({*BLOCKED_TYPES, "EventSource", "WebSocket", "Ping", "CSPViolationReport", "Prefetch"})
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_DATA_TYPES = ("XHR", "Fetch")
_MAX_DATA_URLS = 20
_NAVIGATION_ABORTED = "net::ERR_ABORTED"  # the browser's word for a page that was left before it had loaded
_MAX_TOTAL_FACTOR = 4  # all that a page loads may be as large as so many pages


@dataclass(frozen=True, slots=True)
class MainResponse:
    """The response of the tab's own document; `hops` are the URLs up to it, the last one its own."""

    request_id: str
    status: int
    headers: Mapping[str, str]
    hops: tuple[str, ...]


class Traffic:
    """The requests of one page after another in a tab, and their bytes after decompression.

    The events come in one session with the answers of the page's own scripts, so a request that a script made is known
    before the script's answer is. `main_response` is the document's; `failed_url` is the URL at which the last
    navigation ended without one. `interrupted` is set when the document breaks off, which the browser waits for
    forever. `answers` counts them by endpoint: host and path. `data_urls` are what its scripts got with plain GET, JSON
    first. `on_excess` is called once if the page loads too much.
    """

    def __init__(self, session: CDPSession, frame_id: str, *, max_bytes: int, on_excess: Callable[[], None]) -> None:
        self._session = session
        self._frame_id = frame_id
        self._max_bytes = max_bytes
        self._on_excess = on_excess
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self.interrupted = asyncio.Event()
        self.is_over_limit = False
        self.reset()
        session.on("Network.requestWillBeSent", self._on_request)
        session.on("Network.responseReceived", self._on_response)
        session.on("Network.responseReceivedExtraInfo", self._on_headers)
        session.on("Network.dataReceived", self._on_data)
        session.on("Network.loadingFinished", self._on_finished)
        session.on("Network.loadingFailed", self._on_failed)
        session.on("Fetch.requestPaused", self._on_paused)

    async def start(self, *, blocks: bool) -> None:
        """Begin to listen; with `blocks`, images, fonts and media are not loaded."""
        await self._session.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
        if blocks:
            patterns = [{"urlPattern": "*", "resourceType": kind} for kind in BLOCKED_TYPES]
            await self._session.send("Fetch.enable", {"patterns": patterns})

    def reset(self) -> None:
        """Forget what the last page requested and received."""
        self.main_response: MainResponse | None = None
        self.failed_url: str | None = None
        self.failure_text = ""
        self.answers: Counter[str] = Counter()
        self._data_urls: dict[str, bool] = {}
        self._asked_urls: dict[str, str] = {}
        self._redirect_url = ""
        self._navigation_id = ""
        self._hops: dict[str, list[str]] = {}
        self._pending: dict[str, tuple[str, str]] = {}
        self._received_bytes: Counter[str] = Counter()
        self._has_repeated = False
        self.interrupted.clear()
        self._news.set()

    @property
    def is_idle(self) -> bool:
        return not self._pending

    @property
    def pending_endpoints(self) -> frozenset[str]:
        """Host and path of what the page still waits for."""
        return frozenset(endpoint for _, endpoint in self._pending.values())

    @property
    def data_urls(self) -> list[str]:
        return sorted(self._data_urls, key=lambda url: not self._data_urls[url])[:_MAX_DATA_URLS]

    @property
    def is_redirected_off_web(self) -> bool:
        """Whether the page redirects to a file or a script; browsers stop there silently."""
        return _OTHER_SCHEME.match(self._redirect_url) is not None

    async def wait_for_news(self) -> None:
        """Wait until nothing is pending, or an endpoint has answered that had answered before."""
        while self._pending:
            self._news.clear()
            await self._news.wait()
            if not self._pending or self._has_repeated:
                break
        self._has_repeated = False

    def _is_main(self, event: Mapping[str, Any]) -> bool:
        return event.get("type") == "Document" and event.get("frameId") == self._frame_id

    def _on_request(self, event: dict[str, Any]) -> None:
        request_id, url = event["requestId"], event["request"]["url"]
        if self._is_main(event):
            self.failed_url, self.failure_text = None, ""
            self._navigation_id, self._redirect_url = request_id, url
            self._hops.setdefault(request_id, []).append(url)
        if event.get("type") in _DATA_TYPES and event["request"].get("method") == "GET":
            self._asked_urls[request_id] = url
        # Without a loader it is the script of a worker, whose end is told elsewhere.
        loader = event.get("loaderId")
        if loader and event.get("type") not in _UNAWAITED_TYPES and url.startswith("http"):
            self._pending[request_id] = (loader, _get_endpoint(url))

    def _on_response(self, event: dict[str, Any]) -> None:
        request_id, response = event["requestId"], event["response"]
        asked = self._asked_urls.get(request_id)
        if asked is not None and response["status"] == 200 and len(self._data_urls) < _MAX_DATA_URLS * 2:
            self._data_urls.setdefault(asked, "json" in str(response.get("mimeType")))
        if not self._is_main(event):
            return
        hops = self._hops.get(request_id) or [response["url"]]
        self.main_response = MainResponse(
            request_id, int(response["status"]), _read_headers(response["headers"]), tuple(hops)
        )
        # Earlier requests belong to the previous page.
        self._pending = {
            name: kept for name, kept in self._pending.items() if name == request_id or kept[0] == request_id
        }
        self._news.set()

    def _on_headers(self, event: dict[str, Any]) -> None:
        """Note redirects: the browser reports only those that it follows as requests, here all."""
        if event["requestId"] == self._navigation_id and 300 <= event.get("statusCode", 0) < 400:
            headers = {name.lower(): value for name, value in event["headers"].items()}
            self._redirect_url = headers.get("location", "").strip()

    def _on_data(self, event: dict[str, Any]) -> None:
        name = event["requestId"]
        self._received_bytes[name] += event["dataLength"]
        is_much = self._received_bytes[name] > self._max_bytes
        if (is_much or self._received_bytes.total() > _MAX_TOTAL_FACTOR * self._max_bytes) and not self.is_over_limit:
            self.is_over_limit = True
            self._on_excess()

    def _on_finished(self, event: dict[str, Any]) -> None:
        ended = self._pending.pop(event["requestId"], None)
        if ended is not None:
            self.answers[ended[1]] += 1
            self._has_repeated = self._has_repeated or self.answers[ended[1]] > 1
            self._news.set()

    def _on_failed(self, event: dict[str, Any]) -> None:
        request_id, text = event["requestId"], str(event.get("errorText", ""))
        if request_id in self._hops:
            self.failed_url, self.failure_text = self._hops[request_id][-1], text
            has_begun = self.main_response is not None and self.main_response.request_id == request_id
            if has_begun and text != _NAVIGATION_ABORTED:
                self.interrupted.set()
        self._on_finished(event)

    def _on_paused(self, event: dict[str, Any]) -> None:
        task = asyncio.ensure_future(self._block(event["requestId"]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _block(self, request_id: str) -> None:
        with contextlib.suppress(PlaywrightError):  # the page may have gone meanwhile
            await self._session.send("Fetch.failRequest", {"requestId": request_id, "errorReason": "BlockedByClient"})


def _get_endpoint(url: str) -> str:
    try:
        return get_host(url) + urlsplit(url).path
    except ValueError:
        return ""


def _read_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers by their names in lower case; the protocol separates repeated ones by line ends."""
    return {
        name.lower(): value if name.lower() == "set-cookie" else ", ".join(value.split("\n"))
        for name, value in headers.items()
    }
