"""Edits a model's draft while it arrives: each piece is judged when it is whole, and kept, rewritten or dropped."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from monitor.llm.answers import extract_plain_text
from monitor.llm.prompts import flatten_untrusted_text
from monitor.research.judging import SentenceVerdict, build_statement, strip_assessment_label
from monitor.research.report_judge import ReportJudge
from monitor.research.shapes import JudgedStatement
from monitor.research.sheet import ReportWriter
from monitor.verify.citations import CITATION, CitedSentence, has_particulars, parse_cited_sentences
from monitor.vocabulary import Verdict

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

RewriteSentences = Callable[[Sequence[SentenceVerdict], Sequence[int]], Awaitable[list[str]]]
"""Asks for refused sentences again, with these notes to cite; returns one for each, empty where it cannot be said."""

ReviewVerdicts = Callable[[Sequence[SentenceVerdict]], Awaitable[list[SentenceVerdict]]]
"""Puts what code left open to the second reader, in one call."""


@dataclass
class _HeldPiece:
    """A piece that waits for the end of its block; `header` is its table's, where it is a row of one."""

    piece: DraftSentence | DraftRow
    verdict: SentenceVerdict
    header: tuple[str, ...] | None = None


@dataclass
class DraftEditor:
    """Writes what may stand of a draft, in its order.

    From a block's first piece that may not stand, or that code leaves open, the block waits for its end. Then the
    second reader is asked about what is open, the sentences that may not stand are rewritten, a few times in a report,
    and what may still not stand is dropped and counted in `refused`. What assesses is kept back for a section of its
    own. `unchecked_mark` stands behind a sentence that could not be checked; `statements` is what was written.
    """

    judge: ReportJudge
    writer: ReportWriter
    rewrite: RewriteSentences | None = None
    review: ReviewVerdicts | None = None
    unchecked_mark: str = ""
    refused: Counter[str] = field(default_factory=Counter)
    statements: list[JudgedStatement] = field(default_factory=list)
    _rewrites: int = 0
    _held: list[_HeldPiece] = field(default_factory=list)
    _assessments: list[tuple[DraftSentence, SentenceVerdict]] = field(default_factory=list)
    _table_header: tuple[str, ...] | None = None
    _is_in_sources: bool = False
    _is_in_assessment: bool = False
    _has_heading: bool = False

    async def handle_piece(self, piece: DraftPiece) -> None:
        match piece:
            case DraftHeading():
                await self._handle_heading(piece)
            case _ if self._is_in_sources:
                return
            case DraftSentence():
                await self._handle_sentence(piece)
            case DraftRow():
                await self._handle_row(piece)
            case DraftBlockEnd():
                await self._release_held()

    async def judge_sentences(self, text: str) -> list[SentenceVerdict]:
        return await self.judge.judge_sentences(parse_cited_sentences(text, len(self.judge.notes)))

    async def add_section(self, heading: str, verdicts: Sequence[SentenceVerdict], *, fallback_heading: str) -> None:
        """Write a section by code; what may not stand is dropped at once.

        Without a heading the sentences continue the report; `fallback_heading` replaces one that may not stand.
        """
        if heading:
            fault = await self.judge.find_heading_fault(heading)
            self.writer.queue_heading(2, fallback_heading if fault else heading)
        for verdict in map(self._count_stray_citations, verdicts):
            await self.write_verdict(verdict, line=("added", heading))
        self.writer.discard_headings()

    async def add_assessment(self, heading: str, notice: str) -> None:
        """Write what assesses under a heading and a notice of its own, where it rests on findings that stand."""
        grounds = {
            note
            for statement in self.statements
            if statement.verdict is Verdict.SUPPORTED
            for note in self.writer.list_notes(statement.sources)
        }
        sound = []
        for piece, verdict in self._assessments:
            fault = await self.judge.find_assessment_fault(verdict, grounds)
            self.refused.update([fault] if fault else [])
            if not fault and not self.writer.has_sentence(verdict.text):
                sound.append((piece, verdict))
        if not sound:
            return
        self.writer.queue_heading(2, heading)
        await self.writer.write_blockquote(notice)
        for piece, verdict in sound:
            await self._write_statement(
                verdict, line=("assessment", piece.line), is_item=piece.is_item, is_assessment=True
            )

    async def _handle_heading(self, piece: DraftHeading) -> None:
        is_title = piece.level == 1 and not self._has_heading
        self._has_heading = True
        self._is_in_sources = _SOURCES_HEADING.fullmatch(piece.text) is not None
        self._is_in_assessment = self.judge.is_assessment_heading(piece.text) or (
            self._is_in_assessment and piece.level > 2
        )
        if is_title or self._is_in_sources or self._is_in_assessment:
            return
        if fault := await self.judge.find_heading_fault(piece.text):
            self.refused[fault] += 1
        else:
            self.writer.queue_heading(max(piece.level, 2) if self.writer.sections else 2, piece.text)

    async def _handle_sentence(self, piece: DraftSentence) -> None:
        unlabelled = strip_assessment_label(piece.cited.text)
        cited = piece.cited if unlabelled is None else replace(piece.cited, text=unlabelled)
        judge = self.judge.judge_row if piece.is_item else self.judge.judge_sentence
        verdict = self._count_stray_citations(await judge(cited))
        if unlabelled is not None or self._is_in_assessment:
            self._assessments.append((piece, verdict))
        elif verdict.fault or self._held or self._awaits_review(verdict) or await self.judge.is_analysis(verdict):
            self._held.append(_HeldPiece(piece, verdict))
        else:
            await self.write_verdict(verdict, line=("draft", piece.line), is_item=piece.is_item)

    async def _handle_row(self, piece: DraftRow) -> None:
        if piece.is_header:
            is_sound = not any([cell and await self.judge.find_heading_fault(cell) for cell in piece.cells])
            self._table_header = piece.cells if is_sound and any(piece.cells) else None
            self.refused["figures"] += not is_sound
            return
        verdict = self._count_stray_citations(await self.judge.judge_row(piece.cited))
        if self._held or self._awaits_review(verdict):
            self._held.append(_HeldPiece(piece, verdict, self._table_header))
        else:
            await self._write_row(verdict, piece.cells, self._table_header)

    def _awaits_review(self, verdict: SentenceVerdict) -> bool:
        return self.review is not None and verdict.is_open

    async def _release_held(self) -> None:
        """Write the pieces that wait: reviewed where they are open, rewritten where they may not stand."""
        held, self._held = self._held, []
        await self._review_held(held)
        held = [entry for entry in held if not await self._keep_back_analysis(entry)]
        faulty = [entry for entry in held if _is_worth_rewriting(entry)][:MAX_SENTENCES_PER_REWRITE]
        if faulty and self.rewrite is not None and self._rewrites < MAX_REWRITES:
            self._rewrites += 1
            notes = sorted({number for entry in held for number in entry.piece.cited.numbers})
            mended = await self.rewrite([entry.verdict for entry in faulty], notes)
            await self._accept_rewrites(faulty, mended)
        for entry in held:
            if isinstance(entry.piece, DraftRow):
                await self._write_row(entry.verdict, entry.piece.cells, entry.header)
            else:
                line = ("draft", entry.piece.line)
                await self.write_verdict(entry.verdict, line=line, is_item=entry.piece.is_item)

    async def _review_held(self, held: Sequence[_HeldPiece]) -> None:
        if self.review is not None and any(entry.verdict.is_open for entry in held):
            reviewed = await self.review([entry.verdict for entry in held])
            for entry, verdict in zip(held, reviewed, strict=True):
                entry.verdict = verdict

    async def _keep_back_analysis(self, entry: _HeldPiece) -> bool:
        is_analysis = isinstance(entry.piece, DraftSentence) and await self.judge.is_analysis(entry.verdict)
        if is_analysis and isinstance(entry.piece, DraftSentence):
            self._assessments.append((entry.piece, entry.verdict))
        return is_analysis

    async def _accept_rewrites(self, faulty: Sequence[_HeldPiece], mended: Sequence[str]) -> None:
        """Put rewritten sentences in their places where they may stand; what the draft said there was dropped."""
        rewritten = []
        for entry, text in zip(faulty, mended, strict=False):
            for cited in parse_cited_sentences(text, len(self.judge.notes))[:1]:
                verdict = await self.judge.judge_sentence(cited)
                rewritten.append((entry, _HeldPiece(entry.piece, verdict)))
        await self._review_held([new for _, new in rewritten])
        for entry, new in rewritten:
            if not new.verdict.fault:
                self.refused["rewritten"] += 1
                self.refused[entry.verdict.fault] += 1
                entry.verdict = new.verdict

    async def write_verdict(
        self, verdict: SentenceVerdict, *, line: object, is_item: bool = False, name: str = ""
    ) -> bool:
        """Write a sentence that may stand, and count any other; return whether it was written.

        `name` is put before it, as of a driver that it describes.
        """
        if verdict.fault:
            self.refused[verdict.fault] += 1
            return False
        return await self._write_statement(verdict, line=line, is_item=is_item, name=name)

    async def _write_statement(
        self, verdict: SentenceVerdict, *, line: object, is_item: bool, name: str = "", is_assessment: bool = False
    ) -> bool:
        numbers = await self.judge.prefer_cited_notes(verdict, self.writer.cited_notes, name=name)
        mark = "" if verdict.is_supported or is_assessment else self.unchecked_mark
        text = name + verdict.text
        is_written = await self.writer.write_sentence(text, numbers, line=line, is_item=is_item, mark=mark)
        if is_written:
            self._record(verdict, numbers, is_assessment=is_assessment)
        return is_written

    async def _write_row(self, verdict: SentenceVerdict, cells: Sequence[str], header: tuple[str, ...] | None) -> None:
        if verdict.fault:
            self.refused[verdict.fault] += 1
        elif header is not None:
            numbers = await self.judge.prefer_cited_notes(verdict, self.writer.cited_notes)
            mark = "" if verdict.is_supported else self.unchecked_mark
            await self.writer.write_row(header, cells, numbers, mark=mark)
            self._record(verdict, numbers)

    def _record(self, verdict: SentenceVerdict, numbers: Sequence[int], *, is_assessment: bool = False) -> None:
        judgement = verdict.judgement
        if judgement is None:
            return
        sources = self.writer.list_source_numbers(numbers)
        section = self.writer.section
        self.statements.append(
            build_statement(verdict.text, judgement, section=section, sources=sources, is_assessment=is_assessment)
        )

    def _count_stray_citations(self, verdict: SentenceVerdict) -> SentenceVerdict:
        self.refused["citations"] += verdict.stray_citations
        return verdict


def _is_worth_rewriting(entry: _HeldPiece) -> bool:
    """Return whether a refused sentence says anything: a preamble or a linking sentence is dropped at once."""
    says_something = bool(entry.piece.cited.numbers) or has_particulars(entry.verdict.text)
    return isinstance(entry.piece, DraftSentence) and bool(entry.verdict.fault) and says_something
