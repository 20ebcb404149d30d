"""How far a report can be trusted: measured on the finished report and on the pages that were kept, nothing else.

    quote fidelity      quotes of the notes that stand in the kept page     / quotes of the notes
    figure fidelity     particulars of the report that stand in a quote
                        of a note cited beside them                         / particulars of the report
    citation coverage   sentences of the report that cite                   / sentences of the report
    official share      citations of governments, regulators and the like   / citations
    independent hosts   registrants whose pages are cited

A particular is a figure, a date, a document number or a quoted name; one that the question itself says need not stand
in a note. Headings, lines of our own (which begin with `>`), the heads of tables and the list of sources are no
sentences; a point of a list and a row of a table are one each.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from monitor.research.findings import NoteBasis, RecordTextLoader, list_quotes, load_record_texts
from monitor.research.quotes import is_verbatim_in
from monitor.research.shapes import ReportScore, ResearchNote, ResearchReport
from monitor.search.bundles.scoring import OFFICIAL_AUTHORITY
from monitor.urls import get_registrable_domain
from monitor.verify.citations import (
    CitedSentence,
    find_missing_particulars,
    parse_cited_sentence,
    parse_cited_sentences,
)

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
    """The score of a report with its notes, by the formulas above; `refused` is what the steps refused."""
    quotes, verified = await _count_quotes(notes, bases, load_record_text)
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
        quotes=quotes,
        quote_fidelity=_compute_share(verified, quotes),
        figures=figures,
        figure_fidelity=_compute_share(borne, figures),
        sentences=len(sentences),
        citation_coverage=_compute_share(sum(bool(sentence.numbers) for sentence in sentences), len(sentences)),
        independent_hosts=len({get_registrable_domain(bases[place].url) for place in citations}),
        official_share=_compute_share(official, len(citations)),
        refused=dict(sum(map(Counter, refused), Counter())),
    )


def iter_sentences(markdown: str, count: int) -> Iterator[CitedSentence]:
    """The sentences, points and rows of a report's Markdown with what they cite of `count` sources."""
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


async def _count_quotes(
    notes: Sequence[ResearchNote], bases: Sequence[NoteBasis], load_record_text: RecordTextLoader
) -> tuple[int, int]:
    count = verified = 0
    texts = await load_record_texts(bases, load_record_text)
    for note, basis in zip(notes, bases, strict=True):
        count += len(note.evidence)
        verified += sum(is_verbatim_in(quote, texts.get(basis.record or "", "")) for quote in list_quotes(note))
    return count, verified


def _compute_share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
