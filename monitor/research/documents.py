"""A reader's own documents as sources of a research: what of them is near to what a paragraph is about.

A page of a PDF, a sheet of a workbook or a piece of a long text is one source, with an address and a record of its own.
"""

import hashlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import quote

from monitor.errors import RecordLost, WorkFailed
from monitor.extract.office import DocumentPart
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.research.shapes import DocumentSource
from monitor.research.state import SearchEntry
from monitor.research.summarising import select_passages
from monitor.verify.instructions import list_safe_lines
from monitor.verify.prose import compute_overlap, extract_words

ENGINE = "documents"
"""Stands in a result for the search backend: the passage was found in a document of the reader's."""

MAX_DOCUMENT_CHARS = 1_000_000
"""How far a document is read."""

_MAX_PART_CHARS = 6_000
_MAX_PASSAGE_CHARS = 4_000
_MAX_FOUND = 6
_MIN_NEARNESS = 0.1
_FULL_LINE = 0.7
_SENTENCE_ENDS = "。！？；.!?;:："


@dataclass(frozen=True, kw_only=True)
class ReaderDocument:
    """A document that is kept as evidence in a record."""

    number: int
    name: str
    sha256: str
    uploaded_by: str
    uploaded_at: datetime
    record: str


@dataclass(frozen=True)
class FoundPart:
    """A part of a document: their places from 0, its text, and how near it is to what was wanted, 0 to 1."""

    document: int
    place: int
    source: DocumentPart
    passages: str
    nearness: float


DocumentTextLoader = Callable[[str], Awaitable[list[DocumentPart]]]
"""Returns the parts of a document by its record's id; `RecordLost` or `WorkFailed` where it cannot be read."""


@dataclass
class DocumentShelf:
    """The documents of a research, and what of them is near to a question; titles are in its `language`."""

    documents: Sequence[ReaderDocument]
    load_parts: DocumentTextLoader
    workers: WorkerPool
    language: str

    async def search(
        self, wanted: str, *, query: str, query_id: str, known: Collection[str] = ()
    ) -> tuple[list[SearchEntry], list[Message]]:
        texts: list[list[DocumentPart]] = []
        problems: list[Message] = []
        for document in self.documents:
            try:
                texts.append(await self.load_parts(document.record))
            except (RecordLost, WorkFailed) as error:
                texts.append([])
                problems.append(Message.of("research.document_lost", name=document.name, reason=error.message))
        skipped = [
            frozenset(place for place, part in enumerate(parts) if build_part_url(document, part, place) in known)
            for document, parts in zip(self.documents, texts, strict=True)
        ]
        try:
            found = await self.workers.run(find_parts, texts, wanted, skipped) if any(texts) else []
        except IsolatedWorkFailed as error:
            return [], [*problems, error.message]
        return [self._build_entry(part, query, query_id) for part in found], problems

    def _build_entry(self, found: FoundPart, query: str, query_id: str) -> SearchEntry:
        document = self.documents[found.document]
        source = DocumentSource(
            number=document.number,
            name=document.name,
            uploaded_by=document.uploaded_by,
            page=found.source.page,
            sheet=found.source.sheet,
        )
        url = build_part_url(document, found.source, found.place)
        return SearchEntry(
            query=query,
            query_id=query_id,
            source_id=hashlib.sha256(url.encode()).hexdigest()[:16],
            url=url,
            title=source.format_title(self.language),
            content=found.passages,
            engine=ENGINE,
            record=f"{document.record}#{found.place}",
            score=found.nearness,
            document=source,
            timestamp=document.uploaded_at,
        )


def build_part_url(document: ReaderDocument, part: DocumentPart, place: int) -> str:
    """Return the address of a part: it names the document by its bytes, so that all editions of a research agree."""
    kind = f"page={part.page}" if part.page is not None else f"part={place + 1}"
    return f"document:{document.sha256[:16]}/{quote(document.name)}#{kind}"


def split_parts(parts: Sequence[DocumentPart]) -> list[DocumentPart]:
    """Return pages with whole paragraphs, and other parts split where they are long, between two lines.

    Each piece of a sheet begins with the sheet's first line, its heading.
    """
    pieces: list[DocumentPart] = []
    for part in parts:
        if part.page is not None:
            pieces.append(replace(part, text=join_lines(part.text)))
            continue
        head = part.text.partition("\n")[0] if part.sheet is not None else ""
        lines: list[str] = []
        length = 0
        for line in part.text.splitlines():
            if lines and length + len(line) > _MAX_PART_CHARS:
                pieces.append(replace(part, text="\n".join(lines)))
                lines, length = [head] if head else [], len(head)
            lines.append(line)
            length += len(line) + 1
        pieces.append(replace(part, text="\n".join(lines)))
    return pieces


def join_lines(text: str) -> str:
    """Join the lines of a page that its layout broke: one that nearly fills the width goes on in the next."""
    lines = [line.strip() for line in text.splitlines()]
    width = max(map(len, lines), default=0)
    joined: list[str] = []
    goes_on = False
    for line in filter(None, lines):
        if goes_on:
            is_spaced = joined[-1][-1].isascii() and line[0].isascii()
            joined[-1] += f" {line}" if is_spaced else line
        else:
            joined.append(line)
        goes_on = len(line) >= _FULL_LINE * width and line[-1] not in _SENTENCE_ENDS
    return "\n".join(joined)


def find_parts(
    texts: Sequence[Sequence[DocumentPart]], wanted: str, skipped: Sequence[Collection[int]]
) -> list[FoundPart]:
    """Return the parts that have most of what is wanted, best first, with no orders to a model in them."""
    words = extract_words(wanted)
    found: list[FoundPart] = []
    for number, parts in enumerate(texts):
        for place, part in enumerate(parts):
            nearness = compute_overlap(words, extract_words(part.text)) if place not in skipped[number] else 0.0
            if nearness >= _MIN_NEARNESS:
                found.append(FoundPart(number, place, part, "", round(nearness, 4)))
    chosen = sorted(found, key=lambda part: (-part.nearness, part.document, part.place))[:_MAX_FOUND]
    safe = (replace(part, passages="\n".join(list_safe_lines(part.source.text))) for part in chosen)
    cut = (replace(part, passages=select_passages(part.passages, wanted, _MAX_PASSAGE_CHARS)) for part in safe)
    return [part for part in cut if part.passages.strip()]
