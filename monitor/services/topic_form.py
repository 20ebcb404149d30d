"""A topic as people write it, checked as a whole, and as it leaves the program."""

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from monitor.db.database import Store
from monitor.db.sessions import sanitize_text
from monitor.db.tables.policies import Topic, TopicAlerts
from monitor.errors import NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.model import describe_validation_error

_MAX_NAMED_TOPICS = 20
_MAX_NUMBER_DIGITS = 10

_Line = Annotated[str, AfterValidator(normalize_line)]
_Word = Annotated[_Line, Field(max_length=100)]
_Words = Annotated[list[_Word], Field(max_length=100)]
_Sources = Annotated[list[Annotated[_Line, Field(max_length=200)]], Field(max_length=100)]
_Targets = Annotated[list[Annotated[_Line, Field(max_length=40)]], Field(max_length=20)]
_Text = Annotated[str, AfterValidator(sanitize_text), Field(max_length=1000)]
_Form = TypeVar("_Form", bound=BaseModel)
_EXAMPLE: dict[str, Any] = {
    "name": "储能开发商",
    "sentence": "输配电价、容量补偿、并网规则",
    "words": ["储能", "容量电价", "grid fee"],
    "exclusions": ["数据存储"],
    "alerts": "at_once",
    "targets": ["team"],
}


class TopicForm(BaseModel):
    """A topic as a person writes it: it needs words, a sentence or sources.

    `sources` are the names of those that count, none for all. `targets` are told of its alerts.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    name: Annotated[_Line, Field(min_length=1, max_length=100)]
    sentence: _Text = ""
    words: _Words = Field(default_factory=list)
    exclusions: _Words = Field(default_factory=list)
    sources: _Sources = Field(default_factory=list)
    alerts: TopicAlerts = TopicAlerts.BRIEFING
    targets: _Targets = Field(default_factory=list)

    @field_validator("words", "exclusions", "sources", "targets")
    @classmethod
    def _drop_duplicates(cls, words: list[str]) -> list[str]:
        return list(dict.fromkeys(word for word in words if word))

    @model_validator(mode="after")
    def _require_something(self) -> Self:
        if not self.name:
            raise PydanticCustomError("topic.blank_name", "")
        if not (self.words or self.sentence.strip() or self.sources):
            raise PydanticCustomError("topic.empty", "")
        return self


class TopicPatch(BaseModel):
    """What is to be changed of a topic; what is left out or null stays, and a list is replaced as a whole."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"words": ["储能", "容量电价"]}]})

    name: Annotated[_Line, Field(min_length=1, max_length=100)] | None = None
    sentence: _Text | None = None
    words: _Words | None = None
    exclusions: _Words | None = None
    sources: _Sources | None = None
    alerts: TopicAlerts | None = None
    targets: _Targets | None = None


class TopicSchema(BaseModel):
    """A topic as it leaves the program.

    `weights` are those that feedback moved, by word. `matches` counts the items that fit it, `newest` is the day of the
    newest. `calendar_key` is the key of whoever asks, None where they do not follow it.
    """

    id: int
    name: str
    team_id: int | None = None
    sentence: str
    words: list[str]
    exclusions: list[str]
    sources: list[str]
    weights: dict[str, float]
    alerts: TopicAlerts
    targets: list[str]
    followers: list[str] = Field(default_factory=list)
    calendar_key: str | None = None
    matches: int = 0
    newest: dt.date | None = None
    created_by: str
    created_at: dt.datetime


def parse_topic_form(values: Mapping[str, Any]) -> TopicForm:
    """Return the topic of these values; `UsageError` names the first field that is wrong."""
    return _parse(TopicForm, values)


def parse_topic_patch(values: Mapping[str, Any]) -> TopicPatch:
    """Return the changes of these values; `UsageError` names the first field that is wrong."""
    return _parse(TopicPatch, values)


def _parse(model: type[_Form], values: Mapping[str, Any]) -> _Form:
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        detail = error.errors()[0]
        reason = describe_validation_error(detail)
        if not detail["loc"]:
            raise UsageError(reason) from None
        raise UsageError("topic.bad_field", field=str(detail["loc"][0]), reason=reason) from None


async def load_topic(name: str, store: Store) -> Topic:
    """Return the topic of that name, or number; `NotFound` names those that there are."""
    topic = await store.topics.find(name)
    if topic is None and name.isascii() and name.isdecimal() and len(name) < _MAX_NUMBER_DIGITS:
        topic = await store.topics.get(int(name))
    if topic is None:
        known = [topic.name for topic in await store.topics.list()]
        raise NotFound("topic.unknown" if known else "topic.none_yet", name=name, known=known[:_MAX_NAMED_TOPICS])
    return topic
