"""Edits a model's draft while it arrives: each piece is judged when it is whole, and kept, rewritten or dropped."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from monitor.extract.sentences import WEB_ADDRESS
from monitor.llm.answers import extract_plain_text
from monitor.llm.prompts import flatten_untrusted_text
from monitor.research.findings import list_quotes
from monitor.research.quotes import MIN_WORD_OVERLAP, is_supported_by_quotes
from monitor.research.shapes import ResearchNote
from monitor.research.sheet import ReportWriter
from monitor.verify.citations import (
    CITATION,
    MAX_SENTENCE_CHARS,
    MIN_SENTENCE_CHARS,
    CitedSentence,
    find_missing_particulars,
    has_particulars,
    parse_cited_sentences,
)
from monitor.verify.instructions import is_prompt_injection
from monitor.verify.prose import compute_overlap, extract_words, is_chinese

_LINK = re.compile(r"\]\s?\(")
_MAX_HEADING_CHARS = 80


@dataclass(frozen=True)
class SentenceVerdict:
    """A sentence without its citations, and the notes from 1 that support it; or the kind of its `fault`.

    `stray_citations` counts citations of nothing that were taken out of it.
    """

    text: str
    numbers: tuple[int, ...] = ()
    fault: str = ""
    stray_citations: int = 0


class SentenceJudge:
    def __init__(self, notes: Sequence[ResearchNote], *, query: str) -> None:
        self.notes = notes
        self._quotes = [list_quotes(note) for note in notes]
        self._all_quotes = [query, *(quote for quotes in self._quotes for quote in quotes)]

    def judge_sentence(self, cited: CitedSentence) -> SentenceVerdict:
        """Accept a sentence where the notes that it cites support it; it then cites those alone."""
        verdict = self.judge_row(cited)
        if not verdict.fault and not MIN_SENTENCE_CHARS <= len(verdict.text) <= MAX_SENTENCE_CHARS:
            return replace(verdict, numbers=(), fault="uncited")
        return verdict

    def judge_row(self, cited: CitedSentence) -> SentenceVerdict:
        """Judge a table row or list item in the same way, except that its length is free."""
        text = CITATION.sub("", cited.text).strip()
        numbers = self._select_supporting_notes(text, cited.numbers)
        fault = ""
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            fault = "urls"
        elif not numbers:
            fault = "figures" if cited.numbers and has_particulars(text) else "uncited"
        elif is_prompt_injection(text) or not self._is_on_topic(text, numbers):
            fault = "uncited"
        return SentenceVerdict(text, () if fault else numbers, fault, len(CITATION.findall(cited.text)))

    def find_heading_fault(self, text: str) -> str:
        """Return the kind of a heading's fault; '' where its figures are the question's or some note's."""
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return "urls"
        if not text or len(text) > _MAX_HEADING_CHARS or is_prompt_injection(text):
            return "uncited"
        missing = "".join(find_missing_particulars(text, self._all_quotes))
        return "figures" if any(char.isdigit() for char in missing) else ""

    def find_supporting_notes(self, text: str) -> tuple[int, ...]:
        """Return all notes, from 1, that support a text by themselves."""
        return tuple(
            number for number, quotes in enumerate(self._quotes, 1) if not find_missing_particulars(text, quotes)
        )

    def prefer_cited_notes(self, verdict: SentenceVerdict, cited: Sequence[int]) -> tuple[int, ...]:
        """Return the notes of a sentence, each replaced by one of its page that is `cited` already and supports it."""
        numbers = []
        for number in verdict.numbers:
            url = self.notes[number - 1].source_url
            of_page = [other for other in cited if self.notes[other - 1].source_url == url]
            alike = [other for other in of_page if self._select_supporting_notes(verdict.text, [other])]
            numbers.append(number if number in cited or not alike else alike[0])
        return tuple(dict.fromkeys(numbers))

    def _select_supporting_notes(self, text: str, cited: Sequence[int]) -> tuple[int, ...]:
        """Return the cited notes that support a text: each by itself, or else all that support a part, together."""
        quotes = {number: self._quotes[number - 1] for number in cited}
        if not has_particulars(text):
            return self._select_first_per_page(
                number for number, own in quotes.items() if is_supported_by_quotes(own, text)
            )
        missing = {number: find_missing_particulars(text, own) for number, own in quotes.items()}
        if alone := self._select_first_per_page(number for number, particulars in missing.items() if not particulars):
            return alone
        whole = find_missing_particulars(text, [""])
        together = tuple(number for number, particulars in missing.items() if particulars < whole)
        return together if together and not set.intersection(*(missing[entry] for entry in together)) else ()

    def _select_first_per_page(self, numbers: Iterable[int]) -> tuple[int, ...]:
        by_page: dict[str, int] = {}
        for number in numbers:
            by_page.setdefault(self.notes[number - 1].source_url, number)
        return tuple(by_page.values())

    def _is_on_topic(self, text: str, numbers: Sequence[int]) -> bool:
        """Return whether the notes are about what a text is about; across languages no words can be compared."""
        evidence_text = "\n".join(
            part for number in numbers for part in (self.notes[number - 1].summary, *self._quotes[number - 1])
        )
        words = extract_words(text)
        return (
            not words
            or compute_overlap(words, extract_words(evidence_text)) >= MIN_WORD_OVERLAP
            or is_chinese(text) != is_chinese(evidence_text)
        )


_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_MAX_TAG_CHARS = len("</reasoning>")
_MAX_LINE_CHARS = 8000
_FENCE = re.compile(r"\s*(?:```|~~~)[\w-]*\s*")
_HORIZONTAL_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
_HEADING = re.compile(r"\s*(#{2,6}(?=\s*)|#(?=\s))\s*(.*?)\s*#*\s*")
_BOLD_LINE = re.compile(r"\s*(?:\*\*|__)([^*_]{1,80}?)[:：]?(?:\*\*|__)[:：]?\s*")
_LIST_ITEM = re.compile(r"\s*(?:[-*•·]|\d{1,2}[.、)）])\s+")
_TABLE_SEPARATOR = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_QUOTE_MARK = re.compile(r"^\s*>\s?")
_AMBIGUOUS_STARTS = ("#", "|", "`", "~", "*", "_", "<", "{")
_SENTENCE_END = re.compile(r"[。！？!?.]")
_CITATION_OPENERS = ("[", "［", "【")


@dataclass(frozen=True)
class DraftHeading:
    level: int
    text: str


@dataclass(frozen=True)
class DraftSentence:
    """A sentence with what it cites; each `line` of the answer is a paragraph or an item."""

    cited: CitedSentence
    line: int
    is_item: bool = False


@dataclass(frozen=True)
class DraftRow:
    cells: tuple[str, ...]
    cited: CitedSentence
    is_header: bool = False


@dataclass(frozen=True)
class DraftBlockEnd:
    """The end of a paragraph, list or table."""


DraftPiece = DraftHeading | DraftSentence | DraftRow | DraftBlockEnd


@dataclass
class _DraftLine:
    number: int
    text: str = ""
    yielded: int = 0
    stops: int = 0


class DraftParser:
    """Parses an answer while it arrives; `note_count` is the number of notes that it may cite."""

    def __init__(self, note_count: int) -> None:
        self._note_count = note_count
        self._thought_filter = _ThoughtFilter()
        self._line = _DraftLine(0)
        self._kind: Literal["", "prose", "table"] = ""
        self._wrapped_json = ""
        self._is_at_start = True

    def feed(self, text: str) -> list[DraftPiece]:
        """Return the pieces that this text completes."""
        return list(self._parse_text(self._thought_filter.feed(text)))

    def close(self) -> list[DraftPiece]:
        """Return the pieces that are left at the end of the answer."""
        pieces = [*self._parse_text(self._thought_filter.close()), *self._parse_line(), *self._end_block()]
        if not self._wrapped_json:
            return pieces
        inner = DraftParser(self._note_count)
        text = extract_plain_text(self._wrapped_json)
        return [*inner.feed("" if text.startswith("{") else text), *inner.close()]

    def _parse_text(self, text: str) -> Iterator[DraftPiece]:
        first, *others = text.split("\n")
        self._line.text += first
        for other in others:
            yield from self._parse_line()
            self._line = _DraftLine(self._line.number + 1, other)
        if len(self._line.text) > _MAX_LINE_CHARS and not self._is_json_line(self._line.text):
            yield from self._parse_line()
            self._line = _DraftLine(self._line.number + 1)
        yield from self._parse_sentences(is_whole=False)

    def _parse_line(self) -> Iterator[DraftPiece]:
        text = self._line.text
        if self._is_json_line(text):
            self._wrapped_json += f"{text}\n"
        elif not text.strip():
            yield from self._end_block()
        elif _FENCE.fullmatch(text) or _HORIZONTAL_RULE.fullmatch(text):
            pass
        elif heading := _HEADING.fullmatch(text) or _BOLD_LINE.fullmatch(text):
            yield from self._end_block()
            level = min(len(heading[1]), 3) if len(heading.groups()) > 1 else 3
            self._is_at_start = False
            yield DraftHeading(level, _strip_marks(heading[heading.lastindex or 1]))
        elif text.lstrip().startswith("|"):
            yield from self._parse_row(text)
        else:
            yield from self._parse_sentences(is_whole=True)

    def _parse_sentences(self, *, is_whole: bool) -> Iterator[DraftPiece]:
        text = _QUOTE_MARK.sub("", self._line.text)
        stops = len(_SENTENCE_END.findall(text))
        if not text.strip() or (
            not is_whole and (text.lstrip().startswith(_AMBIGUOUS_STARTS) or stops == self._line.stops)
        ):
            return
        found = parse_cited_sentences(text, self._note_count)
        if not is_whole:
            begins_with_citation = bool(found) and found[-1].text.startswith(_CITATION_OPENERS)
            uncertain = 2 if begins_with_citation else 1
            found = found[: len(found) - uncertain] if len(found) > uncertain else []
            if text[-1].isalnum() and not begins_with_citation:
                self._line.stops = stops  # what comes next can change nothing about these
        is_item = _LIST_ITEM.match(text) is not None
        for cited in found[self._line.yielded :]:
            if self._kind == "table":
                yield from self._end_block()
            self._kind = "prose"
            self._line.yielded += 1
            self._is_at_start = False
            yield DraftSentence(cited, self._line.number, is_item)

    def _parse_row(self, text: str) -> Iterator[DraftPiece]:
        if _TABLE_SEPARATOR.fullmatch(text):
            return
        is_head = self._kind != "table"
        if is_head:
            yield from self._end_block()
        self._kind = "table"
        cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", text.strip().strip("|")))
        numbers = (int(entry) for found in CITATION.findall(text) for entry in re.findall(r"\d+", found))
        cited = tuple(dict.fromkeys(number for number in numbers if 1 <= number <= self._note_count))
        bare = tuple(_strip_marks(cell) for cell in cells)
        yield DraftRow(bare, CitedSentence(" ".join(filter(None, bare)), cited), is_head)

    def _is_json_line(self, text: str) -> bool:
        return bool(self._wrapped_json) or (self._is_at_start and text.lstrip().startswith("{"))

    def _end_block(self) -> Iterator[DraftPiece]:
        if self._kind:
            self._kind = ""
            yield DraftBlockEnd()


@dataclass
class _ThoughtFilter:
    """Removes what a model thinks aloud between tags, wherever the pieces are cut."""

    _pending: str = ""
    _is_thinking: bool = False
    _visible: list[str] = field(default_factory=list)

    def feed(self, text: str) -> str:
        """Return the text that is certainly no thought. A closing tag alone ends the line."""
        self._pending += text
        while tag := _TAG.search(self._pending):
            self._append(self._pending[: tag.start()])
            self._append("\n" if tag[1] and not self._is_thinking else "")
            self._is_thinking = not tag[1]
            self._pending = self._pending[tag.end() :]
        opening = self._pending.rfind("<", -_MAX_TAG_CHARS)
        certain = len(self._pending) if opening < 0 or ">" in self._pending[opening:] else opening
        self._append(self._pending[:certain])
        self._pending = self._pending[certain:]
        kept, self._visible = "".join(self._visible), []
        return kept

    def close(self) -> str:
        """Return what was held back because a tag might have begun there."""
        return "" if self._is_thinking else self._pending

    def _append(self, text: str) -> None:
        if not self._is_thinking:
            self._visible.append(text)


def _strip_marks(text: str) -> str:
    """Return a heading or a cell without citations and emphasis."""
    return flatten_untrusted_text(re.sub(r"\*\*|__|`", "", CITATION.sub("", text))).replace("\\|", "|")


MAX_REWRITES = 4
MAX_SENTENCES_PER_REWRITE = 8

_SOURCES_HEADING = re.compile(
    r"[\W\d_一二三四五六七八九十]*(?:来源|资料来源|信息来源|数据来源|参考|参考文献|参考资料|引用|引用来源|参考来源"
    r"|sources?|references?|bibliography|works cited)\W*",
    re.IGNORECASE,
)

RewriteSentences = Callable[[Sequence[str], Sequence[int]], Awaitable[list[str]]]
"""Asks for sentences again, with these notes to cite; returns one for each, empty where it cannot be said."""


@dataclass
class DraftEditor:
    """Writes what may stand of a draft, in its order.

    From a block's first sentence that may not stand, the block waits for its end: then such sentences are rewritten, a
    few times in a report, and what may still not stand is dropped and counted in `refused`.
    """

    judge: SentenceJudge
    writer: ReportWriter
    rewrite: RewriteSentences | None = None
    refused: Counter[str] = field(default_factory=Counter)
    _rewrites: int = 0
    _held: list[tuple[DraftSentence, SentenceVerdict]] = field(default_factory=list)
    _table_header: tuple[str, ...] | None = None
    _is_in_sources: bool = False
    _has_heading: bool = False

    async def handle_piece(self, piece: DraftPiece) -> None:
        match piece:
            case DraftHeading():
                self._handle_heading(piece)
            case _ if self._is_in_sources:
                return
            case DraftSentence():
                await self._handle_sentence(piece)
            case DraftRow():
                await self._handle_row(piece)
            case DraftBlockEnd():
                await self._release_held()

    def judge_sentences(self, text: str) -> list[SentenceVerdict]:
        return [self.judge.judge_sentence(cited) for cited in parse_cited_sentences(text, len(self.judge.notes))]

    async def add_section(self, heading: str, verdicts: Sequence[SentenceVerdict], *, fallback_heading: str) -> None:
        """Write a section by code; what may not stand is dropped at once.

        Without a heading the sentences continue the report; `fallback_heading` replaces one that may not stand.
        """
        if heading:
            self.writer.queue_heading(2, fallback_heading if self.judge.find_heading_fault(heading) else heading)
        for verdict in map(self._count_stray_citations, verdicts):
            await self.write_verdict(verdict, line=("added", heading))
        self.writer.discard_headings()

    def _handle_heading(self, piece: DraftHeading) -> None:
        is_title = piece.level == 1 and not self._has_heading
        self._has_heading = True
        self._is_in_sources = _SOURCES_HEADING.fullmatch(piece.text) is not None
        fault = "" if is_title or self._is_in_sources else self.judge.find_heading_fault(piece.text)
        if fault:
            self.refused[fault] += 1
        elif not is_title and not self._is_in_sources:
            self.writer.queue_heading(max(piece.level, 2) if self.writer.sections else 2, piece.text)

    async def _handle_sentence(self, piece: DraftSentence) -> None:
        verdict = self._count_stray_citations(
            self.judge.judge_row(piece.cited) if piece.is_item else self.judge.judge_sentence(piece.cited)
        )
        if verdict.fault or self._held:
            self._held.append((piece, verdict))
        else:
            await self.write_verdict(verdict, line=("draft", piece.line), is_item=piece.is_item)

    async def _handle_row(self, piece: DraftRow) -> None:
        if piece.is_header:
            is_sound = all(not cell or not self.judge.find_heading_fault(cell) for cell in piece.cells)
            self._table_header = piece.cells if is_sound and any(piece.cells) else None
            self.refused["figures"] += not is_sound
            return
        verdict = self._count_stray_citations(self.judge.judge_row(piece.cited))
        if verdict.fault:
            self.refused[verdict.fault] += 1
        elif self._table_header is not None:
            await self.writer.write_row(
                self._table_header, piece.cells, self.judge.prefer_cited_notes(verdict, self.writer.cited_notes)
            )

    async def _release_held(self) -> None:
        """Write the sentences that wait, rewritten where they may not stand."""
        held, self._held = self._held, []
        faulty = [place for place, entry in enumerate(held) if _is_worth_rewriting(*entry)][:MAX_SENTENCES_PER_REWRITE]
        if faulty and self.rewrite is not None and self._rewrites < MAX_REWRITES:
            self._rewrites += 1
            notes = sorted({number for piece, _ in held for number in piece.cited.numbers})
            mended = await self.rewrite([held[place][1].text for place in faulty], notes)
            for place, text in zip(faulty, mended, strict=False):
                held[place] = (held[place][0], self._judge_rewrite(text, held[place][1]))
        for piece, verdict in held:
            await self.write_verdict(verdict, line=("draft", piece.line), is_item=piece.is_item)

    def _judge_rewrite(self, text: str, original: SentenceVerdict) -> SentenceVerdict:
        """Return the verdict on a rewritten sentence; the original's where it is no better."""
        for cited in parse_cited_sentences(text, len(self.judge.notes))[:1]:
            verdict = self.judge.judge_sentence(cited)
            if not verdict.fault:
                self.refused["rewritten"] += 1
                return verdict
        return original

    async def write_verdict(self, verdict: SentenceVerdict, *, line: object, is_item: bool = False) -> bool:
        """Write a sentence that may stand, and count any other; return whether it was written."""
        if verdict.fault:
            self.refused[verdict.fault] += 1
            return False
        numbers = self.judge.prefer_cited_notes(verdict, self.writer.cited_notes)
        return await self.writer.write_sentence(verdict.text, numbers, line=line, is_item=is_item)

    def _count_stray_citations(self, verdict: SentenceVerdict) -> SentenceVerdict:
        self.refused["citations"] += verdict.stray_citations
        return verdict


def _is_worth_rewriting(piece: DraftSentence, verdict: SentenceVerdict) -> bool:
    """Return whether a refused sentence says anything: a preamble or a linking sentence is dropped at once."""
    return bool(verdict.fault and (piece.cited.numbers or has_particulars(verdict.text)))
