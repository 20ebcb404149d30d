"""The report of an evaluation as a document; every figure in it follows from the rows of the report's JSON."""

import datetime as dt
from collections.abc import Callable, Sequence

from pydantic import BaseModel, Field

from monitor.evaluation.pieces import EVALUATED_PHASES, GapRow
from monitor.evaluation.report import (
    EvaluationFigures,
    EvaluationRows,
    PhaseFigures,
    format_contender,
    format_p,
    format_share,
)
from monitor.exports.document import Block, Document, Heading, Listing, Paragraph, Span, Table
from monitor.i18n.catalogue import get_word, render
from monitor.i18n.message import Message
from monitor.vocabulary import Phase

_MAX_REFUSED = 60

_COLUMNS: dict[Phase, tuple[str, ...]] = {
    Phase.NAVIGATE: ("quality", "precision", "recall"),
    Phase.CRAWL: ("quality", "precision", "recall"),
    Phase.SUMMARISE: (
        *("quality", "kept", "kept_at_first", "supported", "unchecked", "contradicted", "unsupported"),
        *("false_alarms", "chars"),
    ),
    Phase.VERIFY: ("quality", "caught", "planted_false", "false_alarms", "planted_true"),
    Phase.RANK: ("quality", "wishes", "followed", "opposed"),
}
_WORK_COLUMNS = ("calls", "latency_ms", "latency_p95_ms", "prompt_tokens", "completion_tokens", "cost")
_SHARES = frozenset({"quality", "precision", "recall"})


class EvaluationReport(EvaluationFigures):
    """A whole report: what was compared, the figures, and in `rows` all that they are computed from.

    `spent` is what the evaluation cost, calls of pieces that were broken off included.
    """

    id: str
    status: str
    created_at: dt.datetime
    ended_at: dt.datetime | None
    max_items: int
    budget: float | None
    spent: float
    done: int
    total: int
    rows: EvaluationRows
    prompts: dict[str, list[str]] = Field(default_factory=dict)


class FiguresTable(BaseModel):
    """The figures of a phase as texts: names of columns, and a row for each contender."""

    phase: Phase
    columns: list[str]
    rows: list[list[str]]


def build_tables(report: EvaluationReport) -> list[FiguresTable]:
    """Return what each contender did by phase, without phases in which nothing was measured."""
    tables = []
    for phase in EVALUATED_PHASES:
        rows = [each for each in report.figures if each.phase is phase and each.things]
        if rows:
            names = ("things", "by_rule", *_COLUMNS[phase])
            tables.append(_build_table(phase, names, rows, report))
    return tables


def build_work_tables(report: EvaluationReport) -> list[FiguresTable]:
    """Return time, tokens and money by phase."""
    tables = []
    for phase in EVALUATED_PHASES:
        rows = [each for each in report.figures if each.phase is phase and each.calls]
        if rows:
            tables.append(_build_table(phase, _WORK_COLUMNS, rows, report, has_outcomes=True))
    return tables


def _build_table(
    phase: Phase,
    names: Sequence[str],
    rows: Sequence[PhaseFigures],
    report: EvaluationReport,
    *,
    has_outcomes: bool = False,
) -> FiguresTable:
    columns = ["contender", *names, *(["outcomes"] if has_outcomes else [])]
    cells = []
    for figures in rows:
        row = [name_contender(figures.contender, report), *(format_figure(name, figures) for name in names)]
        if has_outcomes:
            row.append(", ".join(f"{name} {count}" for name, count in sorted(figures.outcomes.items())) or "–")
        cells.append(row)
    return FiguresTable(phase=phase, columns=columns, rows=cells)


def format_figure(name: str, figures: PhaseFigures) -> str:
    value = getattr(figures, name)
    if value is None:
        return "–"
    if name in _SHARES:
        return format_share(value)
    return f"{value:.4f}" if name == "cost" else f"{value:.0f}"


def name_contender(number: int, report: EvaluationReport) -> str:
    return format_contender(report.rows.contenders[number], report.rows.contenders)


def list_gaps(report: EvaluationReport, translate: Callable[[Message], str]) -> list[tuple[str, Phase, str]]:
    """Return what could not be measured: source, phase and reason, each once."""

    def describe(gap: GapRow) -> tuple[str, Phase, str]:
        return gap.source, gap.phase, translate(gap.reason)

    return list(dict.fromkeys(describe(gap) for gap in report.rows.gaps))


class _Writer:
    """Writes a report in one language."""

    def __init__(self, report: EvaluationReport, language: str) -> None:
        self._report, self._language = report, language

    def write(self) -> list[Block]:
        report = self._report
        blocks: list[Block] = [self._paragraph("evaluation.intro", **self._describe_size())]
        blocks += [self._heading("recommendations"), self._write_recommendations()]
        blocks += [self._heading("quality"), self._paragraph("evaluation.quality_note")]
        for table in build_tables(report):
            blocks += [self._phase_heading(table.phase), self._table(table)]
        blocks.append(self._heading("work"))
        for table in build_work_tables(report):
            blocks += [self._phase_heading(table.phase), self._table(table)]
        if report.refused:
            blocks += [self._heading("refused"), *self._write_refused()]
        blocks += [self._heading("agreement"), self._write_agreements()]
        if report.pairs:
            blocks += [self._heading("pairs"), self._write_pairs()]
        if report.rows.gaps:
            gaps = list_gaps(report, self._render)
            points = [[Span(text=source), Span(text=self._phase(phase)), Span(text=why)] for source, phase, why in gaps]
            blocks += [self._heading("gaps"), Listing(points=points)]
        return blocks

    def _describe_size(self) -> dict[str, object]:
        report = self._report
        return {
            "contenders": [name_contender(number, report) for number in range(len(report.rows.contenders))],
            "items": sum(len(sample.items) for sample in report.rows.samples),
            "sources": [sample.source for sample in report.rows.samples],
            "done": report.done,
            "total": report.total,
            "spent": f"{report.spent:.4f}",
        }

    def _write_recommendations(self) -> Table:
        report = self._report
        rows = [
            [
                self._phase(each.phase),
                "–" if each.contender is None else name_contender(each.contender, report),
                " ".join(self._render(reason.text) for reason in each.reasons),
            ]
            for each in report.recommendations
        ]
        return Table(header=[self._word(name) for name in ("phase", "contender", "reasons")], rows=rows)

    def _write_refused(self) -> list[Block]:
        report = self._report
        rows = [
            [
                name_contender(each.contender, report),
                each.title,
                each.text,
                get_word(self._language, "verdict", each.verdict),
                self._render(each.reason) if each.reason else "–",
                each.passage or "–",
            ]
            for each in report.refused[:_MAX_REFUSED]
        ]
        header = [self._word(name) for name in ("contender", "item", "sentence", "verdict", "reason", "passage")]
        blocks: list[Block] = [Table(header=header, rows=rows)]
        if len(report.refused) > _MAX_REFUSED:
            blocks.append(self._paragraph("evaluation.more_refused", count=len(report.refused) - _MAX_REFUSED))
        return blocks

    def _write_agreements(self) -> Table:
        report = self._report
        rows = [
            [
                name_contender(each.first, report),
                self._word("rules") if each.second is None else name_contender(each.second, report),
                str(each.runs),
                "–" if each.tau_b is None else f"{each.tau_b:.2f}",
            ]
            for each in report.agreements
        ]
        return Table(header=[self._word(name) for name in ("contender", "other", "runs", "tau_b")], rows=rows)

    def _write_pairs(self) -> Table:
        report = self._report
        rows = [
            [
                name_contender(each.first, report),
                name_contender(each.second, report),
                *(str(count) for count in (each.first_wins, each.second_wins, each.ties)),
                format_p(each.p),
            ]
            for each in report.pairs
        ]
        names = ("contender", "other", "first_wins", "second_wins", "ties", "p")
        return Table(header=[self._word(name) for name in names], rows=rows)

    def _table(self, table: FiguresTable) -> Table:
        return Table(header=[self._word(name) for name in table.columns], rows=table.rows)

    def _heading(self, name: str) -> Heading:
        return Heading(text=get_word(self._language, "evaluation_part", name))

    def _phase_heading(self, phase: Phase) -> Heading:
        return Heading(text=self._phase(phase), level=3)

    def _paragraph(self, code: str, /, **args: object) -> Paragraph:
        return Paragraph(spans=[Span(text=self._render(Message(code, args)))])

    def _phase(self, phase: Phase) -> str:
        return get_word(self._language, "model_phase", phase)

    def _word(self, name: str) -> str:
        return get_word(self._language, "evaluation_figure", name)

    def _render(self, message: Message) -> str:
        return render(message, self._language)


def build_document(report: EvaluationReport, language: str) -> Document:
    return Document(
        title=render(Message("evaluation.title"), language),
        language="zh-CN" if language == "zh" else "en",
        subtitle=f"{report.created_at:%Y-%m-%d %H:%M}Z · {get_word(language, 'evaluation_status', report.status)}",
        blocks=_Writer(report, language).write(),
    )
