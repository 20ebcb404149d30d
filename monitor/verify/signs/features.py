"""Joins the signs of a statement into the features that its verdict is weighed from."""

from collections.abc import Mapping

from monitor.verify.signs.actors import compare_actors
from monitor.verify.signs.amounts import compare_amounts
from monitor.verify.signs.bounds import compare_bounds
from monitor.verify.signs.frames import compare_frames
from monitor.verify.signs.owners import compare_owners, compare_places
from monitor.verify.signs.page import Comparison, PageIndex
from monitor.verify.signs.periods import compare_periods
from monitor.verify.signs.references import compare_references
from monitor.verify.signs.words import compare_words

CONTRADICTING = (
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
"""The beginnings of the names of signs that speak against a statement, not only for nothing."""

MIN_AGAINST = 0.3


def compare(statement: str, page: PageIndex) -> Comparison:
    found = Comparison(statement, page)
    compare_words(found)
    compare_amounts(found)
    compare_owners(found)
    compare_places(found)
    compare_frames(found)
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
    *("direction", "bound", "duty", "stage", "permission", "validity"),
    *("founding", "quantity", "contrast", "length", "office"),
)
_PLAIN_SIGNS = (
    *("negation added", "negation lost", "figure swapped", "figure other", "figure elsewhere"),
    *("figure bound left", "figure bound new", "figure direction", "date rival", "date swapped"),
    *("date other", "date apart", "period other", "name missing", "name apart", "name apart rival", "name near"),
    *("name near rival", "name head rival", "roles turned", "roles passive", "speech other", "speaker other"),
    *("attribution left", "slot foreign", "slot novel", "slot variant", "moved"),
    *("roles swapped", "roles other", "speech of another", "claim named"),
    *("issuer other", "word unknown", "name unknown", "sides turned"),
)
_ACTOR_SIGNS = (
    *("roles swapped", "roles other", "speech of another", "speech other", "name missing", "name apart rival"),
    *("issuer other", "word unknown", "roles turned", "name unknown", "sides turned"),
)
_SURE_ACTOR_SIGNS = ("speech of another", "issuer other", "word unknown", "name unknown", "name missing", "roles other")
_CITATION_SIGNS = ("citation other", "article other", "citation rival", "citation unknown", "citation swapped")
_SURE_SIGNS = {
    **dict.fromkeys(("amount bound", "figure bound", "figure direction", "amount turned", "period apart"), 0.9),
    **dict.fromkeys(("date event", "date bound", "citation rival", "article other", "ordinal other"), 0.9),
    **dict.fromkeys(("label taken", "label given"), 0.3),
    **dict.fromkeys(("date taken", "figure misplaced", "time misplaced"), 0.2),
    "date misplaced": 0.1,
    "frame": 0.5,
    **dict.fromkeys(("figure rival", "figure swapped", "date rival"), 0.9),
}
"""Signs that hardly any true statement has, with the strength from which they count as sure."""

_DECISIVE_SIGNS = {
    **dict.fromkeys(("against:bound", "against:permission", "against:quantity", "against:stage"), 0.45),
    **dict.fromkeys(
        ("against:founding", "against:validity", "amount bound", "amount turned", "amount unbounded"), 0.45
    ),
    **dict.fromkeys(("citation rival", "claim named", "date misplaced", "date other", "figure bound"), 0.45),
    **dict.fromkeys(("figure direction", "figure misplaced", "figure other", "label given", "label taken"), 0.45),
    **dict.fromkeys(("name apart rival", "name missing", "never:quantity.all", "new:quantity.all", "only new"), 0.45),
    **dict.fromkeys(("period apart", "roles other", "roles swapped", "roles turned", "slot marked"), 0.45),
    **dict.fromkeys(("speech other", "word unknown"), 0.45),
    **dict.fromkeys(("against:direction", "against:duty", "figure rival", "figure swapped", "negation added"), 0.8),
    **dict.fromkeys(("negation lost", "speech of another", "attribution left", "hedge left"), 0.8),
}
"""Signs that decide where the page bears nearly all other words of a statement, with the strength that they need."""

_CERTAIN_SIGNS = {
    **dict.fromkeys(("amount bound", "amount turned", "amount unbounded", "citation rival", "period apart"), 0.45),
    **dict.fromkeys(("roles swapped", "figure misplaced", "date other", "against:stage", "against:quantity"), 0.45),
    **dict.fromkeys(("only new", "never:quantity.all", "name missing", "roles turned", "speech other"), 0.45),
    **dict.fromkeys(("figure direction", "figure bound", "against:permission", "against:founding"), 0.45),
    **dict.fromkeys(("against:validity", "slot marked", "name apart rival"), 0.45),
    **dict.fromkeys(("against:bound", "against:direction", "against:duty", "figure rival", "figure swapped"), 0.8),
    **dict.fromkeys(("negation lost", "negation added", "roles other", "claim named"), 0.8),
}
"""Signs that settle a refusal: no second reader is asked whether it was right."""

_SURE_WORDS = {
    **dict.fromkeys(("against:bound", "against:duty", "against:stage", "against:permission", "against:founding"), 0.6),
    **dict.fromkeys(("negation lost", "negation added", "denial new"), 0.6),
    "denial left": 0.4,
    **dict.fromkeys(("against:validity", "against:quantity", "against:finality", "slot marked"), 0.5),
    **dict.fromkeys(("against:direction", "against:contrast"), 0.8),
    **dict.fromkeys(("against:truth", "against:rate", "against:extreme", "against:length", "against:office"), 0.3),
    **dict.fromkeys(("never:founding.end", "never:founding.keep", "never:validity.void", "never:answer.no"), 1.0),
    **dict.fromkeys(("never:direction.up", "never:direction.down", "never:permission.forbidden"), 1.0),
    **dict.fromkeys(("never:bound.max", "never:only.only", "never:stage.done", "new:direction.up"), 1.0),
    **dict.fromkeys(("never:quantity.all", "new:quantity.all", "new:stage.done"), 1.0),
    **dict.fromkeys(("only new", "cause new", "replacement turned"), 1.0),
}
"""Signs in the words that hardly any true statement has, with the strength from which they count as sure."""

_WORD_SIGNS = ("coverage", "context", "foreign", "novel")


def is_certain(found: Comparison) -> bool:
    """Whether some sign against a statement is of a kind that hardly any true statement has."""
    return any(found.signs[name] >= strength for name, strength in _CERTAIN_SIGNS.items())


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
    features |= _build_amount_features(found)
    features |= {
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
        "word sure": float(any(signs[name] >= bound for name, bound in _SURE_WORDS.items())),
        "denial left": signs["denial left"],
        "denial new": signs["denial new"],
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
        "actor sure": float(any(signs[name] > 0.95 for name in _SURE_ACTOR_SIGNS)),
        "cross": float(found.is_cross_language),
        "bearers": float(len(found.units) - 1),
    }
    features |= _build_summing_features(found, coverage)
    features["any sure"] = max(features["word sure"], features["amount sure"])
    return features


def _build_summing_features(found: Comparison, coverage: float) -> dict[str, float]:
    """Return whether some sign decides where the page bears the rest, and whether nothing at all speaks against it."""
    signs = found.signs
    features: dict[str, float] = {}
    if coverage >= 0.7 and signs["novel"] <= 0.3:
        count = sum(signs[name] >= strength for name, strength in _DECISIVE_SIGNS.items())
        features["decisive"] = min(count, 3) / 3
        features["decided"] = float(count > 0)
    is_clean = coverage > 0.8 and not any(
        value > MIN_AGAINST
        for name, value in signs.items()
        if name.startswith((*CONTRADICTING, "left", "name", "slot")) and not name.endswith((" apart", " rival"))
    )
    features["clean"] = float(is_clean)
    return features


def _build_amount_features(found: Comparison) -> dict[str, float]:
    signs = found.signs
    return {
        "amount bound": max(signs["figure bound"], signs["amount bound"], signs["date bound"]),
        "amount unbounded": max(signs["amount unbounded"], signs["date unbounded"]),
        "amount turned": signs["amount turned"],
        "amount framed": signs["frame"],
        "amount given": max(signs["label given"], signs["date given"]),
        "amount taken": max(signs["label taken"], signs["date taken"]),
        "period apart": max(signs["period apart"], signs["figure rate"]),
        "date event": signs["date event"],
        "amount misplaced": max(signs["figure misplaced"], signs["date misplaced"], signs["time misplaced"]),
        "citation": max(signs[name] for name in _CITATION_SIGNS),
        "amount sure": float(any(signs[name] > bound for name, bound in _SURE_SIGNS.items())),
    }


def _find_strongest(signs: Mapping[str, float], prefix: str, *, without: str = "\0") -> float:
    return max((value for name, value in signs.items() if name.startswith(prefix) and without not in name), default=0.0)
