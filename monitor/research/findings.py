"""What was found: sentences that rest on the pages that they cite, and the notes that are made of them.

A sentence is kept where no page that it cites speaks against it, where one bears it or cannot be compared, and where a
piece of that page can be quoted for it. What is refused is counted by kind.
"""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from pydantic import BaseModel

from monitor.extract.sentences import WEB_ADDRESS, is_prose
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.logs import get_logger
from monitor.research.judging import SentenceVerdict, judge_citations
from monitor.research.quotes import (
    MAX_QUOTES_PER_NOTE,
    MIN_WORD_OVERLAP,
    QuotableText,
    QuoteSupport,
    cut_quote,
    find_support,
    get_quotable_text,
    is_nearer_to_instructions,
    is_supported_by_quotes,
    list_verbatim,
)
from monitor.research.shapes import DocumentSource, NoteEvidence, ResearchNote, list_quotes
from monitor.research.state import ParagraphState, SearchEntry
from monitor.urls import get_host, get_registrable_domain
from monitor.verify.citations import (
    CITATION,
    MAX_SENTENCE_CHARS,
    MIN_SENTENCE_CHARS,
    CitedSentence,
    append_citations,
    find_missing_particulars,
    has_particulars,
    parse_cited_sentences,
)
from monitor.verify.instructions import is_prompt_injection
from monitor.verify.prose import compute_overlap, extract_words
from monitor.verify.statements import Judgement, SourceText

AUTHORITY_WEIGHT, AGREEMENT_WEIGHT, DATE_WEIGHT = 0.5, 0.3, 0.2
_MIN_SENTENCE_OVERLAP = 0.6
_MIN_SHARED_SENTENCES_RATIO = 0.6
_MIN_SHARED_SENTENCES = 2  # one sentence in common may be quoted by both from a third


class ConfidenceScorer:
    """Scores quotes by the authority and date of their page, and by how many other publishers agree."""

    def __init__(self, entries: Sequence[SearchEntry]) -> None:
        entry_by_url: dict[str, SearchEntry] = {entry.url: entry for entry in entries if entry.content}
        self._publisher_by_url = _group_publishers(list(entry_by_url.values()))
        self._texts = [(self._publisher_by_url[url], get_quotable_text(entry)) for url, entry in entry_by_url.items()]

    def score_quote(self, quote: str, entry: SearchEntry) -> float:
        agreement = 1 - 0.5 ** len(self.find_agreeing_publishers(quote, entry))
        return round(
            AUTHORITY_WEIGHT * entry.authority + AGREEMENT_WEIGHT * agreement + DATE_WEIGHT * entry.freshness, 2
        )

    def find_agreeing_publishers(self, quote: str, entry: SearchEntry) -> set[str]:
        """Return the other publishers that say what the quote says."""
        own = self._publisher_by_url.get(entry.url, get_registrable_domain(entry.url))
        return {publisher for publisher, text in self._texts if publisher != own and _is_agreeing(text, quote)}


def _is_agreeing(text: QuotableText, quote: str) -> bool:
    words = extract_words(quote)
    if compute_overlap(words, text.as_excerpt.words) < MIN_WORD_OVERLAP:
        return False
    if has_particulars(quote):
        return not text.as_excerpt.passage.find_missing(quote)
    return any(compute_overlap(words, piece.words) >= _MIN_SENTENCE_OVERLAP for piece in text.excerpts)


def _group_publishers(entries: Sequence[SearchEntry]) -> dict[str, str]:
    """Return each url's publisher, its registrable host; hosts that share most of their sentences are one publisher."""
    publisher_by_url = {entry.url: get_registrable_domain(entry.url) for entry in entries}
    pieces = {entry.url: frozenset(piece.text for piece in get_quotable_text(entry).excerpts) for entry in entries}
    urls_by_piece: dict[str, list[str]] = defaultdict(list)
    for url, own in pieces.items():
        for piece in own:
            urls_by_piece[piece].append(url)
    common = Counter(pair for urls in urls_by_piece.values() for pair in combinations(urls, 2))
    for (url, other), count in common.items():
        if count >= max(_MIN_SHARED_SENTENCES_RATIO * min(len(pieces[url]), len(pieces[other])), _MIN_SHARED_SENTENCES):
            first, second = publisher_by_url[url], publisher_by_url[other]
            publisher_by_url = {
                url: first if publisher == second else publisher for url, publisher in publisher_by_url.items()
            }
    return publisher_by_url


RecordTextLoader = Callable[[str], Awaitable[str | None]]
"""Returns the text of a kept page by its record's id; None where it cannot be read."""


class NoteBasis(BaseModel):
    """The page of a note: `record` is the id of the kept page, `authority` its host's score.

    A part of a reader's `document` has no host, and its record has the part's place behind it (`ID#3`).
    """

    title: str
    url: str
    published_on: dt.date | None = None
    record: str | None = None
    host: str = ""
    authority: float = 0.4
    document: DocumentSource | None = None

    def describe_origin(self, language: str) -> str:
        """Return the host, or who uploaded the document."""
        return self.host if self.document is None else self.document.format_origin(language)


@dataclass(frozen=True)
class KeptSentences:
    """What of an answer may stand, as running text with [n] before each full stop; what was refused, by kind."""

    text: str
    refused: dict[str, int]


@dataclass(frozen=True)
class ResearchFindings:
    """The notes of a research with their bases, in the same order; what was refused, by kind."""

    notes: list[ResearchNote]
    bases: list[NoteBasis]
    refused: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: "ResearchFindings") -> "ResearchFindings":
        refused = Counter(self.refused) + Counter(other.refused)
        return ResearchFindings([*self.notes, *other.notes], [*self.bases, *other.bases], dict(refused))


def check_summary(answer: str, entries: Sequence[SearchEntry]) -> KeptSentences:
    """Return the sentences of an answer that rest on the results they cite, from 1, each once, as code judges them."""
    return collect_summary(judge_summary(answer, entries))


def judge_summary(
    answer: str, entries: Sequence[SearchEntry], settled: Mapping[str, Judgement] | None = None
) -> list[SentenceVerdict]:
    """Judge the sentences of an answer; `settled` are verdicts of the second reader by their sentences.

    The kinds of fault: a web address (`urls`), a number of no result (`citations`), a particular that no cited result
    has (`figures`), what a result contradicts (`contradicted`) or none says (`unsupported`), and citing nothing, or
    nothing that can be quoted (`uncited`).
    """
    return [judge_result_sentence(cited, entries, settled) for cited in parse_cited_sentences(answer, len(entries))]


def collect_summary(verdicts: Sequence[SentenceVerdict]) -> KeptSentences:
    refused = Counter(verdict.fault for verdict in verdicts if verdict.fault)
    kept: dict[str, str] = {}
    for verdict in verdicts:
        if not verdict.fault:
            kept.setdefault(verdict.text, append_citations(verdict.text, verdict.numbers))
    return KeptSentences(join_sentences(list(kept.values())), dict(refused))


def join_sentences(sentences: Sequence[str]) -> str:
    """Join sentences, with a space after those that end in an ASCII character."""
    text = ""
    for sentence in sentences:
        text += f" {sentence}" if text and text[-1].isascii() else sentence
    return text


def build_notes(paragraphs: Sequence[ParagraphState]) -> ResearchFindings:
    """Return one note for each paragraph and each result that it cites, in the order in which they are cited.

    A note says what the paragraph's sentences say that rest on its page, and each particular of it stands in one of
    its quotes. Of a sentence that takes its particulars from several pages, each of their notes says its own quotes.
    """
    refused: Counter[str] = Counter()
    voices = ConfidenceScorer([entry for paragraph in paragraphs for entry in paragraph.research.search_history])
    notes: list[ResearchNote] = []
    bases: list[NoteBasis] = []
    for paragraph in paragraphs:
        entries = paragraph.research.search_history
        drafts: dict[int, _NoteDraft] = {}
        for verdict in judge_summary(paragraph.research.latest_summary, entries, paragraph.research.settled):
            if verdict.fault or verdict.judgement is None:
                refused.update([verdict.fault])
                continue
            passage = verdict.judgement.passage
            taken = [
                drafts.setdefault(number, _NoteDraft(entries[number - 1])).add_sentence(verdict.text, passage)
                for number in verdict.numbers
            ]
            refused.update([] if any(taken) else ["quotes"])
        for draft in drafts.values():
            if draft.quotes:
                notes.append(draft.build_note(paragraph.title, voices))
                bases.append(draft.build_basis())
    return ResearchFindings(notes, bases, dict(refused))


def renumber_citations(paragraph: ParagraphState, findings: ResearchFindings) -> str:
    """Return the paragraph's summary citing notes, from 1, in place of results, as far as their quotes support it."""
    entries = paragraph.research.search_history
    places = {
        note.source_url: number for number, note in enumerate(findings.notes, start=1) if note.topic == paragraph.title
    }
    kept: dict[str, str] = {}
    for cited in parse_cited_sentences(paragraph.research.latest_summary, len(entries)):
        urls = dict.fromkeys(entries[number - 1].url for number in cited.numbers)
        numbers = [places[url] for url in urls if url in places]
        quotes = [quote for number in numbers for quote in list_quotes(findings.notes[number - 1])]
        settled = paragraph.research.settled.get(cited.text)
        if is_supported_by_quotes(quotes, cited.text) or (
            settled is not None and any(quote in settled.passage for quote in quotes)
        ):
            kept.setdefault(cited.text, append_citations(cited.text, numbers))
    return join_sentences(list(kept.values()))


def renumber_all_citations(paragraphs: Sequence[ParagraphState], findings: ResearchFindings) -> list[str]:
    return [renumber_citations(paragraph, findings) for paragraph in paragraphs]


async def verify_quotes(
    notes: Sequence[ResearchNote], bases: Sequence[NoteBasis], load_record_text: RecordTextLoader, workers: WorkerPool
) -> list[frozenset[str]]:
    """Return for each note its quotes that stand in its kept page; of a page that cannot be searched, none."""
    wanted: dict[str, dict[str, None]] = {}
    for note, basis in zip(notes, bases, strict=True):
        wanted.setdefault(basis.record or "", {}).update(dict.fromkeys(list_quotes(note)))
    found: dict[str, frozenset[str]] = {}
    for record, quotes in wanted.items():
        text = await load_record_text(record) if record else None
        try:
            found[record] = frozenset(await workers.run(list_verbatim, list(quotes), text)) if text else frozenset()
        except IsolatedWorkFailed as error:
            get_logger("research").warning("quotes not verified", record=record, reason=str(error))
            found[record] = frozenset()
    return [found[basis.record or ""] & set(list_quotes(note)) for note, basis in zip(notes, bases, strict=True)]


def drop_unverified_quotes(findings: ResearchFindings, verified: Sequence[Collection[str]]) -> ResearchFindings:
    """Remove the quotes of each note that are not among its `verified` ones, and what only these supported."""
    refused = Counter(findings.refused)
    notes: list[ResearchNote] = []
    bases: list[NoteBasis] = []
    for note, basis, standing in zip(findings.notes, findings.bases, verified, strict=True):
        kept = [evidence for evidence in note.evidence if evidence.quote in standing]
        refused["quotes"] += len(note.evidence) - len(kept)
        if kept:
            notes.append(_restrict_note(note, kept))
            bases.append(basis)
    return replace(findings, notes=notes, bases=bases, refused=dict(+refused))


async def load_record_texts(bases: Sequence[NoteBasis], load_record_text: RecordTextLoader) -> dict[str, str]:
    """Return the texts of the kept pages by record, each read once, without those that cannot be read."""
    records = dict.fromkeys(basis.record for basis in bases if basis.record)
    texts = {record: await load_record_text(record) for record in records}
    return {record: text for record, text in texts.items() if text is not None}


@dataclass
class _NoteDraft:
    entry: SearchEntry
    sentences: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)

    def add_sentence(self, sentence: str, passage: str) -> bool:
        """Add a sentence with its quotes, or the quotes alone where they support only a part of it.

        Return False for one without support, or that would need more quotes than a note may have.
        """
        support = _find_quotes(sentence, get_quotable_text(self.entry), passage, self.quotes)
        if support is None or len(self.quotes) + len(support.quotes) > MAX_QUOTES_PER_NOTE:
            return False
        self.quotes += support.quotes
        self.sentences += support.quotes if support.missing else [sentence]
        return True

    def build_note(self, topic: str, scorer: ConfidenceScorer) -> ResearchNote:
        entry = self.entry
        evidence = [
            NoteEvidence(quote=quote, source=entry.url, confidence=scorer.score_quote(quote, entry))
            for quote in self.quotes
        ]
        summary = join_sentences(list(dict.fromkeys(self.sentences)))
        return ResearchNote(summary=summary, evidence=evidence, topic=topic, source_url=entry.url, engine=entry.engine)

    def build_basis(self) -> NoteBasis:
        entry, host = self.entry, get_host(self.entry.url)
        is_title = (is_prose(entry.title) or entry.document is not None) and not is_prompt_injection(entry.title)
        return NoteBasis(
            title=entry.title if is_title else host or f"#{entry.document.number if entry.document else 0}",
            url=entry.url,
            published_on=entry.published_on,
            record=entry.record,
            host=host,
            authority=entry.authority,
            document=entry.document,
        )


def judge_result_sentence(
    cited: CitedSentence, entries: Sequence[SearchEntry], settled: Mapping[str, Judgement] | None = None
) -> SentenceVerdict:
    text = cited.text
    if WEB_ADDRESS.search(text):
        return SentenceVerdict(text, fault="urls")
    if CITATION.search(text):
        return SentenceVerdict(text, fault="citations")
    if not MIN_SENTENCE_CHARS <= len(text) <= MAX_SENTENCE_CHARS or not is_prose(text) or is_prompt_injection(text):
        return SentenceVerdict(text, fault="uncited")
    quotables = {number: get_quotable_text(entries[number - 1]) for number in cited.numbers}
    quotables = {number: quotable for number, quotable in quotables.items() if quotable.text}
    orders = frozenset[str]().union(*(get_quotable_text(entry).instruction_words for entry in entries))
    if not quotables or is_nearer_to_instructions(text, list(quotables.values()), orders):
        return SentenceVerdict(text, fault="uncited")
    judged = judge_citations(text, {number: _build_source(entries[number - 1]) for number in quotables})
    judgement = (settled or {}).get(text, judged.judgement)
    quoted = [
        number for number in judged.numbers if _find_quotes(text, quotables[number], judgement.passage) is not None
    ]
    verdict = SentenceVerdict(text, tuple(quoted)).settle(judgement)
    return verdict if quoted or verdict.fault else replace(verdict, fault="uncited", judgement=None)


def _build_source(entry: SearchEntry) -> SourceText:
    title = "" if is_prompt_injection(entry.title) else entry.title
    return SourceText(text=get_quotable_text(entry).text, title=title, published_on=entry.published_on)


def _find_quotes(
    sentence: str, text: QuotableText, passage: str, existing_quotes: Sequence[str] = ()
) -> QuoteSupport | None:
    """Return the quotes for a sentence: those that have its words or particulars, else the passage that bears it."""
    support = find_support(sentence, text, existing_quotes)
    if support is not None:
        return support
    cuts = [cut for line in passage.splitlines() if (cut := cut_quote(line, text.content)) is not None]
    missing = frozenset(find_missing_particulars(sentence, cuts)) if cuts else frozenset()
    return QuoteSupport([cut for cut in cuts if cut not in existing_quotes], missing) if cuts else None


def _restrict_note(note: ResearchNote, verified: list[NoteEvidence]) -> ResearchNote:
    """Return the note with its verified quotes, and what these support of its summary."""
    if len(verified) == len(note.evidence):
        return note
    quotes = [evidence.quote for evidence in verified]
    kept = [
        sentence.text
        for sentence in parse_cited_sentences(note.summary, 0)
        if is_supported_by_quotes(quotes, sentence.text)
    ]
    return note.model_copy(update={"evidence": verified, "summary": join_sentences(kept or quotes)})
