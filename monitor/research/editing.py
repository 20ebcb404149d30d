"""From a model's draft to a report: each piece is judged as soon as it is whole: it stands, is mended once, or goes."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
    """What may stand of a sentence: its words, and the notes from 1 that bear it; or the kind of its `fault`.

    `strays` is the number of citations of nothing that were taken out of it.
    """

    text: str
    numbers: tuple[int, ...] = ()
    fault: str = ""
    stray_citations: int = 0


class SentenceJudge:
    """Knows the notes of a research and its question; its verdict on the same sentence is always the same."""

    def __init__(self, notes: Sequence[ResearchNote], *, query: str) -> None:
        self.notes = notes
        self._quotes = [list_quotes(note) for note in notes]
        self._all_quotes = [query, *(quote for quotes in self._quotes for quote in quotes)]

    def judge_sentence(self, cited: CitedSentence) -> SentenceVerdict:
        """A sentence stands where the notes that it cites bear it, and cites those alone."""
        verdict = self.judge_row(cited)
        if not verdict.fault and not MIN_SENTENCE_CHARS <= len(verdict.text) <= MAX_SENTENCE_CHARS:
            return SentenceVerdict(verdict.text, fault="uncited", stray_citations=verdict.stray_citations)
        return verdict

    def judge_row(self, cited: CitedSentence) -> SentenceVerdict:
        """The same for a row or a point, which may be as short as it likes."""
        strays = len(CITATION.findall(cited.text))
        text = CITATION.sub("", cited.text).strip()
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return SentenceVerdict(text, fault="urls", stray_citations=strays)
        if not cited.numbers:
            return SentenceVerdict(text, fault="uncited", stray_citations=strays)
        numbers = self._select_supporting_notes(text, cited.numbers)
        if not numbers:
            return SentenceVerdict(
                text, fault="figures" if has_particulars(text) else "uncited", stray_citations=strays
            )
        if is_prompt_injection(text) or not self._is_on_topic(text, numbers):
            return SentenceVerdict(text, fault="uncited", stray_citations=strays)
        return SentenceVerdict(text, numbers, stray_citations=strays)

    def find_heading_fault(self, text: str) -> str:
        """The kind of a heading's fault; empty where it may stand: its figures are the question's or some note's."""
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return "urls"
        if not text or len(text) > _MAX_HEADING_CHARS or is_prompt_injection(text):
            return "uncited"
        return "figures" if any(map(_has_digit, find_missing_particulars(text, self._all_quotes))) else ""

    def find_supporting_notes(self, text: str) -> tuple[int, ...]:
        """All notes, from 1, that bear a text by themselves."""
        return tuple(
            number for number, quotes in enumerate(self._quotes, 1) if not find_missing_particulars(text, quotes)
        )

    def prefer_cited_notes(self, verdict: SentenceVerdict, cited: Sequence[int]) -> tuple[int, ...]:
        """The notes of a sentence, in place of each one of the same page that bears all and is `cited` already."""
        numbers = []
        for number in verdict.numbers:
            url = self.notes[number - 1].source_url
            alike = [
                number
                for number in cited
                if self.notes[number - 1].source_url == url and self._select_supporting_notes(verdict.text, [number])
            ]
            numbers.append(number if number in cited or not alike else alike[0])
        return tuple(dict.fromkeys(numbers))

    def _select_supporting_notes(self, text: str, cited: Sequence[int]) -> tuple[int, ...]:
        """Those of the cited notes that bear a text: each by itself, or else all that bear a part, together."""
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
        """Whether the notes speak of what a text speaks of; across languages no words can be compared."""
        evidence_text = "\n".join(
            part for number in numbers for part in (self.notes[number - 1].summary, *self._quotes[number - 1])
        )
        words = extract_words(text)
        return (
            not words
            or compute_overlap(words, extract_words(evidence_text)) >= MIN_WORD_OVERLAP
            or is_chinese(text) != is_chinese(evidence_text)
        )


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


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
    """A heading as it was written, of level 1 to 3."""

    level: int
    text: str


@dataclass(frozen=True)
class DraftSentence:
    """A sentence with what it cites; `line` tells the answer's lines apart, each of which is a paragraph or an item."""

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
    """Paragraph, list or table is over."""


DraftPiece = DraftHeading | DraftSentence | DraftRow | DraftBlockEnd


@dataclass
class _DraftLine:
    number: int
    text: str = ""
    yielded: int = 0
    stops: int = 0


class DraftParser:
    """Takes an answer piece by piece as it comes; `count` is the number of notes that there are to cite."""

    def __init__(self, note_count: int) -> None:
        self._note_count = note_count
        self._thought_filter = _ThoughtFilter()
        self._line = _DraftLine(0)
        self._kind: Literal["", "prose", "table"] = ""
        self._wrapped_json = ""
        self._is_at_start = True

    def feed(self, text: str) -> list[DraftPiece]:
        """The pieces that this text completes."""
        return list(self._parse_text(self._thought_filter.feed(text)))

    def close(self) -> list[DraftPiece]:
        """The pieces that are left when the answer is over."""
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
    """Leaves out what a model thinks aloud between tags, wherever the pieces are cut."""

    _pending: str = ""
    _is_thinking: bool = False
    _visible: list[str] = field(default_factory=list)

    def feed(self, text: str) -> str:
        """The text that is no thought, as far as that is certain. A closing tag alone ends the line."""
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
        """What was held back because a tag might have begun there."""
        return "" if self._is_thinking else self._pending

    def _append(self, text: str) -> None:
        if not self._is_thinking:
            self._visible.append(text)


def _strip_marks(text: str) -> str:
    """The words of a heading or a cell: without citations and emphasis."""
    return flatten_untrusted_text(re.sub(r"\*\*|__|`", "", CITATION.sub("", text))).replace("\\|", "|")


MAX_REWRITES = 4
MAX_SENTENCES_PER_REWRITE = 8

_SOURCES_HEADING = re.compile(
    r"[\W\d_一二三四五六七八九十]*(?:来源|资料来源|信息来源|数据来源|参考|参考文献|参考资料|引用|引用来源|参考来源"
    r"|sources?|references?|bibliography|works cited)\W*",
    re.IGNORECASE,
)

RewriteSentences = Callable[[Sequence[str], Sequence[int]], Awaitable[list[str]]]
"""Asks for these sentences again, with these notes to cite; gives one for each, empty where it cannot be said."""


class DraftEditor:
    """Takes the pieces of a draft in their order; what may stand goes onto the sheet in the same order.

    From the first sentence of a block that may not stand on, the block waits for its end: then those sentences are
    asked for once more, a few times in a report, and what may still not stand is dropped and counted in `refused`.
    """

    def __init__(self, judge: SentenceJudge, writer: ReportWriter, rewrite: RewriteSentences | None = None) -> None:
        self.judge = judge
        self._writer = writer
        self._rewrite = rewrite
        self._rewrites = 0
        self._held: list[tuple[DraftSentence, SentenceVerdict]] = []
        self._table_header: tuple[str, ...] | None = None
        self._is_in_sources = False
        self._has_heading = False
        self.refused: Counter[str] = Counter()

    async def handle_piece(self, piece: DraftPiece) -> None:
        if isinstance(piece, DraftHeading):
            self._handle_heading(piece)
        elif self._is_in_sources:
            return
        elif isinstance(piece, DraftSentence):
            await self._handle_sentence(piece)
        elif isinstance(piece, DraftRow):
            await self._handle_row(piece)
        elif isinstance(piece, DraftBlockEnd):
            await self._release_held()

    def judge_sentences(self, text: str) -> list[SentenceVerdict]:
        """The verdicts on the sentences of a text, which cite notes from 1."""
        return [self.judge.judge_sentence(cited) for cited in parse_cited_sentences(text, len(self.judge.notes))]

    async def add_section(self, heading: str, verdicts: Sequence[SentenceVerdict], *, fallback_heading: str) -> None:
        """A section of sentences by code; what may not stand is dropped without more ado.

        Without a heading they go on where the report is; in place of one that may not stand comes `otherwise`.
        """
        if heading:
            self._writer.queue_heading(2, fallback_heading if self.judge.find_heading_fault(heading) else heading)
        for verdict in map(self._count_stray_citations, verdicts):
            if verdict.fault:
                self.refused[verdict.fault] += 1
            else:
                await self._write_verdict(verdict, line=("added", heading))
        self._writer.discard_headings()

    def _handle_heading(self, piece: DraftHeading) -> None:
        is_title = piece.level == 1 and not self._has_heading
        self._has_heading = True
        self._is_in_sources = _SOURCES_HEADING.fullmatch(piece.text) is not None
        fault = "" if is_title or self._is_in_sources else self.judge.find_heading_fault(piece.text)
        if fault:
            self.refused[fault] += 1
        elif not is_title and not self._is_in_sources:
            self._writer.queue_heading(max(piece.level, 2) if self._writer.sections else 2, piece.text)

    async def _handle_sentence(self, piece: DraftSentence) -> None:
        verdict = self._count_stray_citations(
            self.judge.judge_row(piece.cited) if piece.is_item else self.judge.judge_sentence(piece.cited)
        )
        if verdict.fault or self._held:
            self._held.append((piece, verdict))
        else:
            await self._write_sentence(piece, verdict)

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
            await self._writer.write_row(
                self._table_header, piece.cells, self.judge.prefer_cited_notes(verdict, self._writer.cited_notes)
            )

    async def _release_held(self) -> None:
        """The sentences that wait, in their order, those that may not stand as they were mended."""
        held, self._held = self._held, []
        faulty = [place for place, entry in enumerate(held) if _is_worth_rewriting(*entry)][:MAX_SENTENCES_PER_REWRITE]
        if faulty and self._rewrite is not None and self._rewrites < MAX_REWRITES:
            self._rewrites += 1
            notes = sorted({number for piece, _ in held for number in piece.cited.numbers})
            mended = await self._rewrite([held[place][1].text for place in faulty], notes)
            for place, text in zip(faulty, mended, strict=False):
                held[place] = (held[place][0], self._judge_rewrite(text, held[place][1]))
        for piece, verdict in held:
            if verdict.fault:
                self.refused[verdict.fault] += 1
            else:
                await self._write_sentence(piece, verdict)

    def _judge_rewrite(self, text: str, original: SentenceVerdict) -> SentenceVerdict:
        """The verdict on a sentence that was asked for again; the one from before where it is no better."""
        for cited in parse_cited_sentences(text, len(self.judge.notes))[:1]:
            verdict = self.judge.judge_sentence(cited)
            if not verdict.fault:
                self.refused["rewritten"] += 1
                return verdict
        return original

    async def _write_sentence(self, piece: DraftSentence, verdict: SentenceVerdict) -> None:
        await self._write_verdict(verdict, line=("draft", piece.line), is_item=piece.is_item)

    async def _write_verdict(self, verdict: SentenceVerdict, *, line: object, is_item: bool = False) -> None:
        numbers = self.judge.prefer_cited_notes(verdict, self._writer.cited_notes)
        await self._writer.write_sentence(verdict.text, numbers, line=line, is_item=is_item)

    def _count_stray_citations(self, verdict: SentenceVerdict) -> SentenceVerdict:
        self.refused["citations"] += verdict.stray_citations
        return verdict


def _is_worth_rewriting(piece: DraftSentence, verdict: SentenceVerdict) -> bool:
    """Whether a sentence that may not stand says anything: a preamble or a linking sentence goes without more ado."""
    return bool(verdict.fault and (piece.cited.numbers or has_particulars(verdict.text)))
