"""From a model's draft to a report: each piece is judged as soon as it is whole: it stands, is mended once, or goes."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from monitor.evidence.citing import cited_sentences, has_particulars
from monitor.research.drafting import BlockEnd, Heading, Piece, Row, Sentence
from monitor.research.judging import Judge, Verdict
from monitor.research.sheet import Sheet

MOST_REWRITES = 4
MOST_SENTENCES = 8
_SOURCES = re.compile(
    r"[\W\d_一二三四五六七八九十]*(?:来源|资料来源|信息来源|数据来源|参考|参考文献|参考资料|引用|引用来源|参考来源"
    r"|sources?|references?|bibliography|works cited)\W*",
    re.IGNORECASE,
)

Rewrite = Callable[[Sequence[str], Sequence[int]], Awaitable[list[str]]]
"""Asks for these sentences again, with these notes to cite; gives one for each, empty where it cannot be said."""


class Editor:
    """Takes the pieces of a draft in their order; what may stand goes onto the sheet in the same order.

    From the first sentence of a block that may not stand on, the block waits for its end: then those sentences are
    asked for once more, a few times in a report, and what may still not stand is dropped and counted in `refused`.
    """

    def __init__(self, judge: Judge, sheet: Sheet, rewrite: Rewrite | None = None) -> None:
        self.judge = judge
        self._sheet = sheet
        self._rewrite = rewrite
        self._rewrites = 0
        self._held: list[tuple[Sentence, Verdict]] = []
        self._head: tuple[str, ...] | None = None
        self._is_in_sources = False
        self._has_heading = False
        self.refused: Counter[str] = Counter()

    async def take(self, piece: Piece) -> None:
        if isinstance(piece, Heading):
            self._heading(piece)
        elif self._is_in_sources:
            return
        elif isinstance(piece, Sentence):
            await self._sentence(piece)
        elif isinstance(piece, Row):
            await self._row(piece)
        elif isinstance(piece, BlockEnd):
            await self._release()

    def judged(self, text: str) -> list[Verdict]:
        """The verdicts on the sentences of a text, which cite notes from 1."""
        return [self.judge.sentence(cited) for cited in cited_sentences(text, len(self.judge.notes))]

    async def add(self, heading: str, verdicts: Sequence[Verdict], *, otherwise: str) -> None:
        """A section of sentences by code; what may not stand is dropped without more ado.

        Without a heading they go on where the report is; in place of one that may not stand comes `otherwise`.
        """
        if heading:
            self._sheet.heading(2, otherwise if self.judge.heading(heading) else heading)
        for verdict in map(self._counted, verdicts):
            if verdict.fault:
                self.refused[verdict.fault] += 1
            else:
                await self._put(verdict, line=("added", heading))
        self._sheet.forget_headings()

    def _heading(self, piece: Heading) -> None:
        is_title = piece.level == 1 and not self._has_heading
        self._has_heading = True
        self._is_in_sources = _SOURCES.fullmatch(piece.text) is not None
        fault = "" if is_title or self._is_in_sources else self.judge.heading(piece.text)
        if fault:
            self.refused[fault] += 1
        elif not is_title and not self._is_in_sources:
            self._sheet.heading(max(piece.level, 2) if self._sheet.sections else 2, piece.text)

    async def _sentence(self, piece: Sentence) -> None:
        verdict = self._counted(self.judge.row(piece.cited) if piece.is_item else self.judge.sentence(piece.cited))
        if verdict.fault or self._held:
            self._held.append((piece, verdict))
        else:
            await self._write(piece, verdict)

    async def _row(self, piece: Row) -> None:
        if piece.is_head:
            is_sound = all(not cell or not self.judge.heading(cell) for cell in piece.cells)
            self._head = piece.cells if is_sound and any(piece.cells) else None
            self.refused["figures"] += not is_sound
            return
        verdict = self._counted(self.judge.row(piece.cited))
        if verdict.fault:
            self.refused[verdict.fault] += 1
        elif self._head is not None:
            await self._sheet.row(self._head, piece.cells, self.judge.with_fewest(verdict, self._sheet.cited))

    async def _release(self) -> None:
        """The sentences that wait, in their order, those that may not stand as they were mended."""
        held, self._held = self._held, []
        faulty = [place for place, one in enumerate(held) if _is_worth_mending(*one)][:MOST_SENTENCES]
        if faulty and self._rewrite is not None and self._rewrites < MOST_REWRITES:
            self._rewrites += 1
            notes = sorted({number for piece, _ in held for number in piece.cited.numbers})
            mended = await self._rewrite([held[place][1].text for place in faulty], notes)
            for place, text in zip(faulty, mended, strict=False):
                held[place] = (held[place][0], self._mended(text, held[place][1]))
        for piece, verdict in held:
            if verdict.fault:
                self.refused[verdict.fault] += 1
            else:
                await self._write(piece, verdict)

    def _mended(self, text: str, before: Verdict) -> Verdict:
        """The verdict on a sentence that was asked for again; the one from before where it is no better."""
        for cited in cited_sentences(text, len(self.judge.notes))[:1]:
            verdict = self.judge.sentence(cited)
            if not verdict.fault:
                self.refused["rewritten"] += 1
                return verdict
        return before

    async def _write(self, piece: Sentence, verdict: Verdict) -> None:
        await self._put(verdict, line=("draft", piece.line), is_item=piece.is_item)

    async def _put(self, verdict: Verdict, *, line: object, is_item: bool = False) -> None:
        numbers = self.judge.with_fewest(verdict, self._sheet.cited)
        await self._sheet.sentence(verdict.text, numbers, line=line, is_item=is_item)

    def _counted(self, verdict: Verdict) -> Verdict:
        self.refused["citations"] += verdict.strays
        return verdict


def _is_worth_mending(piece: Sentence, verdict: Verdict) -> bool:
    """Whether a sentence that may not stand says anything: a preamble or a linking sentence goes without more ado."""
    return bool(verdict.fault and (piece.cited.numbers or has_particulars(verdict.text)))
