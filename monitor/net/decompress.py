"""Decompression with a limit: a kilobyte that swells to a gigabyte must stop at the limit, not after it."""

import io
import zlib

import brotli
import zstandard

ACCEPTED = "gzip, deflate, br, zstd"


class TooMuch(Exception):
    """The body is larger than the limit once it is decompressed."""


class Garbled(Exception):
    """The body is not what its content encoding says."""


def decompress(body: bytes, content_encoding: str, *, max_bytes: int) -> bytes:
    """The body without its content codings, undone in reverse order; `TooMuch` or `Garbled` where that fails.

    A body that ends early gives what arrived: half a page is better than none, and the parsers cope.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    for coding in reversed(codings):
        body = _undo(body, coding, max_bytes + 1)
        if len(body) > max_bytes:
            raise TooMuch
    return body


def _undo(body: bytes, coding: str, limit: int) -> bytes:
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
        raise Garbled(f"the body is not valid {coding}") from error
    raise Garbled(f"the content coding {coding[:40]!r} is unknown")


def _gunzip(body: bytes, limit: int) -> bytes:
    whole = b""
    while body and len(whole) < limit:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        whole += member.decompress(body, limit - len(whole))
        if not member.eof:
            break
        # gzip files may be joined end to end; whatever else follows is padding.
        body = member.unused_data if member.unused_data.startswith(b"\x1f\x8b") else b""
    return whole


def _inflate(body: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, limit)
    except zlib.error:
        # "deflate" without its zlib frame, as some servers send it.
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, limit)
