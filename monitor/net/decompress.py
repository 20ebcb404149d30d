"""Decompression with a limit: a kilobyte that swells to a gigabyte must stop at the limit, not after it."""

import io
import zlib

import brotli
import zstandard

# Honest answers have one coding and one gzip member; each more is work that a stranger makes for us.
_MAX_CODINGS = 3
_MAX_MEMBERS = 256

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
    if len(codings) > _MAX_CODINGS:
        raise Garbled(f"the body is packed {len(codings)} times over")
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
    for _ in range(_MAX_MEMBERS):
        if not body or len(whole) >= limit:
            return whole
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        whole += member.decompress(body, limit - len(whole))
        if not member.eof:
            return whole
        # gzip files may be joined end to end; whatever else follows is padding.
        body = member.unused_data if member.unused_data.startswith(b"\x1f\x8b") else b""
    raise Garbled(f"the body is cut into more than {_MAX_MEMBERS} pieces")


def _inflate(body: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, limit)
    except zlib.error:
        # "deflate" without its zlib frame, as some servers send it.
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, limit)
