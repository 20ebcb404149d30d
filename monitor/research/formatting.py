"""The report: written by the model from the paragraphs' summaries, or put together from them by rule; its score."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pydantic import Field

from monitor.errors import UsageError
from monitor.i18n.catalogue import get_words
from monitor.i18n.message import Message
from monitor.llm.answers import parse_array
from monitor.llm.chat import CompletionRequest, OnToken
from monitor.research.appendix import Appendix
from monitor.research.dependencies import ProgressReporter, ignore_progress
from monitor.research.disagreements import find_disagreements
from monitor.research.editing import DraftEditor, DraftParser, DraftSentence
from monitor.research.findings import NoteBasis, RecordTextLoader, join_sentences, load_record_texts
from monitor.research.judging import (
    SentenceJudge,
    SentenceVerdict,
    build_note_sources,
    count_dropped,
    list_reasons,
    review_verdicts,
)
from monitor.research.node import NO_MODEL_FAILURE, UNUSABLE_ANSWER_FAILURE, Node, NodeAnswer, NodeResult
from monitor.research.quotes import is_verbatim_in
from monitor.research.shapes import (
    Disagreement,
    JudgedStatement,
    ModelBlueprint,
    OutlineEntry,
    ReportScore,
    ReportSource,
    ResearchNote,
    ResearchReport,
    UnansweredSection,
    list_quotes,
)
from monitor.research.sheet import SUMMARY_HEADING, ReportWriter, escape_markdown, normalize_letters
from monitor.search.bundles.scoring import OFFICIAL_AUTHORITY
from monitor.urls import get_registrable_domain
from monitor.verify.citations import (
    CitedSentence,
    append_citations,
    find_missing_particulars,
    parse_cited_sentence,
    parse_cited_sentences,
)
from monitor.verify.statements import Judgement, SourceText, StatementCounts
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

    report_progress: ProgressReporter = ignore_progress
    on_token: OnToken | None = None

    @property
    def _words(self) -> Mapping[str, str]:
        return get_words(self.deps.language, "report")

    async def run(self, given: ReportNodeInput) -> FormattedReport:
        self.validate_input(given)
        report = FormattedReport()
        judge = await asyncio.to_thread(self._build_judge, given)
        sheet = ReportWriter(self.on_token, partial(self._report_source, given.bases), self._words["see"])
        editor = DraftEditor(judge, sheet, unchecked_mark=self._words["unchecked"])
        if self.deps.model is not None:
            editor.rewrite = partial(self._rewrite, given.notes, report)
            editor.review = partial(review_verdicts, self.deps, place="report")
        await sheet.write_title(self._words["title"] if judge.find_heading_fault(given.title) else given.title)
        await self._write_sections(given, editor, sheet, report)
        await editor.add_assessment(self._words["assessment"], self._words["assessment_notice"])
        report.disagreements = await asyncio.to_thread(find_disagreements, given.notes)
        appendix = Appendix(editor, language=self.deps.language)
        await appendix.write_model(given.model)
        await appendix.write_disagreements(report.disagreements)
        await appendix.write_timeline()
        await appendix.write_sources(given.bases)
        await sheet.close()
        report.markdown, report.outline, report.statements = sheet.markdown, sheet.build_outline(), editor.statements
        for number in sheet.cited_notes:
            basis = given.bases[number - 1]
            report.sources.append(ReportSource(title=basis.title, url=basis.url, note_index=number - 1))
        report.refused = dict(+editor.refused)
        return report

    def _build_judge(self, given: ReportNodeInput) -> SentenceJudge:
        """Return the judge of the report's sentences, by the quotes of the notes and the pages that were kept."""
        bases = {basis.url: basis for basis in given.bases}
        pages = {
            url: SourceText(text=given.pages.get(url, ""), title=basis.title, published_on=basis.published_on)
            for url, basis in bases.items()
        }
        titles = [given.title, *(section.title for section in given.sections)]
        return SentenceJudge(
            given.notes,
            query=self.deps.query,
            sources=build_note_sources(given.notes, pages),
            planned_titles=titles,
            settled=given.settled,
        )

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
        verdicts = {
            section.title: await asyncio.to_thread(editor.judge_sentences, section.text) for section in given.sections
        }
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
        """Write of a planned section that nothing is said, what was searched for it, and why.

        A query with a figure that neither the question nor a note has is not shown: it would read as a finding.
        """
        words = get_words(self.deps.language, "report_unanswered")
        report.unanswered.append(
            UnansweredSection(title=section.title, queries=list(section.queries), reason=section.reason)
        )
        queries = [query for query in section.queries if not editor.judge.find_heading_fault(query)]
        fault = editor.judge.find_heading_fault(section.title)
        editor.writer.queue_heading(2, self._words["finding"] if fault else section.title)
        searched = self._words["and"].join(words["query"].format(query=escape_markdown(query)) for query in queries)
        parts = [words[section.reason], words["searched"].format(queries=searched) if searched else ""]
        await editor.writer.write_blockquote((" " if self.deps.language == "en" else "").join(filter(None, parts)))

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
        answer = await self.ask_model(CompletionRequest(messages, Phase.REPORT, "rewrite"))
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


_SOURCES_HEADING = re.compile(r"#{1,3}\s*(?:来源|Sources)\s*$", re.IGNORECASE)
_NOT_A_SENTENCE = re.compile(r"\s*(?:#|>|$|(?:\|?\s*:?-{3,}:?\s*)+\|?\s*$)")
_TABLE_RULE = re.compile(r"\s*\|?(?:\s*:?-{3,}:?\s*\|)+")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,2}\.)\s+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


async def score_report(
    report: ResearchReport,
    notes: Sequence[ResearchNote],
    bases: Sequence[NoteBasis],
    load_record_text: RecordTextLoader,
    *,
    query: str,
    refused: Sequence[Mapping[str, int]] = (),
) -> ReportScore:
    """Measure how far a finished report can be trusted; `refused` is what the steps refused.

        quote fidelity      quotes of the notes that stand in the kept page     / quotes of the notes
        figure fidelity     particulars of the report that stand in a quote or
                            the kept page of a note cited beside them           / particulars of the report
        citation coverage   sentences of the report that cite                   / sentences of the report
        official share      citations of governments, regulators and the like   / citations
        independent hosts   registrants whose pages are cited

    A particular is a figure, a date, a document number or a quoted name; one that the question itself says need not
    stand in a note. Statements are counted as they were said: those that stand in the report, its assessments aside,
    and those that were dropped from the summaries and the draft. Without any statement there is no share.
    """
    counts = sum((count_dropped(kinds) for kinds in refused), _count_findings(report.metadata.statements))
    statements = report.metadata.statements
    texts = await load_record_texts(bases, load_record_text)
    quotes = [(quote, basis.record) for note, basis in zip(notes, bases, strict=True) for quote in list_quotes(note)]
    verified = sum(is_verbatim_in(quote, texts.get(record or "", "")) for quote, record in quotes)
    places = [source.note_index for source in report.sources]
    sentences = list(iter_sentences(report.markdown, len(places)))
    figures = borne = 0
    for sentence in sentences:
        said = find_missing_particulars(sentence.text, [query])
        figures += len(said)
        own = [places[number - 1] for number in sentence.numbers]
        cited = [quote for place in own for quote in list_quotes(notes[place])]
        cited += [texts[record] for place in own if (record := bases[place].record or "") in texts]
        borne += len(said) - len(said & find_missing_particulars(sentence.text, cited or [""]))
    citations = [places[number - 1] for sentence in sentences for number in sentence.numbers]
    official = sum(bases[place].authority >= OFFICIAL_AUTHORITY for place in citations)
    return ReportScore(
        quotes=len(quotes),
        quote_fidelity=_compute_share(verified, len(quotes)),
        figures=figures,
        figure_fidelity=_compute_share(borne, figures),
        sentences=len(sentences),
        citation_coverage=_compute_share(sum(bool(sentence.numbers) for sentence in sentences), len(sentences)),
        independent_hosts=len({get_registrable_domain(bases[place].url) for place in citations}),
        official_share=_compute_share(official, len(citations)),
        refused=dict(sum(map(Counter, refused), Counter())),
        **dict(counts),
        supported_share=_compute_share(
            counts.supported_by_code + counts.supported_by_model, sum(dict(counts).values())
        ),
        assessments=sum(statement.is_assessment for statement in statements),
        planned=report.metadata.planned,
        answered=report.metadata.planned - len(report.metadata.unanswered),
        disagreements=len(report.metadata.disagreements),
    )


def _count_findings(statements: Sequence[JudgedStatement]) -> StatementCounts:
    findings = [statement for statement in statements if not statement.is_assessment]
    return StatementCounts.count(Judgement(verdict=finding.verdict, by=finding.by) for finding in findings)


def iter_sentences(markdown: str, count: int) -> Iterator[CitedSentence]:
    """Yield the sentences of a report's Markdown, a list item and a table row being one each, with their citations.

    Headings, lines of our own (which begin with `>`), the heads of tables and the list of sources are no sentences.
    """
    lines = markdown.splitlines()
    for place, line in enumerate(lines):
        if _SOURCES_HEADING.match(line):
            return
        is_head = place + 1 < len(lines) and _TABLE_RULE.match(lines[place + 1])
        if _NOT_A_SENTENCE.match(line) or is_head:
            continue
        plain = _ESCAPE.sub(r"\1", line)
        if line.lstrip().startswith("|"):
            yield parse_cited_sentence(plain.replace("|", " "), count)
        elif point := _LIST_ITEM.match(plain):
            yield parse_cited_sentence(plain[point.end() :], count)
        else:
            yield from parse_cited_sentences(plain, count)


def _compute_share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
