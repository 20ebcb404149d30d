"""web.search as values: what is asked of a search service, what it found, and what went wrong."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

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
class Findings:
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
    def _leads_somewhere(cls, url: str) -> str:
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

    def wire(self) -> dict[str, Any]:
        """As JSON: what is not known (`source`, `published_at`, `detail_code`) is left out."""
        return self.model_dump(mode="json", exclude_none=True)
