"""What is judged, and what comes of it: a statement, the pages that it may rest on, and a verdict with its reasons."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from monitor.i18n.message import Message
from monitor.vocabulary import JudgedBy, ReasonCode, Verdict

EDITOR_MARK = "‡"
"""Stands behind what an editor wrote: nothing verified it."""


@dataclass(frozen=True, kw_only=True)
class SourceText:
    """A page with the facts of its record: all that a statement about it may rest on."""

    text: str
    title: str = ""
    section: str = ""
    publisher: str = ""
    published_on: dt.date | None = None


class Reason(BaseModel):
    """Why a statement is not supported; `args` are words of the statement and of the page, such as a figure."""

    model_config = ConfigDict(frozen=True)

    code: ReasonCode
    args: Mapping[str, str] = Field(default_factory=dict)

    @property
    def message(self) -> Message:
        return Message(f"verify.{self.code}", self.args)


class Judgement(BaseModel):
    """The verdict on a statement, and the passage of a page that bears it, or that speaks against it.

    `is_open`: code prefers this verdict but could not settle it, so that a second reader is worth asking. `context` is
    what that reader is shown: the passage with the sentences around it.
    """

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    by: JudgedBy = JudgedBy.CODE
    passage: str = ""
    reasons: tuple[Reason, ...] = ()
    is_open: bool = Field(default=False, exclude=True)
    context: str = Field(default="", exclude=True)


class StatementCounts(BaseModel):
    """How many statements of a text have which verdict; the contradicted and unsupported ones were dropped."""

    supported_by_code: int = 0
    supported_by_model: int = 0
    unchecked: int = 0
    contradicted: int = 0
    unsupported: int = 0

    @classmethod
    def count(cls, judgements: Iterable[Judgement]) -> Self:
        counts = cls()
        for judgement in judgements:
            by = f"_by_{judgement.by}" if judgement.verdict is Verdict.SUPPORTED else ""
            name = f"{judgement.verdict}{by}"
            setattr(counts, name, getattr(counts, name) + 1)
        return counts

    @property
    def shown(self) -> int:
        return self.supported_by_code + self.supported_by_model + self.unchecked

    def __add__(self, other: "StatementCounts") -> "StatementCounts":
        return StatementCounts(**{name: value + getattr(other, name) for name, value in self})
