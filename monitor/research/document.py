"""A report laid out as a document, for any format that draws documents."""

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from monitor.clock import format_with_offset
from monitor.db.tables.research import ResearchStatus
from monitor.exports.document import Block, Document, Facts, Figure, Heading, Listing, Paragraph, Span, Table
from monitor.i18n.catalogue import get_word, get_words
from monitor.research.appendix import APPENDIX_WORDS, draw_blueprint, translate_relationship_type
from monitor.research.editions import EditionNews
from monitor.research.findings import NoteBasis
from monitor.research.report_edit import split_report
from monitor.research.shapes import JudgedStatement, ModelBlueprint, ReportScore, ReportSource, ResearchReport
from monitor.research.sheet import append_mark, normalize_letters
from monitor.verify.citations import append_citations
from monitor.vocabulary import Verdict

SECTION_BY_RULE = "research.section_by_rule"
_WORDS = "report_document"
_CITATION = re.compile(r"\[(\d{1,4})\]")
_CITATIONS_AT_END = re.compile(r"((?:\[\d{1,4}\])+)\s*$")
_TABLE_RULE = re.compile(r"\|(?: --- \|)+")
CitationUrl = Callable[[int], str | None]
"""Returns where the passage of a note is shown, by the note's place from 0; None: at the source itself."""


@dataclass(frozen=True)
class ReportQuestion:
    """A question about a report with its answer, whose [n] count its own sources; without one, `status` says why."""

    query: str
    status: ResearchStatus
    answer: ResearchReport | None
    bases: Sequence[NoteBasis]
    citation_url: CitationUrl


@dataclass(frozen=True)
class _Citation:
    """A source under its number in the document; `passage` is where its quote is shown."""

    number: int
    source: ReportSource
    basis: NoteBasis
    passage: str | None

    @property
    def link(self) -> str:
        return self.passage or self.source.url


def build_report_document(
    report: ResearchReport,
    *,
    query: str,
    bases: Sequence[NoteBasis],
    score: ReportScore | None,
    blueprint: ModelBlueprint | None,
    language: str,
    citation_url: CitationUrl,
    written_at: dt.datetime | None = None,
    news: EditionNews | None = None,
    questions: Sequence[ReportQuestion] = (),
) -> Document:
    """Lay out the report with its score, the graph of its model, what was asked about it, and its sources.

    What is new against the edition before it comes first. Each [n] leads to its passage. The sources of answers are
    numbered on from those of the report.
    """
    words = get_words(language, _WORDS)
    text = split_report(report.markdown)
    title = text.title or query
    citations = _number_sources(report, bases, citation_url)
    blocks: list[Block] = list(_build_gap_blocks(report, language))
    blocks.extend([Facts(facts=facts)] if (facts := _list_score_facts(score, words)) else [])
    blocks = [*build_news_blocks(news, report, _build_link(citations), language), *blocks] if news else blocks
    blocks.extend(parse_report_blocks(text.body, _build_link(citations)))
    conversation = _build_conversation(questions, citations, language) if questions else []
    colophon = [Span(text=words["colophon"])]
    if written_at is not None:
        colophon.append(Span(text=words["written"].format(at=format_with_offset(written_at))))
    return Document(
        title=title,
        language="zh-CN" if language == "zh" else language,
        overline=words["overline"],
        subtitle="" if normalize_letters(title) == normalize_letters(query) else words["question"].format(query=query),
        blocks=[
            *_insert_figure(blocks, blueprint, language),
            *conversation,
            *_build_source_blocks(citations, language),
        ],
        colophon=colophon,
        contents=words["contents"],
        written_at=written_at,
    )


@dataclass(frozen=True)
class ReportGaps:
    """What a reader is told before the report: how much of the plan is missing, and of each such section why."""

    heading: str
    points: list[str]


def find_gaps(report: ResearchReport, language: str) -> ReportGaps | None:
    """Return the planned sections of which nothing is said, in the words of a language; None where there are none."""
    metadata = report.metadata
    if not metadata.unanswered:
        return None
    words = get_words(language, "report_gap")
    heading = words["heading"].format(count=len(metadata.unanswered), planned=metadata.planned)
    points = [words["point"].format(title=gap.title, reason=words[gap.reason]) for gap in metadata.unanswered]
    return ReportGaps(heading, points)


def build_news_blocks(
    news: EditionNews, report: ResearchReport, link: Callable[[int], str | None], language: str
) -> list[Block]:
    """Return what is new in an edition: its statements with their citations, then the pages that they are from."""
    words, day = get_words(language, _WORDS), news.since.isoformat()
    if not news.statements and not news.sources:
        return [Paragraph(spans=[Span(text=words["no_news"].format(day=day))], tone="accent")]
    blocks: list[Block] = [Heading(text=words["news"].format(day=day))]
    if news.statements:
        points = [_parse_spans(_cite(statement, language), link) for statement in news.statements]
        blocks.append(Listing(points=points, is_running=True))
    if news.sources:
        numbers = {source.note_index: number for number, source in enumerate(report.sources, start=1)}
        pages = [
            _parse_spans(f"{source.title or source.url} [{numbers[source.note_index]}]", link)
            for source in news.sources
        ]
        blocks += [Heading(text=words["new_sources"], level=3), Listing(points=pages, is_running=True)]
    return blocks


def _cite(statement: JudgedStatement, language: str) -> str:
    mark = get_word(language, "report", "unchecked") if statement.verdict is Verdict.UNCHECKED else ""
    return append_mark(append_citations(statement.text, statement.sources), mark)


def _build_gap_blocks(report: ResearchReport, language: str) -> Iterator[Block]:
    if gaps := find_gaps(report, language):
        yield Paragraph(spans=[Span(text=gaps.heading)], tone="warning")
        yield Listing(points=[[Span(text=point)] for point in gaps.points])
    by_rule = [warning.args["title"] for warning in report.metadata.warnings if warning.code == SECTION_BY_RULE]
    if by_rule:
        titles = get_word(language, "report_gap", "by_rule").format(titles="; ".join(map(str, by_rule)))
        yield Paragraph(spans=[Span(text=titles)], tone="warning")


def parse_report_blocks(markdown: str, link: Callable[[int], str | None]) -> list[Block]:
    """Parse a report's Markdown into blocks; `link` gives the address for a source's number."""
    blocks: list[Block] = []
    for kind, lines in groupby((line for line in markdown.splitlines() if line.strip()), key=_classify_line):
        match kind:
            case "table":
                blocks.append(_parse_table(list(lines), link))
            case "point":
                points = [_parse_spans(line.removeprefix("- "), link) for line in lines]
                blocks.append(Listing(points=points, is_running=True))
            case _:
                blocks.extend(_parse_block(line, link) for line in lines)
    return blocks


def _classify_line(line: str) -> str:
    return "table" if line.startswith("|") else "point" if line.startswith("- ") else "line"


def _parse_block(line: str, link: Callable[[int], str | None]) -> Block:
    if line.startswith("#"):
        marks, _, text = line.partition(" ")
        return Heading(text=text, level=2 if len(marks) <= 2 else 3)
    if line.startswith("> "):
        return Paragraph(spans=_parse_spans(line.removeprefix("> "), link), tone="accent")
    return Paragraph(spans=_parse_spans(line, link))


def _parse_table(lines: list[str], link: Callable[[int], str | None]) -> Table:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not _TABLE_RULE.fullmatch(line)]
    notes: list[list[Span]] = []
    for row in rows[1:]:
        cited = _CITATIONS_AT_END.search(row[-1])
        notes.append(_parse_spans(cited[1], link) if cited else [])
        row[-1] = row[-1][: cited.start()] if cited else row[-1]
    return Table(header=rows[0], rows=rows[1:], notes=notes)


def _parse_spans(text: str, link: Callable[[int], str | None]) -> list[Span]:
    spans: list[Span] = []
    done = 0
    for cited in _CITATION.finditer(text):
        spans.append(Span(text=text[done : cited.start()]))
        spans.append(Span(text=cited[0], url=link(int(cited[1]))))
        done = cited.end()
    return [span for span in (*spans, Span(text=text[done:])) if span.text]


def _list_score_facts(score: ReportScore | None, words: Mapping[str, str]) -> list[tuple[str, str]]:
    if score is None or not score.sentences:
        return []
    is_counted = score.supported_share is not None
    shares = [
        (words["quotes"], score.quote_fidelity),
        (words["figures"], score.figure_fidelity),
        (words["coverage"], None if is_counted else score.citation_coverage),
        (words["official"], score.official_share),
    ]
    facts = [(label, format_share(share)) for label, share in shares if share is not None]
    facts.insert(len(facts) - (score.official_share is not None), (words["hosts"], str(score.independent_hosts)))
    refused = sum(count for kind, count in score.refused.items() if kind != "rewritten")
    return [*_list_statement_facts(score, words), *facts, *([(words["refused"], str(refused))] if refused else [])]


def _list_statement_facts(score: ReportScore, words: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return how many statements were supported of all that were written, and what became of the others."""
    if score.supported_share is None:
        return []
    supported, dropped = score.supported_by_code + score.supported_by_model, score.contradicted + score.unsupported
    said = supported + score.unchecked + dropped
    facts = [(words["supported"], f"{format_share(score.supported_share)} ({supported}/{said})")]
    counts = (
        ("by_code", score.supported_by_code),
        ("by_model", score.supported_by_model),
        ("unchecked", score.unchecked),
        ("contradicted", score.contradicted),
        ("unsupported", score.unsupported),
    )
    facts += [(words[name], str(count)) for name, count in counts if count]
    facts += [(words["answered"], f"{score.answered}/{score.planned}")] if score.planned else []
    return [*facts, *([(words["disagreements"], str(score.disagreements))] if score.disagreements else [])]


def format_share(share: float) -> str:
    """Return a share in per cent, rounded down: nothing that falls short of it is 100 %."""
    return f"{math.floor(share * 100 + 1e-9)}%"


def _insert_figure(blocks: Sequence[Block], blueprint: ModelBlueprint | None, language: str) -> Iterator[Block]:
    words = get_words(language, _WORDS)
    for block in blocks:
        yield block
        is_place = isinstance(block, Heading) and block.text == get_word(language, APPENDIX_WORDS, "model")
        if is_place and blueprint is not None and blueprint.relationships:
            rows = [
                [relationship.from_, translate_relationship_type(relationship.type, language), relationship.to]
                for relationship in blueprint.relationships
            ]
            table = Table(header=[words["from"], words["relation"], words["to"]], rows=rows)
            svg = draw_blueprint(blueprint, title=words["caption"], language=language)
            yield Figure(svg=svg, caption=words["caption"], table=table)


def _number_sources(
    report: ResearchReport, bases: Sequence[NoteBasis], citation_url: CitationUrl, *, after: int = 0
) -> list[_Citation]:
    return [
        _Citation(number, source, bases[source.note_index], citation_url(source.note_index))
        for number, source in enumerate(report.sources, start=after + 1)
    ]


def _build_link(citations: Sequence[_Citation]) -> Callable[[int], str | None]:
    links = {citation.number: citation.link for citation in citations}
    return links.get


def _build_conversation(questions: Sequence[ReportQuestion], citations: list[_Citation], language: str) -> list[Block]:
    """Return the questions with their answers; their sources are numbered on, and added to `citations`."""
    words = get_words(language, _WORDS)
    blocks: list[Block] = [Heading(text=words["questions"])]
    for question in questions:
        blocks.append(Heading(text=question.query, level=3))
        if question.answer is None:
            status = get_word(language, "research_status", question.status)
            blocks.append(Paragraph(spans=[Span(text=words["no_answer"].format(status=status))], tone="warning"))
            continue
        shift = len(citations)
        own = _number_sources(question.answer, question.bases, question.citation_url, after=shift)
        blocks.extend(parse_report_blocks(_shift_citations(question.answer, shift), _build_link(own)))
        citations.extend(own)
    return blocks


def _shift_citations(answer: ResearchReport, shift: int) -> str:
    """Return the answer's text with the numbers of its sources raised; another number in brackets stays."""

    def raise_number(cited: re.Match[str]) -> str:
        number = int(cited[1])
        return f"[{number + shift}]" if 0 < number <= len(answer.sources) else cited[0]

    return _CITATION.sub(raise_number, answer.markdown)


def _build_source_blocks(citations: Sequence[_Citation], language: str) -> Iterator[Block]:
    """Yield the cited pages with the numbers of their sources: title, host, date, and links to their passages."""
    pages: dict[str, list[_Citation]] = {}
    for citation in citations:
        pages.setdefault(citation.source.url, []).append(citation)
    points = [_build_source_point(page, language) for page in pages.values()]
    if points:
        yield Heading(text=get_word(language, APPENDIX_WORDS, "sources"))
        yield Listing(points=points)


def _build_source_point(page: Sequence[_Citation], language: str) -> list[Span]:
    first = page[0]
    marks = "".join(f"[{citation.number}]" for citation in page)
    point = [
        Span(text=f"{marks} {first.source.title or first.basis.host}", url=first.source.url),
        Span(text=first.basis.describe_origin(language)),
    ]
    if first.basis.published_on is not None:
        point.append(Span(text=first.basis.published_on.isoformat()))
    shown = [Span(text=f"[{citation.number}]", url=citation.passage) for citation in page if citation.passage]
    if shown:
        shown[0] = shown[0].model_copy(update={"text": f"{get_word(language, _WORDS, 'passage')} {shown[0].text}"})
    return [*point, *shown]
