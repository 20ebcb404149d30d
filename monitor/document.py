"""What a document says of itself: its stage, numbers, days and relations, each with the passage that bears it."""

import datetime as dt

from pydantic import BaseModel, Field

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import DeadlineKind, DocumentKind, ItemChangeKind, PolicyStage, RelationType, Verdict


class Relation(BaseModel):
    """What a document does to another one, which it names by number, by title, or by both."""

    type: RelationType
    number: str | None = None
    title: str | None = None
    passage: str = Field(default="", exclude=True)


class FigureChange(BaseModel):
    """A threshold or figure that a document changes, as it is written; `old` is None where the document is silent."""

    subject: str
    old: str | None = None
    new: str
    passage: str = Field(default="", exclude=True)


class StatedDeadline(BaseModel):
    """A day on which something begins or ends, and for what, where it does not hold for the whole document."""

    kind: DeadlineKind
    day: dt.date
    subject: str = ""
    passage: str = ""
    verdict: Verdict = Verdict.SUPPORTED


class DocumentFacts(BaseModel):
    """The facts of a document. What it does not say is None or empty; nothing is guessed.

    The five days are those of the whole document, or its first ones; `deadlines` has all, each once. `submit_to` says
    how comments or applications are handed in. `bound` are those who must comply. `evidence` has the passage of each
    field by its name, `verdicts` what `verify` says of it.
    """

    kind: DocumentKind = DocumentKind.POLICY
    stage: PolicyStage | None = None
    issuers: list[str] = Field(default_factory=list)
    number: str | None = None
    made_on: dt.date | None = None
    published_on: dt.date | None = None
    in_force: dt.date | None = None
    valid_until: dt.date | None = None
    comments_until: dt.date | None = None
    apply_by: dt.date | None = None
    comply_by: dt.date | None = None
    submit_to: str | None = None
    bound: list[str] = Field(default_factory=list)
    figures: list[FigureChange] = Field(default_factory=list)
    relations: list[Relation] = Field(default_factory=list)
    deadlines: list[StatedDeadline] = Field(default_factory=list)
    evidence: dict[str, str] = Field(default_factory=dict)
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


class ItemChange(MessageModel):
    """A change of an item as a reader needs it: `message` says what was and what is."""

    kind: ItemChangeKind
    message: Message
