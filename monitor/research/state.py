"""The state of a research: what its nodes read and change, kept as they go, so that it goes on where it stopped."""

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, ValidationError

from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.research.shapes import DocumentSource, PlanParagraph
from monitor.verify.statements import Judgement


class SearchEntry(BaseModel):
    """A search result of a paragraph, with what was read of its page.

    `query` found it; `query_id` names the round that took it up, which may be a later one. `content` is what a summary
    may rest on. `score` is the retrieval's final score, `authority` and `freshness` two of its three parts. `record` is
    the id of the kept page, None where only a snippet is known or the text comes from an item whose record is gone; of
    a part of a reader's `document`, with the part's place behind it (`ID#3`).
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
    document: DocumentSource | None = None
    quotes: list[str] = Field(default_factory=list)


class ResultOrigin(BaseModel):
    """What a bundle does not say of a result; `is_lost`: its page could not be read and is not requested again."""

    engine: str
    record: str | None = None
    is_lost: bool = False


class ChosenSearch(BaseModel):
    """A search as a node chose it; the dates are in ISO format, both or none."""

    search_query: str
    search_tool: str
    reasoning: str = ""
    start_date: str | None = None
    end_date: str | None = None


class SearchRound(ChosenSearch):
    """One search of a paragraph and what became of it; `number` counts from 0, `origins` are by source id.

    A round is saved when its search is chosen, when its results are read, and when they are summarised: nothing that
    stands here is done twice.
    """

    number: int
    query_id: str
    origins: dict[str, ResultOrigin] = Field(default_factory=dict)
    is_searched: bool = False
    is_summarised: bool = False
    fallbacks: list[Message] = Field(default_factory=list)


class ParagraphResearch(BaseModel):
    """What was found for a paragraph. `latest_summary` cites `search_history` as [1], [2] …, from 1.

    `refused` counts what was rejected, by kind; `settled` are the second reader's verdicts by their sentences.
    """

    search_history: list[SearchEntry] = Field(default_factory=list)
    latest_summary: str = ""
    reflection_iteration: int = 0
    is_completed: bool = False
    rounds: list[SearchRound] = Field(default_factory=list)
    refused: dict[str, int] = Field(default_factory=dict)
    settled: dict[str, Judgement] = Field(default_factory=dict)
    tokens: int = 0


class ParagraphState(BaseModel):
    title: str
    content: str
    order: int
    research: ParagraphResearch = Field(default_factory=ParagraphResearch)

    @property
    def is_complete(self) -> bool:
        return self.research.is_completed and bool(self.research.latest_summary.strip())


class State(BaseModel):
    query: str
    report_title: str = ""
    paragraphs: list[ParagraphState] = Field(default_factory=list)
    created_at: dt.datetime
    updated_at: dt.datetime

    @classmethod
    def create(cls, query: str, *, at: dt.datetime) -> Self:
        return cls(query=query, created_at=at, updated_at=at)

    def apply_plan(self, title: str, paragraphs: Sequence[PlanParagraph]) -> None:
        self.report_title = title
        self.paragraphs = [
            ParagraphState(title=paragraph.title, content=paragraph.content, order=order)
            for order, paragraph in enumerate(paragraphs)
        ]

    @property
    def progress(self) -> float:
        if not self.paragraphs:
            return 0.0
        return sum(paragraph.is_complete for paragraph in self.paragraphs) / len(self.paragraphs)

    def list_results(self) -> list[SearchEntry]:
        return [entry for paragraph in self.paragraphs for entry in paragraph.research.search_history]

    def save(self, path: Path) -> None:
        """Write the state to a file, whole or not at all."""
        part = path.with_name(f".{path.name}.part")
        part.write_text(self.model_dump_json(indent=1), encoding="utf-8")
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a state from a file; raise `UsageError` where that cannot be done."""
        try:
            return cls.model_validate(json.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise UsageError(
                "research.state_unreadable", path=str(path), reason=error.strerror or str(error)
            ) from error
        except (ValueError, ValidationError) as error:
            raise UsageError("research.state_invalid", path=str(path)) from error
