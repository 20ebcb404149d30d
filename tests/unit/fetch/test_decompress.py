import gzip
import zlib

import pytest

from monitor.fetch.result import DecompressionError, DecompressionLimitError, decompress

TEXT = "公开信息 ".encode() * 500


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("coding", PACKERS)
def test_every_coding_that_is_asked_for_is_undone(coding: str) -> None:
    assert decompress(PACKERS[coding](TEXT), coding, max_bytes=len(TEXT)) == TEXT


@pytest.mark.parametrize("coding", PACKERS)
def test_a_bomb_stops_at_the_limit(coding: str) -> None:
    with pytest.raises(DecompressionLimitError):
        decompress(PACKERS[coding](b"\0" * 30_000_000), coding, max_bytes=1_000_000)


@pytest.mark.parametrize("coding", PACKERS)
def test_what_is_not_compressed_as_it_says_is_garbled(coding: str) -> None:
    with pytest.raises(DecompressionError):
        decompress(b"<html>plain after all</html>", coding, max_bytes=1_000)


def test_odd_but_honest_forms_are_read() -> None:
    assert decompress(raw_deflate(TEXT), "deflate", max_bytes=99_999) == TEXT
    assert decompress(gzip.compress(TEXT) + gzip.compress(b"more"), "gzip", max_bytes=99_999) == TEXT + b"more"
    assert decompress(zlib.compress(gzip.compress(TEXT)), "gzip, deflate", max_bytes=99_999) == TEXT
    assert decompress(TEXT, "", max_bytes=99_999) == TEXT
    assert decompress(b"", "gzip", max_bytes=10) == b""


def test_half_a_body_gives_what_arrived() -> None:
    packed = gzip.compress(bytes(range(256)) * 100, compresslevel=0)
    assert decompress(packed[: len(packed) // 2], "gzip", max_bytes=99_999).startswith(bytes(range(256)))


def test_an_unknown_coding_is_garbled() -> None:
    with pytest.raises(DecompressionError):
        decompress(b"x", "rot13", max_bytes=10)
