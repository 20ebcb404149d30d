"""How a report is shown, and the answers to questions about it: blocks of text whose citations have cards."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.exports.document import Block, Listing, Paragraph, Span, Table
from monitor.research.document import build_news_blocks, parse_report_blocks
from monitor.research.editions import EditionNews
from monitor.research.findings import NoteBasis
from monitor.research.report_edit import is_marked, split_report
from monitor.research.shapes import DocumentSource, JudgedStatement, ResearchNote, ResearchReport, list_quotes
from monitor.research.sheet import normalize_letters
from monitor.services.research.views import FollowUpView, ResearchView


@dataclass(frozen=True)
class SourceView:
    """A page that a report cites, with the numbers under which it does and the places of their notes."""

    title: str
    url: str
    published_on: dt.date | None
    cited: list[tuple[int, int]]
    document: DocumentSource | None = None


@dataclass(frozen=True)
class CitationCard:
    """What a citation rests on: its page, the words that are quoted of it, and the verdict on the sentence before it.

    `url` leads to the quote on the saved page; `statement` is None where no verdict is known.
    """

    id: str
    number: int
    source: SourceView
    host: str
    quote: str
    url: str
    statement: JudgedStatement | None


class CitedSpan(Span):
    """A citation with the id of its card."""

    card: str


@dataclass(frozen=True)
class ReportView:
    title: str
    blocks: list[Block]
    sources: list[SourceView]
    cards: list[CitationCard]


@dataclass(frozen=True)
class ExchangeView:
    """A question about a report with its answer, None while there is none."""

    asked: FollowUpView
    answer: ReportView | None


def build_report_view(view: ResearchView, notes_url: str, news: EditionNews | None = None) -> ReportView | None:
    """Return the report without the list of its sources; what is new against the edition before comes first."""
    if view.report is None:
        return None
    text = split_report(view.report.markdown)
    citations = _Citations("report", view.report, view.notes, view.bases, notes_url)
    first = build_news_blocks(news, view.report, citations.link, view.language) if news else []
    return _build_view(text.title, text.body, citations, first)


def build_exchange_view(asked: FollowUpView, notes_url: str) -> ExchangeView:
    if asked.answer is None:
        return ExchangeView(asked, None)
    citations = _Citations(asked.task_id, asked.answer, asked.notes, asked.bases, notes_url)
    return ExchangeView(asked, _build_view("", asked.answer.markdown, citations))


def build_source_views(report: ResearchReport, bases: Sequence[NoteBasis]) -> list[SourceView]:
    """Return the pages that a report cites, each once, in the order of their first citation."""
    pages: dict[str, SourceView] = {}
    for number, source in enumerate(report.sources, start=1):
        basis = bases[source.note_index]
        known = SourceView(source.title, source.url, basis.published_on, [], basis.document)
        pages.setdefault(source.url, known).cited.append((number, source.note_index))
    return list(pages.values())


def _build_view(title: str, markdown: str, citations: "_Citations", first: Sequence[Block] = ()) -> ReportView:
    blocks = [citations.mark(block) for block in (*first, *parse_report_blocks(markdown, citations.link))]
    return ReportView(title, blocks, citations.sources, list(citations.cards.values()))


@dataclass
class _Citations:
    """Gives each citation of a text its link and its card; one sentence's citation of a source has one card."""

    name: str
    report: ResearchReport
    notes: Sequence[ResearchNote]
    bases: Sequence[NoteBasis]
    notes_url: str
    cards: dict[str, CitationCard] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = build_source_views(self.report, self.bases)
        self._statements = [
            (normalize_letters(statement.text), statement) for statement in self.report.metadata.statements
        ]

    def link(self, number: int) -> str | None:
        if not 0 < number <= len(self.report.sources):
            return None
        return f"{self.notes_url}/{self.report.sources[number - 1].note_index}"

    def mark(self, block: Block) -> Block:
        match block:
            case Paragraph():
                return block.model_copy(update={"spans": self._mark_spans(block.spans)})
            case Listing():
                return block.model_copy(update={"points": [self._mark_spans(point) for point in block.points]})
            case Table():
                rows = enumerate(block.rows)
                notes = [self._mark_spans(block.notes_of(place), said=" ".join(row)) for place, row in rows]
                return block.model_copy(update={"notes": notes})
            case _:
                return block

    def _mark_spans(self, spans: Sequence[Span], said: str = "") -> list[Span]:
        marked: list[Span] = []
        for span in spans:
            number = int(span.text.strip("[]")) if span.url is not None and span.text.strip("[]").isdecimal() else 0
            if number and span.url is not None:
                marked.append(CitedSpan(text=span.text, url=span.url, card=self._find_card(number, span.url, said).id))
            else:
                marked.append(span)
                said = span.text if span.text.strip() else said
        return marked

    def _find_card(self, number: int, url: str, said: str) -> CitationCard:
        # What an editor wrote may end with the words of a statement, and was judged by nobody.
        place, statement = (-1, None) if is_marked(said) else self._find_statement(number, normalize_letters(said))
        card_id = f"card-{self.name}-{number}-{place}"
        if card_id not in self.cards:
            index = self.report.sources[number - 1].note_index
            quote, passage = self._choose_quote(index, statement)
            source = next(page for page in self.sources if any(cited == number for cited, _ in page.cited))
            self.cards[card_id] = CitationCard(
                card_id, number, source, self.bases[index].host, passage, f"{url}?quote={quote}", statement
            )
        return self.cards[card_id]

    def _find_statement(self, number: int, said: str) -> tuple[int, JudgedStatement | None]:
        """Return the statement with which the words before a citation end, if it names this source; and its place."""
        for place, (letters, statement) in enumerate(self._statements):
            if letters and said.endswith(letters) and number in statement.sources:
                return place, statement
        return -1, None

    def _choose_quote(self, index: int, statement: JudgedStatement | None) -> tuple[int, str]:
        """Return the quote of a note that is part of the statement's passage, else its first one, with its place."""
        quotes = list_quotes(self.notes[index])
        passage = normalize_letters(statement.passage) if statement else ""
        for place, quote in enumerate(quotes):
            letters = normalize_letters(quote)
            if passage and (letters in passage or passage in letters):
                return place, quote
        return 0, quotes[0] if quotes else ""
