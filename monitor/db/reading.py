"""What a run plans and learns by reading sections, as the sweep hands it to the store."""

import datetime as dt
from collections.abc import Mapping

from pydantic import BaseModel, Field

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.page import Candidate
from monitor.recipe import SectionRecipe
from monitor.vocabulary import DateSource, Disposition, Phase, SavedBy, SectionEnd


class KnownCandidate(BaseModel):
    """What earlier runs, or an earlier section of this one, know of a url.

    `run_id` and `section` are those that saved it as an item, None where it was only seen. `date` is its date then.
    """

    run_id: str | None = None
    section: str | None = None
    item_id: int | None = None
    date: dt.date | None = None
    date_source: DateSource = DateSource.UNKNOWN


class LedgerEntry(BaseModel):
    candidate: Candidate
    page_url: str
    position: int
    disposition: Disposition
    reason: Message | None = None
    item_id: int | None = None


class UnseenPlace(MessageModel):
    """A section or list page that was not read, and why."""

    section: str
    url: str
    reason: Message


class SectionPlan(BaseModel):
    """A section that a run is to read, in the order of `ordinal`.

    `is_home` marks the home page's own list, `is_feed` a feed, `is_query` search results: none needs an agent.
    """

    ordinal: int
    name: str
    url: str
    found_by: SavedBy = SavedBy.RULE
    is_home: bool = False
    is_feed: bool = False
    is_query: bool = False


class SectionReading(BaseModel):
    """What came of reading one section; its health fields are those of `RunSection`.

    `head` are the keys of the newest urls. `recipe` is what the source is to keep in place of what it had; where that
    no longer fits its page, the reading `is_drifted`. A home page, which is no list, has of the health fields only the
    error.
    """

    plan: SectionPlan
    ended: SectionEnd
    pages: int = 0
    entries: list[LedgerEntry] = Field(default_factory=list)
    unseen: list[UnseenPlace] = Field(default_factory=list)
    tail_date: dt.date | None = None
    refused_saves: int = 0
    corrected_dates: int = 0
    listed: int | None = None
    listed_dated: int = 0
    is_gap: bool = False
    error: Message | None = None
    head: list[str] = Field(default_factory=list)
    recipe: SectionRecipe | None = None
    is_drifted: bool = False


class Coverage(BaseModel):
    """What became of all candidates of a run; the counts add up to the candidates of its sections."""

    saved: int = 0
    known: int = 0
    out_of_range: int = 0
    filtered: int = 0
    over_limit: int = 0
    refused: int = 0
    left: int = 0
    unseen: list[UnseenPlace] = Field(default_factory=list)

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the counts of one section, by disposition."""
        for disposition, count in counts.items():
            setattr(self, disposition, getattr(self, disposition) + count)


class PhaseUsage(BaseModel):
    """What the model calls of one phase cost; `cost` is the money for models with a price, None where none has one."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    largest_context_chars: int = 0
    cost: float | None = None


class RunUsage(PhaseUsage):
    """What the model calls of a run cost, in all and by phase."""

    by_phase: dict[str, PhaseUsage] = Field(default_factory=dict)

    def add(self, phase: Phase, spent: PhaseUsage) -> None:
        self.by_phase[phase] = spent
        self.calls += spent.calls
        self.prompt_tokens += spent.prompt_tokens
        self.completion_tokens += spent.completion_tokens
        self.largest_context_chars = max(self.largest_context_chars, spent.largest_context_chars)
        self.cost = self.cost if spent.cost is None else (self.cost or 0.0) + spent.cost
