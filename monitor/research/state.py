"""The state of a research: what its nodes read and change, kept as they go, so that it goes on where it stopped."""

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from monitor.errors import UsageError
from monitor.research.shapes import PlanParagraph, StoredMessage


class SearchEntry(BaseModel):
    """A result that was taken up: what was searched for, and the page as far as it is read.

    `query` found it; `query_id` names the round in which it was taken up, which of a late one is a later round.
    `content` is what its summary may rest on. `score` is the retrieval's final score, `authority` and `freshness` two
    of the three that it is made of. `record` is the id of the kept page, None where the text was kept by an item whose
    record is gone, or only a snippet is known.
    """

    query: str
    url: str
    title: str
    content: str
    score: float
    timestamp: dt.datetime
    query_id: str = ""
    source_id: str = ""
    engine: str = ""
    snippet: str = ""
    published_on: dt.date | None = None
    authority: float = 0.4
    freshness: float = 0.5
    record: str | None = None
    quotes: list[str] = Field(default_factory=list)


class ResultOrigin(BaseModel):
    """Of a result what its bundle does not say: the engine that found it, the record of its page.

    `is_lost`: the page was asked for and could not be read; it is not asked for again.
    """

    engine: str
    record: str | None = None
    is_lost: bool = False


class SearchRound(BaseModel):
    """One search of a paragraph and what became of it; `number` counts from 0, the first search.

    A round is written down when the model has chosen its search, again when its results were read, and again when the
    summary was made of them: nothing that stands here is done twice. `origins` go by the results' source ids.
    """

    number: int
    query_id: str
    search_query: str
    search_tool: str
    reasoning: str = ""
    start_date: str | None = None
    end_date: str | None = None
    origins: dict[str, ResultOrigin] = Field(default_factory=dict)
    is_searched: bool = False
    is_summarised: bool = False
    fallbacks: list[StoredMessage] = Field(default_factory=list)


class ParagraphResearch(BaseModel):
    """What was found for a paragraph. `latest_summary` cites the places of `search_history` as [1], [2] …, from 1.

    `refused` counts what was not let through, by its kind; `tokens` what its model calls took.
    """

    search_history: list[SearchEntry] = Field(default_factory=list)
    latest_summary: str = ""
    reflection_iteration: int = 0
    is_completed: bool = False
    rounds: list[SearchRound] = Field(default_factory=list)
    refused: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0


class ParagraphState(BaseModel):
    """A paragraph of the report; `order` counts from 0."""

    title: str
    content: str
    order: int
    research: ParagraphResearch = Field(default_factory=ParagraphResearch)

    @property
    def is_complete(self) -> bool:
        """Whether it is flagged as such and has a summary."""
        return self.research.is_completed and bool(self.research.latest_summary.strip())


class State(BaseModel):
    query: str
    report_title: str = ""
    paragraphs: list[ParagraphState] = Field(default_factory=list)
    created_at: dt.datetime
    updated_at: dt.datetime

    @classmethod
    def create(cls, query: str, *, at: dt.datetime) -> Self:
        """The state of a research that has done nothing yet."""
        return cls(query=query, created_at=at, updated_at=at)

    def apply_plan(self, title: str, paragraphs: Sequence[PlanParagraph]) -> None:
        """Take over a structure, in place of one that was there."""
        self.report_title = title
        self.paragraphs = [
            ParagraphState(title=paragraph.title, content=paragraph.content, order=order)
            for order, paragraph in enumerate(paragraphs)
        ]

    @property
    def progress(self) -> float:
        """The share of the paragraphs that are complete, 0 to 1."""
        if not self.paragraphs:
            return 0.0
        return sum(paragraph.is_complete for paragraph in self.paragraphs) / len(self.paragraphs)

    def save(self, path: Path) -> None:
        """Write it to a file, whole or not at all."""
        part = path.with_name(f".{path.name}.part")
        part.write_text(self.model_dump_json(indent=1), encoding="utf-8")
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it from a file; `UsageError` where there is none that can be read."""
        try:
            return cls.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(
                "research.state_unreadable", path=str(path), reason=error.strerror or str(error)
            ) from error
        except (ValueError, ValidationError) as error:
            raise UsageError("research.state_invalid", path=str(path)) from error
