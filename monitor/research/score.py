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

from monitor.evidence.citing import Cited, cited_line, cited_sentences, missing_from
from monitor.pages.registrable import registrable_host
from monitor.research.findings import KeptText, NoteBasis, kept_texts, quotes_of
from monitor.research.quotes import stands_in
from monitor.research.shapes import Note, ResearchReport, Score
from monitor.retrieval.authority import OFFICIAL

_SOURCES = re.compile(r"#{1,3}\s*(?:来源|Sources)\s*$", re.IGNORECASE)
_NO_SENTENCE = re.compile(r"\s*(?:#|>|$|(?:\|?\s*:?-{3,}:?\s*)+\|?\s*$)")
_RULE_OF_TABLE = re.compile(r"\s*\|?(?:\s*:?-{3,}:?\s*\|)+")
_POINT = re.compile(r"\s*(?:[-*+]|\d{1,2}\.)\s+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


async def score_of(
    report: ResearchReport,
    notes: Sequence[Note],
    bases: Sequence[NoteBasis],
    kept_text: KeptText,
    *,
    query: str,
    refused: Sequence[Mapping[str, int]] = (),
) -> Score:
    """The score of a report with its notes, by the formulas above; `refused` is what the steps refused."""
    quotes, standing = await _quotes(notes, bases, kept_text)
    places = [source.note_index for source in report.sources]
    sentences = list(sentences_of(report.markdown, len(places)))
    figures = borne = 0
    for sentence in sentences:
        said = missing_from(sentence.text, [query])
        figures += len(said)
        cited = [quote for number in sentence.numbers for quote in quotes_of(notes[places[number - 1]])]
        borne += len(said) - len(said & missing_from(sentence.text, cited or [""]))
    citations = [places[number - 1] for one in sentences for number in one.numbers]
    official = sum(bases[place].authority >= OFFICIAL for place in citations)
    return Score(
        quotes=quotes,
        quote_fidelity=_share(standing, quotes),
        figures=figures,
        figure_fidelity=_share(borne, figures),
        sentences=len(sentences),
        citation_coverage=_share(sum(bool(one.numbers) for one in sentences), len(sentences)),
        independent_hosts=len({registrable_host(bases[place].url) for place in citations}),
        official_share=_share(official, len(citations)),
        refused=dict(sum(map(Counter, refused), Counter())),
    )


def sentences_of(markdown: str, count: int) -> Iterator[Cited]:
    """The sentences, points and rows of a report's Markdown with what they cite of `count` sources."""
    lines = markdown.splitlines()
    for place, line in enumerate(lines):
        if _SOURCES.match(line):
            return
        is_head = place + 1 < len(lines) and _RULE_OF_TABLE.match(lines[place + 1])
        if _NO_SENTENCE.match(line) or is_head:
            continue
        plain = _ESCAPE.sub(r"\1", line)
        if line.lstrip().startswith("|"):
            yield cited_line(plain.replace("|", " "), count)
        elif point := _POINT.match(plain):
            yield cited_line(plain[point.end() :], count)
        else:
            yield from cited_sentences(plain, count)


async def _quotes(notes: Sequence[Note], bases: Sequence[NoteBasis], kept_text: KeptText) -> tuple[int, int]:
    """How many quotes there are, and how many of them stand in the page that was kept."""
    count = standing = 0
    texts = await kept_texts(bases, kept_text)
    for note, basis in zip(notes, bases, strict=True):
        count += len(note.evidence)
        standing += sum(stands_in(quote, texts.get(basis.record or "", "")) for quote in quotes_of(note))
    return count, standing


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
