"""Where a list goes on: the sort key of the last row, as an opaque word in a url."""

import base64
import binascii
import datetime as dt
import json
from typing import Any

from monitor.db.sessions import sanitize_text
from monitor.web.problems import Problem

_MAX_CURSOR_CHARS = 400

_MAX_ROW_ID = 2**31 - 1  # the numbers of rows; PostgreSQL takes no larger one for them


def encode_cursor(*key: Any) -> str:
    """The cursor after a row with this key: numbers and texts."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, *kinds: type) -> tuple[Any, ...] | None:
    """The key, each part of its kind; None where there is no cursor, a 400 for one that we never handed out."""
    if not cursor:
        return None
    try:
        padded = cursor[:_MAX_CURSOR_CHARS].encode("ascii") + b"=" * (-len(cursor[:_MAX_CURSOR_CHARS]) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    is_ours = isinstance(key, list) and len(key) == len(kinds)
    if not is_ours or any(type(part) is not kind for part, kind in zip(key, kinds, strict=True)):
        raise Problem(400, "The cursor is none of ours: begin the list without one.")
    if not all(_is_queryable(part) for part in key):
        raise Problem(400, "The cursor is none of ours: begin the list without one.")
    return tuple(key)


def decode_instant_cursor(cursor: str | None) -> tuple[dt.datetime, str] | None:
    """The key of a list whose order is an instant and then an id."""
    key = decode_cursor(cursor, str, str)
    if key is None:
        return None
    try:
        return dt.datetime.fromisoformat(key[0]).astimezone(dt.UTC), key[1]
    except (ValueError, OverflowError):
        raise Problem(400, "The cursor is none of ours: begin the list without one.") from None


def _is_queryable(part: Any) -> bool:
    """Whether a database can be asked for it: what it cannot hold is no key of a row."""
    if isinstance(part, int):
        return -_MAX_ROW_ID <= part <= _MAX_ROW_ID
    return not isinstance(part, str) or sanitize_text(part) == part
