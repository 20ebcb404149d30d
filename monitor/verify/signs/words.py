"""Signs in the words of a statement: what is not where it should be, what is turned round, and who says no."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from monitor.verify.clauses import Mark
from monitor.verify.lexicon import stem
from monitor.verify.signs.page import Bearer, Comparison, PageIndex, is_axis_word, unite

_SILENT_AXES = {"event", "report", "order"}
_TELLING_WHEN_NEW = {
    *("finality.final", "finality.first", "length.more", "length.less", "quantity.all", "quantity.some", "duty.must"),
    *("permission.allowed", "permission.forbidden", "founding.end", "founding.keep", "validity.void", "stage.done"),
    *("stage.proposed", "answer.yes", "answer.no", "course.tighten", "course.relax", "bound.max", "bound.min"),
    *("direction.up", "direction.down", "burden.free", "burden.charged", "order.before", "order.after"),
}
_TELLING_WHEN_LEFT = {
    *("finality.first", "quantity.some", "only.only", "bound.max", "bound.min", "permission.forbidden"),
    *("permission.allowed", "duty.may"),
}
_MIN_LEAD = 0.35
"""By how much the nearest word of the other side must be nearer than the nearest of the same side."""


def compare_words(found: Comparison) -> None:
    _compare_coverage(found)
    for bearer in found.bearers:
        _compare_marks(found, bearer)
        _compare_negation(found, bearer)
        _compare_slots(found, bearer)
        _compare_sequence(found, bearer)


def _compare_coverage(found: Comparison) -> None:
    """Whose words these are: of the bearing sentences, of their context, of other places of the page, or of none."""
    page = found.page
    said_alike = {
        mark.word
        for segment in found.segments
        for mark in segment.marks
        for unit in found.units
        if any(mark.axis == other.axis and is_same_side(mark, other) for other in unit.marks)
    }
    said_alike |= {stem(word) for word in said_alike}
    content = frozenset(word for word in found.words if not is_axis_word(word) and word not in said_alike)
    borne = unite(unit.words for unit in found.units)
    context = unite(unit.context for unit in found.units) | page.head_words
    known = frozenset(word for word in content if page.places.get(word))
    found.signs["coverage"] = page.compute_share(content & borne, content)
    found.signs["context"] = page.compute_share(content & context - borne, content)
    found.signs["foreign"] = page.compute_share(known - borne - context, content)
    found.signs["novel"] = page.compute_share(content - known, content)
    subject = next((segment.order for segment in found.segments if segment.order), ())[:4]
    elsewhere = [word for word in subject if word in known and word not in borne and word not in context]
    found.signs["subject foreign"] = page.compute_share(elsewhere, subject)


def _compare_marks(found: Comparison, bearer: Bearer) -> None:
    page, segment, part = found.page, bearer.segment, bearer.part
    for mark in segment.marks:
        if mark.axis in _SILENT_AXES:
            continue
        around = [
            (_compute_nearness(page, mark, other) + (0.3 if piece is part else 0.0), other)
            for piece in bearer.unit.segments
            for other in piece.marks
            if other.axis == mark.axis
        ]
        same = max((rate for rate, other in around if is_same_side(mark, other)), default=-1.0)
        against = [(rate, other.word) for rate, other in around if not is_same_side(mark, other)]
        if against and max(against)[0] > same + _MIN_LEAD:
            rate, word = max(against)
            found.raise_sign(f"against:{mark.axis}", rate + 0.1 - 0.3 * max(same, 0.0), f"{mark.word} / {word}")
        elif not around and f"{mark.axis}.{mark.side}" in _TELLING_WHEN_NEW:
            is_on_page = mark.side in page.sides.get(mark.axis, ())
            found.raise_sign(f"{'new' if is_on_page else 'never'}:{mark.axis}.{mark.side}", 1.0, mark.word)
    share = page.compute_share(part.words & segment.words, part.words)
    axes = {mark.axis for mark in segment.marks}
    for mark in part.marks:
        if mark.axis not in axes and share > 0.3 and f"{mark.axis}.{mark.side}" in _TELLING_WHEN_LEFT:
            found.raise_sign(f"left:{mark.axis}.{mark.side}", share, mark.word)


def is_same_side(mark: Mark, other: Mark) -> bool:
    return (mark.side == other.side) == (mark.is_negated == other.is_negated)


def _compute_nearness(page: PageIndex, mark: Mark, other: Mark) -> float:
    """Return the share of the words near a mark that are near the other too."""
    plain = {word for word in mark.near if not is_axis_word(word)}
    return page.compute_share(plain & other.near, plain)


def _compare_negation(found: Comparison, bearer: Bearer) -> None:
    page, segment, unit, part = found.page, bearer.segment, bearer.unit, bearer.part
    share = page.compute_share(segment.words & part.words, segment.words)
    is_negative = bool(segment.negated) or any(mark.is_negated for mark in segment.marks)
    is_negative_there = bool(part.negated) or any(mark.is_negated for mark in part.marks)
    added = {word for word in segment.negated & unit.affirmed - unit.negated if not is_axis_word(word)}
    lost = {word for word in (segment.words - segment.negated) & unit.negated - unit.affirmed if not is_axis_word(word)}
    if added and not is_negative_there:
        found.raise_sign("negation added", share + 0.3, " ".join(sorted(added)))
    if lost and not is_negative:
        found.raise_sign("negation lost", share + 0.3, " ".join(sorted(lost)))


_FUNCTION_WORDS = frozenset('的了和与及在对为以等将该其并或之于而是由从至到个把、，,。.（）()“”"《》「」') | frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "to",
        "in",
        "on",
        "and",
        "that",
        "has",
        "have",
        "had",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "it",
        "its",
        "by",
        "for",
        "with",
        "as",
        "at",
        "from",
    ]
)


def _compare_slots(found: Comparison, bearer: Bearer) -> None:
    """Align the words of a segment with those of its unit: what stands in the place of something else."""
    texts = [text for piece in bearer.unit.segments for text in piece.texts]
    keys = [key for piece in bearer.unit.segments for key in piece.keys]
    codes = SequenceMatcher(None, bearer.segment.keys, keys, autojunk=False).get_opcodes()
    for place, (kind, start, end, their_start, their_end) in enumerate(codes):
        beside = [codes[other] for other in (place - 1, place + 1) if 0 <= other < len(codes)]
        flank = sum(code[2] - code[1] for code in beside if code[0] == "equal")
        said = [text for text in bearer.segment.texts[start:end] if text not in _FUNCTION_WORDS]
        there = [text for text in texts[their_start:their_end] if text not in _FUNCTION_WORDS]
        if kind != "replace" or not said or flank < 3 or len(there) > len(said) + 4:
            continue
        joined, other = _join(said), _join(there)
        if any(char.isdigit() for char in joined):
            continue
        is_elsewhere = len(joined) > 1 and joined.lower() in found.page.text.lower()
        is_variant = not joined.isascii() and bool(set(joined) & set(other))
        state = "foreign" if is_elsewhere else "variant" if is_variant else "novel"
        strength = 0.3 + min(flank, 10) / 10 if len(joined) > 1 else 0.2
        found.raise_sign(f"slot {state}", strength, f"{joined} / {other}")


def _join(words: Sequence[str]) -> str:
    return (" " if words and words[0].isascii() else "").join(words)


def _compare_sequence(found: Comparison, bearer: Bearer) -> None:
    """How much of what both say has to move to stand in the page's order."""
    places: dict[str, int] = {}
    for number, word in enumerate(bearer.unit.order):
        places.setdefault(word, number)
    common = [word for word in bearer.segment.order if word in places and word[0] != "@" and not is_axis_word(word)]
    if len(common) >= 4:
        kept = _find_longest_rise([places[word] for word in common])
        moved = [word for number, word in enumerate(common) if number not in kept]
        share = found.page.compute_share(common, bearer.segment.words)
        found.raise_sign("moved", found.page.compute_share(moved, common) * share, " ".join(moved))


def _find_longest_rise(places: Sequence[int]) -> set[int]:
    """Return the indexes of a longest rising subsequence."""
    chains: list[list[int]] = []
    for number, place in enumerate(places):
        before = [chain for chain in chains if places[chain[-1]] < place]
        chains.append([*max(before, key=len), number] if before else [number])
    return set(max(chains, key=len)) if chains else set()
