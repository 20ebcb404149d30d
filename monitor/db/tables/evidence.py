"""The tables of records with the claims that rest on them, of model answers and manifests, and of page revisions."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, Index, Integer, String, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import StrEnumType, enum_field, instant_field, list_field, message_field, owner_field
from monitor.i18n.message import Message
from monitor.page import ChangeKind, PageChange, PageSnapshot
from monitor.vocabulary import FetchMode, JudgedBy, Phase, Verdict


class EvidenceRecord(SQLModel, table=True):
    """A fetch of a run or of a research, with its response.

    `stored_at` is the location of the WARC file in which its body lay when it was recorded, `offset` and `length` the
    place in it; fetches of the same body share one. Without them the file is of 0.1 and holds this body alone; without
    `stored_at` there was no response. Where the body lies now is known by its `sha256`: see `EvidenceFile`. `attempt`
    counts how often the run was started or resumed, `number` the fetches of an attempt. `hash` is that of the row's
    content when it was written; rows of 0.1.0 have none.
    """

    __tablename__ = "record"

    __table_args__ = (
        Index("ix_record_run_id", "run_id"),
        Index("ix_record_research_id", "research_id"),
        Index("ix_record_sha256", "sha256"),
    )

    id: str = Field(primary_key=True, max_length=16)
    run_id: str | None = owner_field("run.id", String(64), is_required=False)
    research_id: str | None = owner_field("research.id", String(64), is_required=False, name="fk_record_research")
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
    fetched_at: dt.datetime = instant_field(is_required=True)
    sha256: str | None = Field(default=None, max_length=64)
    size: int = 0
    stored_at: str | None = Field(default=None, sa_column=Column(Text))
    offset: int | None = None
    length: int | None = None
    hash: str | None = Field(default=None, max_length=64)


class ClaimKind(StrEnum):
    """What of an item rests on a record; `list` is its entry on a list page."""

    LIST = "list"
    PAGE = "page"
    ATTACHMENT = "attachment"
    DATE = "date"
    SUMMARY = "summary"
    FIGURE = "figure"


class Claim(SQLModel, table=True):
    """A statement of an item, and the passage of a record that supports it.

    The passage is a quotation, but for white space; it is empty for the whole page, or where none was found. Sentences
    of a summary have a verdict, with its `reasons` as objects with `code` and `args`; those of 0.1.0 have none.
    """

    __table_args__ = (Index("ix_claim_item_id", "item_id"), Index("ix_claim_record_id", "record_id"))

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = owner_field("item.id", Integer())
    kind: ClaimKind = Field(sa_column=Column(StrEnumType(ClaimKind), nullable=False))
    claim: str = Field(default="", sa_column=Column(Text, nullable=False))
    record_id: str = owner_field("record.id", String(16))
    passage: str = Field(default="", sa_column=Column(Text, nullable=False))
    verdict: Verdict | None = enum_field(Verdict)
    judged_by: JudgedBy | None = enum_field(JudgedBy)
    reasons: list[dict[str, Any]] = list_field()


@dataclass(frozen=True)
class ClaimUpdate:
    """Claims to add by the ids of their items, in place of those that the items have of the `replaced_kinds`."""

    claims: Mapping[int, Sequence[Claim]]
    replaced_kinds: frozenset[ClaimKind]


class ModelAnswer(SQLModel, table=True):
    """The model's answer to one request of a run: a completion or a failure. `request` is the request's hash."""

    __tablename__ = "answer"

    __table_args__ = (Index("ix_answer_run_id", "run_id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = owner_field("run.id", String(64))
    attempt: int
    request: str = Field(max_length=64)
    phase: Phase = Field(sa_column=Column(StrEnumType(Phase), nullable=False))
    place: str = Field(default="", sa_column=Column(Text, nullable=False))
    completion: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    failure: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    at: dt.datetime = instant_field(is_required=True)


class ManifestPart(SQLModel, table=True):
    """A part that manifests of many runs share: JSON, kept once by its hash. `last_used_at` is a day behind at most."""

    __tablename__ = "manifest_part"

    id: int | None = Field(default=None, primary_key=True)
    hash: str = Field(max_length=64, unique=True)
    content: str = Field(sa_column=Column(Text, nullable=False))
    last_used_at: dt.datetime = instant_field(is_required=True, index=True)


class RunManifestRecord(SQLModel, table=True):
    """The manifest of a run: its source, what was remembered of it, and the settings that matter.

    What is in `parts`, the ids of a `ManifestPart` each, is not in the `facts`.
    """

    __tablename__ = "outset"

    run_id: str = owner_field("run.id", String(64), is_key=True)
    facts: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    parts: list[int] = list_field()


class ItemSnapshot(SQLModel, table=True):
    """The latest successful look at an item's page, with which the next one is compared.

    `looked_at` is the last try. `page` is a `PageSnapshot` without its text, which is stored with the item. `standing`
    is `withdrawn` while the page is gone. `doubt` is the result of the last look if another run confirms it. `failure`
    says why the last look saw nothing.
    """

    __tablename__ = "item_sight"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    run_id: str = Field(sa_column=Column(String(64), nullable=False))
    looked_at: dt.datetime = instant_field(is_required=True)
    page: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    standing: ChangeKind = enum_field(ChangeKind, ChangeKind.NONE)
    doubt: ChangeKind | None = enum_field(ChangeKind)
    failure: Message | None = message_field(is_nullable=False)

    def build_page_snapshot(self, text: str) -> PageSnapshot:
        """The snapshot with the text that is stored with the item."""
        return PageSnapshot.model_validate({**self.page, "text": text})

    @classmethod
    def from_page(cls, item_id: int, run_id: str, snapshot: PageSnapshot) -> "ItemSnapshot":
        """A first look, or one that clears every doubt."""
        page = snapshot.model_dump(mode="json", exclude={"text"})
        return cls(item_id=item_id, run_id=run_id, looked_at=snapshot.seen_at, page=page, failure=snapshot.reason)


class Revision(SQLModel, table=True):
    """A change of an item's page; the hashes are those of the two bodies."""

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE", index=True)
    run_id: str = Field(sa_column=Column(String(64), nullable=False))
    seen_at: dt.datetime = instant_field(is_required=True, index=True)
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


class LinkKind(StrEnum):
    """What a link of the chain stands for: a row of `record` or of `audit_entry`."""

    RECORD = "record"
    AUDIT = "audit"


class ChainLink(SQLModel, table=True):
    """The hash of a signed row, which stays when the row is removed. `owner` is the run or research of a record."""

    __tablename__ = "chain_link"

    __table_args__ = (UniqueConstraint("kind", "row_id", name="uq_chain_link_row"),)

    position: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    kind: LinkKind = Field(sa_column=Column(StrEnumType(LinkKind), nullable=False))
    row_id: str = Field(max_length=32)
    owner: str = Field(default="", max_length=80)
    at: dt.datetime = instant_field(is_required=True)
    hash: str = Field(max_length=64)


class ChainHead(SQLModel, table=True):
    """A signed statement about the links `first` to `last`, none where `last` is the lesser, and about the head before.

    `records_since` and `audit_since` say that rows before these instants were about to be removed. `timestamp` is the
    answer of a time stamping authority, as base64.
    """

    __tablename__ = "chain_head"

    number: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    at: dt.datetime = instant_field(is_required=True)
    first: int
    last: int
    root: str = Field(max_length=64)
    previous: str = Field(max_length=64)
    records_since: dt.datetime | None = instant_field()
    audit_since: dt.datetime | None = instant_field()
    public_key: str = Field(max_length=64)
    hash: str = Field(default="", max_length=64)
    signature: str = Field(default="", max_length=128)
    timestamp: str | None = Field(default=None, sa_column=Column(Text))


class EvidenceFile(SQLModel, table=True):
    """A capture: where a body lies in a WARC file, and the hashes of the body and of the bytes that hold it.

    A file of 0.1 is one capture from its first byte on. Without `member_sha256`, its bytes were never hashed.
    """

    __tablename__ = "evidence_file"

    location: str = Field(primary_key=True, max_length=200)
    offset: int = Field(sa_column=Column(Integer, primary_key=True, autoincrement=False))
    length: int
    sha256: str = Field(max_length=64, index=True)
    member_sha256: str = Field(max_length=64)
    checked_at: dt.datetime = instant_field(is_required=True, index=True)


class IncidentKind(StrEnum):
    """What happened to evidence: `gap` is a page that could not be kept, the others are captures."""

    GAP = "gap"
    MISSING = "missing"
    TRUNCATED = "truncated"
    ALTERED = "altered"


class MendedBy(StrEnum):
    """How evidence was mended: from its own intact body, by the same bytes fetched again, by a later capture."""

    OWN_BODY = "own_body"
    SAME_BYTES = "same_bytes"
    CAPTURE = "capture"


class EvidenceIncident(SQLModel, table=True):
    """A gap or a damaged capture, and when and how it was mended; `next_try_at` is when to fetch the page again."""

    __tablename__ = "evidence_incident"

    id: int | None = Field(default=None, primary_key=True)
    kind: IncidentKind = Field(sa_column=Column(StrEnumType(IncidentKind), nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    way: FetchMode = Field(sa_column=Column(StrEnumType(FetchMode), nullable=False))
    location: str | None = Field(default=None, max_length=200, index=True)
    offset: int | None = None
    run_id: str | None = owner_field("run.id", String(64), is_required=False, index=True)
    research_id: str | None = owner_field("research.id", String(64), is_required=False, index=True)
    found_at: dt.datetime = instant_field(is_required=True)
    tries: int = 0
    next_try_at: dt.datetime | None = instant_field()
    mended_at: dt.datetime | None = instant_field()
    mended_by: MendedBy | None = enum_field(MendedBy)
