"""A source as people write it down: in config.yaml, on the command line, in an import; checked, then stored."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Self
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from monitor.domain.tables import Source
from monitor.domain.terms import MAX_QUERY_CHARS, TextQuery
from monitor.domain.urls import clean_url
from monitor.domain.words import Render, SourceKind
from monitor.errors import UsageError
from monitor.ports import Schedules
from monitor.settings.complaints import forbid_unknown_keys
from monitor.sweep.query import queries_of


class SectionForm(BaseModel):
    """A section that the administrator pinned."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    url: str

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        return _http(url)


class SourceForm(BaseModel):
    """Every field of a source that a person may set; None = the setting of the service.

    Of kind `query`, the url is the query itself, or the site on which the focus areas are searched for, or nothing.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    url: str = Field(default="", max_length=2000)
    kind: SourceKind = SourceKind.SITE
    focus_areas: list[str] = Field(default_factory=list)
    rules: str = Field(default="", max_length=2000)
    sections: list[SectionForm] = Field(default_factory=list)
    schedule: str | None = None
    timezone: str | None = None
    window_days: int | None = Field(default=None, ge=1, le=3650)
    max_items: int | None = Field(default=None, ge=1, le=1000)
    render: Render | None = None
    keywords_include: list[str] = Field(default_factory=list)
    keywords_exclude: list[str] = Field(default_factory=list)
    allow_other_hosts: bool = True
    tags: list[str] = Field(default_factory=list)
    language: str | None = None
    summary_language: str = "zh"
    enabled: bool = True

    @model_validator(mode="after")
    def _says_where_to_look(self) -> Self:
        if self.kind is not SourceKind.QUERY or "://" in self.url:
            self.url = _http(self.url)
        if self.kind is SourceKind.QUERY:
            _check_queries(queries_of(self.url, self.focus_areas))
        return self

    @field_validator("timezone")
    @classmethod
    def _is_timezone(cls, timezone: str | None) -> str | None:
        if timezone is not None:
            check_timezone(timezone)
        return timezone


def check_timezone(name: str) -> ZoneInfo:
    """The time zone of that name; `ValueError` says what a name looks like."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is no time zone; write one as Asia/Shanghai or Europe/Berlin") from None


def source_of(values: Mapping[str, Any], *, now: dt.datetime, timezone: str, schedules: Schedules) -> Source:
    """A source from what a person wrote, or `UsageError` with the one thing that is wrong and how to mend it.

    `timezone` is the service's, for a schedule whose source names none.
    """
    form = checked_form(values, timezone=timezone, schedules=schedules)
    return Source(**form.model_dump(mode="python"), created_at=now)


def checked_form(values: Mapping[str, Any], *, timezone: str, schedules: Schedules) -> SourceForm:
    """The form filled in and checked as a whole."""
    name = values.get("name") or values.get("url") or "?"
    forbid_unknown_keys(dict(values), SourceForm, f"the source {name!r}")
    try:
        form = SourceForm.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "url"
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"The source {name!r} has a wrong {field}: {message[:1].lower()}{message[1:]}.") from None
    if form.schedule is not None:
        schedules.check(form.schedule, form.timezone or timezone)
    return form


def form_values(source: Source) -> dict[str, Any]:
    """What a person would write to get this source: its fields that differ from their defaults."""
    values = SourceForm.model_validate(source.model_dump(include=set(SourceForm.model_fields))).model_dump(mode="json")
    defaults = SourceForm(name="-", url="http://a.invalid/").model_dump(mode="json")
    return {key: value for key, value in values.items() if key in ("name", "url") or value != defaults[key]}


def _check_queries(queries: Sequence[str]) -> None:
    if not queries:
        raise ValueError("there is nothing to search for; write the query as its url, or several as focus_areas")
    for query in queries:
        if len(query) > MAX_QUERY_CHARS:
            raise ValueError(f"a query has {len(query)} characters; write at most {MAX_QUERY_CHARS}")
        if not TextQuery.parse(query).clauses:
            raise ValueError(f"there is no word to search for in {query!r}")


def _http(url: str) -> str:
    cleaned = clean_url(url)
    if cleaned is None:
        raise ValueError(f"{url!r} is no web address; write it in full, as https://www.example.gov/")
    return cleaned
