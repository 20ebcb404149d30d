"""The parameters of lists, and the addresses of their pages; what a cursor is: `monitor.services.cursors`."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query

from monitor.services.cursors import MAX_CURSOR_CHARS

Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=MAX_CURSOR_CHARS, description="`next` of the page before.")]
DEFAULT_LONG_LIMIT = 200
"""Of lists that had no pages once: programs that do not ask for the next one get what they got, but of long lists."""


def build_next_url(path: str, parameters: Mapping[str, Any], cursor: str | None) -> str | None:
    """Return the address of the next page of a list, None where there is none."""
    if cursor is None:
        return None
    given = {name: value for name, value in parameters.items() if value}
    return f"{path}?{urlencode({**given, 'cursor': cursor}, doseq=True)}"
