"""JSON: one document, or JSON Lines with one record per line."""

import json
from collections.abc import Iterable
from typing import Any


def render_json(document: Any, indent: int | None = 2) -> bytes:
    # Half a surrogate pair, which a broken page may bring, has no place in UTF-8: it becomes a question mark.
    return (json.dumps(document, ensure_ascii=False, indent=indent) + "\n").encode(errors="replace")


def render_json_lines(records: Iterable[Any]) -> bytes:
    return b"".join(render_json(record, indent=None) for record in records)
