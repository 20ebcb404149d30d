"""Time stamps of RFC 3161: the request for a hash, and whether an answer is one to it.

The answer is kept as it came; `openssl ts -verify` checks its signature against the authority's certificate.
"""

import hashlib

from monitor.errors import WorkFailed

REQUEST_TYPE = "application/timestamp-query"
_SEQUENCE, _INTEGER, _BOOLEAN, _OCTETS = 0x30, 0x02, 0x01, 0x04
_SHA256 = bytes.fromhex("0609608648016503040201" + "0500")  # the algorithm's OID, and NULL
_GRANTED = (0, 1)  # as asked, or with changes


def build_request(content: bytes, nonce: int) -> bytes:
    """Return the DER of a TimeStampReq for the SHA-256 of some content; the answer is to bring the certificate."""
    imprint = _encode(_SEQUENCE, _encode(_SEQUENCE, _SHA256) + _encode(_OCTETS, hashlib.sha256(content).digest()))
    version, wants_certificate = _encode(_INTEGER, b"\1"), _encode(_BOOLEAN, b"\xff")
    return _encode(_SEQUENCE, version + imprint + _encode_integer(nonce) + wants_certificate)


def check_answer(answer: bytes, content: bytes, nonce: int) -> None:
    """Raise `WorkFailed` for what is no granted stamp of this content with this nonce."""
    try:
        _, body, _ = _decode(answer)
        _, status, token = _decode(body)
        tag, number, _ = _decode(status)
    except ValueError:
        raise WorkFailed("chain.no_timestamp_answer") from None
    if tag != _INTEGER or int.from_bytes(number) not in _GRANTED or not token:
        raise WorkFailed("chain.timestamp_refused", status=int.from_bytes(number[:4]))
    if hashlib.sha256(content).digest() not in token or _encode_integer(nonce) not in token:
        raise WorkFailed("chain.no_timestamp_answer")


def _encode(tag: int, content: bytes) -> bytes:
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(length)]) + length + content


def _encode_integer(number: int) -> bytes:
    return _encode(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1))


def _decode(data: bytes) -> tuple[int, bytes, bytes]:
    """Return tag and content of the first value, and what stands behind it; `ValueError` where there is none."""
    if len(data) < 2:
        raise ValueError("no value")
    begin, length = 2, data[1]
    if length >= 0x80:
        begin += length - 0x80
        length = int.from_bytes(data[2:begin])
    if begin > 6 or len(data) < begin + length:
        raise ValueError("cut short")
    return data[0], data[begin : begin + length], data[begin + length :]
