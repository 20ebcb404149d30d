"""Queries of urls as the use cases take them; what is wrong with them the use case says, in its own shape."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator


def _written(form: str, example: str) -> BeforeValidator:
    """A text of this form only: a number, which could be seconds since 1970, is refused."""

    def check(given: Any) -> Any:
        if isinstance(given, str) and not re.fullmatch(form, given):
            raise ValueError(f"write it as {example}")
        return given

    return BeforeValidator(check)


Day = Annotated[dt.date, _written(r"\d{4}-\d\d-\d\d", "2026-02-03")]
"""A day in a url."""

Instant = Annotated[AwareDatetime, _written(r"\d{4}-\d\d-\d\d[Tt ].+", "2026-02-03T08:00:00Z")]
"""An instant with its zone in a url."""


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
