"""How far a finished report can be trusted: what of it stands in the pages that it cites."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.logs import get_logger
from monitor.research.dependencies import LONG_WORK
from monitor.research.findings import NoteBasis, RecordTextLoader, load_record_texts, verify_quotes
from monitor.research.judging import count_dropped
from monitor.research.shapes import JudgedStatement, ReportScore, ResearchNote, ResearchReport, list_quotes
from monitor.search.bundles.scoring import OFFICIAL_AUTHORITY
from monitor.urls import get_registrable_domain
from monitor.verify.citations import (
    CitedSentence,
    find_missing_particulars,
    parse_cited_sentence,
    parse_cited_sentences,
)
from monitor.verify.statements import Judgement, StatementCounts

_MAX_PAGE_CHARS = 200_000
"""How far a kept page is read for the figures of the report."""

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
    workers: WorkerPool,
    *,
    query: str,
    refused: Sequence[Mapping[str, int]] = (),
) -> ReportScore:
    """Measure how far a finished report can be trusted; where that takes too long its shares are unknown."""
    verified = await verify_quotes(notes, bases, load_record_text, workers)
    loaded = await load_record_texts(bases, load_record_text)
    texts = {record: text[:_MAX_PAGE_CHARS] for record, text in loaded.items()}
    try:
        return await workers.run_limited(
            LONG_WORK, compute_score, report, notes, bases, verified, texts, query, refused
        )
    except IsolatedWorkFailed as error:
        get_logger("research").warning("report not scored", reason=str(error))
        return ReportScore()


def compute_score(
    report: ResearchReport,
    notes: Sequence[ResearchNote],
    bases: Sequence[NoteBasis],
    verified: Sequence[Collection[str]],
    texts: Mapping[str, str],
    query: str,
    refused: Sequence[Mapping[str, int]] = (),
) -> ReportScore:
    """Return the score; `verified` are the quotes of each note that stand in its kept page, `texts` these by record.

    `refused` is what the steps refused, by kind.

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
    quotes = sum(len(list_quotes(note)) for note in notes)
    standing = sum(quote in found for note, found in zip(notes, verified, strict=True) for quote in list_quotes(note))
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
        quotes=quotes,
        quote_fidelity=_compute_share(standing, quotes),
        figures=figures,
        figure_fidelity=_compute_share(borne, figures),
        sentences=len(sentences),
        citation_coverage=_compute_share(sum(bool(sentence.numbers) for sentence in sentences), len(sentences)),
        independent_hosts=len({get_registrable_domain(bases[place].url) for place in citations} - {""}),
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
