"""One sighting as a WARC file (ISO 28500): readable by every tool for web archives, and by us."""

import gzip
import io
import re
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote

from monitor.domain.sighting import Sighting, Way

# What the body was packed in on its way says nothing of the body that is kept.
_OF_THE_WAY = ("content-encoding", "transfer-encoding", "content-length")
# A session is the site's and ours; whoever reads the archive later has no business in it.
_SECRET = ("set-cookie", "set-cookie2")
_URI = "%/:?#[]@!$&'()*+,;=~"
_LEVEL = 4
_RESPONSE, _DRAWN = "response", "conversion"


def headers_kept(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer as far as they are kept: without cookies."""
    return {name: value for name, value in headers.items() if name not in _SECRET}


def warc_file(sighting: Sighting, *, sha256: str) -> bytes:
    """The answer of a sighting as a gzipped WARC file: a `warcinfo` and the record.

    The body stands in it as the parsers saw it, unpacked: the headers that told how it was packed are there under
    `x-original-…`. A page that a browser drew is a `conversion`: no server ever sent it so.
    """
    from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
    from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

    written = io.BytesIO()
    writer = WARCWriter(written, gzip=False, warc_version="1.1")
    body = sighting.body or b""
    warc_headers = {
        "WARC-Date": f"{sighting.at:%Y-%m-%dT%H:%M:%S.%fZ}",
        "WARC-Payload-Digest": f"sha256:{sha256}",
    }
    content_type, http_headers = "application/http; msgtype=response", None
    if sighting.way is Way.DRAWN:
        content_type = _one_line(sighting.content_type or "").strip() or "text/html; charset=utf-8"
    else:
        http_headers = StatusAndHeaders(_status_line(sighting.status), _http_headers(sighting, len(body)), "HTTP/1.1")
    record = writer.create_warc_record(
        quote(sighting.final_url, safe=_URI, errors="replace"),
        _DRAWN if sighting.way is Way.DRAWN else _RESPONSE,
        payload=io.BytesIO(body),
        length=len(body),
        http_headers=http_headers,
        warc_headers_dict=warc_headers,
        warc_content_type=content_type,
    )
    about = {"software": "Monitor", "format": "WARC File Format 1.1"}
    members = []
    for one in (writer.create_warcinfo_record("", about), record):
        written.seek(0)
        written.truncate()
        writer.write_record(one)
        members.append(gzip.compress(written.getvalue(), _LEVEL, mtime=0))
    return b"".join(members)


def body_in(content: bytes) -> bytes | None:
    """The body in such a file; None where it holds none, or is no such file."""
    from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
    from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped]

    try:
        for record in ArchiveIterator(io.BytesIO(content)):
            if record.rec_type in (_RESPONSE, _DRAWN):
                return bytes(record.raw_stream.read())
    except (ArchiveLoadFailed, OSError, EOFError, ValueError):
        return None
    return None


def _status_line(status: int | None) -> str:
    code = status or 200
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else ""
    return f"{code} {phrase}".strip()


def _http_headers(sighting: Sighting, length: int) -> list[tuple[str, str]]:
    kept = [
        (f"x-original-{name}" if name in _OF_THE_WAY else name, _one_line(value))
        for name, value in headers_kept(sighting.headers).items()
    ]
    return [*kept, ("content-length", str(length))]


def _one_line(value: str) -> str:
    """A header's value without its line ends: a browser joins headers of one name by them, and they would end ours."""
    return re.sub(r"[\r\n]+", " ", value)
