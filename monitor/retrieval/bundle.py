"""Bundles of search results: one query, what it found, and how that is judged.

Names and constraints are those of the retrieval protocol to the letter. What is optional there is absent from the JSON
where it is not known, never null. The JSON names its schema and version under `$schema`; keys beside the protocol's are
passed over when a bundle is read.
"""

import datetime as dt
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic.json_schema import SkipJsonSchema

from monitor.domain.urls import url_key

_ERROR_CODE_OF_A_FAILED_ITEM: JsonDict = {
    "if": {"properties": {"status": {"const": "failed"}}, "required": ["status"]},
    "then": {"required": ["error_code"]},
}


def _writable(text: str) -> str:
    """A text that a file can hold: half characters, which pages do contain, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _without_default(schema: JsonDict) -> None:
    schema.pop("default", None)


class ItemStatus(StrEnum):
    """What became of a result: `ok` is handed on, `filtered` was not asked for, `failed` could not be had."""

    OK = "ok"
    FILTERED = "filtered"
    FAILED = "failed"


def _in_utc(instant: dt.datetime) -> dt.datetime:
    """An instant in UTC; one without a zone is taken as UTC, which is what everything here is written in."""
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)


def _day_of(given: Any) -> Any:
    """Of a date with a time of day the date, as it stands there: publication dates have no time zone."""
    return given[:10] if isinstance(given, str) and given[10:11] in ("T", "t", " ") else given


def _absent() -> Any:
    """The value of a field that the protocol marks with `?`, until it is known."""
    return Field(default=None, exclude_if=lambda value: value is None, json_schema_extra=_without_default)


Text = Annotated[str, AfterValidator(_writable)]
Instant = Annotated[dt.datetime, AfterValidator(_in_utc)]
Day = Annotated[dt.date, BeforeValidator(_day_of)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
HttpStatus = Annotated[int, Field(ge=100, le=999)]
ErrorCode = Annotated[str, Field(min_length=1)]
Absent = SkipJsonSchema[None]


class SearchResultItem(BaseModel):
    """One result.

    `source_id` is the first 16 hex digits of the SHA-256 of the normalised url. `error_code` is one of the codes by
    which pages fail, as `Timeout` or `WebBlocked`.
    """

    model_config = ConfigDict(json_schema_extra=_ERROR_CODE_OF_A_FAILED_ITEM)

    source_id: str = Field(min_length=1)
    rank: int = Field(ge=1)
    url: Text
    title: Text
    snippet: Text | Absent = _absent()
    content_text: Text | Absent = _absent()
    language: Text | Absent = _absent()
    published_at: Day | Absent = _absent()
    captured_at: Instant
    http_status: HttpStatus | Absent = _absent()
    score_relevance: Score
    score_freshness: Score
    score_authority: Score
    score_final: Score
    status: ItemStatus
    error_code: ErrorCode | Absent = _absent()

    @model_validator(mode="after")
    def _says_why_it_failed(self) -> Self:
        if self.status is ItemStatus.FAILED and self.error_code is None:
            raise ValueError("a failed item needs an error_code")
        return self


class SearchResultStats(BaseModel):
    """What became of the results of a query.

    `total_returned` is the sum of `kept_after_filter` (status ok), `failed_count`, `dedup_count` (removed, because the
    same source stands in the bundle already) and the items of status filtered.
    """

    total_returned: Count
    kept_after_filter: Count
    failed_count: Count
    dedup_count: Count


class SearchResultBundle(BaseModel):
    """One query and what it found."""

    task_id: str = Field(min_length=1)
    query_id: str = Field(min_length=1)
    query_text: Text
    query_intent: Text
    provider: Text
    executed_at: Instant
    results: list[SearchResultItem]
    stats: SearchResultStats

    def in_order(self) -> list[SearchResultItem]:
        """The results by `score_final`, best first; equal ones by rank, then by `source_id`, always in the same way."""
        return sorted(self.results, key=lambda item: (-item.score_final, item.rank, item.source_id))


def stats_of(results: Sequence[SearchResultItem], *, removed: int) -> SearchResultStats:
    """The counts of a bundle's results, `removed` being how many were left out as duplicates."""
    having = [item.status for item in results]
    return SearchResultStats(
        total_returned=len(results) + removed,
        kept_after_filter=having.count(ItemStatus.OK),
        failed_count=having.count(ItemStatus.FAILED),
        dedup_count=removed,
    )


def source_id_of(url: str) -> str:
    """The name of a source: the first 16 hex digits of the SHA-256 of its normalised url (`url_key`).

    What is no url at all has the name of its own text.
    """
    try:
        key = url_key(url)
    except ValueError:
        key = url
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
