"""What an evaluation measures: one contender's work on one thing, with the calls that it took."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, Field

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import Phase, RankDirection, Verdict

EVALUATED_PHASES = (Phase.NAVIGATE, Phase.CRAWL, Phase.SUMMARISE, Phase.VERIFY, Phase.RANK)
BUILT_IN, CURRENT = "built-in", "current"
PROMPT_SETS = (CURRENT, BUILT_IN)


class Contender(BaseModel, frozen=True):
    """A model with the prompts that it is given: `current`, with the wordings of administrators, or `built-in`."""

    model: str
    prompts: str = CURRENT


class PieceKey(NamedTuple):
    """What one piece is: the contender by number, the recorded run, the phase, and the thing within them."""

    contender: int
    run_id: str
    phase: Phase
    place: str


class CallRow(BaseModel):
    """A call of a model; `cost` is None where the model has no price."""

    phase: Phase
    outcome: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: int = 0
    cost: float | None = None


class FallbackRow(MessageModel):
    """Why a phase went by rule."""

    phase: Phase
    reason: Message


class SectionsFound(BaseModel):
    """Sections by url key: those that the recorded run or administrators kept, and those that the model chose."""

    kind: Literal["sections"] = "sections"
    wanted: list[str]
    chosen: list[str]


class ItemsSaved(BaseModel):
    """Items of a section by url key: the candidates in range by the recorded ledger, and those that the agent saved.

    `refused` counts saves that were not accepted, `corrected` dates that were put right.
    """

    kind: Literal["items"] = "items"
    wanted: list[str]
    saved: list[str]
    refused: int = 0
    corrected: int = 0


class DraftStatement(MessageModel):
    """A sentence of a model's first draft with the verdict of code alone.

    `is_open`: code could not settle it. `is_on_page`: it stands on the page word for word.
    """

    text: str
    verdict: Verdict
    is_open: bool = False
    is_on_page: bool = False
    reason: Message | None = None
    passage: str = ""


class SummaryWritten(MessageModel):
    """The summary of an item. `fault` says why the first draft was none at all; `summary` is what was kept."""

    kind: Literal["summary"] = "summary"
    item_id: int
    title: str
    url: str
    drafts: int
    is_kept: bool
    is_kept_at_first: bool
    summary: str = ""
    statements: list[DraftStatement] = Field(default_factory=list)
    fault: Message | None = None


class PlantKind(StrEnum):
    """What a sentence shown to a second reader is: of its page, of another page, or with a word or figure changed."""

    OWN = "own"
    FOREIGN = "foreign"
    CHANGED = "changed"


class PlantedStatement(BaseModel):
    """A sentence that is known to be true or false, and what the second reader said; None: nothing that counts."""

    kind: PlantKind
    text: str
    verdict: Verdict | None = None

    @property
    def is_refused(self) -> bool:
        return self.verdict in (Verdict.CONTRADICTED, Verdict.UNSUPPORTED)

    @property
    def is_right(self) -> bool:
        return self.is_refused != (self.kind is PlantKind.OWN)


class StatementsRead(BaseModel):
    kind: Literal["statements"] = "statements"
    item_id: int
    statements: list[PlantedStatement]


class RankWish(BaseModel):
    """Somebody's wish for an item: how many places it has moved towards the top since the recorded order."""

    item_id: int
    wish: RankDirection
    moved: int

    @property
    def is_followed(self) -> bool:
        return self.moved > 0 if self.wish is RankDirection.HIGHER else self.moved < 0

    @property
    def is_opposed(self) -> bool:
        return self.moved < 0 if self.wish is RankDirection.HIGHER else self.moved > 0


class ItemsRanked(BaseModel):
    """Orders of the items of a run by their ids, the most important first."""

    kind: Literal["ranks"] = "ranks"
    order: list[int]
    order_by_rule: list[int]
    wishes: list[RankWish] = Field(default_factory=list)


Measured = Annotated[
    SectionsFound | ItemsSaved | SummaryWritten | StatementsRead | ItemsRanked, Field(discriminator="kind")
]


class PieceRow(BaseModel):
    """A finished piece. `is_answered`: the model did it; else it went by rule, as `fallbacks` and `calls` say."""

    contender: int
    source: str
    run_id: str
    phase: Phase
    place: str
    is_answered: bool
    calls: list[CallRow] = Field(default_factory=list)
    fallbacks: list[FallbackRow] = Field(default_factory=list)
    measured: Measured

    @property
    def key(self) -> PieceKey:
        return PieceKey(self.contender, self.run_id, self.phase, self.place)


class GapRow(MessageModel):
    """What could not be measured in a recorded run, and why."""

    source: str
    run_id: str
    phase: Phase
    reason: Message


class ChoiceRow(BaseModel):
    """A choice between the summaries of two contenders; `preferred` None: neither is better."""

    item_id: int
    first: int
    second: int
    preferred: int | None
    person: str


class SampledRun(BaseModel):
    """A recorded run that was evaluated, with the items of it that were."""

    source: str
    run_id: str
    items: list[int]


def list_shared(rows: Sequence[PieceRow], contenders: int) -> set[tuple[str, Phase, str]]:
    """The things that every contender did, by run, phase and place: figures compare nothing else."""
    done: dict[tuple[str, Phase, str], set[int]] = {}
    for row in rows:
        done.setdefault((row.run_id, row.phase, row.place), set()).add(row.contender)
    return {thing for thing, by in done.items() if len(by) == contenders}
