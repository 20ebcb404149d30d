"""The contract of the tool web.search: what goes in. What comes out is a `ToolResult`."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from monitor.domain.searching import (
    MAX_RESULTS,
    DateRange,
    Recency,
    SearchError,
    SearchErrorCode,
    SearchFailed,
    SearchQuery,
)

TOOL = "web.search"
MAX_QUERY_CHARS = 1000


class Span(DateRange):
    """From which days results may be; at least one end is given."""

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
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
    time_range: Recency | Span | None = None
    site_filter: str | None = Field(default=None, pattern=r"^[^\s/:?#\"']+\.[^\s/:?#\"']+$", max_length=253)
    trace_id: str | None = Field(default=None, min_length=1, max_length=100)
    budget_ms: int | None = Field(default=None, gt=0, strict=True)

    @field_validator("query")
    @classmethod
    def _says_something(cls, query: str) -> str:
        if not (plain := " ".join(query.split())):
            raise ValueError("the query is empty")
        return plain

    def as_query(self) -> SearchQuery:
        span = self.time_range
        return SearchQuery(
            text=self.query,
            lang=self.lang,
            time_range=DateRange(start=span.start, end=span.end) if isinstance(span, Span) else span,
            site_filter=self.site_filter.lower() if self.site_filter else None,
            trace_id=self.trace_id,
            budget_ms=self.budget_ms,
        )


def checked_input(arguments: Any) -> SearchInput:
    """The arguments of a call as it was meant; `SearchFailed` with InvalidInput where they break the contract."""
    try:
        return SearchInput.model_validate(arguments)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "input"
        message = f"`{name}` is wrong: {first['msg'].removeprefix('Value error, ').rstrip('.')}."
        raise SearchFailed(SearchError(type=SearchErrorCode.INVALID_INPUT, message=message, retryable=False)) from None
