import datetime as dt
import hashlib
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from monitor.evidence.warc import build_head, build_member, extract_body
from monitor.fetch.result import FetchResult
from monitor.vocabulary import FetchMode

AT = dt.datetime(2026, 2, 3, 8, 30, 0, 123456, tzinfo=dt.UTC)


def written(body: bytes, **changes: Any) -> bytes:
    values = {
        "url": "http://a.example/",
        "mode": FetchMode.HTTP,
        "at": AT,
        "final_url": "http://a.example/文/?a=1",
        "status": 200,
    }
    result = FetchResult(body=body, **(values | changes))
    return build_head(AT) + build_member(result, sha256=hashlib.sha256(body).hexdigest())


def records(content: bytes) -> list[tuple[str, Any, bytes]]:
    """As any reader of web archives sees it, which checks the digests and undoes what the headers say."""
    records = ArchiveIterator(io.BytesIO(content), check_digests="raise")
    return [(record.rec_type, record, record.content_stream().read()) for record in records]


def test_another_reader_sees_the_body_that_the_parsers_saw() -> None:
    headers = {"content-type": "text/html; charset=gbk", "content-encoding": "br", "transfer-encoding": "chunked"}
    body = "<p>通知</p>".encode("gbk")
    (info, _, _), (kind, record, read) = records(written(body, headers=headers | {"set-cookie": "s=1"}))
    assert (info, kind, read) == ("warcinfo", "response", body)
    assert record.rec_headers.get_header("WARC-Target-URI") == "http://a.example/%E6%96%87/?a=1"
    assert record.rec_headers.get_header("WARC-Date") == "2026-02-03T08:30:00.123456Z"
    assert record.http_headers.get_statuscode() == "200"
    kept = dict(record.http_headers.headers)
    assert kept == {
        "content-type": "text/html; charset=gbk",
        "x-original-content-encoding": "br",
        "x-original-transfer-encoding": "chunked",
        "content-length": str(len(body)),
    }


def test_a_drawn_page_is_no_answer_of_a_server() -> None:
    body = b"\xef\xbb\xbfHTTP/1.1 200 OK\r\n\r\n<p>drawn</p>"
    headers = {"content-type": "text/html; charset=utf-8"}
    _, (kind, record, read) = records(written(body, mode=FetchMode.RENDERED, headers=headers))
    assert (kind, read, record.http_headers) == ("conversion", body, None)
    assert record.rec_headers.get_header("Content-Type") == "text/html; charset=utf-8"


@pytest.mark.parametrize("content_type", ["\n", "text/html\r\nContent-Length: 0\r\n\r\n", "text/html\ntext/html"])
def test_a_line_end_in_a_header_starts_no_other_header(content_type: str) -> None:
    for mode in FetchMode:
        (_, (_, record, read)) = records(written(b"<p>", mode=mode, headers={"content-type": content_type}))
        assert read == b"<p>"
        assert record.rec_headers.get_header("Content-Length") != "0"


@settings(max_examples=50)
@given(
    st.binary(max_size=2000),
    st.sampled_from(FetchMode),
    st.sampled_from([None, 200, 204, 404, 521, 999]),
    st.dictionaries(st.sampled_from(["content-type", "x-a", "content-length", "location"]), st.text(max_size=30)),
)
def test_whatever_came_is_there_again(
    body: bytes, mode: FetchMode, status: int | None, headers: dict[str, str]
) -> None:
    assert extract_body(written(body, mode=mode, status=status, headers=headers)) == body


@pytest.mark.parametrize("content", [b"", b"junk", b"\x1f\x8b\x08\x00junk", b"WARC/1.1\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_record_holds_no_body(content: bytes) -> None:
    assert extract_body(content) is None
