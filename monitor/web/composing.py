"""Which briefing is wanted, as the API and the form of the page ask for it."""

import datetime as dt
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from starlette.datastructures import FormData, QueryParams

from monitor.app.briefings import BriefingQuery
from monitor.briefing.compose import Grouping
from monitor.domain.words import ItemType
from monitor.store.sessions import storable

_SEPARATORS = re.compile(r"[,，、;；\n]+")
_LISTS = {"source": "sources", "tag": "tags", "type": "types"}

Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _written_day(told: Any) -> Any:
    """A day as it is written; pydantic would take a number for seconds since 1970."""
    if told is not None and not isinstance(told, dt.date) and not re.fullmatch(r"\d{4}-\d\d-\d\d", str(told)):
        raise ValueError("write a day as 2026-02-03")
    return told


class Compose(BaseModel):
    """A briefing to be composed: what was first seen in the `days` that end with `day`, by default today.

    `top` items are shown in full, the others named. Of `tags` and `keywords` one has to fit.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"days": 7, "top": 20, "sources": [], "language": "zh"}]}
    )

    day: Annotated[dt.date | None, BeforeValidator(_written_day)] = None
    days: int = Field(default=1, ge=1, le=366, strict=True)
    top: int = Field(default=20, ge=1, le=200, strict=True)
    sources: list[Word] = Field(default_factory=list, max_length=200)
    tags: list[Word] = Field(default_factory=list, max_length=50)
    types: list[ItemType] = Field(default_factory=list, max_length=len(ItemType))
    keywords: list[Word] = Field(default_factory=list, max_length=50)
    language: Literal["zh", "en"] = "zh"
    group: Grouping = "theme"

    def query(self) -> BriefingQuery:
        """As the use cases take it."""
        fields = self.model_dump()
        for name in ("sources", "tags", "keywords"):
            fields[name] = [word for field in fields[name] if (word := storable(field).strip())]
        return BriefingQuery(**fields)


def asked_in(given: QueryParams | FormData, language: str) -> dict[str, Any]:
    """The fields of a form as `Compose` takes them; what is empty is left out."""
    fields: dict[str, Any] = {"language": language}
    for name in ("day", "days", "top", "language", "group"):
        if told := str(given.get(name) or "").strip():
            fields[name] = int(told) if name in ("days", "top") and re.fullmatch(r"\d{1,9}", told) else told
    for name, field in _LISTS.items():
        fields[field] = [told for one in given.getlist(name) if (told := str(one).strip())]
    words = [_SEPARATORS.split(str(one)) for one in given.getlist("keyword")]
    fields["keywords"] = [word.strip() for some in words for word in some if word.strip()]
    return fields


def as_parameters(wanted: Compose) -> list[tuple[str, str]]:
    """The form's fields again, for a url that asks for the same."""
    fields = wanted.model_dump(mode="json", exclude_none=True)
    names: tuple[str, ...] = ("day", "days", "top", "language", "group")
    pairs = [(name, str(fields[name])) for name in names if name in fields]
    pairs += [(name, str(one)) for name, field in _LISTS.items() for one in fields[field]]
    return pairs + ([("keyword", "、".join(wanted.keywords))] if wanted.keywords else [])
