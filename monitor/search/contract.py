"""web.search as values: what is asked of a search service, what it found, and what went wrong."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from monitor.errors import WorkFailed

MAX_RESULTS = 10
"""The most results that the tool gives for one query."""

MAX_LIMIT = 20
"""The most that a backend is asked for beneath the tool."""


class SearchErrorCode(StrEnum):
    """What can go wrong with a search."""

    INVALID_INPUT = "InvalidInput"
    TOOL_NOT_FOUND = "ToolNotFound"
    PROVIDER = "WebProviderError"
    TIMEOUT = "Timeout"
    NETWORK = "NetworkError"
    BAD_GATEWAY = "BadGateway"
    AUTH = "AuthError"
    WEB_BLOCKED = "WebBlocked"
    PARSE = "WebParseError"


class SearchError(BaseModel):
    """One error of a search; `retryable` says whether the same question may be answered in a little while."""

    type: SearchErrorCode
    detail_code: str | None = None
    message: str
    retryable: bool


class SearchFailed(WorkFailed):
    """A backend gave no answer; `error` is what the answer of the whole says about it."""

    def __init__(self, error: SearchError) -> None:
        super().__init__(error.message)
        self.error = error


class Recency(StrEnum):
    """How old results may be, counted back from now."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class DateRange(BaseModel):
    """The days from which results may be, both included; an open end is None."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: dt.date | None = None
    end: dt.date | None = None


class SearchQuery(BaseModel):
    """What is looked for. An option is served where the backend can, and else left out without a word.

    `lang` is a language tag as zh or en-GB, `site_filter` a host such as gov.cn. `depth` says how thoroughly a service
    that knows the difference is to look; `wants_images`, that it is to look for pictures too. `trace_id` names the
    request in `provider_meta`; `budget_ms` is the time for the whole answer.
    """

    model_config = ConfigDict(frozen=True)

    text: str = Field(min_length=1)
    lang: str | None = None
    time_range: Recency | DateRange | None = None
    site_filter: str | None = None
    depth: Literal["basic", "advanced"] | None = None
    wants_images: bool = False
    trace_id: str | None = None
    budget_ms: int | None = Field(default=None, gt=0)


class SearchHit(BaseModel):
    """A result as a backend tells it: untrusted, not yet checked, without a rank.

    `source` is the real address of a result whose `url` leads there by a redirect; `provider` is the engine behind
    the backend where that is another one.
    """

    title: str = ""
    url: str
    snippet: str = ""
    source: str | None = None
    published_at: dt.date | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What a backend found, in its order.

    `request_id` is the service's own name for the request, if it told one; `cut_short` is what kept further pages of
    results away.
    """

    hits: Sequence[SearchHit] = ()
    request_id: str | None = None
    cut_short: SearchError | None = None


class SearchItem(BaseModel):
    """A result as it is handed on: plain text, a clean http(s) url, ranks from 1 without gaps."""

    title: str
    url: str
    snippet: str
    provider: str
    rank: int = Field(ge=1)
    source: str | None = None
    published_at: dt.date | None = None

    @field_validator("url")
    @classmethod
    def _validate_url(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError("a result's url begins with http:// or https://")
        return url


class ProviderMeta(BaseModel):
    """Who answered, how long it took, and under which name."""

    provider_name: str
    latency_ms: int = Field(ge=0)
    request_id: str


class ToolResult(BaseModel):
    """The one shape of an answer of web.search; a search that failed has errors and no items."""

    items: list[SearchItem]
    provider_meta: ProviderMeta
    errors: list[SearchError]

    @property
    def is_refused(self) -> bool:
        """Whether it was not even tried, because of how it was asked."""
        return not self.items and any(error.type is SearchErrorCode.INVALID_INPUT for error in self.errors)

    def to_json(self) -> dict[str, Any]:
        """As JSON: what is not known (`source`, `published_at`, `detail_code`) is left out."""
        return self.model_dump(mode="json", exclude_none=True)


SEARCH_TOOL_NAME = "web.search"
MAX_QUERY_CHARS = 1000


class DateRangeInput(DateRange):
    """From which days results may be; at least one end is given."""

    @model_validator(mode="after")
    def _check_ends(self) -> Self:
        if self.start is None and self.end is None:
            raise ValueError("give a start, an end or both, as 2026-02-03")
        if self.start and self.end and self.start > self.end:
            raise ValueError("the start lies after the end")
        return self


class SearchInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    max_results: int | None = Field(default=None, ge=1, le=MAX_RESULTS, strict=True)
    lang: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    time_range: Recency | DateRangeInput | None = None
    site_filter: str | None = Field(default=None, pattern=r"^[^\s/:?#\"']+\.[^\s/:?#\"']+$", max_length=253)
    trace_id: str | None = Field(default=None, min_length=1, max_length=100)
    budget_ms: int | None = Field(default=None, gt=0, strict=True)

    @field_validator("query")
    @classmethod
    def _normalize_query(cls, query: str) -> str:
        if not (plain := " ".join(query.split())):
            raise ValueError("the query is empty")
        return plain

    def to_query(self) -> SearchQuery:
        span = self.time_range
        return SearchQuery(
            text=self.query,
            lang=self.lang,
            time_range=DateRange(start=span.start, end=span.end) if isinstance(span, DateRangeInput) else span,
            site_filter=self.site_filter.lower() if self.site_filter else None,
            trace_id=self.trace_id,
            budget_ms=self.budget_ms,
        )


def parse_input(arguments: Any) -> SearchInput:
    """The arguments of a call as it was meant; `SearchFailed` with InvalidInput where they break the contract."""
    try:
        return SearchInput.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "input"
        message = f"`{name}` is wrong: {first['msg'].removeprefix('Value error, ').rstrip('.')}."
        raise SearchFailed(SearchError(type=SearchErrorCode.INVALID_INPUT, message=message, retryable=False)) from None


class SearchBackend(Protocol):
    @property
    def name(self) -> str:
        """What it is called in the settings."""
        ...

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """The first `limit` results (1 to 20), in the service's order; `SearchFailed` where it gave no answer."""
        ...


class WebSearch(Protocol):
    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        """The results, checked and ranked. Never raises for what the outside does: that is in the `errors`."""
        ...
