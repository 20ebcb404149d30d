"""What was found: sentences that rest on the pages that they cite, and the notes that are made of them.

A sentence is kept where each figure, date, document number and quoted name of it stands in a piece that can be quoted
from a page that it cites, and where it says what such a piece says. All that is refused is counted by its kind.
"""

import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from monitor.domain.urls import host_of
from monitor.evidence.citing import (
    CITATION,
    LEAST_CHARS,
    MOST_CHARS,
    Cited,
    cited_sentences,
    has_particulars,
    missing_from,
    with_citations,
)
from monitor.evidence.instructions import reads_as_instruction
from monitor.evidence.sentences import WEB_ADDRESS, is_prose
from monitor.research.confidence import Voices
from monitor.research.quotes import MOST_QUOTES, bearing_of, bears, material_of, says_the_same, stands_in
from monitor.research.shapes import Evidence, Note
from monitor.research.state import Paragraph, SearchEntry

KeptText = Callable[[str], Awaitable[str | None]]
"""Gives the text of a kept page by its record's id."""


class NoteBasis(BaseModel):
    """What is known of the page of a note: `record` is the id of the kept page, `authority` its host's score."""

    title: str
    url: str
    published_on: dt.date | None = None
    record: str | None = None
    host: str = ""
    authority: float = 0.4


@dataclass(frozen=True)
class Checked:
    """What of an answer may stand, as running text with [n] before each full stop, and what was refused, by kind."""

    text: str
    refused: dict[str, int]


@dataclass(frozen=True)
class Findings:
    """The notes of a research, their bases beside them, and what was refused, by kind."""

    notes: list[Note]
    bases: list[NoteBasis]
    refused: dict[str, int] = field(default_factory=dict)


def checked_summary(answer: str, entries: Sequence[SearchEntry]) -> Checked:
    """The sentences of an answer that rest on the results they cite, from 1, each once.

    Refused are sentences with a web address (`urls`), with a number of no result (`citations`), with a particular that
    no cited result has (`figures`), and those that cite nothing, or nothing that says the same (`uncited`).
    """
    refused: Counter[str] = Counter()
    kept: dict[str, str] = {}
    for cited in cited_sentences(answer, len(entries)):
        numbers, fault = _bearers(cited, entries)
        if fault:
            refused[fault] += 1
        else:
            kept.setdefault(cited.text, with_citations(cited.text, numbers))
    return Checked(running_text(list(kept.values())), dict(refused))


def running_text(sentences: Sequence[str]) -> str:
    """Sentences one after the other, with a space between those that end in a Latin full stop."""
    text = ""
    for sentence in sentences:
        text += f" {sentence}" if text and text[-1].isascii() else sentence
    return text


def notes_of(paragraphs: Sequence[Paragraph]) -> Findings:
    """One note for each paragraph and each result that it cites, in the order in which they are cited.

    A note says what the paragraph's sentences say that rest on its page, and each particular of that stands in one of
    its quotes. Of a sentence that takes its particulars from several pages, each of their notes says its own quotes.
    """
    refused: Counter[str] = Counter()
    voices = Voices([entry for one in paragraphs for entry in one.research.search_history])
    notes: list[Note] = []
    bases: list[NoteBasis] = []
    for paragraph in paragraphs:
        entries = paragraph.research.search_history
        drafts: dict[int, _Draft] = {}
        for cited in cited_sentences(paragraph.research.latest_summary, len(entries)):
            numbers, fault = _bearers(cited, entries)
            refused.update([fault] if fault else [])
            taken = [drafts.setdefault(number, _Draft(entries[number - 1])).take(cited.text) for number in numbers]
            refused.update(["quotes"] if taken and not any(taken) else [])
        for draft in drafts.values():
            if draft.quotes:
                notes.append(draft.note(paragraph.title, voices))
                bases.append(draft.basis())
    return Findings(notes, bases, dict(refused))


def cited_as(paragraph: Paragraph, findings: Findings) -> str:
    """The paragraph's summary with the numbers of its notes, from 1, in place of those of its results.

    A sentence stays where the quotes of these notes bear it.
    """
    entries = paragraph.research.search_history
    places = {
        note.source_url: number for number, note in enumerate(findings.notes, start=1) if note.topic == paragraph.title
    }
    kept: dict[str, str] = {}
    for cited in cited_sentences(paragraph.research.latest_summary, len(entries)):
        urls = dict.fromkeys(entries[number - 1].url for number in cited.numbers)
        numbers = [places[url] for url in urls if url in places]
        if bears([quote for number in numbers for quote in quotes_of(findings.notes[number - 1])], cited.text):
            kept.setdefault(cited.text, with_citations(cited.text, numbers))
    return running_text(list(kept.values()))


def quotes_of(note: Note) -> list[str]:
    return [one.quote for one in note.evidence]


async def verified(findings: Findings, kept_text: KeptText) -> Findings:
    """The findings without the quotes that do not stand in the page that was kept, nor what only these bore."""
    refused = Counter(findings.refused)
    notes: list[Note] = []
    bases: list[NoteBasis] = []
    texts = await kept_texts(findings.bases, kept_text)
    for note, basis in zip(findings.notes, findings.bases, strict=True):
        text = texts.get(basis.record or "", "")
        standing = [one for one in note.evidence if stands_in(one.quote, text)]
        refused["quotes"] += len(note.evidence) - len(standing)
        mended = _mended(note, standing)
        if mended is not None:
            notes.append(mended)
            bases.append(basis)
    return replace(findings, notes=notes, bases=bases, refused=dict(+refused))


async def kept_texts(bases: Sequence[NoteBasis], kept_text: KeptText) -> dict[str, str]:
    """The texts of the kept pages by their records, each read once; without those that cannot be read."""
    found: dict[str, str] = {}
    for record in dict.fromkeys(basis.record for basis in bases if basis.record):
        text = await kept_text(record)
        if text is not None:
            found[record] = text
    return found


@dataclass
class _Draft:
    """A note in the making: what it says, and what bears that."""

    entry: SearchEntry
    says: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)

    def take(self, sentence: str) -> bool:
        """Take a sentence over with its quotes, or the quotes alone where they bear only a part of it.

        Nothing is taken that would need more quotes than a note has.
        """
        bearing = bearing_of(sentence, material_of(self.entry), self.quotes)
        if bearing is None or len(self.quotes) + len(bearing.quotes) > MOST_QUOTES:
            return False
        self.quotes += bearing.quotes
        self.says += bearing.quotes if bearing.missing else [sentence]
        return True

    def note(self, topic: str, voices: Voices) -> Note:
        entry = self.entry
        evidence = [
            Evidence(quote=quote, source=entry.url, confidence=voices.confidence(quote, entry)) for quote in self.quotes
        ]
        summary = running_text(list(dict.fromkeys(self.says)))
        return Note(summary=summary, evidence=evidence, topic=topic, source_url=entry.url, engine=entry.engine)

    def basis(self) -> NoteBasis:
        """Its basis; a title that is no title of ours to tell gives way to the host."""
        entry, host = self.entry, host_of(self.entry.url)
        is_title = is_prose(entry.title) and not reads_as_instruction(entry.title)
        return NoteBasis(
            title=entry.title if is_title else host,
            url=entry.url,
            published_on=entry.published_on,
            record=entry.record,
            host=host,
            authority=entry.authority,
        )


def _bearers(cited: Cited, entries: Sequence[SearchEntry]) -> tuple[tuple[int, ...], str]:
    """The numbers of the results that bear a sentence, of those it cites; or the kind of its fault.

    They are those that bear all of it, or else those that bear it together.
    """
    text = cited.text
    if WEB_ADDRESS.search(text):
        return (), "urls"
    if CITATION.search(text):
        return (), "citations"
    if not LEAST_CHARS <= len(text) <= MOST_CHARS or not is_prose(text) or reads_as_instruction(text):
        return (), "uncited"
    orders = frozenset[str]().union(*(material_of(entry).order_words for entry in entries))
    told = {number: material_of(entries[number - 1]) for number in cited.numbers}
    borne = {number: found for number, one in told.items() if (found := bearing_of(text, one)) is not None}
    alone = [number for number, one in borne.items() if not one.missing and says_the_same(text, [told[number]], orders)]
    if alone:
        return tuple(alone), ""
    together = _together({number: one.missing for number, one in borne.items()})
    if together and says_the_same(text, [told[number] for number in together], orders):
        return together, ""
    has_fault = bool(told) and has_particulars(text) and bool(missing_from(text, [one.text for one in told.values()]))
    return (), "figures" if has_fault else "uncited"


def _together(missing: dict[int, frozenset[str]]) -> tuple[int, ...]:
    """Those of whom each has something that is missing in all before it, and that have all together; else none."""
    taken: list[int] = []
    left: frozenset[str] | None = None
    for number, one in missing.items():
        if left is None or left & one < left:
            taken.append(number)
            left = one if left is None else left & one
    return () if left is None or left else tuple(taken)


def _mended(note: Note, standing: Sequence[Evidence]) -> Note | None:
    """The note with the quotes that stand, and what these bear of its summary; None where no quote stands."""
    if not standing or len(standing) == len(note.evidence):
        return note if standing else None
    quotes = [one.quote for one in standing]
    kept = [sentence.text for sentence in cited_sentences(note.summary, 0) if bears(quotes, sentence.text)]
    return note.model_copy(update={"evidence": list(standing), "summary": running_text(kept or quotes)})
