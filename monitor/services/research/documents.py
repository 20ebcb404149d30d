"""The documents that readers give with a question: examined, stored with it, kept as evidence, and read again.

The bytes are stored in the transaction that stores the question, so that a kill leaves both or neither. When the
research begins they become records of its evidence.
"""

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from monitor.clock import Clock
from monitor.config.model import ResearchSettings
from monitor.db.database import Store
from monitor.db.queries.research import DocumentRow
from monitor.db.sessions import sanitize_text
from monitor.db.tables.research import Research, ResearchDocument
from monitor.errors import NotFound, RecordLost, UsageError, WorkFailed
from monitor.evidence.records import EvidenceArchive, RunRecorder
from monitor.extract.office import DocumentPart
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.pages.documents import DocumentReader
from monitor.research.documents import (
    MAX_DOCUMENT_CHARS,
    DocumentShelf,
    DocumentTextLoader,
    ReaderDocument,
    split_parts,
)
from monitor.vocabulary import FetchMode

MEDIA_TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_MAX_NAME_CHARS = 120
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class UploadedFile:
    """A file as it came: its name is what the sender says."""

    name: str
    body: bytes


@dataclass(frozen=True, kw_only=True)
class DocumentKeeper:
    store: Store
    records: EvidenceArchive
    documents: DocumentReader
    workers: WorkerPool
    clock: Clock
    limits: ResearchSettings

    async def examine(self, files: Sequence[UploadedFile], research: Research) -> list[ResearchDocument]:
        """Return the documents of a question, each file once; `UsageError` says which of them is refused, and why."""
        if len(files) > self.limits.max_documents:
            raise UsageError("research.too_many_documents", limit=self.limits.max_documents)
        documents: dict[str, ResearchDocument] = {}
        for file in files:
            digest = hashlib.sha256(file.body).hexdigest()
            if digest not in documents:
                documents[digest] = await self._examine(file, digest, research, number=len(documents) + 1)
        return list(documents.values())

    async def prepare(self, research: Research, recorder: RunRecorder) -> tuple[DocumentShelf | None, list[Message]]:
        """Keep the documents of a research as evidence, if that is still to be done; return them, and what is wrong.

        A question about a report has those of the report, an edition those of the first of its series.
        """
        owner = research.parent_id or research.id
        warnings: list[Message] = []
        if research.edition_of is not None and research.parent_id is None:
            warnings += await self._copy(research, research.edition_of, recorder)
        shelf: list[ReaderDocument] = []
        for row in await self.store.research.list_documents(owner):
            if row.is_cut:
                warnings.append(Message.of("research.document_cut", name=row.name, limit=MAX_DOCUMENT_CHARS))
            record = row.record or await self._keep(owner, row, recorder)
            values = row._asdict() | {"record": record}
            shelf.append(ReaderDocument(**{name: values[name] for name in ReaderDocument.__dataclass_fields__}))
        if not shelf:
            return None, warnings
        return DocumentShelf(shelf, self.open_text_loader(), self.workers, research.language), warnings

    def open_text_loader(self) -> DocumentTextLoader:
        """Return what reads the parts of documents, each of them once."""
        read: dict[str, list[DocumentPart]] = {}
        reading = asyncio.Lock()

        async def load_parts(record: str) -> list[DocumentPart]:
            async with reading:
                if record not in read:
                    read[record] = await self._load_parts(record)
                return read[record]

        return load_parts

    async def load_body(self, owner: str, number: int) -> tuple[DocumentRow, bytes]:
        """Return a document as it was given; `NotFound` where there is none, `RecordLost` where it was altered."""
        rows = await self.store.research.list_documents(owner)
        row = next((row for row in rows if row.number == number), None)
        if row is None:
            raise NotFound("research.no_document", research=owner, number=number)
        body = await self.store.research.load_document_body(owner, number)
        if body is None and row.record is not None:
            result = await self.records.load_by_id(row.record)
            body = result.body if result is not None else None
        if body is None:
            raise RecordLost("research.document_gone", name=row.name)
        return row, body

    async def _examine(self, file: UploadedFile, digest: str, research: Research, *, number: int) -> ResearchDocument:
        name = clean_file_name(file.name) or f"document {number}"
        try:
            found = await self.documents.read_upload(
                name, file.body, max_bytes=self.limits.max_document_bytes, max_chars=MAX_DOCUMENT_CHARS
            )
        except WorkFailed as failure:
            raise UsageError(failure.message) from None
        pages = [part for part in found.parts if part.page is not None]
        return ResearchDocument(
            task_id=research.id,
            number=number,
            name=name,
            kind=found.kind,
            size=len(file.body),
            sha256=digest,
            pages=len(pages),
            pages_without_text=sum(not part.text.strip() for part in pages),
            is_cut=found.is_cut,
            uploaded_by=research.asked_by,
            uploaded_at=research.created_at,
            body=file.body,
        )

    async def _keep(self, owner: str, row: DocumentRow, recorder: RunRecorder) -> str:
        body = await self.store.research.load_document_body(owner, row.number)
        if body is None:
            raise WorkFailed("research.document_gone", name=row.name)
        record = await self._record(row, body, recorder)
        await self.store.research.set_document_record(owner, row.number, record)
        return record

    async def _copy(self, edition: Research, first: str, recorder: RunRecorder) -> list[Message]:
        """Give an edition the documents of the first research, as evidence of its own; return which are lost."""
        known = {row.number for row in await self.store.research.list_documents(edition.id)}
        lost: list[Message] = []
        for row in await self.store.research.list_documents(first):
            if row.number in known:
                continue
            try:
                _, body = await self.load_body(first, row.number)
            except RecordLost as error:
                lost.append(Message.of("research.document_lost", name=row.name, reason=error.message))
                continue
            copied = row._asdict() | {"task_id": edition.id, "record": await self._record(row, body, recorder)}
            await self.store.research.add_documents([ResearchDocument(**copied)])
        return lost

    async def _record(self, row: DocumentRow, body: bytes, recorder: RunRecorder) -> str:
        address = f"document:{row.sha256[:16]}"
        return await recorder.keep(
            FetchResult(
                url=address,
                final_url=address,
                mode=FetchMode.HTTP,
                at=self.clock.now(),
                headers={"content-type": MEDIA_TYPES[row.kind]},
                body=body,
            )
        )

    async def _load_parts(self, record: str) -> list[DocumentPart]:
        result = await self.records.load_by_id(record)
        if result is None or result.body is None:
            raise RecordLost("research.document_gone", name=record)
        found = await self.documents.read_upload(
            record, result.body, max_bytes=len(result.body), max_chars=MAX_DOCUMENT_CHARS
        )
        return await self.workers.run(split_parts, found.parts)


def is_part_reference(record: str) -> bool:
    return "#" in record


async def load_part_text(reference: str, load_parts: DocumentTextLoader) -> str | None:
    """Return the text of a part by its record (`ID#3`); None where it cannot be read."""
    record, _, place = reference.partition("#")
    try:
        parts = await load_parts(record)
    except (RecordLost, WorkFailed):
        return None
    return parts[int(place)].text if int(place) < len(parts) else None


def clean_file_name(name: str) -> str:
    """Return the last part of a path without control and direction characters, its beginning and its ending."""
    last = PureWindowsPath(PurePosixPath(sanitize_text(name)).name).name
    visible = "".join(char for char in last if unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cn"))
    plain = _SPACES.sub(" ", visible).strip()
    if len(plain) <= _MAX_NAME_CHARS:
        return plain
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[: _MAX_NAME_CHARS - 12]}…{dot}{ending[:10]}" if dot else plain[:_MAX_NAME_CHARS]
