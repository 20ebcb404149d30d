"""Queries of urls as the use cases take them; what is wrong with them the use case says, in its own shape."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """The arguments of web.search in a url; `start` and `end` are a time range in days, both included."""

    query: str = ""
    max_results: str | None = None
    lang: str | None = None
    time_range: str | None = None
    start: str | None = None
    end: str | None = None
    site_filter: str | None = None
    trace_id: str | None = None
    budget_ms: str | None = None
    backend: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments that were given."""
        span = {name: day for name, day in (("start", self.start), ("end", self.end)) if day is not None}
        given = {
            "query": self.query,
            "max_results": _number(self.max_results),
            "lang": self.lang,
            "time_range": self.time_range or span or None,
            "site_filter": self.site_filter,
            "trace_id": self.trace_id,
            "budget_ms": _number(self.budget_ms),
        }
        return {name: value for name, value in given.items() if value is not None}


def _number(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else text
