"""Kept pages, read again as text with a passage in it: for whoever wants to see for himself, person or program."""

import asyncio
import datetime as dt
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from monitor.db.database import Store
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Claim, ClaimKind, EvidenceRecord
from monitor.errors import NotFound, RecordLost, WorkFailed
from monitor.evidence.chain import EvidenceChain
from monitor.evidence.passages import HighlightedText, extract_all_text, highlight_passage, highlight_text
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.wacz import EvidenceExport, build_wacz
from monitor.extract.attachments import detect_extension
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.isolation.pool import WorkerPool
from monitor.pages.documents import DocumentReader
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.verify.statements import Reason
from monitor.vocabulary import FetchMode, JudgedBy, Verdict

_DOCUMENT_TYPES = ("pdf", "docx", "xlsx")


class SnapshotView(MessageModel):
    """A kept page as text. `start` and `end` are where the passage stands in it; None where it does not, or none is.

    `problem` says why there is no text: the record is gone, or is not any more what was kept. `is_source`: the text is
    a piece of the page's markup, for the passage stands in nothing that people see. `is_cut`: there is more of it.
    """

    title: str
    passage: str = ""
    record: str
    url: str
    final_url: str
    way: FetchMode
    status: int | None
    fetched_at: dt.datetime
    sha256: str | None
    text: str = ""
    start: int | None = None
    end: int | None = None
    is_source: bool = False
    is_cut: bool = False
    problem: Message | None = None


@dataclass(kw_only=True)
class SnapshotReader:
    store: Store
    records: EvidenceArchive
    documents: DocumentReader
    workers: WorkerPool

    async def load_view(self, record: EvidenceRecord, *, title: str, passage: str = "") -> SnapshotView:
        shown = self._describe(record, title, passage)
        try:
            found = await self._find_passage(record, passage, title)
        except (RecordLost, WorkFailed) as error:
            return shown.model_copy(update={"problem": error.message})
        return shown.model_copy(update=asdict(found))

    async def build_view(self, record: EvidenceRecord, text: str | None, *, title: str, passage: str) -> SnapshotView:
        """Show a text that was read of a record with a passage in it; without the text, why there is none."""
        shown = self._describe(record, title, passage)
        if text is None:
            return shown.model_copy(update={"problem": Message.of("record.document_unreadable", record=record.id)})
        found = await self.workers.run(highlight_text, text, passage, title)
        return shown.model_copy(update=asdict(found))

    async def load_text(self, record_id: str) -> str | None:
        """All that the page of a record says; None where it is gone, or is not any more what was kept."""
        record = await self.store.evidence.get_record(record_id)
        if record is None:
            return None
        try:
            result = await self.records.load(record)
            kind = await self.workers.run(_detect_file_type, result)
            if kind in _DOCUMENT_TYPES:
                return await self._read_document(result, kind)
            return "" if result.body is None else await self.workers.run(extract_all_text, result)
        except (RecordLost, WorkFailed):
            return None

    def _describe(self, record: EvidenceRecord, title: str, passage: str) -> SnapshotView:
        return SnapshotView(
            title=title,
            passage=passage,
            record=record.id,
            **record.model_dump(include={"url", "final_url", "way", "status", "fetched_at", "sha256"}),
        )

    async def _find_passage(self, record: EvidenceRecord, passage: str, title: str) -> HighlightedText:
        result = await self.records.load(record)
        if result.body is None:
            return HighlightedText("")
        kind = await self.workers.run(_detect_file_type, result)
        if kind in _DOCUMENT_TYPES:
            return await self.workers.run(highlight_text, await self._read_document(result, kind), passage, title)
        return await self.workers.run(highlight_passage, result, passage, title)

    async def _read_document(self, result: FetchResult, kind: str) -> str:
        with tempfile.TemporaryDirectory(prefix="monitor-saved-") as folder:
            path = Path(folder) / f"document.{kind}"
            await asyncio.to_thread(path.write_bytes, result.body or b"")
            return await self.documents.read(path)


def _detect_file_type(result: FetchResult) -> str:
    if result.body is None:
        return ""
    return detect_extension(result.body, url=result.final_url, content_type=result.content_type)


class ItemSnapshotView(SnapshotView):
    """A saved page of an item as text, with the claim that rests on the passage in it."""

    item_id: int
    claim_number: int | None = None
    kind: ClaimKind | None = None
    claim: str = ""


@dataclass(kw_only=True)
class SnapshotService:
    store: Store
    pages: SnapshotReader

    async def get_item_snapshot(self, item_id: int, claim_number: int | None = None) -> ItemSnapshotView:
        """Return the page behind a claim, counted from 1, or the item's own page; `NotFound` where none was kept."""
        item = await self.store.items.get(item_id)
        if item is None:
            raise NotFound("item.not_found", item=item_id)
        claim = await self._load_claim(item_id, claim_number)
        record = await self.store.evidence.get_record(_get_record_id(item, claim))
        if record is None:
            raise NotFound("item.no_snapshot", item=item_id)
        asked = claim if claim_number is not None else None
        page = await self.pages.load_view(record, title=item.title, passage=asked.passage if asked else "")
        shown = asked.model_dump(include={"kind", "claim"}) if asked else {}
        return ItemSnapshotView(item_id=item_id, claim_number=claim_number, **shown, **dict(page))

    async def _load_claim(self, item_id: int, number: int | None) -> Claim | None:
        claims = await self.store.evidence.list_claims(item_id)
        if number is None:
            return next((claim for claim in claims if claim.kind is ClaimKind.PAGE), None)
        if not 1 <= number <= len(claims):
            raise NotFound("item.no_claim", item=item_id, claim=number, claims=len(claims))
        return claims[number - 1]


def _get_record_id(item: Item, claim: Claim | None) -> str:
    """The record of the claim; without one the last that the item names, which is its own page."""
    return claim.record_id if claim is not None else next(reversed(item.evidence), "")


class EvidenceRecordSchema(MessageModel):
    """A record; `problem` says why it proves nothing any more, `way` is `drawn` for a browser's page, `file` a WARC."""

    id: str
    run_id: str
    url: str
    final_url: str
    status: int | None
    way: FetchMode
    fetched_at: dt.datetime
    sha256: str | None
    file: str | None
    problem: Message | None = None


class ClaimSchema(BaseModel):
    """Something that an item says, and where that stands: the words of a record; empty words mean the whole page.

    A sentence of a summary has a verdict, by code or by a model, with its reasons; None where nothing judged it.
    """

    kind: ClaimKind
    claim: str
    passage: str
    record: str
    verdict: Verdict | None = None
    judged_by: JudgedBy | None = None
    reasons: list[Reason] = Field(default_factory=list)


class ItemProof(BaseModel):
    item_id: int
    title: str
    url: str
    claims: list[ClaimSchema]
    records: list[EvidenceRecordSchema]


@dataclass(kw_only=True)
class ProofService:
    store: Store
    records: EvidenceArchive

    async def get_proof(self, item_id: int) -> ItemProof:
        item = await self.store.items.get(item_id)
        if item is None:
            raise NotFound("item.not_found", item=item_id)
        claims = await self.store.evidence.list_claims(item_id)
        named = dict.fromkeys([*item.evidence, *(claim.record_id for claim in claims)])
        rows = [row for record_id in named if (row := await self.store.evidence.get_record(record_id)) is not None]
        return ItemProof(
            item_id=item_id,
            title=item.title,
            url=item.url,
            claims=[_build_claim_schema(claim) for claim in claims],
            records=[await self._build_record_schema(row) for row in rows],
        )

    async def _build_record_schema(self, row: EvidenceRecord) -> EvidenceRecordSchema:
        problem = None
        try:
            await self.records.load(row)
        except RecordLost as error:
            problem = error.message
        values = row.model_dump(include=set(EvidenceRecordSchema.model_fields))
        location = await self.records.find_location(row)
        file = None if location is None else self.records.get_display_path(location)
        return EvidenceRecordSchema(**values, file=file, problem=problem)


def _build_claim_schema(claim: Claim) -> ClaimSchema:
    return ClaimSchema(
        kind=claim.kind,
        claim=claim.claim,
        passage=claim.passage,
        record=claim.record_id,
        verdict=claim.verdict,
        judged_by=claim.judged_by,
        reasons=[Reason.model_validate(reason) for reason in claim.reasons],
    )


@dataclass(kw_only=True)
class EvidenceExporter(AuditedService):
    records: EvidenceArchive
    chain: EvidenceChain

    async def export_item(self, item_id: int, *, by: Actor) -> bytes:
        """Return an item's evidence as WACZ with the proof of the chain, which is signed for it; recorded."""
        item = await self.store.items.get(item_id)
        if item is None:
            raise NotFound("item.not_found", item=item_id)
        claims = await self.store.evidence.list_claims(item_id)
        named = dict.fromkeys([*item.evidence, *(claim.record_id for claim in claims)])
        rows = [row for record_id in named if (row := await self.store.evidence.get_record(record_id)) is not None]
        if not rows:
            raise NotFound("item.no_snapshot", item=item_id)
        await self.record(by, AuditAction.EVIDENCE_EXPORT, f"item {item_id}", title=item.title)
        await self.chain.sign()
        proofs = await self.chain.prove([row.id for row in rows])
        first = min((proof.head for proof in proofs), default=1)
        facts = {"id": item_id, "title": item.title, "url": item.url, "source": item.source}
        facts["claims"] = [_build_claim_schema(claim).model_dump(mode="json") for claim in claims]
        export = EvidenceExport(
            title=item.title,
            facts=facts,
            made_at=f"{self.clock.now():%Y-%m-%dT%H:%M:%SZ}",
            public_key=self.chain.key.get_public_key() or "",
            records=[(row, await self._load(row)) for row in rows],
            proofs=proofs,
            heads=await self.store.chain.list_heads(since=first),
        )
        return await asyncio.to_thread(build_wacz, export)

    async def _load(self, row: EvidenceRecord) -> FetchResult | None:
        try:
            return await self.records.load(row)
        except RecordLost:
            return None
