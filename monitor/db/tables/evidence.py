"""What was seen and kept, what rests on it, and what a run needs to be done again from that alone."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic import Field as PydanticField
from sqlalchemy import JSON, Column, ForeignKey, Index, String, Text
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import StrEnumType, UtcDateTime, list_field, message_field
from monitor.i18n.message import Message
from monitor.page import Attachment, PageErrorCode
from monitor.vocabulary import FetchMode, Phase


def _run_key_field(*, is_key: bool = False) -> Any:
    run = ForeignKey("run.id", ondelete="CASCADE")
    return Field(sa_column=Column(String(64), run, nullable=False, primary_key=is_key))


def _required_instant_field() -> Any:
    return Field(sa_column=Column(UtcDateTime(), nullable=False))


class EvidenceRecord(SQLModel, table=True):
    """A sighting of a run or of a research: what was asked, how and when, and what came.

    `stored_at` is the place of its WARC file in the storage; sightings of the same body share one. It is None where
    nothing came. `attempt` counts how often the run was begun or gone on with, `number` the sightings of an attempt.
    """

    __tablename__ = "record"

    __table_args__ = (
        Index("ix_record_run_id", "run_id"),
        Index("ix_record_research_id", "research_id"),
        Index("ix_record_sha256", "sha256"),
    )

    id: str = Field(primary_key=True, max_length=16)
    run_id: str | None = Field(
        default=None, sa_column=Column(String(64), ForeignKey("run.id", ondelete="CASCADE"), nullable=True)
    )
    research_id: str | None = Field(
        default=None,
        sa_column=Column(
            String(64), ForeignKey("research.id", name="fk_record_research", ondelete="CASCADE"), nullable=True
        ),
    )
    attempt: int
    number: int
    url: str = Field(sa_column=Column(Text, nullable=False))
    way: FetchMode = Field(sa_column=Column(StrEnumType(FetchMode), nullable=False))
    final_url: str = Field(sa_column=Column(Text, nullable=False))
    status: int | None = None
    headers: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    hops: list[str] = list_field()
    is_cut_short: bool = False
    error: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    notes: dict[str, dict[str, Any]] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    fetched_at: dt.datetime = _required_instant_field()
    sha256: str | None = Field(default=None, max_length=64)
    size: int = 0
    stored_at: str | None = Field(default=None, sa_column=Column(Text))


class ClaimKind(StrEnum):
    """What of an item rests on a record: its place on a list, its page, a document, its date, its summary, a figure."""

    LIST = "list"
    PAGE = "page"
    ATTACHMENT = "attachment"
    DATE = "date"
    SUMMARY = "summary"
    FIGURE = "figure"


class Claim(SQLModel, table=True):
    """Something that an item says, and the passage of a record that bears it.

    The passage stands in the record as it is quoted, white space aside; it is empty where the whole page is meant, or
    where no passage could be told.
    """

    __table_args__ = (Index("ix_claim_item_id", "item_id"), Index("ix_claim_record_id", "record_id"))

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(sa_column=Column(ForeignKey("item.id", ondelete="CASCADE"), nullable=False))
    kind: ClaimKind = Field(sa_column=Column(StrEnumType(ClaimKind), nullable=False))
    claim: str = Field(default="", sa_column=Column(Text, nullable=False))
    record_id: str = Field(sa_column=Column(String(16), ForeignKey("record.id", ondelete="CASCADE"), nullable=False))
    passage: str = Field(default="", sa_column=Column(Text, nullable=False))


@dataclass(frozen=True)
class ClaimUpdate:
    """Claims to be added to items, by the items' numbers, in place of what these have of the kinds `instead_of`."""

    claims: Mapping[int, Sequence[Claim]]
    replaced_kinds: frozenset[ClaimKind]


class ModelAnswer(SQLModel, table=True):
    """What the model said to one request of a run: a completion, or how it failed. `request` is the request's hash."""

    __tablename__ = "answer"

    __table_args__ = (Index("ix_answer_run_id", "run_id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _run_key_field()
    attempt: int
    request: str = Field(max_length=64)
    phase: Phase = Field(sa_column=Column(StrEnumType(Phase), nullable=False))
    place: str = Field(default="", sa_column=Column(Text, nullable=False))
    completion: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    failure: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    at: dt.datetime = _required_instant_field()


class RunManifestRecord(SQLModel, table=True):
    """What a run set out with, as one document: its source, what was remembered of it, and the settings that matter."""

    __tablename__ = "outset"

    run_id: str = _run_key_field(is_key=True)
    facts: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class ChangeKind(StrEnum):
    """How a page differs from what it was. `none` and `unreachable` say nothing of the page: they are no revisions."""

    NONE = "none"
    CHANGED = "changed"
    ATTACHMENTS = "attachments"
    WITHDRAWN = "withdrawn"
    MOVED = "moved"
    RESTORED = "restored"
    UNREACHABLE = "unreachable"

    @property
    def is_revision(self) -> bool:
        """Whether people are told of it."""
        return self not in (ChangeKind.NONE, ChangeKind.UNREACHABLE)


class EditOperation(StrEnum):
    """What was done to a part of a page."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENUMBERED = "renumbered"


class PagePart(StrEnum):
    """The parts of a page that are compared."""

    TITLE = "title"
    DATE = "date"
    ADDRESS = "address"
    ARTICLE = "article"
    PARAGRAPH = "paragraph"
    ATTACHMENT = "attachment"


class PageEdit(BaseModel):
    """One difference. `article` is the number that the article has now (第七条, Section 4(b)), or had, if removed.

    Of an article or an attachment that changed, `before` and `after` are the paragraphs that differ; of a renumbered
    one its two numbers.
    """

    op: EditOperation
    part: PagePart
    article: str | None = None
    before: str = ""
    after: str = ""


class PageChange(BaseModel):
    """How two looks at a page differ. `kept` is the share of the old words that still stand.

    `more_edits` counts those that were not listed. `reason` says why a page counts as withdrawn or unreachable.
    """

    kind: ChangeKind
    edits: list[PageEdit] = PydanticField(default_factory=list)
    more_edits: int = 0
    kept: float = 1.0
    reason: Message | None = None

    def list_articles(self, op: EditOperation) -> list[str]:
        """The articles to which this was done, each once, in order."""
        return list(dict.fromkeys(self._iter_article_numbers(op)))

    def _iter_article_numbers(self, op: EditOperation) -> Iterator[str]:
        return (edit.article for edit in self.edits if edit.op is op and edit.part is PagePart.ARTICLE and edit.article)

    def list_edits(self, part: PagePart) -> list[PageEdit]:
        """The edits of one part of the page."""
        return [edit for edit in self.edits if edit.part is part]


class AttachmentSnapshot(Attachment):
    """A document on a page; `sha256` is None where it was not fetched."""

    sha256: str | None = None


class PageSnapshot(BaseModel):
    """What one look at a page saw, as far as a later look is compared with it.

    `url` is where redirects ended. `published_on` is the date that the page itself states. `notice` is what little a
    page without a text says; `links` are those lines of a text that are nothing but links to other pages; `beside` are
    the marks of the lines that the page shows outside of its text. `whole`, known of the look in hand only, is all that
    the page shows, as it is compared. `failure`: it could not be seen.
    """

    url: str
    seen_at: dt.datetime
    title: str = ""
    published_on: dt.date | None = None
    text: str = ""
    notice: str = ""
    links: list[str] = PydanticField(default_factory=list)
    beside: list[str] = PydanticField(default_factory=list)
    whole: str = PydanticField(default="", exclude=True, repr=False)
    attachments: list[AttachmentSnapshot] = PydanticField(default_factory=list)
    is_list: bool = False
    sha256: str | None = None
    failure: PageErrorCode | None = None
    reason: Message | None = None


class ItemSnapshot(SQLModel, table=True):
    """The latest look at an item's page that saw something: what the next look is compared with.

    `looked_at` is when it was last tried. `page` is a `Seen` without its text, which is kept with the item. `standing`
    is `withdrawn` while the page is said to be gone. `doubt` is what the last look would say, once another run has
    seen the same. `failure` says why the last look saw nothing.
    """

    __tablename__ = "item_sight"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    run_id: str = Field(sa_column=Column(String(64), nullable=False))
    looked_at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False))
    page: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    standing: ChangeKind = Field(default=ChangeKind.NONE, sa_column=Column(StrEnumType(ChangeKind), nullable=False))
    doubt: ChangeKind | None = Field(default=None, sa_column=Column(StrEnumType(ChangeKind), nullable=True))
    failure: Message | None = message_field(is_nullable=False)

    def build_page_snapshot(self, text: str) -> PageSnapshot:
        """What was seen, with the text that is kept with the item."""
        return PageSnapshot.model_validate({**self.page, "text": text})

    @classmethod
    def from_page(cls, item_id: int, run_id: str, snapshot: PageSnapshot) -> "ItemSnapshot":
        """A first look, or one after which all is as it should be."""
        page = snapshot.model_dump(mode="json", exclude={"text"})
        return cls(item_id=item_id, run_id=run_id, looked_at=snapshot.seen_at, page=page, failure=snapshot.reason)


class Revision(SQLModel, table=True):
    """A change of an item's page: when it was seen, what differs, and the text that stood there before.

    `before_sha256` and `after_sha256` are the hashes of the two bodies.
    """

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE", index=True)
    run_id: str = Field(sa_column=Column(String(64), nullable=False))
    seen_at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False, index=True))
    kind: ChangeKind = Field(sa_column=Column(StrEnumType(ChangeKind), nullable=False))
    edits: list[dict[str, Any]] = list_field()
    more_edits: int = 0
    reason: Message | None = message_field(is_nullable=False)
    before_text: str = Field(default="", sa_column=Column(Text, nullable=False))
    before_sha256: str | None = None
    after_sha256: str | None = None

    @property
    def change(self) -> PageChange:
        return PageChange.model_validate(self, from_attributes=True)
