"""The report: written by the model from the paragraphs' summaries, or put together from them by rule."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.llm.answers import parse_array
from monitor.llm.chat import OnToken
from monitor.research.appendix import Appendix
from monitor.research.dependencies import ProgressMessage, ResearchDependencies, ignore_progress
from monitor.research.editing import DraftEditor, DraftParser, DraftSentence, RewriteSentences, SentenceJudge
from monitor.research.findings import NoteBasis, join_sentences
from monitor.research.node import NO_MODEL_FAILURE, UNUSABLE_ANSWER_FAILURE, Node, NodeAnswer
from monitor.research.prompts import ReportPromptBuilder
from monitor.research.shapes import ModelBlueprint, OutlineEntry, ReportSource, ResearchNote
from monitor.research.sheet import OnSource, ReportWriter, escape_markdown, normalize_letters
from monitor.verify.citations import append_citations
from monitor.vocabulary import Phase

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

_SUMMARY_HEADING = re.compile(r"摘要|概要|概述|总结|小结|结论|要点|summary|overview|conclusion|findings", re.IGNORECASE)


@dataclass(frozen=True)
class ReportNodeInput:
    """What a report is made of: the paragraphs' titles with their summaries, which cite the notes from 1."""

    title: str
    sections: Sequence[tuple[str, str]]
    notes: Sequence[ResearchNote]
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
    fallback: Message | None = None
    tokens: int = 0


class ReportFormattingNode(Node[ReportNodeInput, FormattedReport]):
    """Writes the report and tells its text while it is written, each sentence as soon as it was found to stand."""

    def __init__(
        self,
        deps: ResearchDependencies,
        report_progress: ProgressMessage = ignore_progress,
        on_token: OnToken | None = None,
    ) -> None:
        super().__init__(deps)
        self._report_progress = report_progress
        self._on_token = on_token
        self._prompt_builder = ReportPromptBuilder(deps.language, deps.prompts)
        self._words = _WORDS[deps.language]

    async def run(self, given: ReportNodeInput) -> FormattedReport:
        self.validate_input(given)
        report = FormattedReport()
        judge = SentenceJudge(given.notes, query=self.deps.query)
        sheet = ReportWriter(self._on_token, self._make_source_listener(given))
        editor = DraftEditor(judge, sheet, self._make_rewriter(given, report))
        await sheet.write_title(self._words["title"] if judge.find_heading_fault(given.title) else given.title)
        await self._write_sections(given, editor, sheet, report)
        appendix = Appendix(sheet, judge, language=self.deps.language, refused=editor.refused)
        await appendix.write_model(given.model)
        await appendix.write_timeline()
        await appendix.write_sources(given.bases)
        await sheet.close()
        report.markdown, report.outline = sheet.markdown, sheet.build_outline()
        report.sources = [_build_source(given, number) for number in sheet.cited_notes]
        report.refused = dict(+editor.refused)
        return report

    def validate_input(self, given: ReportNodeInput) -> None:
        """There have to be paragraphs, each with a title, and a basis for each note."""
        if not given.sections or not all(title.strip() for title, _ in given.sections):
            raise UsageError("research.sections_missing")
        if len(given.notes) != len(given.bases):
            raise UsageError("research.bases_missing")

    def process_output(self, answer: str, given: ReportNodeInput) -> FormattedReport | None:
        """What of an answer may stand as it is, under no heading; None where nothing may."""
        judge, drafting = SentenceJudge(given.notes, query=self.deps.query), DraftParser(len(given.notes))
        pieces = [*drafting.feed(answer), *drafting.close()]
        verdicts = [judge.judge_sentence(piece.cited) for piece in pieces if isinstance(piece, DraftSentence)]
        sound = [append_citations(verdict.text, verdict.numbers) for verdict in verdicts if not verdict.fault]
        return FormattedReport(markdown=join_sentences(sound)) if sound else None

    async def _write_sections(
        self, given: ReportNodeInput, editor: DraftEditor, writer: ReportWriter, report: FormattedReport
    ) -> None:
        """The sections: the model's, and by rule those that it left out, broke off in, or did not write soundly."""
        answer = await self._draft_report(given, editor, report) if given.notes else NodeAnswer()
        writer.discard_headings()
        verdicts = {title: editor.judge_sentences(summary) for title, summary in given.sections}
        left = [
            title
            for title, found in verdicts.items()
            if any(not verdict.fault and not writer.has_sentence(verdict.text) for verdict in found)
            and not _is_covered(title, given, writer, is_cut=answer.is_cut)
        ]
        if not given.notes:
            await writer.write_blockquote(self._words["nothing"])
        elif not writer.cited_notes:
            report.fallback = answer.failure or UNUSABLE_ANSWER_FAILURE
            await writer.write_blockquote(
                self._words["extracts" if answer.failure == NO_MODEL_FAILURE else "summaries"]
            )
        elif left:
            report.by_rule = left
            code = "research.sections_by_rule_cut" if answer.is_cut else "research.sections_by_rule"
            report.fallback = Message.of(code, number=len(left))
        last = writer.sections[-1].heading if answer.is_cut and writer.sections else ""
        for title in sorted(left, key=lambda one: not is_same_heading(last, one)):
            heading = "" if is_same_heading(last, title) else title
            await editor.add_section(heading, verdicts[title], fallback_heading=self._words["finding"])
        empty = [title for title, found in verdicts.items() if all(verdict.fault for verdict in found)]
        named = [escape_markdown(title) for title in empty if not editor.judge.find_heading_fault(title)]
        if named and given.notes:
            await writer.write_blockquote(self._words["missing"].format(titles=self._words["and"].join(named)))

    async def _draft_report(self, given: ReportNodeInput, editor: DraftEditor, report: FormattedReport) -> NodeAnswer:
        """The model's answer, edited while it comes, in a task of its own: the editor may ask the model itself."""
        arrived: asyncio.Queue[str | None] = asyncio.Queue()

        async def edit() -> None:
            drafting = DraftParser(len(given.notes))
            while (text := await arrived.get()) is not None:
                for piece in drafting.feed(text):
                    await editor.handle_piece(piece)
            for piece in drafting.close():
                await editor.handle_piece(piece)

        editing = asyncio.create_task(edit())

        async def hear(text: str) -> None:
            if editing.done():
                await editing  # it can only have failed
            arrived.put_nowait(text)

        messages = self._prompt_builder.build_report_messages(
            self.deps.query, given.sections, given.notes, model=given.model, remark=given.remark
        )
        try:
            answer = await self.ask_model(messages, phase=Phase.REPORT, place="report", on_token=hear)
            arrived.put_nowait(None)
            await editing
        finally:
            editing.cancel()
            await asyncio.gather(editing, return_exceptions=True)
        report.tokens += answer.tokens
        return answer

    def _make_rewriter(self, given: ReportNodeInput, report: FormattedReport) -> RewriteSentences | None:
        if self.deps.model is None:
            return None

        async def rewrite(sentences: Sequence[str], numbers: Sequence[int]) -> list[str]:
            chosen = numbers or range(1, len(given.notes) + 1)
            notes = {number: given.notes[number - 1] for number in chosen}
            messages = self._prompt_builder.build_rewrite_messages(self.deps.query, sentences, notes)
            answer = await self.ask_model(messages, phase=Phase.REPORT, place="rewrite")
            report.tokens += answer.tokens
            return [entry if isinstance(entry, str) else "" for entry in parse_array(answer.text, str) or []]

        return rewrite

    def _make_source_listener(self, given: ReportNodeInput) -> OnSource:
        async def name(number: int, note_index: int) -> None:
            basis = given.bases[note_index]
            source = {"number": number, "title": basis.title, "url": basis.url, "noteIndex": note_index}
            await self._report_progress(0.05 + 0.9 * number / len(given.notes), metadata={"sources": [source]})

        return name


def _build_source(given: ReportNodeInput, number: int) -> ReportSource:
    basis = given.bases[number - 1]
    return ReportSource(title=basis.title, url=basis.url, note_index=number - 1)


def _is_covered(title: str, given: ReportNodeInput, writer: ReportWriter, *, is_cut: bool) -> bool:
    """Whether the report has this paragraph: a section of its name, or else half of its notes in sections of no other.

    The section in which an answer broke off does not count, nor does a summary of the whole.
    """
    whole = writer.sections[:-1] if is_cut else writer.sections
    if any(section.note_numbers and is_same_heading(section.heading, title) for section in whole):
        return True
    own = {number for number, note in enumerate(given.notes, start=1) if note.topic == title}
    others = [other for other, _ in given.sections if other != title]
    free = [section for section in whole if not any(is_same_heading(section.heading, other) for other in others)]
    cited = own & {
        number for section in free if not _SUMMARY_HEADING.search(section.heading) for number in section.note_numbers
    }
    return bool(own) and 2 * len(cited) >= len(own)


def is_same_heading(heading: str, title: str) -> bool:
    """Whether a heading is a paragraph's title, numbered or with a word more."""
    one, other = normalize_letters(heading), normalize_letters(title)
    return bool(one and other) and (one in other or other in one)
