"""Paging of lists: a cursor is the sort key of the last row that was shown, as an opaque word.

So a page begins after a row, not at a number: rows that are added or removed meanwhile neither repeat nor hide one.
"""

import base64
import binascii
import datetime as dt
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from monitor.db.sessions import sanitize_text
from monitor.errors import UsageError

MAX_CURSOR_CHARS = 1000
_MAX_ROW_ID = 2**31 - 1  # PostgreSQL takes no larger integer as the id of a row

Row = TypeVar("Row")
First = TypeVar("First")
Second = TypeVar("Second")


def encode_cursor(*key: Any) -> str:
    """Return the cursor after a row with this key of numbers, texts, days and instants."""
    plain = [part.isoformat() if isinstance(part, dt.date) else part for part in key]
    written = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(written.encode()).decode().rstrip("=")


@overload
def decode_cursor(cursor: str | None, first: type[First], second: type[Second], /) -> tuple[First, Second] | None: ...


@overload
def decode_cursor(cursor: str | None, *kinds: type) -> tuple[Any, ...] | None: ...


def decode_cursor(cursor: str | None, *kinds: type) -> tuple[Any, ...] | None:
    """Return the key, each part of its kind; None without a cursor.

    Raises `UsageError` for a cursor that this list never gave.
    """
    if not cursor:
        return None
    try:
        padded = cursor[:MAX_CURSOR_CHARS].encode("ascii") + b"=" * (-len(cursor[:MAX_CURSOR_CHARS]) % 4)
        key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        values = key if isinstance(key, list) else []
        return tuple(_convert_part(part, kind) for part, kind in zip(values, kinds, strict=True))
    except (ValueError, OverflowError, binascii.Error, RecursionError):
        raise UsageError("cursor.invalid") from None


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


def cut_list(
    rows: Sequence[Row],
    limit: int,
    cursor: str | None,
    key: Callable[[Row], tuple[Any, ...]],
    *kinds: type,
    newest_first: bool = False,
) -> tuple[list[Row], str | None]:
    """Return the page after the cursor, of a list that is there as a whole, and the cursor of the next page.

    The page is in the order of `key`, whose parts are of these kinds and which no two rows share.
    """
    after = decode_cursor(cursor, *kinds)
    ordered = sorted(rows, key=key, reverse=newest_first)
    if after is not None:
        ordered = [row for row in ordered if (key(row) < after if newest_first else key(row) > after)]
    return cut_page(ordered, limit, key)


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
