"""The judge of statements: whether the pages that a sentence may rest on say what it says."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from monitor.verify.signs.derived import list_derived
from monitor.verify.signs.features import CONTRADICTING, MIN_AGAINST, build_features, compare, is_certain
from monitor.verify.signs.page import Comparison, PageIndex
from monitor.verify.statements import Judgement, Reason, SourceText
from monitor.verify.weights import BIAS, REFUSED_FROM, SURE_FROM, SURE_UP_TO, WEIGHTS
from monitor.vocabulary import ReasonCode, Verdict

_REASON_BY_SIGN = {
    **dict.fromkeys(
        ("against:direction", "against:length", "against:course", "figure direction"), ReasonCode.DIRECTION
    ),
    **dict.fromkeys(("against:sign", "against:extreme"), ReasonCode.DIRECTION),
    **dict.fromkeys(("against:bound", "figure bound left", "figure bound new"), ReasonCode.BOUND),
    **dict.fromkeys(("against:duty", "against:will", "never:duty"), ReasonCode.MODALITY),
    **dict.fromkeys(("against:stage", "against:finality", "never:stage", "never:finality"), ReasonCode.STAGE),
    **dict.fromkeys(("against:validity", "never:validity"), ReasonCode.VALIDITY),
    **dict.fromkeys(("against:quantity", "never:quantity"), ReasonCode.QUANTIFIER),
    **dict.fromkeys(("against:rate", "period other", "date other", "date rival", "date swapped"), ReasonCode.PERIOD),
    **dict.fromkeys(
        ("frame", "figure rival", "figure swapped", "figure other", "figure elsewhere"), ReasonCode.WHOSE_FIGURE
    ),
    **dict.fromkeys(("against:trade", "against:place", "against:time", "slot foreign"), ReasonCode.WHOSE_FIGURE),
    **dict.fromkeys(
        ("roles turned", "roles passive", "roles swapped", "sides turned", "against:side", "moved"),
        ReasonCode.SUBJECT_OBJECT,
    ),
    **dict.fromkeys(
        ("speech other", "speech of another", "claim named", "speaker other", "attribution left"),
        ReasonCode.ATTRIBUTION,
    ),
    **dict.fromkeys(
        ("name missing", "name unknown", "name apart", "name apart rival", "name near rival"), ReasonCode.ACTOR
    ),
    **dict.fromkeys(("name head rival", "subject foreign", "roles other", "word unknown"), ReasonCode.ACTOR),
    **dict.fromkeys(
        ("citation other", "citation rival", "citation unknown", "citation swapped", "article other"),
        ReasonCode.CITATION,
    ),
    **dict.fromkeys(("amount bound", "amount unbounded", "date bound", "figure bound"), ReasonCode.BOUND),
    **dict.fromkeys(("period apart", "figure rate", "date event", "date taken", "date misplaced"), ReasonCode.PERIOD),
    **dict.fromkeys(("label taken", "label given", "figure misplaced", "ordinal other"), ReasonCode.WHOSE_FIGURE),
    **dict.fromkeys(("denial left", "denial new"), ReasonCode.POLARITY),
    "amount turned": ReasonCode.DIRECTION,
    "hedge left": ReasonCode.MODALITY,
    "only new": ReasonCode.QUANTIFIER,
    "replacement turned": ReasonCode.VALIDITY,
    "issuer other": ReasonCode.ISSUER,
}
"""What a sign is called as a reason; any other that turns a verdict is a matter of polarity, or no reason at all."""

_MIN_NEARNESS = 0.15
"""A sentence of whose words the page has less around what is nearest to it is about something else."""

MAX_PAGE_CHARS = 80_000
"""How far the sentences of a page are read; its figures, dates and names are known further."""

MAX_SOURCE_CHARS = 200_000
"""How far a page is read at all: what a statement says may stand further down, and stays unchecked."""

_OWN_WORDS = 0.9
_TURNING_SIGNS = (
    *("negation added", "negation lost", "roles swapped", "amount bound", "amount turned", "period apart"),
    *("figure swapped", "against:bound", "against:direction", "against:duty", "against:permission"),
)
MAX_PASSAGE_UNITS = 3
_MAX_CONTEXT_CHARS = 400
_MAX_REASONS = 3


class StatementJudge:
    """Judges statements against pages that are read once; by code alone, without waiting for anything.

    A statement that several pages may bear has the best verdict that one of them gives.
    """

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._sources = tuple(sources)

    def judge(self, statement: str) -> Judgement:
        verdicts = [_judge_by_source(statement, source) for source in self._sources if source.text.strip()]
        if not verdicts:
            return Judgement(verdict=Verdict.UNSUPPORTED)
        return min(verdicts, key=lambda judgement: list(_PREFERENCE).index(judgement.verdict))


_PREFERENCE = (Verdict.SUPPORTED, Verdict.UNCHECKED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED)


def judge_statements(sources: Sequence[SourceText], statements: Sequence[str]) -> list[Judgement]:
    """Judge all statements of a page, or of some pages together: one piece of work for a worker process."""
    judge = StatementJudge(sources)
    return [judge.judge(statement) for statement in statements]


@lru_cache(maxsize=64)
def _read_page(source: SourceText) -> PageIndex:
    if len(source.text) > MAX_SOURCE_CHARS:
        source = replace(source, text=source.text[:MAX_SOURCE_CHARS])
    return PageIndex(source, max_chars=MAX_PAGE_CHARS)


def _judge_by_source(statement: str, source: SourceText) -> Judgement:
    judgement = _judge_on_page(statement, _read_page(source))
    if len(source.text) > MAX_SOURCE_CHARS and judgement.verdict is Verdict.UNSUPPORTED:
        return judgement.model_copy(update={"verdict": Verdict.UNCHECKED, "reasons": ()})
    return judgement


def _judge_on_page(statement: str, page: PageIndex) -> Judgement:
    found = compare(statement, page)
    passage = _choose_passage(found)
    context = _build_context(found)
    if page.has_whole_sentences(statement):
        return Judgement(verdict=Verdict.SUPPORTED, passage=passage, context=context)
    missing = page.particulars.find_missing(statement)
    missing -= list_derived(found, missing)
    if missing:
        reasons = tuple(Reason(code=_classify_missing(said), args={"said": said}) for said in sorted(missing))
        return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, reasons=reasons, context=context)
    if found.signs["name missing"] and not found.is_cross_language:
        reason = Reason(code=ReasonCode.ACTOR, args={"said": found.said["name missing"]})
        return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, reasons=(reason,), context=context)
    nearness = found.signs["coverage"] + found.signs["context"]
    if page.is_whole and not found.is_cross_language and nearness < _MIN_NEARNESS:
        return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, is_open=True, context=context)
    if not page.is_whole and found.signs["coverage"] < _OWN_WORDS:  # it may stand further down
        return Judgement(verdict=Verdict.UNCHECKED, passage=passage, is_open=True, context=context)
    features = build_features(found)
    score = BIAS + sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    doubt = 1 / (1 + math.exp(-score))
    if doubt < REFUSED_FROM and not _is_turned(found):
        is_sure = doubt <= SURE_UP_TO
        verdict = Verdict.SUPPORTED if is_sure else Verdict.UNCHECKED
        return Judgement(verdict=verdict, passage=passage, is_open=not is_sure, context=context)
    reasons = _list_reasons(found)
    is_against = any(
        name.startswith((*CONTRADICTING, "amount", "label", "article", "denial", "sides"))
        for name in _rank_signs(found)
    )
    verdict = Verdict.CONTRADICTED if is_against and reasons else Verdict.UNSUPPORTED
    is_open = doubt < SURE_FROM and not is_certain(found)
    return Judgement(verdict=verdict, passage=passage, reasons=reasons, is_open=is_open, context=context)


def _rank_signs(found: Comparison) -> list[str]:
    """Return the signs against a statement that have a name as a reason, the strongest first."""
    named = {name: value for name, value in found.signs.items() if value > MIN_AGAINST and _get_code(name) is not None}
    return sorted(named, key=lambda name: -named[name])


def _list_reasons(found: Comparison) -> tuple[Reason, ...]:
    reasons: dict[ReasonCode, Reason] = {}
    for name in _rank_signs(found):
        code = _get_code(name)
        if code is not None and code not in reasons:
            reasons[code] = Reason(code=code, args={"said": found.said.get(name, "").strip()})
    return tuple(reasons.values())[:_MAX_REASONS]


def _get_code(sign: str) -> ReasonCode | None:
    base = sign.partition(".")[0] if ":" in sign else sign
    if base in _REASON_BY_SIGN:
        return _REASON_BY_SIGN[base]
    return ReasonCode.POLARITY if base.startswith(("against", "negation", "never")) else None


def _classify_missing(said: str) -> ReasonCode:
    if any(char in said for char in "年月日") and any(char.isdigit() for char in said):
        return ReasonCode.DATE
    return ReasonCode.NUMBER if any(char.isdigit() for char in said) else ReasonCode.QUOTE


def _is_turned(found: Comparison) -> bool:
    """Whether a statement is the page's own words, turned round."""
    is_own = found.signs["coverage"] >= _OWN_WORDS and found.signs["novel"] <= 1 - _OWN_WORDS
    return is_own and not found.is_cross_language and any(found.signs[name] >= 0.8 for name in _TURNING_SIGNS)


def _choose_passage(found: Comparison) -> str:
    """Return what bears a statement as one piece of the page: neighbouring sentences together, else the best one."""
    units = found.units
    if not units:
        return ""
    start, end = units[0].start, max(unit.end for unit in units)
    is_one_piece = units[-1].number - units[0].number < MAX_PASSAGE_UNITS and units[0].line >= found.page.head_lines
    if is_one_piece and end - start <= _MAX_CONTEXT_CHARS:
        return found.page.text[start:end].strip()
    best = max(units, key=lambda unit: found.page.compute_weight(found.words & unit.words))
    return best.text.strip()


def _build_context(found: Comparison) -> str:
    """Return the bearing sentences with those right before and after them, as far as there is room."""
    units = found.page.units
    chosen = {unit.number for unit in found.units}
    for number in sorted(chosen):
        for beside in (number - 1, number + 1):
            size = sum(len(units[place].text) for place in chosen)
            if 0 <= beside < len(units) and size + len(units[beside].text) <= _MAX_CONTEXT_CHARS:
                chosen.add(beside)
    return "\n".join(units[place].text.strip() for place in sorted(chosen))
