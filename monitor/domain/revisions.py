"""What became of an item's page after it was saved: what a look saw, how two looks differ, and what is kept of it."""

import datetime as dt
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic import Field as PydanticField
from sqlalchemy import JSON, Column, String, Text
from sqlmodel import Field
from sqlmodel import SQLModel

from monitor.domain.columns import UtcDateTime, Word, list_field
from monitor.domain.page import Attachment, PageErrorCode


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


class Op(StrEnum):
    """What was done to a part of a page."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENUMBERED = "renumbered"


class Part(StrEnum):
    """The parts of a page that are compared."""

    TITLE = "title"
    DATE = "date"
    ADDRESS = "address"
    ARTICLE = "article"
    PARAGRAPH = "paragraph"
    ATTACHMENT = "attachment"


class Edit(BaseModel):
    """One difference. `article` is the number that the article has now (第七条, Section 4(b)), or had, if removed.

    Of an article or an attachment that changed, `before` and `after` are the paragraphs that differ; of a renumbered
    one its two numbers.
    """

    op: Op
    part: Part
    article: str | None = None
    before: str = ""
    after: str = ""


class Change(BaseModel):
    """How two looks at a page differ. `kept` is the share of the old words that still stand.

    `more_edits` counts those that were not listed. `reason` says why a page counts as withdrawn or unreachable.
    """

    kind: ChangeKind
    edits: list[Edit] = PydanticField(default_factory=list)
    more_edits: int = 0
    kept: float = 1.0
    reason: str = ""

    def articles(self, op: Op) -> list[str]:
        """The articles to which this was done, each once, in order."""
        return list(dict.fromkeys(self._numbers(op)))

    def _numbers(self, op: Op) -> Iterator[str]:
        return (edit.article for edit in self.edits if edit.op is op and edit.part is Part.ARTICLE and edit.article)

    def of(self, part: Part) -> list[Edit]:
        """The edits of one part of the page."""
        return [edit for edit in self.edits if edit.part is part]


class SeenAttachment(Attachment):
    """A document on a page; `sha256` is None where it was not fetched."""

    sha256: str | None = None


class Seen(BaseModel):
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
    attachments: list[SeenAttachment] = PydanticField(default_factory=list)
    is_list: bool = False
    sha256: str | None = None
    failure: PageErrorCode | None = None
    reason: str = ""


class ItemSight(SQLModel, table=True):
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
    standing: ChangeKind = Field(default=ChangeKind.NONE, sa_column=Column(Word(ChangeKind), nullable=False))
    doubt: ChangeKind | None = Field(default=None, sa_column=Column(Word(ChangeKind), nullable=True))
    failure: str = Field(default="", sa_column=Column(Text, nullable=False))

    def seen(self, text: str) -> Seen:
        """What was seen, with the text that is kept with the item."""
        return Seen.model_validate({**self.page, "text": text})

    @classmethod
    def of(cls, item_id: int, run_id: str, seen: Seen) -> "ItemSight":
        """A first look, or one after which all is as it should be."""
        page = seen.model_dump(mode="json", exclude={"text"})
        return cls(item_id=item_id, run_id=run_id, looked_at=seen.seen_at, page=page, failure=seen.reason)


class Revision(SQLModel, table=True):
    """A change of an item's page: when it was seen, what differs, and the text that stood there before.

    `before_sha256` and `after_sha256` are the hashes of the two bodies.
    """

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE", index=True)
    run_id: str = Field(sa_column=Column(String(64), nullable=False))
    seen_at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False, index=True))
    kind: ChangeKind = Field(sa_column=Column(Word(ChangeKind), nullable=False))
    edits: list[dict[str, Any]] = list_field()
    more_edits: int = 0
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    before_text: str = Field(default="", sa_column=Column(Text, nullable=False))
    before_sha256: str | None = None
    after_sha256: str | None = None

    @property
    def change(self) -> Change:
        return Change.model_validate(self, from_attributes=True)
