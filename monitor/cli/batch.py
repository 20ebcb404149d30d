"""`monitor page --batch`: JSON lines in, a JSON line out for each, in order, whatever the lines hold."""

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

from monitor.domain.page import Page, PageErrorCode
from monitor.pages.saved import broken, read_saved


def answer_lines(max_bytes: int) -> None:
    """Answer each line of stdin with the page that it names; one that fails says so in `error`, and none stops."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            answer = _answer(line, number, max_bytes)
            sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
            sys.stdout.flush()


def _answer(line: bytes, number: int, max_bytes: int) -> dict[str, Any]:
    now = dt.datetime.now(dt.UTC)
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return _whole(broken("", PageErrorCode.PARSE, f"Line {number} is no JSON.", now), {"id": None})
    if not isinstance(asked, dict):
        return _whole(broken("", PageErrorCode.PARSE, f"Line {number} is no JSON object.", now), {"id": None})
    identity = {"id": asked["id"]} if "id" in asked else {}
    return _whole(_read(asked, number, now, max_bytes), identity)


def _read(asked: dict[str, Any], number: int, now: dt.datetime, max_bytes: int) -> Page:
    path, url, fetched_at = asked.get("path"), asked.get("url"), asked.get("fetched_at")
    if not (isinstance(path, str) and path and isinstance(url, str)):
        named = url if isinstance(url, str) else ""
        return broken(named, PageErrorCode.INVALID_URL, f"Line {number} must name `path` and `url` as text.", now)
    try:
        at = now if fetched_at is None else _instant(fetched_at)
    except (TypeError, ValueError):
        message = f"Line {number} has no instant in `fetched_at`; write it as 2026-02-03T08:00:00Z."
        return broken(url, PageErrorCode.PARSE, message, now)
    try:
        url.encode()
        return read_saved(Path(path), url=url, fetched_at=at, max_bytes=max_bytes)
    except UnicodeError:
        return broken("", PageErrorCode.INVALID_URL, f"Line {number} holds half a character in `path` or `url`.", now)


def _instant(text: Any) -> dt.datetime:
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def _whole(page: Page, identity: dict[str, Any]) -> dict[str, Any]:
    return {**identity, **page.model_dump(mode="json")}
