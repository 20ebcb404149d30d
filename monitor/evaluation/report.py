"""The report of an evaluation: figures by phase and contender, and which to take, all computed from its rows."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from pydantic import BaseModel, Field

from monitor.evaluation.pieces import (
    EVALUATED_PHASES,
    CallRow,
    ChoiceRow,
    Contender,
    DraftStatement,
    GapRow,
    ItemsRanked,
    ItemsSaved,
    PieceRow,
    PlantKind,
    SampledRun,
    SectionsFound,
    StatementsRead,
    SummaryWritten,
    list_shared,
)
from monitor.evaluation.statistics import compute_f1, compute_mean, compute_percentile, compute_sign_test, compute_tau_b
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import Phase, Verdict

QUALITY_MARGIN = 0.02
"""A cheaper contender is taken where its quality is at most so far below the best."""

SIGNIFICANT_P = 0.05


class PhaseFigures(BaseModel):
    """What one contender did in one phase, over the things that all contenders did.

    `quality` is the mean score of the things, 0 to 1: F1 of sections and items, the share of a first draft's sentences
    that were not refused, the share of planted sentences judged rightly, the share of wishes followed (without wishes,
    of orders given). `by_rule` counts the things that the model did not do. Latencies are of single calls; `cost` is
    None where a call has no price. What a phase does not have is None.
    """

    phase: Phase
    contender: int
    things: int
    by_rule: int
    quality: float | None = None
    precision: float | None = None
    recall: float | None = None
    kept: int | None = None
    kept_at_first: int | None = None
    supported: int | None = None
    unchecked: int | None = None
    contradicted: int | None = None
    unsupported: int | None = None
    false_alarms: int | None = None
    caught: int | None = None
    planted_false: int | None = None
    planted_true: int | None = None
    wishes: int | None = None
    followed: int | None = None
    opposed: int | None = None
    chars: float | None = None
    calls: int = 0
    latency_ms: float | None = None
    latency_p95_ms: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    outcomes: dict[str, int] = Field(default_factory=dict)


class RefusedStatement(MessageModel):
    """A sentence of a first draft that its page does not bear out."""

    contender: int
    item_id: int
    title: str
    url: str
    text: str
    verdict: Verdict
    reason: Message | None = None
    passage: str = ""


class RankAgreement(BaseModel):
    """How far two orders agree: the mean of Kendall's tau-b over the runs; `second` None stands for the rules."""

    first: int
    second: int | None
    runs: int
    tau_b: float | None


class PairResult(BaseModel):
    """What people preferred, of two contenders, and the p value of the sign test."""

    first: int
    second: int
    first_wins: int
    second_wins: int
    ties: int
    p: float


class ReasonRow(MessageModel):
    text: Message


class Recommendation(BaseModel):
    """Which contender to take for a phase, and why; None where nothing was measured or none works."""

    phase: Phase
    contender: int | None
    reasons: list[ReasonRow]


class EvaluationRows(BaseModel):
    """All that a report is computed from."""

    contenders: list[Contender]
    samples: list[SampledRun]
    pieces: list[PieceRow]
    choices: list[ChoiceRow]
    gaps: list[GapRow]


class EvaluationFigures(BaseModel):
    figures: list[PhaseFigures]
    recommendations: list[Recommendation]
    refused: list[RefusedStatement]
    agreements: list[RankAgreement]
    pairs: list[PairResult]


def compute_figures(rows: EvaluationRows) -> EvaluationFigures:
    numbers = range(len(rows.contenders))
    shared = list_shared(rows.pieces, len(rows.contenders))
    compared = [
        row for row in rows.pieces if (row.run_id, row.phase, row.place) in shared and get_score(row) is not None
    ]
    figures = [
        _compute_phase(phase, number, [row for row in compared if (row.phase, row.contender) == (phase, number)])
        for phase in EVALUATED_PHASES
        for number in numbers
    ]
    pairs = [_count_choices(rows.choices, first, second) for first, second in combinations(numbers, 2)]
    return EvaluationFigures(
        figures=figures,
        recommendations=[_recommend(phase, figures, compared, pairs, rows.contenders) for phase in EVALUATED_PHASES],
        refused=[refused for row in rows.pieces for refused in _list_refused(row)],
        agreements=_compute_agreements(compared, len(rows.contenders)),
        pairs=pairs,
    )


def get_score(row: PieceRow) -> float | None:
    """Return how well a piece was done, 0 to 1; None where there was nothing to do."""
    match row.measured:
        case SectionsFound(wanted=wanted, chosen=chosen):
            return compute_f1(wanted, chosen)[2]
        case ItemsSaved(wanted=wanted, saved=saved, refused=refused):
            return compute_f1(wanted, saved, wrong=refused)[2]
        case SummaryWritten(statements=statements):
            return 1 - sum(map(is_refused, statements)) / len(statements) if statements else 0.0
        case StatementsRead(statements=planted):
            own = [float(entry.is_right) for entry in planted if entry.kind is PlantKind.OWN]
            false = [float(entry.is_right) for entry in planted if entry.kind is not PlantKind.OWN]
            return compute_mean([sum(side) / len(side) for side in (own, false) if side])
        case ItemsRanked(wishes=wishes) if wishes:
            return sum(wish.is_followed for wish in wishes) / len(wishes)
    return float(row.is_answered)


def is_refused(statement: DraftStatement) -> bool:
    """Whether code alone is sure that the page does not bear a sentence out."""
    return not statement.verdict.is_kept and not statement.is_open


def _compute_phase(phase: Phase, contender: int, rows: Sequence[PieceRow]) -> PhaseFigures:
    calls = [call for row in rows for call in row.calls]
    latencies = [float(call.latency_ms) for call in calls if call.latency_ms]
    figures = PhaseFigures(
        phase=phase,
        contender=contender,
        things=len(rows),
        by_rule=sum(not row.is_answered for row in rows),
        quality=compute_mean([score for row in rows if (score := get_score(row)) is not None]),
        calls=len(calls),
        latency_ms=compute_percentile(latencies, 0.5),
        latency_p95_ms=compute_percentile(latencies, 0.95),
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
        cost=_sum_costs(calls),
        outcomes=dict(Counter(call.outcome for call in calls if call.outcome != "ok")),
    )
    return figures.model_copy(update=_compute_particulars(rows))


def _sum_costs(calls: Sequence[CallRow]) -> float | None:
    costs = [call.cost for call in calls if call.cost is not None]
    has_unpriced = any(call.cost is None and call.prompt_tokens for call in calls)
    return None if has_unpriced or not costs else sum(costs)


def _compute_particulars(rows: Sequence[PieceRow]) -> dict[str, float | int | None]:
    """Return the figures that only some phases have."""
    found: list[tuple[float, float, float]] = []
    summaries: list[SummaryWritten] = []
    planted, wishes = [], []
    has_ranks = False
    for row in rows:
        match row.measured:
            case SectionsFound(wanted=wanted, chosen=chosen):
                found.append(compute_f1(wanted, chosen))
            case ItemsSaved(wanted=wanted, saved=saved, refused=refused):
                found.append(compute_f1(wanted, saved, wrong=refused))
            case SummaryWritten() as summary:
                summaries.append(summary)
            case StatementsRead(statements=statements):
                planted += statements
            case ItemsRanked(wishes=of_run):
                has_ranks = True
                wishes += of_run
    values: dict[str, float | int | None] = {}
    if found:
        values |= {"precision": compute_mean([each[0] for each in found])}
        values |= {"recall": compute_mean([each[1] for each in found])}
    if summaries:
        values |= _count_statements(summaries)
    if planted:
        own = [entry for entry in planted if entry.kind is PlantKind.OWN]
        false = [entry for entry in planted if entry.kind is not PlantKind.OWN]
        values |= {"false_alarms": sum(entry.is_refused for entry in own), "planted_true": len(own)}
        values |= {"caught": sum(entry.is_refused for entry in false), "planted_false": len(false)}
    if has_ranks:
        followed, opposed = (sum(entry.is_followed for entry in wishes), sum(entry.is_opposed for entry in wishes))
        values |= {"wishes": len(wishes), "followed": followed, "opposed": opposed}
    return values


def _count_statements(summaries: Sequence[SummaryWritten]) -> dict[str, float | int | None]:
    statements = [statement for summary in summaries for statement in summary.statements]
    settled = Counter(statement.verdict for statement in statements if not statement.is_open)
    return {
        "kept": sum(summary.is_kept for summary in summaries),
        "kept_at_first": sum(summary.is_kept_at_first for summary in summaries),
        "supported": settled[Verdict.SUPPORTED],
        "contradicted": settled[Verdict.CONTRADICTED],
        "unsupported": settled[Verdict.UNSUPPORTED],
        "unchecked": settled[Verdict.UNCHECKED] + sum(statement.is_open for statement in statements),
        "false_alarms": sum(is_refused(statement) and statement.is_on_page for statement in statements),
        "chars": compute_percentile([float(len(each.summary)) for each in summaries if each.summary], 0.5),
    }


def _list_refused(row: PieceRow) -> list[RefusedStatement]:
    summary = row.measured
    if not isinstance(summary, SummaryWritten):
        return []
    return [
        RefusedStatement(
            contender=row.contender,
            item_id=summary.item_id,
            title=summary.title,
            url=summary.url,
            text=statement.text,
            verdict=statement.verdict,
            reason=statement.reason,
            passage=statement.passage,
        )
        for statement in summary.statements
        if is_refused(statement)
    ]


def _compute_agreements(rows: Sequence[PieceRow], contenders: int) -> list[RankAgreement]:
    orders: dict[str, dict[int | None, list[int]]] = {}
    for row in rows:
        if isinstance(row.measured, ItemsRanked):
            of_run = orders.setdefault(row.run_id, {None: row.measured.order_by_rule})
            of_run[row.contender] = row.measured.order
    pairs: list[tuple[int, int | None]] = [*combinations(range(contenders), 2), *((n, None) for n in range(contenders))]
    agreements = []
    for first, second in pairs:
        taus = [
            tau
            for of_run in orders.values()
            if first in of_run and (tau := _compare_orders(of_run[first], of_run[second])) is not None
        ]
        agreements.append(RankAgreement(first=first, second=second, runs=len(taus), tau_b=compute_mean(taus)))
    return agreements


def _compare_orders(first: Sequence[int], second: Sequence[int]) -> float | None:
    places = {item: place for place, item in enumerate(second)}
    return compute_tau_b(list(range(len(first))), [places[item] for item in first])


def _count_choices(choices: Sequence[ChoiceRow], first: int, second: int) -> PairResult:
    preferred = Counter(choice.preferred for choice in choices if (choice.first, choice.second) == (first, second))
    wins, losses = preferred[first], preferred[second]
    p = compute_sign_test(wins, losses)
    return PairResult(first=first, second=second, first_wins=wins, second_wins=losses, ties=preferred[None], p=p)


def _recommend(
    phase: Phase,
    figures: Sequence[PhaseFigures],
    compared: Sequence[PieceRow],
    pairs: Sequence[PairResult],
    contenders: Sequence[Contender],
) -> Recommendation:
    measured = [each for each in figures if each.phase is phase and each.quality is not None]
    if not measured:
        return _build_recommendation(phase, None, Message("evaluation.why_not_measured"))
    best = max(measured, key=lambda each: (each.quality or 0.0, -_get_price_key(each)[1]))
    if best.by_rule == best.things:
        return _build_recommendation(phase, None, Message("evaluation.why_none_works", {"things": best.things}))
    close = [each for each in measured if (best.quality or 0.0) - (each.quality or 0.0) <= QUALITY_MARGIN]
    preferred = _find_preferred(close, pairs) if phase is Phase.SUMMARISE else None
    taken = preferred or min(close, key=_get_price_key)
    reasons = [_describe_quality(taken, contenders)]
    if preferred is not None:
        reasons.append(Message("evaluation.why_preferred"))
    elif len(close) > 1 and taken.cost is not None:
        costs = {_name(each, contenders): each.cost for each in close if each is not taken and each.cost is not None}
        reasons += [
            Message(
                "evaluation.why_cheaper",
                {"cost": _format_cost(taken.cost), "other": name, "others": _format_cost(cost)},
            )
            for name, cost in costs.items()
        ]
    reasons += [_describe_other(taken, each, compared, contenders) for each in measured if each is not taken]
    return _build_recommendation(phase, taken.contender, *reasons)


def _build_recommendation(phase: Phase, contender: int | None, *reasons: Message) -> Recommendation:
    return Recommendation(phase=phase, contender=contender, reasons=[ReasonRow(text=reason) for reason in reasons])


def _get_price_key(figures: PhaseFigures) -> tuple[bool, float, float, int]:
    """The order of prices: those known before the others, which are compared by their tokens, then by their time."""
    tokens = figures.prompt_tokens + figures.completion_tokens
    is_unknown = figures.cost is None
    return is_unknown, tokens if figures.cost is None else figures.cost, figures.latency_ms or 0.0, figures.contender


def _find_preferred(close: Sequence[PhaseFigures], pairs: Sequence[PairResult]) -> PhaseFigures | None:
    """The contender whose summaries people prefer to those of another one that is as good, by the sign test."""
    by_number = {each.contender: each for each in close}
    for pair in pairs:
        if pair.p < SIGNIFICANT_P and {pair.first, pair.second} <= by_number.keys():
            return by_number[pair.first if pair.first_wins > pair.second_wins else pair.second]
    return None


def _describe_quality(figures: PhaseFigures, contenders: Sequence[Contender]) -> Message:
    args = {"name": _name(figures, contenders), "quality": format_share(figures.quality), "things": figures.things}
    return Message("evaluation.why_quality", args)


def _describe_other(
    taken: PhaseFigures, other: PhaseFigures, compared: Sequence[PieceRow], contenders: Sequence[Contender]
) -> Message:
    """What speaks for the one that is taken, thing by thing, and whether that may be chance."""
    scores = {
        number: {
            (row.run_id, row.place): get_score(row) or 0.0
            for row in compared
            if (row.phase, row.contender) == (taken.phase, number)
        }
        for number in (taken.contender, other.contender)
    }
    mine, others = scores[taken.contender], scores[other.contender]
    better = sum(mine[thing] > others[thing] for thing in mine)
    worse = sum(mine[thing] < others[thing] for thing in mine)
    args = {
        "name": _name(other, contenders),
        "quality": format_share(other.quality),
        "better": better,
        "worse": worse,
        "p": format_p(compute_sign_test(better, worse)),
    }
    return Message("evaluation.why_other", args)


def _name(figures: PhaseFigures, contenders: Sequence[Contender]) -> str:
    return format_contender(contenders[figures.contender], contenders)


def format_contender(contender: Contender, contenders: Sequence[Contender]) -> str:
    """Return its model, with its prompts where others of the evaluation have different ones."""
    is_plain = len({each.prompts for each in contenders}) == 1
    return contender.model if is_plain else f"{contender.model} ({contender.prompts})"


def format_share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def format_p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _format_cost(cost: float) -> str:
    return f"{cost:.4f}"
