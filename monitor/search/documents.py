"""Reading the JSON that services answer with: into types, at the edge, a bad entry dropped and the others kept."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from monitor.net.response import Response
from monitor.search.failures import unreadable

M = TypeVar("M", bound=BaseModel)

_SAYING = ("error", "detail", "code", "message", "msg")


class Told(BaseModel):
    """A part of an answer: what is not known is passed over, what is missing or null has its default."""

    model_config = ConfigDict(extra="ignore")


def document_of(response: Response, model: type[M]) -> M:
    """The answer as a value; `SearchFailed` (WebParseError) where it is no JSON or has another shape."""
    try:
        return model.model_validate(without_nulls(json.loads(response.body)))
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the whole"
        raise unreadable(f"The service's answer has another shape than it should, at {where}.") from None
    except (ValueError, RecursionError):
        kind = response.content_type or "no content type"
        raise unreadable(f"The service's answer is no JSON ({kind[:80]}, {len(response.body)} bytes).") from None


def entries_of(values: Iterable[Any], model: type[M]) -> Iterator[M]:
    """The entries that have the shape they should."""
    for value in values:
        try:
            yield model.model_validate(value)
        except ValidationError:
            continue


def without_nulls(value: Any) -> Any:
    """The same JSON without entries that are null, so that a default takes their place."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value]
    return value


def day_of(text: str) -> dt.date | None:
    """The calendar day that a service tells, as 2026-02-03, as an instant or as in mail; None where it tells none."""
    text = text.strip()
    try:
        return dt.datetime.fromisoformat(text).date()
    except ValueError:
        pass
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).date()
    except (ValueError, TypeError, IndexError):
        return None


def said_in(response: Response) -> str:
    """A service's own words for an error, wherever in its JSON they stand; empty where there are none."""
    if response.status < 400:
        return ""
    try:
        return "; ".join(_words(json.loads(response.body)))
    except (ValueError, RecursionError):
        return ""


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name in _SAYING:
            if name in value:
                yield from [str(value[name])] if isinstance(value[name], str | int) else _words(value[name])
