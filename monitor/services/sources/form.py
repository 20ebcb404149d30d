"""A source as people write it in config.yaml, a form, a command or an import; it is checked as a whole."""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from monitor.config.group import forbid_unknown_keys
from monitor.config.rsshub import SCHEME
from monitor.config.secrets import get_host, list_hosts
from monitor.db.sessions import sanitize_text
from monitor.db.tables.collection import Source
from monitor.db.terms import MAX_QUERY_CHARS, TextQuery
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.log_in import LogInStep, StepKind, format_step
from monitor.recipe import SectionRecipe
from monitor.services.schedules import check_schedule, check_timezone, parse_written_schedule
from monitor.urls import clean_url, url_key
from monitor.vocabulary import Render, SourceKind

_MAX_NAME_CHARS = 80
_RSSHUB_ADDRESS = re.compile(re.escape(SCHEME) + r"[\w-][\w.~%/@:,+!()-]*(\?[^\s#]*)?")


def _normalize_name(text: str) -> str:
    name = normalize_line(text)
    if not name:
        raise ValueError("source.blank_name")
    return name


SourceName = Annotated[str, AfterValidator(_normalize_name)]
OneLineText = Annotated[str, AfterValidator(normalize_line)]
FocusArea = Annotated[str, AfterValidator(normalize_line), Field(max_length=2000)]
Keyword = Annotated[str, AfterValidator(normalize_line), Field(max_length=200)]
Tag = Annotated[str, AfterValidator(normalize_line), Field(max_length=100)]
StorableText = Annotated[str, AfterValidator(sanitize_text)]


class SectionForm(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: SourceName = Field(max_length=200)
    url: str = Field(max_length=2000)

    @field_validator("url")
    @classmethod
    def _normalize_url(cls, url: str) -> str:
        return _normalize_http_url(url)


StrictInteger = Annotated[int, Field(strict=True)]
StrictBoolean = Annotated[bool, Field(strict=True)]


class SourceFields(BaseModel):
    """Every field of a source that a person may set; None = the setting of the service."""

    model_config = ConfigDict(extra="forbid")

    name: SourceName = Field(default="", max_length=200)
    url: StorableText = Field(default="", max_length=2000)
    kind: SourceKind = SourceKind.SITE
    focus_areas: list[FocusArea] = Field(default_factory=list, max_length=200)
    rules: StorableText = Field(default="", max_length=2000)
    sections: list[SectionForm] = Field(default_factory=list, max_length=200)
    recipes: list[SectionRecipe] = Field(default_factory=list, max_length=200)
    steps: list[LogInStep] = Field(default_factory=list, max_length=30)
    schedule: OneLineText | None = Field(default=None, max_length=200)
    timezone: OneLineText | None = Field(default=None, max_length=64)
    window_days: StrictInteger | None = Field(default=None, ge=1, le=3650)
    max_items: StrictInteger | None = Field(default=None, ge=1, le=1000)
    render: Render | None = None
    keywords_include: list[Keyword] = Field(default_factory=list, max_length=200)
    keywords_exclude: list[Keyword] = Field(default_factory=list, max_length=200)
    allow_other_hosts: StrictBoolean = True
    tags: list[Tag] = Field(default_factory=list, max_length=200)
    language: OneLineText | None = Field(default=None, max_length=40)
    summary_language: OneLineText = Field(default="zh", max_length=40)
    enabled: StrictBoolean = True

    @field_validator("recipes")
    @classmethod
    def _keep_last_recipes(cls, recipes: list[SectionRecipe]) -> list[SectionRecipe]:
        cleaned = [recipe.model_copy(update={"url": _normalize_http_url(recipe.url)}) for recipe in recipes]
        return list({url_key(recipe.url): recipe for recipe in cleaned}.values())

    @field_serializer("recipes")
    def _dump_recipes(self, recipes: list[SectionRecipe]) -> list[dict[str, Any]]:
        return [recipe.model_dump(mode="json") for recipe in recipes]

    @field_validator("focus_areas", "keywords_include", "keywords_exclude", "tags")
    @classmethod
    def _drop_duplicates(cls, words: list[str]) -> list[str]:
        return list(dict.fromkeys(word for word in words if word))

    @field_validator("schedule", mode="before")
    @classmethod
    def _read_off(cls, schedule: Any) -> Any:
        return None if schedule is False else schedule  # YAML reads `off` so

    @field_validator("schedule")
    @classmethod
    def _parse_schedule(cls, schedule: str | None) -> str | None:
        return None if schedule is None else parse_written_schedule(schedule)

    @field_validator("language", "timezone")
    @classmethod
    def _empty_to_none(cls, text: str | None) -> str | None:
        return text or None

    @field_validator("summary_language")
    @classmethod
    def _default_language(cls, language: str) -> str:
        return language or "zh"

    @field_validator("timezone")
    @classmethod
    def _validate_timezone(cls, timezone: str | None) -> str | None:
        if timezone is not None:
            try:
                check_timezone(timezone)
            except UsageError:
                raise PydanticCustomError("source.bad_timezone", "", {"timezone": timezone}) from None
        return timezone


class SourceForm(SourceFields):
    """A source as a person writes it; of kind `query`, the url is the query, a site to search on, or nothing."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "国家能源局",
                    "url": "https://www.nea.gov.cn/",
                    "focus_areas": ["政策", "通知"],
                    "schedule": "0 7 * * 1-5",
                    "tags": ["能源"],
                }
            ]
        }
    )

    name: SourceName = Field(max_length=200)

    @field_validator("steps")
    @classmethod
    def _validate_steps(cls, steps: list[LogInStep], info: ValidationInfo) -> list[LogInStep]:
        """Refuse steps that do not begin with a page, or lead to a host that is not the source's."""
        if steps and steps[0].kind is not StepKind.OPEN:
            raise PydanticCustomError("source.steps_begin_elsewhere", "", {"line": format_step(steps[0])})
        urls = [info.data.get("url", ""), *(section.url for section in info.data.get("sections", []))]
        hosts = list_hosts(cleaned for url in urls if (cleaned := clean_url(url)))
        for step in steps:
            if step.url and get_host(step.url) not in hosts:
                raise PydanticCustomError("source.step_leaves", "", {"line": format_step(step)})
        return steps

    @model_validator(mode="after")
    def _validate_address(self) -> Self:
        if self.kind is not SourceKind.QUERY or "://" in self.url:
            self.url = _normalize_http_url(self.url)
            if self.url.startswith(SCHEME):
                self.kind = SourceKind.FEED
        if self.kind is SourceKind.QUERY:
            from monitor.sweep.query import list_queries

            _check_queries(list_queries(self.url, self.focus_areas))
        return self


class InvalidSource(UsageError):
    """A source that cannot be kept as it was written; `complaints` has one message for each field that is wrong."""

    def __init__(self, complaints: Mapping[str, Message], message: Message) -> None:
        super().__init__(message)
        self.complaints = dict(complaints)


def build_source(values: Mapping[str, Any], *, now: dt.datetime, timezone: str) -> Source:
    """Return a checked source; `timezone` is the service's, for a schedule whose source names none."""
    return Source(**validate_form(values, timezone=timezone).model_dump(mode="python"), created_at=now)


def validate_form(values: Mapping[str, Any], *, timezone: str) -> SourceForm:
    """Return the form filled in and checked as a whole; raise `InvalidSource` or `SettingsError`."""
    name = _find_name(values)
    try:
        form = SourceForm.model_validate(dict(values))
    except ValidationError as error:
        forbid_unknown_keys(dict(values), SourceForm, f"the source {name!r}")
        complaints: dict[str, Message] = {}
        for detail in error.errors():
            field = ".".join(str(part) for part in detail["loc"]) or "url"
            complaints.setdefault(field, describe_validation_error(detail))
        field, complaint = next(iter(complaints.items()))
        message = Message.of("source.wrong_field", name=name, field=field, complaint=complaint)
        raise InvalidSource(complaints, message) from None
    if form.schedule is not None:
        try:
            check_schedule(form.schedule, form.timezone or timezone)
        except UsageError as error:
            raise InvalidSource({"schedule": error.message}, error.message) from None
    return form


def diff_sources(before: Source, after: Source) -> tuple[dict[str, Any], dict[str, Any]]:
    was, now = (source.model_dump(mode="json", include=set(SourceForm.model_fields)) for source in (before, after))
    changed = [field for field in SourceForm.model_fields if was[field] != now[field]]
    return {field: was[field] for field in changed}, {field: now[field] for field in changed}


def _find_name(values: Mapping[str, Any]) -> str:
    named = (values.get(field) for field in ("name", "url"))
    return next((normalize_line(text[:_MAX_NAME_CHARS]) for text in named if isinstance(text, str) and text), "?")


def dump_form_values(source: Source) -> dict[str, Any]:
    values = SourceForm.model_validate(source.model_dump(include=set(SourceForm.model_fields))).model_dump(mode="json")
    defaults = SourceForm(name="-", url="http://a.invalid/").model_dump(mode="json")
    return {key: value for key, value in values.items() if key in ("name", "url") or value != defaults[key]}


def _check_queries(queries: Sequence[str]) -> None:
    if not queries:
        raise ValueError("source.no_query")
    for query in queries:
        if len(query) > MAX_QUERY_CHARS:
            raise PydanticCustomError("source.long_query", "", {"chars": len(query), "limit": MAX_QUERY_CHARS})
        if not TextQuery.parse(query).clauses:
            raise PydanticCustomError("source.empty_query", "", {"query": query})


def _normalize_http_url(url: str) -> str:
    if _RSSHUB_ADDRESS.fullmatch(url.strip()):
        return url.strip()
    cleaned = clean_url(url)
    if cleaned is None:
        raise PydanticCustomError("source.bad_url", "", {"url": url})
    return cleaned
