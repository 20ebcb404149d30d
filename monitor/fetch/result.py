"""What came of asking for one address, once."""

import datetime as dt
import io
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import brotli
import zstandard
from selectolax.lexbor import LexborHTMLParser

from monitor.errors import WorkFailed
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import FetchMode

NO_BROWSER = "no_browser"
"""The detail code of a sighting that came to nothing because no browser could be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The answer as the parsers see it, or `error`; an error may have an answer behind it, a block page for one.

    `at` is when it was asked for. Header names are in lower case, the body is decompressed, for a drawn page it is the
    document as it stood in the end; None: nothing came. `hops` are the urls on the way to `final_url`. `notes` is what
    the run should say about getting there, by url; `record` the id under which it was kept.
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
    error: PageError | None = None
    notes: Mapping[str, Message] = field(default_factory=dict)
    record: str | None = None

    @property
    def content_type(self) -> str | None:
        """The content type with its parameters, as it was sent."""
        return self.headers.get("content-type")


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: header names in lower case, the body decompressed and within the limit.

    `final_url` is where the redirects ended; `hops` are the urls on the way there, first to last, without it.
    `is_from_cache`: the body did not travel, because the site said that what we had still holds. `is_cut_short`: the
    page, drawn in a browser, showed more of its list each time that it was asked, and was not asked to the end.
    """

    url: str
    final_url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[str, ...] = ()
    is_from_cache: bool = False
    is_cut_short: bool = False

    @property
    def content_type(self) -> str | None:
        """The content type with its parameters, as it was sent."""
        return self.headers.get("content-type")


class FetchError(WorkFailed):
    """The outside gave no usable answer, or we refused to ask.

    `error` is what the page says about it; `response` the answer, where there was one (a block page is kept for
    debugging); `may_retry` whether asking again at once could help, `parse_retry_after` how long the site asks us to wait.
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


def build_fetch_error(
    code: PageErrorCode, message: str, *, detail_code: str | None = None, may_retry: bool = False, **args: Any
) -> FetchError:
    """Return a failure without an answer behind it; `message` is a code of the catalogue (`page.*`) for `args`."""
    error = PageError(code=code, detail_code=detail_code, message=Message(message, args))
    return FetchError(error, may_retry=may_retry)


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


def classify_response(status: int, headers: Mapping[str, str], body: bytes, url: str) -> PageError | None:
    """The error that an answer stands for, or None where it is a page.

    `headers` have lower-case names; `url` is the final one, because some walls are a redirect to a captcha's address.
    """
    if _is_captcha_challenge(status, headers, body, url):
        return _build_block_error(CAPTCHA_REQUIRED, "page.captcha")
    if status == 412 or (status in _SCRIPT_CHALLENGE_STATUSES and _is_script_only(body)):
        return _build_block_error(SCRIPT_CHALLENGE, "page.script_challenge", status=status)
    if status == 429:
        return _build_block_error(TOO_MANY_REQUESTS, "page.too_often")
    if status in _FORBIDDEN_STATUSES:
        return _build_block_error("http_403", "page.refused", status=status)
    if status in _NOT_FOUND_STATUSES:
        return PageError(code=PageErrorCode.NOT_FOUND, message=Message.of("page.not_found", status=status))
    if status == 408:
        return PageError(code=PageErrorCode.TIMEOUT, message=Message("page.gave_up"))
    if status >= 400 or 300 <= status < 400:
        return PageError(code=PageErrorCode.BAD_GATEWAY, message=Message.of("page.server_error", status=status))
    return None


def is_retryable(status: int, headers: Mapping[str, str]) -> bool:
    """Whether the same question may get another answer in a moment: 502, 503, 504, and a 429 that says when."""
    return status in _RETRYABLE_STATUSES or (status == 429 and "retry-after" in headers)


def _build_block_error(detail_code: str, message: str, **args: Any) -> PageError:
    return PageError(code=PageErrorCode.WEB_BLOCKED, detail_code=detail_code, message=Message(message, args))


def _is_captcha_challenge(status: int, headers: Mapping[str, str], body: bytes, url: str) -> bool:
    if headers.get("cf-mitigated") == "challenge" or headers.get("x-amzn-waf-action") in ("captcha", "challenge"):
        return True
    if status in _NOT_FOUND_STATUSES:
        return False
    # Only the path of where we ended counts: a query may be about anything.
    if _CAPTCHA_PATH.search(urlsplit(url).path) and len(body) < 200_000:
        return True
    if b"challenge" not in body and b"captcha" not in body and b"anomaly" not in body:
        return False
    tree = LexborHTMLParser(body[:200_000])
    return tree.css_first(_CAPTCHA_SELECTORS) is not None and len(_extract_visible_text(tree)) < _MAX_CHALLENGE_CHARS


def _is_script_only(body: bytes) -> bool:
    if not body.strip() or len(body) > 500_000:
        return False
    tree = LexborHTMLParser(body)
    return tree.css_first("script") is not None and len(_extract_visible_text(tree)) <= _MAX_SHELL_CHARS


def _extract_visible_text(tree: LexborHTMLParser) -> str:
    tree.strip_tags(["script", "style", "noscript", "template"])
    return " ".join(tree.body.text(separator=" ").split()) if tree.body else ""


# Honest answers have one coding and one gzip member; each more is work that a stranger makes for us.
_MAX_CODINGS = 3

_MAX_MEMBERS = 256

ACCEPT_ENCODING = "gzip, deflate, br, zstd"


class DecompressionLimitError(Exception):
    """The body is larger than the limit once it is decompressed."""


class DecompressionError(Exception):
    """The body is not what its content encoding says."""


def decompress(body: bytes, content_encoding: str, *, max_bytes: int) -> bytes:
    """The body without its content codings, undone in reverse order; `DecompressionLimitError` or `DecompressionError` where that fails.

    A body that ends early gives what arrived: half a page is better than none, and the parsers cope.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    if len(codings) > _MAX_CODINGS:
        raise DecompressionError(f"the body is packed {len(codings)} times over")
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
        if coding == "br":
            unpacked: bytes = brotli.Decompressor().process(body, output_buffer_limit=limit)
            return unpacked
        if coding == "zstd":
            return zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(io.BytesIO(body)).read(limit)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise DecompressionError(f"the body is not valid {coding}") from error
    raise DecompressionError(f"the content coding {coding[:40]!r} is unknown")


def _gunzip(body: bytes, limit: int) -> bytes:
    whole = b""
    for _ in range(_MAX_MEMBERS):
        if not body or len(whole) >= limit:
            return whole
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        whole += member.decompress(body, limit - len(whole))
        if not member.eof:
            return whole
        # gzip files may be joined end to end; whatever else follows is padding.
        body = member.unused_data if member.unused_data.startswith(b"\x1f\x8b") else b""
    raise DecompressionError(f"the body is cut into more than {_MAX_MEMBERS} pieces")


def _inflate(body: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, limit)
    except zlib.error:
        # "deflate" without its zlib frame, as some servers send it.
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, limit)


class Recorder(Protocol):
    """Keeps what one run sees, before anybody reads it."""

    async def keep(self, sighting: FetchResult) -> str:
        """The id of the record; `WorkFailed` where it cannot be kept."""
        ...


class Transport(Protocol):
    """What answers when a run asks for an address: the sites themselves, or the records of an earlier run."""

    async def fetch(self, url: str, mode: FetchMode) -> FetchResult:
        """What came of asking. Never raises for what the outside does: that is the sighting's `error`."""
        ...

    def can_render(self) -> bool:
        """Whether there is a browser to draw with; it may still fail to start."""
        ...

    def renders_first(self, url: str) -> bool:
        """Whether pages beside this one were found to need the browser."""
        ...

    def mark_rendered(self, url: str) -> None:
        """Take down that the page at `url` needs the browser."""
        ...

    def for_run(self, recorder: Recorder | None) -> "Transport":
        """The same outside as another run meets it, from its beginning."""
        ...

    async def close(self) -> None:
        """Give back what is held open."""
        ...
