"""How the tables store what SQL has no type for: instants, closed vocabularies, lists, coded messages."""

import datetime as dt
import json
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, DateTime, Dialect, ForeignKey, String, Text
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import Field

from monitor.db.sessions import sanitize_value
from monitor.i18n.message import Message


class UtcDateTime(TypeDecorator[dt.datetime]):
    """An instant, stored and returned as UTC; SQLite has no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, _dialect: Dialect) -> dt.datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError(f"an instant without a time zone: {value}")
        return None if value is None else value.astimezone(dt.UTC)

    def process_result_value(self, value: dt.datetime | None, _dialect: Dialect) -> dt.datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


class StrEnumType(TypeDecorator[StrEnum]):
    """A member of a `StrEnum`, stored as its value."""

    impl = String(32)
    cache_ok = True

    def __init__(self, vocabulary: type[StrEnum]) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def process_bind_param(self, value: StrEnum | str | None, _dialect: Dialect) -> str | None:
        return None if value is None else str(self.vocabulary(value))

    def process_result_value(self, value: str | None, _dialect: Dialect) -> StrEnum | None:
        return None if value is None else self.vocabulary(value)


class MessageColumn(TypeDecorator[Message]):
    """A message, stored as the JSON of its code and arguments; None is the empty string, or NULL if allowed."""

    impl = Text
    cache_ok = True

    def __init__(self, *, is_nullable: bool = True) -> None:
        super().__init__()
        self.is_nullable = is_nullable

    def process_bind_param(self, value: Message | None, _dialect: Dialect) -> str | None:
        if value is None:
            return None if self.is_nullable else ""
        # Sorted keys: equal messages are equal texts.
        return json.dumps(sanitize_value(value.to_json()), sort_keys=True)

    def process_result_value(self, value: str | None, _dialect: Dialect) -> Message | None:
        return Message.from_json(json.loads(value)) if value else None


def message_field(*, is_nullable: bool = True, is_required: bool = False) -> Any:
    """A field that holds a message; without `is_required` it may be None, even if its column is not nullable."""
    column: Column[Any] = Column(MessageColumn(is_nullable=is_nullable), nullable=is_nullable)
    return Field(sa_column=column) if is_required else Field(default=None, sa_column=column)


def enum_field(vocabulary: type[StrEnum], default: StrEnum | None = None, *, index: bool = False) -> Any:
    """A field that holds a member of a vocabulary; without a default it may be None."""
    column: Column[Any] = Column(StrEnumType(vocabulary), nullable=default is None, index=index)
    return Field(default=default, sa_column=column)


def list_field() -> Any:
    return Field(default_factory=_make_empty_list, sa_column=Column(JSON, nullable=False))


def derived_field(kind: TypeEngine[Any]) -> Any:
    """A field that is not given, but derived from others of its row."""
    return Field(sa_column=Column(kind, nullable=False))


def instant_field(*, is_required: bool = False, index: bool = False) -> Any:
    column: Column[Any] = Column(UtcDateTime(), nullable=not is_required, index=index)
    return Field(sa_column=column) if is_required else Field(default=None, sa_column=column)


def owner_field(
    key: str,
    kind: TypeEngine[Any],
    *,
    is_key: bool = False,
    index: bool = False,
    is_required: bool = True,
    name: str | None = None,
) -> Any:
    """A field with the key of the row that this one belongs to, and is deleted with; `name` is the constraint's."""
    owner = ForeignKey(key, ondelete="CASCADE", name=name)
    column: Column[Any] = Column(kind, owner, primary_key=is_key, nullable=not is_required, index=index)
    return Field(sa_column=column) if is_required else Field(default=None, sa_column=column)


def _make_empty_list() -> list[Any]:
    # Not `list` itself: pydantic inspects the signature before each call, which is slow for a built-in.
    return []
