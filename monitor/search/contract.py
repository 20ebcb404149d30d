"""The types of web.search: query, results, errors, and the interfaces of backends and of the search as a whole."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    SerializationInfo,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from monitor.errors import WorkFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import LANGUAGE, reader_language

MAX_RESULTS = 10  # that the tool returns for one query
MAX_LIMIT = 20  # that a backend is asked for


class SearchErrorCode(StrEnum):
    INVALID_INPUT = "InvalidInput"
    TOOL_NOT_FOUND = "ToolNotFound"
    PROVIDER = "WebProviderError"
    TIMEOUT = "Timeout"
    NETWORK = "NetworkError"
    BAD_GATEWAY = "BadGateway"
    AUTH = "AuthError"
    WEB_BLOCKED = "WebBlocked"
    PARSE = "WebParseError"


def _render_message(message: Message, info: SerializationInfo) -> str:
    return render(message, (info.context or {}).get(LANGUAGE) or reader_language.get())


MessageText = Annotated[
    Message,
    BeforeValidator(lambda value: Message.other(value) if isinstance(value, str) else value),
    PlainSerializer(_render_message, return_type=str),
    WithJsonSchema({"type": "string"}),
]
"""A message that goes out as one sentence, in the language of pydantic's serialisation context."""


class SearchError(BaseModel):
    """One error of a search; `retryable` says whether the same question may be answered in a little while."""

    type: SearchErrorCode
    detail_code: str | None = None
    message: MessageText
    retryable: bool


class SearchFailed(WorkFailed):
    """A backend gave no answer; `error` is what the answer of the whole says about it."""

    def __init__(self, error: SearchError) -> None:
        super().__init__(error.message)
        self.error = error


class Recency(StrEnum):
    """The age that results may have, counted back from now."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    @property
    def days(self) -> int:
        return {"day": 1, "week": 7, "month": 31, "year": 366}[self]


class DateRange(BaseModel):
    """The range of days in which results were published, both included; an open end is None."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: dt.date | None = None
    end: dt.date | None = None


def resolve_time_range(time_range: Recency | DateRange | None, today: dt.date) -> DateRange:
    """Return the days that a query asks for; without a time range both ends are open."""
    if isinstance(time_range, Recency):
        return DateRange(start=today - dt.timedelta(days=time_range.days))
    return time_range or DateRange()


class SearchQuery(BaseModel):
    """A query. A backend ignores the options that it cannot serve.

    `lang` is a language tag such as zh or en-GB, `site_filter` a host such as gov.cn. `need_summary` asks for a
    summary of each result in place of its snippet, from a service that writes one. `depth` asks a service that knows
    the difference for a quick or a thorough search. `trace_id` becomes the `request_id` of `provider_meta`; `budget_ms`
    limits the time of the whole answer.
    """

    model_config = ConfigDict(frozen=True)

    text: str = Field(min_length=1)
    lang: str | None = None
    time_range: Recency | DateRange | None = None
    site_filter: str | None = None
    need_summary: bool = False
    depth: Literal["basic", "advanced"] | None = None
    trace_id: str | None = None
    budget_ms: int | None = Field(default=None, gt=0)


class SearchHit(BaseModel):
    """A result as a backend returns it: untrusted, not yet checked, without a rank.

    `source` is the real address of a result whose `url` is a redirect; `provider` is the engine behind the backend
    where they differ.
    """

    title: str = ""
    url: str
    snippet: str = ""
    source: str | None = None
    published_at: dt.date | None = None
    provider: str | None = None


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a backend, in its order.

    `request_id` is the service's own name for the request, where it has one; `cut_short` is the error that prevented
    further pages of results.
    """

    hits: Sequence[SearchHit] = ()
    request_id: str | None = None
    cut_short: SearchError | None = None

    def limit_to(self, count: int) -> Self:
        return replace(self, hits=self.hits[:count])


class SearchItem(BaseModel):
    """A checked result: plain text, a clean http(s) url, ranks from 1 without gaps."""

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
    """Which backend answered, how long it took, and the id of the request."""

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
        return not self.items and any(error.type is SearchErrorCode.INVALID_INPUT for error in self.errors)

    def to_json(self, language: str = "en") -> dict[str, Any]:
        """Return the answer as JSON; what is not known (`source`, `published_at`, `detail_code`) is left out."""
        return self.model_dump(mode="json", exclude_none=True, context={LANGUAGE: language})


SEARCH_TOOL_NAME = "web.search"
MAX_QUERY_CHARS = 1000


class DateRangeInput(DateRange):
    """A range of days with at least one end."""

    @model_validator(mode="after")
    def _check_ends(self) -> Self:
        if self.start is None and self.end is None:
            raise ValueError("search.time_range_empty")
        if self.start and self.end and self.start > self.end:
            raise ValueError("search.time_range_reversed")
        return self


_LANGUAGE_TAG = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$"


class SearchInput(BaseModel):
    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=MAX_QUERY_CHARS)
    max_results: int | None = Field(default=None, ge=1, le=MAX_RESULTS, strict=True)
    lang: str | None = Field(default=None, pattern=_LANGUAGE_TAG)
    locale: str | None = Field(default=None, pattern=_LANGUAGE_TAG, description="Another name of `lang`")
    time_range: Recency | DateRangeInput | None = None
    site_filter: str | None = Field(default=None, pattern=r"^[^\s/:?#\"']+\.[^\s/:?#\"']+$", max_length=253)
    need_summary: bool = Field(default=False, strict=True)
    trace_id: str | None = Field(default=None, min_length=1, max_length=100)
    budget_ms: int | None = Field(default=None, gt=0, strict=True)

    @field_validator("query")
    @classmethod
    def _normalize_query(cls, query: str) -> str:
        if not (plain := " ".join(query.split())):
            raise ValueError("search.query_empty")
        return plain

    @field_validator("site_filter")
    @classmethod
    def _lower_site_filter(cls, host: str | None) -> str | None:
        return host.lower() if host else None

    @model_validator(mode="after")
    def _check_languages(self) -> Self:
        if self.lang and self.locale and self.lang.lower() != self.locale.lower():
            raise ValueError("search.languages_differ")
        return self

    def to_query(self) -> SearchQuery:
        options = self.model_dump(exclude={"query", "max_results", "lang", "locale"})
        return SearchQuery(text=self.query, lang=self.lang or self.locale, **options)


def parse_input(arguments: Any) -> SearchInput:
    """Parse the arguments of a call; raise `SearchFailed` (InvalidInput) where they break the contract."""
    try:
        return SearchInput.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "input"
        own = first.get("ctx", {}).get("error")
        reason = Message.of(str(own)) if own is not None else first["msg"].rstrip(".")
        message = Message.of("search.invalid_argument", name=name, reason=reason)
        raise SearchFailed(SearchError(type=SearchErrorCode.INVALID_INPUT, message=message, retryable=False)) from None


class SearchBackend(Protocol):
    @property
    def name(self) -> str: ...

    async def search(self, query: SearchQuery, limit: int) -> SearchResults:
        """Return the first `limit` results (1 to 20) in the service's order; raise `SearchFailed` without an answer."""
        ...


class WebSearch(Protocol):
    async def search(self, query: SearchQuery, limit: int) -> ToolResult:
        """Return the results, checked and ranked. Failures of backends are listed in `errors`, never raised."""
        ...
