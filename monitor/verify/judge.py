"""The judge of statements: whether the pages that a sentence may rest on say what it says."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from monitor.verify.signs.actors import compare_actors
from monitor.verify.signs.amounts import compare_amounts
from monitor.verify.signs.bounds import compare_bounds
from monitor.verify.signs.derived import list_derived
from monitor.verify.signs.owners import compare_owners, compare_places
from monitor.verify.signs.page import Comparison, PageIndex
from monitor.verify.signs.periods import compare_periods
from monitor.verify.signs.references import compare_references
from monitor.verify.signs.words import compare_words
from monitor.verify.statements import Judgement, Reason, SourceText
from monitor.verify.weights import BIAS, REFUSED_FROM, SURE_UP_TO, WEIGHTS
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
    **dict.fromkeys(("against:quantity", "never:quantity", "never all"), ReasonCode.QUANTIFIER),
    **dict.fromkeys(("against:rate", "period other", "date other", "date rival", "date swapped"), ReasonCode.PERIOD),
    **dict.fromkeys(("figure rival", "figure swapped", "figure other", "figure elsewhere"), ReasonCode.WHOSE_FIGURE),
    **dict.fromkeys(("against:trade", "against:place", "against:time", "slot foreign"), ReasonCode.WHOSE_FIGURE),
    **dict.fromkeys(
        ("roles turned", "roles passive", "roles swapped", "roles target", "against:side", "moved"),
        ReasonCode.SUBJECT_OBJECT,
    ),
    **dict.fromkeys(
        ("speech other", "speech of another", "claim named", "speaker other", "attribution left"),
        ReasonCode.ATTRIBUTION,
    ),
    **dict.fromkeys(("name missing", "name apart", "name apart rival", "name near rival"), ReasonCode.ACTOR),
    **dict.fromkeys(("name head rival", "subject foreign", "roles other", "word unknown"), ReasonCode.ACTOR),
    "citation other": ReasonCode.CITATION,
    "hedge left": ReasonCode.MODALITY,
    "only new": ReasonCode.QUANTIFIER,
    "replacement turned": ReasonCode.VALIDITY,
    "issuer other": ReasonCode.ISSUER,
}
"""What a sign is called as a reason; any other that turns a verdict is a matter of polarity, or no reason at all."""

_CONTRADICTING = (
    "against",
    "figure",
    "negation",
    "never",
    "date",
    "period",
    "roles",
    "speech",
    "citation",
    "hedge",
    "replacement",
)
_MIN_AGAINST = 0.3
_MIN_NEARNESS = 0.15
"""A sentence of whose words the page has less around what is nearest to it is about something else."""

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
        verdicts = [_judge_on_page(statement, _read_page(source)) for source in self._sources if source.text.strip()]
        if not verdicts:
            return Judgement(verdict=Verdict.UNSUPPORTED)
        return min(verdicts, key=lambda judgement: list(_PREFERENCE).index(judgement.verdict))


_PREFERENCE = (Verdict.SUPPORTED, Verdict.UNCHECKED, Verdict.CONTRADICTED, Verdict.UNSUPPORTED)


@lru_cache(maxsize=64)
def _read_page(source: SourceText) -> PageIndex:
    return PageIndex(source)


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
    nearness = found.signs["coverage"] + found.signs["context"]
    if not found.is_cross_language and nearness < _MIN_NEARNESS:
        return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, is_open=True, context=context)
    features = build_features(found)
    score = BIAS + sum(WEIGHTS.get(name, 0.0) * value for name, value in features.items())
    doubt = 1 / (1 + math.exp(-score))
    if doubt < REFUSED_FROM:
        is_sure = doubt <= SURE_UP_TO
        verdict = Verdict.SUPPORTED if is_sure else Verdict.UNCHECKED
        return Judgement(verdict=verdict, passage=passage, is_open=not is_sure, context=context)
    reasons = _list_reasons(found, features)
    is_against = any(name.startswith(_CONTRADICTING) for name in _rank_signs(found)[:1])
    verdict = Verdict.CONTRADICTED if is_against and reasons else Verdict.UNSUPPORTED
    return Judgement(verdict=verdict, passage=passage, reasons=reasons, is_open=True, context=context)


def compare(statement: str, page: PageIndex) -> Comparison:
    found = Comparison(statement, page)
    compare_words(found)
    compare_amounts(found)
    compare_owners(found)
    compare_places(found)
    compare_periods(found)
    compare_bounds(found)
    compare_references(found)
    compare_actors(found)
    return found


_STRONG_WHEN_NEVER = (
    *("founding.end", "direction.up", "direction.down", "stage.done", "answer.no", "permission.forbidden"),
    *("validity.void", "duty.must", "quantity.all"),
)
_STRONG_WHEN_NEW = ("stage.done", "answer.yes", "quantity.all")
_STRONG_AXES = (
    *(
        "direction",
        "bound",
        "duty",
        "stage",
        "permission",
        "validity",
        "founding",
        "quantity",
        "contrast",
        "length",
        "office",
    ),
)
_PLAIN_SIGNS = (
    *("negation added", "negation lost", "figure swapped", "figure other", "figure elsewhere"),
    *("figure bound left", "figure bound new", "figure direction", "date rival", "date swapped"),
    *("date other", "date apart", "period other", "name missing", "name apart", "name apart rival", "name near"),
    *("name near rival", "name head rival", "roles turned", "roles passive", "speech other", "speaker other"),
    *("attribution left", "slot foreign", "slot novel", "slot variant", "moved"),
    *("roles swapped", "roles target", "roles other", "speech of another", "claim named"),
    *("issuer other", "word unknown"),
)
_ACTOR_SIGNS = (
    *("roles swapped", "roles other", "speech of another", "speech other", "name missing", "name apart rival"),
    *("issuer other", "word unknown", "roles turned"),
)
_CITATION_SIGNS = ("citation other", "article other", "citation rival", "citation unknown", "citation swapped")
_SURE_SIGNS = {
    **dict.fromkeys(("amount bound", "figure bound", "figure direction", "amount turned", "period apart"), 0.9),
    **dict.fromkeys(("date event", "date bound", "citation rival", "article other", "ordinal other"), 0.9),
    **dict.fromkeys(("label taken", "label given"), 0.3),
    **dict.fromkeys(("date taken", "figure misplaced", "time misplaced"), 0.2),
    "date misplaced": 0.1,
    **dict.fromkeys(("figure rival", "figure swapped", "date rival"), 0.9),
}
"""Signs that hardly any true statement has, with the strength from which they count as sure."""

_WORD_SIGNS = ("coverage", "context", "foreign", "novel")


def build_features(found: Comparison) -> dict[str, float]:
    """Return what the verdict is weighed from: signs of a kind together, some as far as the page bears the rest."""
    signs = found.signs
    coverage = 0.0 if found.is_cross_language else signs["coverage"]
    against = _find_strongest(signs, "against:")
    never = max(_find_strongest(signs, "never:", without="quantity"), 0.0)
    never_all = signs["never:quantity.all"] + signs["new:quantity.all"]
    strong = min(max(signs[f"against:{axis}"] for axis in _STRONG_AXES), 1.0)
    features = {name: signs[name] for name in _PLAIN_SIGNS}
    if not found.is_cross_language:
        features |= {name: signs[name] for name in _WORD_SIGNS}
        features["foreign borne"] = signs["foreign"] * coverage
        features["low coverage"] = max(0.0, 0.35 - coverage)
    features |= {
        "amount bound": max(signs["figure bound"], signs["amount bound"], signs["date bound"]),
        "amount unbounded": max(signs["amount unbounded"], signs["date unbounded"]),
        "amount turned": signs["amount turned"],
        "amount given": max(signs["label given"], signs["date given"]),
        "amount taken": max(signs["label taken"], signs["date taken"]),
        "period apart": max(signs["period apart"], signs["figure rate"]),
        "date event": signs["date event"],
        "amount misplaced": max(signs["figure misplaced"], signs["date misplaced"], signs["time misplaced"]),
        "citation": max(signs[name] for name in _CITATION_SIGNS),
        "amount sure": float(any(signs[name] > bound for name, bound in _SURE_SIGNS.items())),
        "against": against,
        "against borne": against * coverage,
        "never": never,
        "never all": never_all,
        "never borne": coverage * (never + never_all),
        "left": _find_strongest(signs, "left:", without="stage"),
        "new done": signs["new:stage.done"] + signs["never:stage.done"],
        "cause new": signs["cause new"],
        "cause new borne": signs["cause new"] * coverage,
        "cause other": signs["cause other"],
        "only new borne": signs["only new"] * (coverage > 0.6),
        "forecast new": signs["forecast new"],
        "hedge left": signs["hedge left"],
        "slot marked": signs["slot marked"],
        "never strong": coverage * max(signs[f"never:{name}"] for name in _STRONG_WHEN_NEVER),
        "new strong": coverage * max(signs[f"new:{name}"] for name in _STRONG_WHEN_NEW),
        "replacement turned": signs["replacement turned"],
        "new future": signs["new:stage.proposed"],
        "slot taken borne": signs["slot taken"] * (coverage > 0.75),
        "against strong": strong,
        "against strong borne": strong * coverage,
        "negation added borne": coverage * signs["negation added"],
        "run long": min(max(signs["run bare"] - 8.0, 0.0), 10.0) / 10 * (not found.is_cross_language),
        "run bare": min(signs["run bare"], 8.0) / 8 * (not found.is_cross_language),
        "run bare borne": coverage * min(signs["run bare"], 16.0) / 8,
        "figure rival borne": coverage * signs["figure rival"],
        "figure other borne": coverage * max(signs["figure other"], signs["figure elsewhere"]),
        "negation lost borne": coverage * signs["negation lost"],
        "subject foreign borne": coverage * signs["subject foreign"],
        "moved borne": signs["moved"] * (coverage > 0.8),
        "actor": max(signs[name] for name in _ACTOR_SIGNS),
        "cross": float(found.is_cross_language),
        "bearers": float(len(found.units) - 1),
    }
    is_clean = coverage > 0.8 and not any(
        value > _MIN_AGAINST
        for name, value in signs.items()
        if name.startswith((*_CONTRADICTING, "left", "name", "slot")) and not name.endswith((" apart", " rival"))
    )
    features["clean"] = float(is_clean)
    return features


def _find_strongest(signs: Mapping[str, float], prefix: str, *, without: str = "\0") -> float:
    return max((value for name, value in signs.items() if name.startswith(prefix) and without not in name), default=0.0)


def _rank_signs(found: Comparison) -> list[str]:
    """Return the signs against a statement that have a name as a reason, the strongest first."""
    named = {name: value for name, value in found.signs.items() if value > _MIN_AGAINST and _get_code(name) is not None}
    return sorted(named, key=lambda name: -named[name])


def _list_reasons(found: Comparison, features: Mapping[str, float]) -> tuple[Reason, ...]:
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


def _choose_passage(found: Comparison) -> str:
    """Return what bears a statement as one piece of the page: neighbouring sentences together, else the best one."""
    units = found.units
    if not units:
        return ""
    start, end = units[0].start, max(unit.end for unit in units)
    is_one_piece = units[-1].number - units[0].number < MAX_PASSAGE_UNITS and units[0].line >= found.page.head_lines
    if is_one_piece and end - start <= _MAX_CONTEXT_CHARS:
        return found.page.text[start:end].strip()
    best = max(units, key=lambda unit: found.page.weigh(found.words & unit.words))
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
