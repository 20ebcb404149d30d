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
from monitor.research.editing import DraftEditor, DraftParser, DraftSentence, SentenceJudge
from monitor.research.findings import NoteBasis, RecordTextLoader, join_sentences, list_quotes, load_record_texts
from monitor.research.node import NO_MODEL_FAILURE, UNUSABLE_ANSWER_FAILURE, Node, NodeAnswer, NodeResult
from monitor.research.quotes import is_verbatim_in
from monitor.research.shapes import (
    ModelBlueprint,
    OutlineEntry,
    ReportScore,
    ReportSource,
    ResearchNote,
    ResearchReport,
)
from monitor.research.sheet import ReportWriter, escape_markdown, normalize_letters
from monitor.search.bundles.scoring import OFFICIAL_AUTHORITY
from monitor.urls import get_registrable_domain
from monitor.verify.citations import (
    CitedSentence,
    append_citations,
    find_missing_particulars,
    parse_cited_sentence,
    parse_cited_sentences,
)
from monitor.vocabulary import Phase

_SUMMARY_HEADING = re.compile(r"摘要|概要|概述|总结|小结|结论|要点|summary|overview|conclusion|findings", re.IGNORECASE)


@dataclass(frozen=True)
class ReportNodeInput:
    """What a report is made of; `sections` are the paragraphs' titles with their summaries, which cite notes from 1."""

    title: str
    sections: Sequence[tuple[str, str]]
    notes: Sequence[ResearchNote]
    bases: Sequence[NoteBasis]
    model: ModelBlueprint = field(default_factory=ModelBlueprint)
    remark: str = ""


class FormattedReport(NodeResult):
    """The report; `by_rule` names the sections that code wrote in place of the model."""

    markdown: str = ""
    outline: list[OutlineEntry] = Field(default_factory=list)
    sources: list[ReportSource] = Field(default_factory=list)
    by_rule: list[str] = Field(default_factory=list)


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
        judge = SentenceJudge(given.notes, query=self.deps.query)
        sheet = ReportWriter(self.on_token, partial(self._report_source, given.bases))
        editor = DraftEditor(judge, sheet, partial(self._rewrite, given.notes, report) if self.deps.model else None)
        await sheet.write_title(self._words["title"] if judge.find_heading_fault(given.title) else given.title)
        await self._write_sections(given, editor, sheet, report)
        appendix = Appendix(editor, language=self.deps.language)
        await appendix.write_model(given.model)
        await appendix.write_timeline()
        await appendix.write_sources(given.bases)
        await sheet.close()
        report.markdown, report.outline = sheet.markdown, sheet.build_outline()
        for number in sheet.cited_notes:
            basis = given.bases[number - 1]
            report.sources.append(ReportSource(title=basis.title, url=basis.url, note_index=number - 1))
        report.refused = dict(+editor.refused)
        return report

    def validate_input(self, given: ReportNodeInput) -> None:
        if not given.sections or not all(title.strip() for title, _ in given.sections):
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
            by = "extracts" if answer.failure == NO_MODEL_FAILURE else "summaries"
            await writer.write_blockquote(self._words[by])
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
            self.deps.query, given.sections, given.notes, model=given.model, remark=given.remark
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
        self, notes: Sequence[ResearchNote], report: FormattedReport, sentences: Sequence[str], numbers: Sequence[int]
    ) -> list[str]:
        chosen = {number: notes[number - 1] for number in numbers or range(1, len(notes) + 1)}
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
        figure fidelity     particulars of the report that stand in a quote
                            of a note cited beside them                         / particulars of the report
        citation coverage   sentences of the report that cite                   / sentences of the report
        official share      citations of governments, regulators and the like   / citations
        independent hosts   registrants whose pages are cited

    A particular is a figure, a date, a document number or a quoted name; one that the question itself says need not
    stand in a note.
    """
    texts = await load_record_texts(bases, load_record_text)
    quotes = [(quote, basis.record) for note, basis in zip(notes, bases, strict=True) for quote in list_quotes(note)]
    verified = sum(is_verbatim_in(quote, texts.get(record or "", "")) for quote, record in quotes)
    places = [source.note_index for source in report.sources]
    sentences = list(iter_sentences(report.markdown, len(places)))
    figures = borne = 0
    for sentence in sentences:
        said = find_missing_particulars(sentence.text, [query])
        figures += len(said)
        cited = [quote for number in sentence.numbers for quote in list_quotes(notes[places[number - 1]])]
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
    )


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
