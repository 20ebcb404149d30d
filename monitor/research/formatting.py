"""The report: written by the model from the paragraphs' summaries, or put together from them by rule; its score."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from pydantic import Field

from monitor.errors import UsageError
from monitor.i18n.catalogue import get_words
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.answer_schemas import TEXT_LIST
from monitor.llm.answers import parse_array
from monitor.llm.chat import CompletionRequest, OnToken
from monitor.logs import get_logger
from monitor.research.appendix import Appendix
from monitor.research.dependencies import ProgressReporter, ignore_progress
from monitor.research.disagreements import find_disagreements
from monitor.research.editing import DraftEditor, DraftParser, DraftSentence
from monitor.research.findings import NoteBasis, join_sentences
from monitor.research.judging import MAX_PAGE_CHARS, SentenceJudge, SentenceVerdict, list_reasons, review_verdicts
from monitor.research.node import NO_MODEL_FAILURE, UNUSABLE_ANSWER_FAILURE, Node, NodeAnswer, NodeResult
from monitor.research.report_judge import JudgeSetup, ReportJudge
from monitor.research.shapes import (
    Disagreement,
    JudgedStatement,
    ModelBlueprint,
    OutlineEntry,
    ReportSource,
    ResearchNote,
    UnansweredSection,
)
from monitor.research.sheet import SUMMARY_HEADING, ReportWriter, escape_markdown, normalize_letters
from monitor.verify.citations import append_citations
from monitor.verify.statements import Judgement, SourceText
from monitor.vocabulary import Phase


@dataclass(frozen=True)
class PlannedSection:
    """A paragraph of the plan with its summary, which cites notes from 1.

    `queries` are what was searched for it; `reason` says why it has no summary, as `UnansweredSection` does.
    """

    title: str
    text: str
    queries: Sequence[str] = ()
    reason: str = "no_statements"


@dataclass(frozen=True)
class ReportNodeInput:
    """What a report is made of: `pages` are the kept pages of the notes by url.

    `settled` are the second reader's verdicts by their sentences.
    """

    title: str
    sections: Sequence[PlannedSection]
    notes: Sequence[ResearchNote]
    bases: Sequence[NoteBasis]
    pages: Mapping[str, str] = field(default_factory=dict)
    settled: Mapping[str, Judgement] = field(default_factory=dict)
    model: ModelBlueprint = field(default_factory=ModelBlueprint)
    remark: str = ""


class FormattedReport(NodeResult):
    """The report; `by_rule` names the sections that code wrote in place of the model.

    `unanswered` are planned sections of which nothing is said.
    """

    markdown: str = ""
    outline: list[OutlineEntry] = Field(default_factory=list)
    sources: list[ReportSource] = Field(default_factory=list)
    by_rule: list[str] = Field(default_factory=list)
    statements: list[JudgedStatement] = Field(default_factory=list)
    unanswered: list[UnansweredSection] = Field(default_factory=list)
    disagreements: list[Disagreement] = Field(default_factory=list)


@dataclass
class ReportFormattingNode(Node[ReportNodeInput, FormattedReport]):
    """Writes the report and streams it, each sentence as soon as it was found to stand."""

    unanswered_words: ClassVar[str] = "report_unanswered"
    report_progress: ProgressReporter = ignore_progress
    on_token: OnToken | None = None

    @property
    def _words(self) -> Mapping[str, str]:
        return get_words(self.deps.language, "report")

    async def run(self, given: ReportNodeInput) -> FormattedReport:
        self.validate_input(given)
        report = FormattedReport()
        editor = self.create_editor(given, report)
        fault = await editor.judge.find_heading_fault(given.title)
        await editor.writer.write_title(self._words["title"] if fault else given.title)
        await self._write_sections(given, editor, editor.writer, report)
        await editor.add_assessment(self._words["assessment"], self._words["assessment_notice"])
        report.disagreements = await self._find_disagreements(given.notes)
        appendix = Appendix(editor, language=self.deps.language)
        await appendix.write_model(given.model)
        await appendix.write_disagreements(report.disagreements)
        await appendix.write_timeline()
        await appendix.write_sources(given.bases)
        return await self.finish(given, editor, report)

    def create_editor(self, given: ReportNodeInput, report: FormattedReport) -> DraftEditor:
        judge = ReportJudge(self._build_setup(given), self.deps.workers)
        sheet = ReportWriter(self.on_token, partial(self._report_source, given.bases), self._words["see"])
        editor = DraftEditor(judge, sheet, unchecked_mark=self._words["unchecked"])
        if self.deps.model is not None:
            editor.rewrite = partial(self._rewrite, given.notes, report)
            editor.review = partial(review_verdicts, self.deps, place="report")
        return editor

    async def finish(self, given: ReportNodeInput, editor: DraftEditor, report: FormattedReport) -> FormattedReport:
        """Return the report with all that was written into its editor."""
        sheet = editor.writer
        await sheet.close()
        report.markdown, report.outline, report.statements = sheet.markdown, sheet.build_outline(), editor.statements
        for number in sheet.cited_notes:
            basis = given.bases[number - 1]
            report.sources.append(ReportSource(title=basis.title, url=basis.url, note_index=number - 1))
        report.refused = dict(+editor.refused)
        report.fallback = editor.judge.problem or report.fallback
        return report

    async def _find_disagreements(self, notes: Sequence[ResearchNote]) -> list[Disagreement]:
        try:
            return await self.deps.workers.run(find_disagreements, notes)
        except IsolatedWorkFailed as error:
            get_logger("research").warning("disagreements not looked for", reason=str(error))
            return []

    def _build_setup(self, given: ReportNodeInput) -> JudgeSetup:
        """Return what the report's sentences are judged by: quotes of the notes, and the pages that were kept."""
        bases = {basis.url: basis for basis in given.bases}
        pages = {
            url: SourceText(
                text=given.pages.get(url, "")[:MAX_PAGE_CHARS], title=basis.title, published_on=basis.published_on
            )
            for url, basis in bases.items()
        }
        titles = [given.title, *(section.title for section in given.sections)]
        return JudgeSetup(given.notes, self.deps.query, pages, titles, dict(given.settled))

    def validate_input(self, given: ReportNodeInput) -> None:
        if not given.sections or not all(section.title.strip() for section in given.sections):
            raise UsageError("research.sections_missing")
        if len(given.notes) != len(given.bases):
            raise UsageError("research.bases_missing")

    def process_output(self, answer: str, given: ReportNodeInput) -> FormattedReport | None:
        """Return what of an answer may stand as it is, under no heading; None where nothing may."""
        judge, parser = SentenceJudge(given.notes, query=self.deps.query), DraftParser(len(given.notes))
        pieces = [*parser.feed(answer), *parser.close()]
        verdicts = [judge.judge_sentence(piece.cited) for piece in pieces if isinstance(piece, DraftSentence)]
        sound = [append_citations(verdict.text, verdict.numbers) for verdict in verdicts if not verdict.fault]
        return FormattedReport(markdown=join_sentences(sound)) if sound else None

    async def _write_sections(
        self, given: ReportNodeInput, editor: DraftEditor, writer: ReportWriter, report: FormattedReport
    ) -> None:
        """Write the model's sections, and by rule those that it left out, broke off in, or did not write soundly."""
        answer = await self._draft_report(given, editor, report) if given.notes else NodeAnswer()
        writer.discard_headings()
        verdicts = {section.title: await editor.judge_sentences(section.text) for section in given.sections}
        sayable = [title for title, found in verdicts.items() if any(not verdict.fault for verdict in found)]
        covered = {title for title in verdicts if _is_covered(title, given, writer, is_cut=answer.is_cut)}
        left = [
            title
            for title in sayable
            if title not in covered
            and any(not verdict.fault and not writer.has_sentence(verdict.text) for verdict in verdicts[title])
        ]
        # What has been said already, under no heading of its name, is referred to.
        unnamed = [
            title
            for title in sayable
            if title not in covered and not any(is_same_heading(heading, title) for heading in writer.headings)
        ]
        if not given.notes:
            await writer.write_blockquote(self._words["nothing"])
        elif not writer.cited_notes:
            report.fallback = answer.failure or UNUSABLE_ANSWER_FAILURE
            by = "extracts" if answer.failure == NO_MODEL_FAILURE else "summaries"
            await writer.write_blockquote(self._words[by])
        elif left:
            report.by_rule = left
            code = "research.sections_by_rule_cut" if answer.is_cut else "research.sections_by_rule"
            report.fallback = Message.of(code, number=len(left))
        last = writer.sections[-1].heading if answer.is_cut and writer.sections else ""
        added = [title for title in sayable if title in left or title in unnamed]
        for title in sorted(added, key=lambda one: not is_same_heading(last, one)):
            heading = "" if is_same_heading(last, title) else title
            await editor.add_section(heading, verdicts[title], fallback_heading=self._words["finding"])
        for section in given.sections:
            if section.title not in sayable and section.title not in covered:
                await self._write_unanswered(section, editor, report)

    async def _write_unanswered(self, section: PlannedSection, editor: DraftEditor, report: FormattedReport) -> None:
        reason = await self.describe_unanswered(section, editor, report)
        fault = await editor.judge.find_heading_fault(section.title)
        editor.writer.queue_heading(2, self._words["finding"] if fault else section.title)
        await editor.writer.write_blockquote(reason)

    async def describe_unanswered(self, section: PlannedSection, editor: DraftEditor, report: FormattedReport) -> str:
        """Note that nothing is said of a planned section; return why, and what was searched for it.

        A query with a figure that neither the question nor a note has is not shown: it would read as a finding.
        """
        words = get_words(self.deps.language, self.unanswered_words)
        report.unanswered.append(
            UnansweredSection(title=section.title, queries=list(section.queries), reason=section.reason)
        )
        queries = [query for query in section.queries if not await editor.judge.find_heading_fault(query)]
        searched = self._words["and"].join(words["query"].format(query=escape_markdown(query)) for query in queries)
        parts = [words[section.reason], words["searched"].format(queries=searched) if searched else ""]
        return (" " if self.deps.language == "en" else "").join(filter(None, parts))

    async def _draft_report(self, given: ReportNodeInput, editor: DraftEditor, report: FormattedReport) -> NodeAnswer:
        """Edit the model's answer while it comes, in a task of its own: the editor may ask the model itself."""
        arrived: asyncio.Queue[str | None] = asyncio.Queue()

        async def edit() -> None:
            parser = DraftParser(len(given.notes))
            while (text := await arrived.get()) is not None:
                for piece in parser.feed(text):
                    await editor.handle_piece(piece)
            for piece in parser.close():
                await editor.handle_piece(piece)

        editing = asyncio.create_task(edit())

        async def hear(text: str) -> None:
            if editing.done():
                await editing  # it can only have failed
            arrived.put_nowait(text)

        messages = self.deps.prompt_builder.build_report_messages(
            self.deps.query,
            [(section.title, section.text) for section in given.sections],
            given.notes,
            model=given.model,
            remark=given.remark,
        )
        try:
            answer = await self.ask_model(CompletionRequest(messages, Phase.REPORT, "report", on_token=hear))
            arrived.put_nowait(None)
            await editing
        finally:
            editing.cancel()
            await asyncio.gather(editing, return_exceptions=True)
        report.tokens += answer.tokens
        return answer

    async def _rewrite(
        self,
        notes: Sequence[ResearchNote],
        report: FormattedReport,
        refused: Sequence[SentenceVerdict],
        numbers: Sequence[int],
    ) -> list[str]:
        chosen = {number: notes[number - 1] for number in numbers or range(1, len(notes) + 1)}
        sentences = [(verdict.text, list_reasons([verdict])) for verdict in refused]
        messages = self.deps.prompt_builder.build_rewrite_messages(self.deps.query, sentences, chosen)
        answer = await self.ask_model(CompletionRequest(messages, Phase.REPORT, "rewrite", schema=TEXT_LIST))
        report.tokens += answer.tokens
        return [entry if isinstance(entry, str) else "" for entry in parse_array(answer.text, str) or []]

    async def _report_source(self, bases: Sequence[NoteBasis], number: int, note_index: int) -> None:
        basis = bases[note_index]
        source = {"number": number, "title": basis.title, "url": basis.url, "noteIndex": note_index}
        await self.report_progress(0.05 + 0.9 * number / len(bases), metadata={"sources": [source]})


def _is_covered(title: str, given: ReportNodeInput, writer: ReportWriter, *, is_cut: bool) -> bool:
    """Return whether the report has this paragraph: a section of its name, or half of its notes in unnamed sections.

    The section in which an answer broke off does not count, nor does a summary of the whole.
    """
    whole = writer.sections[:-1] if is_cut else writer.sections
    if any(section.has_findings and is_same_heading(section.heading, title) for section in whole):
        return True
    own = {number for number, note in enumerate(given.notes, start=1) if note.topic == title}
    others = [section.title for section in given.sections if section.title != title]
    free = [section for section in whole if not any(is_same_heading(section.heading, other) for other in others)]
    cited = own & {
        number for section in free if not SUMMARY_HEADING.search(section.heading) for number in section.note_numbers
    }
    return bool(own) and 2 * len(cited) >= len(own)


def is_same_heading(heading: str, title: str) -> bool:
    one, other = normalize_letters(heading), normalize_letters(title)
    return bool(one and other) and (one in other or other in one)
