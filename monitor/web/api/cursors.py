"""Paging of lists: a cursor is the sort key of the last row that was shown, as an opaque word of a url."""

import base64
import binascii
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import Query

from monitor.db.sessions import sanitize_text
from monitor.web.middleware import Problem

Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=400, description="`next` of the page before.")]
Row = TypeVar("Row")
_MAX_CURSOR_CHARS = 400
_MAX_ROW_ID = 2**31 - 1  # PostgreSQL takes no larger integer as the id of a row


def encode_cursor(*key: Any) -> str:
    """Return the cursor after a row with this key of numbers, texts, days and instants."""
    plain = [part.isoformat() if isinstance(part, dt.date) else part for part in key]
    return base64.urlsafe_b64encode(json.dumps(plain, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, *kinds: type) -> tuple[Any, ...] | None:
    """Return the key, each part of its kind; None without a cursor.

    Raises a 400 `Problem` for a cursor that this list never gave.
    """
    if not cursor:
        return None
    try:
        padded = cursor[:_MAX_CURSOR_CHARS].encode("ascii") + b"=" * (-len(cursor[:_MAX_CURSOR_CHARS]) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        values = key if isinstance(key, list) else []
        return tuple(_convert_part(part, kind) for part, kind in zip(values, kinds, strict=True))
    except (ValueError, OverflowError, binascii.Error, RecursionError):
        raise Problem(400, "cursor.invalid") from None


def decode_id(cursor: str | None) -> int | None:
    """Return the key of a list that is ordered by id."""
    key = decode_cursor(cursor, int)
    return key[0] if key else None


def cut_page(rows: Sequence[Row], limit: int, key: Callable[[Row], Any]) -> tuple[list[Row], str | None]:
    """Return the rows without the one beyond `limit`, and the cursor of the next page; `key` is a row's sort key."""
    page = list(rows[:limit])
    if len(rows) <= limit:
        return page, None
    last = key(page[-1])
    return page, encode_cursor(*last) if isinstance(last, tuple) else encode_cursor(last)


def build_next_url(path: str, parameters: Mapping[str, Any], cursor: str | None) -> str | None:
    """Return the address of the next page of a list, None where there is none."""
    if cursor is None:
        return None
    given = {name: value for name, value in parameters.items() if value}
    return f"{path}?{urlencode({**given, 'cursor': cursor}, doseq=True)}"


def _convert_part(part: Any, kind: type) -> Any:
    if kind is int:
        if type(part) is not int or not -_MAX_ROW_ID <= part <= _MAX_ROW_ID:
            raise ValueError(part)
        return part
    if not isinstance(part, str) or sanitize_text(part) != part:
        raise ValueError(part)
    if kind is dt.datetime:
        return dt.datetime.fromisoformat(part).astimezone(dt.UTC)
    return dt.date.fromisoformat(part) if kind is dt.date else part
