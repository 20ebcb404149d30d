"""WARC records: a fetched response as a gzip member of a WARC 1.1 file, and the body in one."""

import datetime as dt
import gzip
import io
import re
import uuid
import zlib
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from urllib.parse import quote

from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode

# The body is kept unpacked, so these no longer describe it.
_TRANSFER_HEADERS = ("content-encoding", "transfer-encoding", "content-length")

# Session cookies are not for later readers of the archive.
_COOKIE_HEADERS = ("set-cookie", "set-cookie2")
_SAFE_URI_CHARS = "%/:?#[]@!$&'()*+,;=~"
_HTTP_URL = re.compile(r"https?://", re.IGNORECASE)
_GZIP_LEVEL = 4
_STATUSES = frozenset(HTTPStatus)
_RESPONSE_RECORD, _CONVERSION_RECORD, _RESOURCE_RECORD = "response", "conversion", "resource"


def filter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _COOKIE_HEADERS}


def build_head(at: dt.datetime) -> bytes:
    """Build what a WARC file begins with: a `warcinfo` record, as a gzip member."""
    about = b"software: Monitor\r\nformat: WARC File Format 1.1\r\n"
    fields = {"WARC-Type": "warcinfo", "WARC-Date": _format_date(at)}
    return _build_member(fields | {"Content-Type": "application/warc-fields"}, about)


def build_member(result: FetchResult, *, sha256: str) -> bytes:
    """Build the record of a fetched response, as a gzip member of a WARC file.

    The body is unpacked, as the parsers saw it; the headers that describe how it was packed are kept as `x-original-…`.
    A page that a browser rendered is a `conversion`: no server ever sent it so. What did not come over HTTP, as a
    document that somebody uploaded, is a `resource`.
    """
    body = result.body or b""
    is_rendered, is_resource = result.mode is FetchMode.RENDERED, not _HTTP_URL.match(result.final_url)
    fields = {
        "WARC-Type": _CONVERSION_RECORD if is_rendered else _RESOURCE_RECORD if is_resource else _RESPONSE_RECORD,
        "WARC-Date": _format_date(result.at),
        "WARC-Target-URI": quote(result.final_url, safe=_SAFE_URI_CHARS, errors="replace"),
        "WARC-Payload-Digest": f"sha256:{sha256}",
    }
    if is_rendered or is_resource:
        fallback = "text/html; charset=utf-8" if is_rendered else "application/octet-stream"
        fields["Content-Type"] = _join_header_lines(result.content_type or "").strip() or fallback
        return _build_member(fields, body)
    fields["Content-Type"] = "application/http; msgtype=response"
    lines = [f"HTTP/1.1 {_format_status_line(result.status)}"]
    lines += [f"{name}: {value}" for name, value in _build_http_headers(result, len(body))]
    return _build_member(fields, _encode_lines(lines) + body)


def _build_member(fields: Mapping[str, str], block: bytes) -> bytes:
    named = {"WARC-Record-ID": f"<urn:uuid:{uuid.uuid4()}>", **fields, "Content-Length": str(len(block))}
    lines = ["WARC/1.1", *(f"{name}: {value}" for name, value in named.items())]
    return gzip.compress(_encode_lines(lines) + block + b"\r\n\r\n", _GZIP_LEVEL, mtime=0)


def _encode_lines(lines: Iterable[str]) -> bytes:
    return "\r\n".join((*lines, "", "")).encode(errors="replace")


def _format_date(at: dt.datetime) -> str:
    return f"{at.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def extract_body(content: bytes) -> bytes | None:
    """Return the body in a WARC file; None where there is none."""
    from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
    from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped]

    try:
        for record in ArchiveIterator(io.BytesIO(content)):
            if record.rec_type in (_RESPONSE_RECORD, _CONVERSION_RECORD, _RESOURCE_RECORD):
                return bytes(record.raw_stream.read())
    except (ArchiveLoadFailed, OSError, EOFError, ValueError, AttributeError, LookupError, TypeError, zlib.error):
        return None  # in a damaged file warcio meets whatever there is
    return None


def _format_status_line(status: int | None) -> str:
    code = status or 200
    phrase = HTTPStatus(code).phrase if code in _STATUSES else ""
    return f"{code} {phrase}".strip()


def _build_http_headers(result: FetchResult, length: int) -> list[tuple[str, str]]:
    kept = [
        (f"x-original-{name}" if name in _TRANSFER_HEADERS else name, _join_header_lines(value))
        for name, value in filter_headers(result.headers).items()
    ]
    return [*kept, ("content-length", str(length))]


def _join_header_lines(value: str) -> str:
    # A browser joins headers of one name by line ends, which would end ours.
    return re.sub(r"[\r\n]+", " ", value)
