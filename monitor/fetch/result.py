"""What a fetch gives: a result, a response or an error, and what status, headers and body of a response mean.

Also the seams `Transport` and `Recorder`, which runs are built on.
"""

import datetime as dt
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser

from monitor.errors import WorkFailed
from monitor.i18n.message import Message
from monitor.markup import parse_html
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import FetchMode

ACCEPT_ENCODING = "gzip, deflate"

# Detail codes of page errors.
NO_BROWSER = "no_browser"
CAPTCHA_REQUIRED = "captcha_required"
SCRIPT_CHALLENGE = "http_412"
TOO_MANY_REQUESTS = "http_429"
_NOT_FOUND_STATUSES = (404, 410)
_FORBIDDEN_STATUSES = (401, 403, 407, 451)
_RETRYABLE_STATUSES = (502, 503, 504)

# Statuses that script-cookie walls answer with: the script in the body sets a cookie and loads the page again.
_SCRIPT_CHALLENGE_STATUSES = (202, 412, 521)
_CAPTCHA_PATH = re.compile(r"/(captcha(/|\.|$)|anomaly\.js|cdn-cgi/challenge)", re.IGNORECASE)
_CAPTCHA_SELECTORS = (
    "form#challenge-form, div#challenge-running, #cf-challenge-running, form[action*='captcha'], "
    "form[action*='anomaly.js'], #captcha-container, #px-captcha, iframe[src*='captcha-delivery.com']"
)
_MAX_CHALLENGE_CHARS = 2_000  # visible characters; a page with more than that is a page
_MAX_SHELL_CHARS = 40

# An honest response has one coding and one gzip member; more of them only cost us work.
_MAX_CODINGS = 3
_MAX_MEMBERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The outcome of one fetch, as the parsers read it; a response may stand behind `error`, such as a block page.

    `at` is when the request was made. Header names are in lower case; `body` is decompressed, for a rendered page it
    is the final document, and None if nothing came. `hops` are the URLs on the way to `final_url`. `notes` says by URL
    what the run should report besides; `record` is the id under which the result was kept. `data_urls` are what a
    rendered page's scripts asked for, where a plain GET answered it; they are not kept.
    """

    url: str
    mode: FetchMode
    at: dt.datetime
    final_url: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    hops: tuple[str, ...] = ()
    is_cut_short: bool = False
    data_urls: tuple[str, ...] = ()
    error: PageError | None = None
    notes: Mapping[str, Message] = field(default_factory=dict)
    record: str | None = None

    @property
    def content_type(self) -> str | None:
        return self.headers.get("content-type")


@dataclass(frozen=True, slots=True)
class Response:
    """A response: header names in lower case, the body decompressed and within the limit.

    `hops` are the URLs that redirected, first to last; `final_url` is where they ended. `is_from_cache`: the body came
    from disk. `is_cut_short`: the list on the rendered page could be extended further than it was. `data_urls` are
    what its scripts asked for.
    """

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[str, ...] = ()
    is_from_cache: bool = False
    is_cut_short: bool = False
    data_urls: tuple[str, ...] = ()

    @property
    def content_type(self) -> str | None:
        return self.headers.get("content-type")


class FetchError(WorkFailed):
    """No usable response came, or the request was refused by us.

    `response` is the response behind the error, if there was one; `may_retry` says whether another attempt could help
    at once, `retry_after_s` how long the site asks us to wait.
    """

    def __init__(
        self,
        error: PageError,
        *,
        response: Response | None = None,
        may_retry: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.response = response
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s

    @classmethod
    def of(
        cls,
        code: PageErrorCode,
        message: str,
        /,
        *,
        detail_code: str | None = None,
        may_retry: bool = False,
        **args: Any,
    ) -> Self:
        """Return an error without a response; `message` is a code of the catalogue with `args`."""
        return cls(_build_page_error(code, message, detail_code, **args), may_retry=may_retry)

    @classmethod
    def too_large(cls, max_bytes: int) -> Self:
        return cls.of(PageErrorCode.TOO_LARGE, "page.too_large", limit_mb=f"{max_bytes / 2**20:.3g}")


def classify_response(status: int, headers: Mapping[str, str], body: bytes, url: str) -> PageError | None:
    """Return the error that a response stands for, or None if it is a page.

    `headers` have lower-case names; `url` is the final one, because some walls are a redirect to a captcha.
    """
    blocked = PageErrorCode.WEB_BLOCKED
    if _is_captcha_challenge(status, headers, body, url):
        return _build_page_error(blocked, "page.captcha", CAPTCHA_REQUIRED)
    if status == 412 or (status in _SCRIPT_CHALLENGE_STATUSES and _is_script_only(body)):
        return _build_page_error(blocked, "page.script_challenge", SCRIPT_CHALLENGE, status=status)
    if status == 429:
        return _build_page_error(blocked, "page.too_often", TOO_MANY_REQUESTS)
    if status in _FORBIDDEN_STATUSES:
        return _build_page_error(blocked, "page.refused", "http_403", status=status)
    if status in _NOT_FOUND_STATUSES:
        return _build_page_error(PageErrorCode.NOT_FOUND, "page.not_found", status=status)
    if status == 408:
        return _build_page_error(PageErrorCode.TIMEOUT, "page.gave_up")
    if status >= 300:
        return _build_page_error(PageErrorCode.BAD_GATEWAY, "page.server_error", status=status)
    return None


def is_retryable(status: int, headers: Mapping[str, str]) -> bool:
    """Whether another attempt may succeed soon: 502, 503, 504, and a 429 that says when."""
    return status in _RETRYABLE_STATUSES or (status == 429 and "retry-after" in headers)


def _build_page_error(code: PageErrorCode, message: str, detail_code: str | None = None, **args: Any) -> PageError:
    return PageError(code=code, detail_code=detail_code, message=Message(message, args))


def _is_captcha_challenge(status: int, headers: Mapping[str, str], body: bytes, url: str) -> bool:
    if headers.get("cf-mitigated") == "challenge" or headers.get("x-amzn-waf-action") in ("captcha", "challenge"):
        return True
    if status in _NOT_FOUND_STATUSES:
        return False
    # Only the path of the final URL counts: a query may be about anything.
    if _CAPTCHA_PATH.search(urlsplit(url).path) and len(body) < 200_000:
        return True
    if b"challenge" not in body and b"captcha" not in body and b"anomaly" not in body:
        return False
    tree = parse_html(body[:200_000].decode(errors="replace"))
    return tree.css_first(_CAPTCHA_SELECTORS) is not None and len(_extract_visible_text(tree)) < _MAX_CHALLENGE_CHARS


def _is_script_only(body: bytes) -> bool:
    if not body.strip() or len(body) > 500_000:
        return False
    tree = parse_html(body.decode(errors="replace"))
    return tree.css_first("script") is not None and len(_extract_visible_text(tree)) <= _MAX_SHELL_CHARS


def _extract_visible_text(tree: LexborHTMLParser) -> str:
    tree.strip_tags(["script", "style", "noscript", "template"])
    return " ".join(tree.body.text(separator=" ").split()) if tree.body else ""


class DecompressionLimitError(Exception):
    """The body is larger than the limit once it is decompressed."""


class DecompressionError(Exception):
    """The body is not what its content encoding says; `message` says why."""

    def __init__(self, code: str, **args: Any) -> None:
        super().__init__(code)
        self.message = Message(code, args)


def decompress(body: bytes, content_encoding: str, *, max_bytes: int) -> bytes:
    """Undo the content codings of a body; raise `DecompressionLimitError` or `DecompressionError` if that fails.

    A body that ends early gives what arrived: half a page is better than none.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    if len(codings) > _MAX_CODINGS:
        raise DecompressionError("fetch.too_many_codings", count=len(codings))
    for coding in reversed(codings):
        body = _decode(body, coding, max_bytes + 1)
        if len(body) > max_bytes:
            raise DecompressionLimitError
    return body


def _decode(body: bytes, coding: str, limit: int) -> bytes:
    if not body or coding in ("", "identity"):
        return body
    try:
        if coding in ("gzip", "x-gzip"):
            return _gunzip(body, limit)
        if coding == "deflate":
            return _inflate(body, limit)
    except zlib.error as error:
        raise DecompressionError("fetch.coding_invalid", coding=coding) from error
    raise DecompressionError("fetch.coding_unknown", coding=coding[:40])


def _gunzip(body: bytes, limit: int) -> bytes:
    decoded = b""
    for _ in range(_MAX_MEMBERS):
        if not body or len(decoded) >= limit:
            return decoded
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        decoded += member.decompress(body, limit - len(decoded))
        if not member.eof:
            return decoded
        # gzip files may be joined end to end; anything else that follows is padding.
        body = member.unused_data if member.unused_data.startswith(b"\x1f\x8b") else b""
    raise DecompressionError("fetch.too_many_members", count=_MAX_MEMBERS)


def _inflate(body: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, limit)
    except zlib.error:
        # "deflate" without its zlib frame, as some servers send it.
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, limit)


class Recorder(Protocol):
    """Keeps the results of one run before anything is parsed."""

    async def keep(self, result: FetchResult) -> str:
        """Return the id of the record; raise `WorkFailed` if it cannot be kept."""
        ...


class Transport(Protocol):
    """What answers the requests of a run: the sites themselves, or the records of an earlier run."""

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        """Return what came of the request; a site's failure is the result's `error` and is never raised."""
        ...

    def can_render(self) -> bool:
        """Whether there is a browser; it may still fail to start."""
        ...

    def list_sitemaps(self, url: str) -> list[str]:
        """Return the sitemaps that the robots.txt of a site names, once something was fetched from it."""
        ...

    def renders_first(self, url: str) -> bool:
        """Whether pages in the same folder were found to need the browser."""
        ...

    def mark_rendered(self, url: str) -> None:
        """Remember that the page at `url` needs the browser."""
        ...

    def for_run(self, recorder: Recorder | None) -> "Transport":
        """Return a transport to the same sites for another run, which keeps its results with `recorder`."""
        ...

    async def close(self) -> None: ...
