"""The report: written by the model from the paragraphs' summaries, or put together from them by rule."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.domain.words import Phase
from monitor.errors import UsageError
from monitor.evidence.citing import with_citations
from monitor.llm.answers import parse_array
from monitor.research.appendix import Appendix
from monitor.research.drafting import Drafting, Sentence
from monitor.research.editing import Editor, Rewrite
from monitor.research.findings import NoteBasis, running_text
from monitor.research.judging import Judge
from monitor.research.nodes.node import NO_MODEL, UNUSABLE, Answer, Node
from monitor.research.parts import ResearchParts, Told, untold
from monitor.research.prompts.reporting import ReportWording
from monitor.research.shapes import ModelBlueprint, Note, OnToken, OutlineEntry, ReportSource
from monitor.research.sheet import OnSource, Sheet, disarmed, letters_alone

_WORDS = {
    "zh": {
        "extracts": "本报告未使用语言模型：正文由程序从所引网页摘录而成，每句都注明出处。",
        "summaries": "语言模型未能写成报告：正文由程序按各段小结整理，每句都注明出处。",
        "title": "研究报告",
        "nothing": "没有找到可以引用的材料，因此不作任何结论。",
        "missing": "以下部分没有找到可以引用的材料：{titles}。",
        "and": "、",
        "finding": "查到的内容",
    },
    "en": {
        "extracts": "No language model was used: the text is made of extracts from the pages cited, each with its "
        "source.",
        "summaries": "The language model wrote no usable report: the text is put together by rule from the paragraphs' "
        "summaries, each sentence with its source.",
        "title": "Research report",
        "nothing": "Nothing was found that could be cited, so nothing is concluded.",
        "missing": "Nothing that could be cited was found for: {titles}.",
        "and": "; ",
        "finding": "Findings",
    },
}

_SUMMARY = re.compile(r"摘要|概要|概述|总结|小结|结论|要点|summary|overview|conclusion|findings", re.IGNORECASE)


@dataclass(frozen=True)
class ReportInput:
    """What a report is made of: the paragraphs' titles with their summaries, which cite the notes from 1."""

    title: str
    sections: Sequence[tuple[str, str]]
    notes: Sequence[Note]
    bases: Sequence[NoteBasis]
    model: ModelBlueprint = field(default_factory=ModelBlueprint)
    remark: str = ""


@dataclass
class FormattedReport:
    """The report; `fallback` says why code wrote what the model should have, `by_rule` which sections of it."""

    markdown: str = ""
    outline: list[OutlineEntry] = field(default_factory=list)
    sources: list[ReportSource] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    by_rule: list[str] = field(default_factory=list)
    fallback: str = ""
    tokens: int = 0


class ReportFormattingNode(Node[ReportInput, FormattedReport]):
    """Writes the report and tells its text while it is written, each sentence as soon as it was found to stand."""

    def __init__(self, parts: ResearchParts, told: Told = untold, on_token: OnToken | None = None) -> None:
        super().__init__(parts)
        self._told = told
        self._on_token = on_token
        self._wording = ReportWording(parts.language, parts.prompts)
        self._words = _WORDS[parts.language]

    async def run(self, given: ReportInput) -> FormattedReport:
        self.validate_input(given)
        report = FormattedReport()
        judge = Judge(given.notes, query=self.parts.query)
        sheet = Sheet(self._on_token, self._naming_sources(given))
        editor = Editor(judge, sheet, self._rewriting(given, report))
        await sheet.title(self._words["title"] if judge.heading(given.title) else given.title)
        await self._write(given, editor, sheet, report)
        appendix = Appendix(sheet, judge, language=self.parts.language, refused=editor.refused)
        await appendix.model(given.model)
        await appendix.timeline()
        await appendix.sources(given.bases)
        await sheet.end()
        report.markdown, report.outline = sheet.markdown, sheet.outline()
        report.sources = [_source(given, number) for number in sheet.cited]
        report.refused = dict(+editor.refused)
        return report

    def validate_input(self, given: ReportInput) -> None:
        """There have to be paragraphs, each with a title, and a basis for each note."""
        if not given.sections or not all(title.strip() for title, _ in given.sections):
            raise UsageError("There is nothing to report: each paragraph has a title and what was found for it.")
        if len(given.notes) != len(given.bases):
            raise UsageError("Each note of a report has the basis of its page beside it.")

    def process_output(self, answer: str, given: ReportInput) -> FormattedReport | None:
        """What of an answer may stand as it is, under no heading; None where nothing may."""
        judge, drafting = Judge(given.notes, query=self.parts.query), Drafting(len(given.notes))
        pieces = [*drafting.take(answer), *drafting.end()]
        verdicts = [judge.sentence(piece.cited) for piece in pieces if isinstance(piece, Sentence)]
        sound = [with_citations(verdict.text, verdict.numbers) for verdict in verdicts if not verdict.fault]
        return FormattedReport(markdown=running_text(sound)) if sound else None

    async def _write(self, given: ReportInput, editor: Editor, sheet: Sheet, report: FormattedReport) -> None:
        """The sections: the model's, and by rule those that it left out, broke off in, or did not write soundly."""
        answer = await self._drafted(given, editor, report) if given.notes else Answer()
        sheet.forget_headings()
        verdicts = {title: editor.judged(summary) for title, summary in given.sections}
        left = [
            title
            for title, found in verdicts.items()
            if any(not one.fault and not sheet.has(one.text) for one in found)
            and not _is_covered(title, given, sheet, is_cut=answer.is_cut)
        ]
        if not given.notes:
            await sheet.quote(self._words["nothing"])
        elif not sheet.cited:
            report.fallback = answer.failure or UNUSABLE
            await sheet.quote(self._words["extracts" if answer.failure == NO_MODEL else "summaries"])
        elif left:
            report.by_rule = left
            report.fallback = f"sections by rule: {len(left)}{'; the answer broke off' if answer.is_cut else ''}"
        last = sheet.sections[-1].heading if answer.is_cut and sheet.sections else ""
        for title in sorted(left, key=lambda one: not is_alike(last, one)):
            heading = "" if is_alike(last, title) else title
            await editor.add(heading, verdicts[title], otherwise=self._words["finding"])
        empty = [title for title, found in verdicts.items() if all(one.fault for one in found)]
        named = [disarmed(title) for title in empty if not editor.judge.heading(title)]
        if named and given.notes:
            await sheet.quote(self._words["missing"].format(titles=self._words["and"].join(named)))

    async def _drafted(self, given: ReportInput, editor: Editor, report: FormattedReport) -> Answer:
        """The model's answer, edited while it comes, in a task of its own: the editor may ask the model itself."""
        arrived: asyncio.Queue[str | None] = asyncio.Queue()

        async def edit() -> None:
            drafting = Drafting(len(given.notes))
            while (text := await arrived.get()) is not None:
                for piece in drafting.take(text):
                    await editor.take(piece)
            for piece in drafting.end():
                await editor.take(piece)

        editing = asyncio.create_task(edit())

        async def hear(text: str) -> None:
            if editing.done():
                await editing  # it can only have failed
            arrived.put_nowait(text)

        messages = self._wording.report(
            self.parts.query, given.sections, given.notes, model=given.model, remark=given.remark
        )
        try:
            answer = await self.asked(messages, phase=Phase.REPORT, place="report", on_token=hear)
            arrived.put_nowait(None)
            await editing
        finally:
            editing.cancel()
            await asyncio.gather(editing, return_exceptions=True)
        report.tokens += answer.tokens
        return answer

    def _rewriting(self, given: ReportInput, report: FormattedReport) -> Rewrite | None:
        if self.parts.model is None:
            return None

        async def rewrite(sentences: Sequence[str], numbers: Sequence[int]) -> list[str]:
            chosen = numbers or range(1, len(given.notes) + 1)
            notes = {number: given.notes[number - 1] for number in chosen}
            messages = self._wording.rewrite(self.parts.query, sentences, notes)
            answer = await self.asked(messages, phase=Phase.REPORT, place="rewrite")
            report.tokens += answer.tokens
            return [one if isinstance(one, str) else "" for one in parse_array(answer.text, str) or []]

        return rewrite

    def _naming_sources(self, given: ReportInput) -> OnSource:
        async def name(number: int, note_index: int) -> None:
            basis = given.bases[note_index]
            source = {"number": number, "title": basis.title, "url": basis.url, "noteIndex": note_index}
            await self._told(0.05 + 0.9 * number / len(given.notes), metadata={"sources": [source]})

        return name


def _source(given: ReportInput, number: int) -> ReportSource:
    basis = given.bases[number - 1]
    return ReportSource(title=basis.title, url=basis.url, note_index=number - 1)


def _is_covered(title: str, given: ReportInput, sheet: Sheet, *, is_cut: bool) -> bool:
    """Whether the report has this paragraph: a section of its name, or else half of its notes in sections of no other.

    The section in which an answer broke off does not count, nor does a summary of the whole.
    """
    whole = sheet.sections[:-1] if is_cut else sheet.sections
    if any(one.notes and is_alike(one.heading, title) for one in whole):
        return True
    own = {number for number, note in enumerate(given.notes, start=1) if note.topic == title}
    others = [other for other, _ in given.sections if other != title]
    free = [one for one in whole if not any(is_alike(one.heading, other) for other in others)]
    cited = own & {number for one in free if not _SUMMARY.search(one.heading) for number in one.notes}
    return bool(own) and 2 * len(cited) >= len(own)


def is_alike(heading: str, title: str) -> bool:
    """Whether a heading is a paragraph's title, numbered or with a word more."""
    one, other = letters_alone(heading), letters_alone(title)
    return bool(one and other) and (one in other or other in one)
