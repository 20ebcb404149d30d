"""Signs in the words of a statement: what is not where it should be, what is turned round, and who says no."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from monitor.verify.clauses import NEGATION_KEY, Mark, Segment
from monitor.verify.lexicon import stem
from monitor.verify.signs.page import Bearer, Comparison, PageIndex, is_axis_word, unite

_SILENT_AXES = {"event", "report", "order"}
_COUNTED_WHEN_NEW = {
    *("finality.final", "finality.first", "length.more", "length.less", "quantity.all", "quantity.some", "duty.must"),
    *("permission.allowed", "permission.forbidden", "founding.end", "founding.keep", "validity.void", "stage.done"),
    *("stage.proposed", "answer.yes", "answer.no", "course.tighten", "course.relax", "bound.max", "bound.min"),
    *("direction.up", "direction.down", "burden.free", "burden.charged", "order.before", "order.after", "only.only"),
}
_COUNTED_WHEN_LEFT = {
    *("finality.first", "quantity.some", "only.only", "bound.max", "bound.min", "permission.forbidden"),
    *("permission.allowed", "duty.may"),
}
_WEAK_WORDS = frozenset(
    [
        "各类",
        "各地",
        "都",
        "一致",
        "any",
        "each",
        "both",
        "either",
        "要求",
        "需",
        "征求意见稿",
        "意见稿",
        "草案",
        "would",
        "consultation",
        "上限",
    ]
)
"""Words of an axis that a summary may add of its own accord."""

_TURNED_BY_NEGATION = frozenset(("answer", "founding", "permission", "validity"))
"""Axes on which the negation of one side is the other side."""

_WEAK_ON_PAGE = frozenset(("has", "has been", "have been"))
_OBJECT_MARKER = re.compile(r"将[^，。；,;]{1,30}?(?:为|至|到|纳入|列入|移送|作为|从|由)")
"""Chinese 将 before an object, which is no future."""

_MIN_NEARNESS = 0.25
_MIN_LEAD = 0.35
"""By how much the nearest word of the other side must be nearer than the nearest of the same side."""


def compare_words(found: Comparison) -> None:
    _compare_coverage(found)
    _compare_runs(found)
    _compare_causes(found)
    _compare_only(found)
    _compare_replacements(found)
    _compare_hedges(found)
    _compare_denials(found)
    for bearer in found.bearers:
        _compare_marks(found, bearer)
        _compare_negation(found, bearer)
        _compare_slots(found, bearer)
        _compare_sequence(found, bearer)


def _compare_coverage(found: Comparison) -> None:
    """Whose words these are: of the bearing sentences, of their context, of other places of the page, or of none."""
    page = found.page
    theirs = {(mark.axis, mark.side, mark.is_negated): mark for unit in found.units for mark in unit.marks}
    said_alike = {
        mark.word
        for segment in found.segments
        for mark in segment.marks
        if any(mark.axis == other.axis and is_same_side(mark, other) for other in theirs.values())
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


def _compare_runs(found: Comparison) -> None:
    """Look for the longest run of words that the bearing sentences do not have: a clause that the statement adds."""
    page = found.page
    borne = unite(unit.words for unit in found.units)
    around = borne | unite(unit.context for unit in found.units) | page.head_words
    for segment in found.segments:
        run: list[str] = []
        for word in segment.order:
            if not is_axis_word(word) and word[0] != "@":
                run = [] if word in around else [*run, word]
                found.raise_sign("run bare", page.compute_weight(run), " ".join(run))


_CAUSE = re.compile(
    r"导致|致使|因此|因而|从而|主要因|主要由于|主要受|主因|原因是|由于|得益于|"
    r"受益于|归因于|促使|造成|引发|带动|拉动|推高|意味着|表明|证明"
    r"|受.{1,14}(?:影响|带动|拖累|推动)"
    r"|\b(?:because|main(?:ly)? reason|reasons? why|main driver|mainly by|due to|thanks to|owing to"
    r"|caus(?:ed?|es|ing)|led to|leads? to|result(?:s|ed|ing)? (?:in|from)|therefore|as a result"
    r"|driven by|attribut\w+|prompt(?:ed|s|ing)|prov(?:es|ed|ing) that|mean(?:s|t|ing) that|consequently)\b",
    re.IGNORECASE,
)
_FORECAST = re.compile(
    r"预计|预期|有望|势必|必将|料将|可望|\b(?:expect\w*|forecast|predict\w*|set to|likely to|is bound to)\b",
    re.IGNORECASE,
)


def _compare_causes(found: Comparison) -> None:
    """Look for a cause, an effect or a forecast where the bearing sentences have none, as summaries add them."""
    near = {unit.number + step for unit in found.units for step in (-1, 0, 1)}
    units = found.page.units
    there = "\n".join(units[number].text for number in sorted(near) if 0 <= number < len(units))
    borne = unite(unit.words | unit.context for unit in found.units)
    for segment in found.segments:
        content = [word for word in segment.order if not is_axis_word(word)]
        bare = found.page.compute_share([word for word in content if word not in borne], content)
        if _CAUSE.search(segment.text) and _CAUSE.search(there) and len(content) > 2:
            found.raise_sign("cause other", bare, segment.text)
    for name, pattern in (("cause new", _CAUSE), ("forecast new", _FORECAST)):
        match = pattern.search(found.statement)
        if match and not pattern.search(there):
            found.raise_sign(name, 1.0, match[0])


_HEDGE = re.compile(
    r"可能|或将|或许|有望|预计|拟(?!议)|据称|涉嫌|疑似|大?约有?(?=[\d一二三四五六七八九十])|近(?=\d)|几乎|基本上?|原则上|力争|争取|目标|尚未|是否|有待|呼吁|希望|考虑|计划|打算|设想|建议|申请|如果|一旦"
    r"|\b(?:may|might|could|likely|unlikely|possib\w+|potential\w*|(?:about|approximately|nearly|almost|virtually|around)(?=\s[$£€\d])|virtually|almost"
    r"|alleged\w*|reportedly|expect\w*|seek\w*|aims?|plans?|intends?|hopes?|considering|proposed?"
    r"|whether|unless|yet to|not yet|debat\w+|could|goal of|wants? to|calls? for|called for|urg(?:ed?|es|ing))\b",
    re.IGNORECASE,
)


def _compare_hedges(found: Comparison) -> None:
    """Look whether the page hedges, as with "may", "expected to" or "nearly", where the statement asserts."""
    for bearer in found.bearers:
        share = found.page.compute_share(bearer.segment.words & bearer.part.words, bearer.segment.words)
        match = _HEDGE.search(bearer.part.text)
        if match and not _HEDGE.search(found.statement) and share > 0.4:
            found.raise_sign("hedge left", share, match[0])


def _compare_only(found: Comparison) -> None:
    """Look for an "only" that the bearing sentences do not have; before a figure it is a manner of speaking."""
    if any(mark.axis == "only" for unit in found.units for mark in unit.marks):
        return
    for mark in (mark for segment in found.segments if not segment.figures for mark in segment.marks):
        if mark.axis == "only":
            found.raise_sign("only new", 1.0, mark.word)


_REPLACING = re.compile(r"代替|取代|替代|\b(?:replac|supersed|extend)(?:es|ed|s|e)?\b", re.IGNORECASE)
_REPLACED = re.compile(r"被|\b(?:was|were|is|are|been|be)\b|\bby\b", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"[A-Z0-9][A-Za-z0-9]*[—:–/-]?\d[\w—:–-]*|[A-Z]{2,}|(?:[A-Z][a-z]+ ){1,6}[A-Z][a-z]+|(?<=《)[^》]{2,60}", re.ASCII
)


def _compare_replacements(found: Comparison) -> None:
    """Look whether the document that replaces another and the one that it replaces have changed places."""
    mine = _find_replacement(found.statement)
    for unit in found.units if mine else ():
        theirs = _find_replacement(unit.text)
        if mine and theirs and mine[0] & theirs[1] - theirs[0] and mine[1] & theirs[0] - theirs[1]:
            found.raise_sign("replacement turned", 1.0, f"{' '.join(sorted(mine[0]))} / {' '.join(sorted(theirs[0]))}")


def _find_replacement(text: str) -> tuple[set[str], set[str]] | None:
    """Return the identifiers of what replaces, and of what is replaced."""
    verb = _REPLACING.search(text)
    if verb is None:
        return None
    before, after = (set(_IDENTIFIER.findall(part)) for part in (text[: verb.start()], text[verb.end() :]))
    is_passive = bool(_REPLACED.search(text[max(verb.start() - 6, 0) : verb.start()])) or text[
        verb.end() : verb.end() + 5
    ].lstrip().startswith("by")
    return (after, before) if is_passive else (before, after)


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
        against = [
            (rate, other.word)
            for rate, other in around
            if (other.side != mark.side or mark.axis in _TURNED_BY_NEGATION)
            and not is_same_side(mark, other)
            and other.word not in _WEAK_ON_PAGE
        ]
        if mark.axis.startswith("contrast"):
            _compare_contrast(found, mark, max(against, default=(0.0, "")))
        elif against and max(against)[0] > same + _MIN_LEAD:
            rate, word = max(against)
            strength = rate + 0.1 - 0.3 * max(same, 0.0)
            if same < 0:
                strength = max(
                    strength, 0.2 + 0.6 * page.compute_share(segment.words & bearer.unit.words, segment.words)
                )
            if mark.axis == "direction" and _has_both_sides(found, mark.axis):
                strength *= 0.0 if _TURNING.search(f"{mark.word}{bearer.unit.text}") else 0.35
            found.raise_sign(f"against:{mark.axis}", strength, f"{mark.word} / {word}")
        elif around or found.is_cross_language or _is_weak(mark, segment):
            continue
        elif f"{mark.axis}.{mark.side}" in _COUNTED_WHEN_NEW:
            is_on_page = mark.side in page.sides.get(mark.axis, ())
            found.raise_sign(f"{'new' if is_on_page else 'never'}:{mark.axis}.{mark.side}", 1.0, mark.word)
    share = page.compute_share(part.words & segment.words, part.words)
    axes = {mark.axis for mark in segment.marks}
    for mark in part.marks:
        if mark.axis not in axes and share > 0.3 and f"{mark.axis}.{mark.side}" in _COUNTED_WHEN_LEFT:
            found.raise_sign(f"left:{mark.axis}.{mark.side}", share, mark.word)


_TURNING = re.compile(r"[升降涨跌增减]转[升降涨跌增减]|转为|转而")
"""A turn names both sides of a direction."""


def _is_weak(mark: Mark, segment: Segment) -> bool:
    return mark.word.lower() in _WEAK_WORDS or (mark.word == "将" and bool(_OBJECT_MARKER.search(segment.text)))


def _has_both_sides(found: Comparison, axis: str) -> bool:
    """Return whether statement and bearers each have both sides of an axis: "exports rose, imports fell"."""
    mine = {mark.side for segment in found.segments for mark in segment.marks if mark.axis == axis}
    theirs = {mark.side for unit in found.units for mark in unit.marks if mark.axis == axis}
    return len(mine) > 1 and len(theirs) > 1


def _compare_contrast(found: Comparison, mark: Mark, nearest: tuple[float, str]) -> None:
    """Look whether a word's opposite stands near its words on the page, and neither text has both."""
    mine = {other.side for segment in found.segments for other in segment.marks if other.axis == mark.axis}
    marks = [other for unit in found.units for other in unit.marks if other.axis == mark.axis]
    near = {other.side for other in marks if _compute_nearness(found.page, mark, other) > _MIN_NEARNESS}
    theirs = near or {other.side for other in marks}
    rate, word = nearest
    if len(mine) == len(theirs) == 1 and mine != theirs and rate > 0.0:
        found.raise_sign("against:contrast", rate + 0.3, f"{mark.word} / {word}")


def is_same_side(mark: Mark, other: Mark) -> bool:
    return (mark.side == other.side) == (mark.is_negated == other.is_negated)


def _compute_nearness(page: PageIndex, mark: Mark, other: Mark) -> float:
    """Return the share of the words near a mark that are near the other too."""
    return page.compute_share(mark.plain & other.near, mark.plain)


_NEGATIVE_AXES = {"permission", "answer", "founding", "validity", "burden", "truth"}
_NEGATIVE_SIDES = {"forbidden", "no", "end", "void", "free", "not", "b"}
_NEGATIVE_TEXT = re.compile(
    r"[不未无無没沒非勿否免拒禁停失缺除避]|逾期|rather than|instead of|free of|n.t\b"
    r"|\b(?:not|no|nor|never|none|neither|without|cannot|only|un[a-z]{4,}|in(?:valid|eligible|complete)"
    r"|(?:fail|refus|declin|den[yi]|reject|exclu|except|lack|stop|exempt|avoid|prevent|oppos|prohibit)[a-z]*)\b",
    re.IGNORECASE,
)


_MIN_WIDE_SHARE = 0.4
_CONTRASTING = re.compile(r"而非|而不是|并非|,\s*not\b|\brather than\b|\binstead of\b", re.IGNORECASE)


def _compare_negation(found: Comparison, bearer: Bearer) -> None:
    """Look whether the word right after a negator is affirmed by the other text, in a clause without a negation."""
    page, segment, unit = found.page, bearer.segment, bearer.unit
    affirmed = unite(other.words - other.negated for other in found.segments)
    for word in segment.negated_heads - affirmed if not _CONTRASTING.search(segment.text) else ():
        clauses = [part for part in unit.segments if word in part.words]
        if clauses and not any(map(_is_negative, clauses)):
            share = max(page.compute_share(segment.words & part.words, segment.words) for part in clauses)
            is_clean = not any(map(_is_negative, unit.segments))
            found.raise_sign("negation added", share + 0.3 * is_clean, word)
    if _is_negative(segment) or _CONTRASTING.search(found.statement):
        _compare_negated_sides(found, bearer)
        return
    for part in unit.segments:
        heads = part.negated_heads & segment.words
        if heads and not heads <= unit.affirmed:
            share = page.compute_share(segment.words & part.words, segment.words)
            found.raise_sign("negation lost", share + 0.3, " ".join(sorted(heads)))
        wide = {word for word in part.negated & segment.words - unit.affirmed if not is_axis_word(word)}
        share = page.compute_share(wide, segment.words)
        if share > _MIN_WIDE_SHARE:
            found.raise_sign("negation lost", share, " ".join(sorted(wide)))


def _compare_denials(found: Comparison) -> None:
    """Look whether one text denies something and the other, which is as near as can be, denies nothing at all."""
    page, units = found.page, found.page.units
    is_negative = any(_has_denial(segment) or _is_negative(segment) for segment in found.segments)
    for bearer in found.bearers:
        segment, part, unit = bearer.segment, bearer.part, bearer.unit
        if not is_negative and _has_denial(part) and not _QUOTED_DENIAL.search(part.text):
            share = page.compute_share(segment.words & part.words, segment.words)
            found.raise_sign("denial left", share, part.text)
        if _has_denial(segment):
            around = units[max(unit.number - 1, 0) : unit.number + 2]
            if not any(_is_negative(piece) for other in around for piece in other.segments):
                share = page.compute_share(segment.words & unit.words, segment.words)
                found.raise_sign("denial new", share, segment.text)


_QUOTED_DENIAL = re.compile(r"[“《][^”》]{0,40}[不未没无非]")
_DENIED_SIDES = {("permission", "forbidden"), ("answer", "no"), ("truth", "not")}


def _has_denial(segment: Segment) -> bool:
    return NEGATION_KEY in segment.keys or any((mark.axis, mark.side) in _DENIED_SIDES for mark in segment.marks)


def _compare_negated_sides(found: Comparison, bearer: Bearer) -> None:
    """Look whether each text negates what the other affirms: "in office, not in private", and the other way round."""
    mine, heads = (unite(getattr(s, name) for s in found.segments) for name in ("negated", "negated_heads"))
    affirmed = unite(segment.words - segment.negated for segment in found.segments)
    unit = bearer.unit
    turned = heads & unit.affirmed - unit.negated
    back = unite(part.negated_heads for part in unit.segments) & affirmed - mine
    if turned and back:
        share = found.page.compute_share(turned | back, found.words)
        found.raise_sign("negation lost", 0.3 + share, f"{' '.join(sorted(turned))} / {' '.join(sorted(back))}")


_BOUND_WORDS = re.compile(
    r"不[得应能]?(?:低于|少于|小于|短于|早于|高于|多于|大于|长于|晚于|超过|超出)"
    r"|\b(?:no|not) (?:less|fewer|more|greater|higher|lower|longer|later|earlier) than|\bnot (?:to )?exceed(?:ing)?",
    re.IGNORECASE,
)


def _is_negative(segment: Segment) -> bool:
    return bool(_NEGATIVE_TEXT.search(_BOUND_WORDS.sub("", segment.text))) or any(
        mark.is_negated or (mark.axis in _NEGATIVE_AXES and mark.side in _NEGATIVE_SIDES) for mark in segment.marks
    )


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


_BENIGN = re.compile(
    r"[我本该其此他她它们]|表示|指出|介绍|强调|透露|认为|提出|明确|规定|要求|通知|文件|公告|报告|意见|办法|发布|印发|以及|同时|分别|其中|根据|按照|有关|相关"
    r"|\b(?:we|our|us|i|my|he|his|she|her|they|their|it|its|said|says|say|told|added|noted|stated|announced|according"
    r"|which|who|will|would|also|company|department|report|rules?|document|notice|about|approximately|around|when|under)\b",
    re.IGNORECASE,
)


def _compare_slots(found: Comparison, bearer: Bearer) -> None:
    """Align the words of a segment with those of its unit: what stands in the place of something else."""
    texts = [text for piece in bearer.unit.segments for text in piece.texts]
    keys = [key for piece in bearer.unit.segments for key in piece.keys]
    codes = SequenceMatcher(None, bearer.segment.keys, keys, autojunk=False).get_opcodes()
    share = found.page.compute_share(bearer.segment.words & bearer.unit.words, bearer.segment.words)
    for place, (kind, start, end, their_start, their_end) in enumerate(codes):
        beside = [codes[other] for other in (place - 1, place + 1) if 0 <= other < len(codes)]
        flanks = [code[2] - code[1] for code in beside if code[0] == "equal"]
        flank = sum(flanks)
        said = [text for text in bearer.segment.texts[start:end] if text not in _FUNCTION_WORDS]
        there = [text for text in texts[their_start:their_end] if text not in _FUNCTION_WORDS]
        if kind not in ("replace", "insert", "delete") or not said or flank < 3:
            continue
        joined, other = _join(said), _join(there)
        if any(char.isdigit() for char in joined):
            continue
        is_benign = bool(_BENIGN.search(joined) or _BENIGN.search(other)) or _is_variant(joined, other)
        is_known = all(word in bearer.unit.text for word in said)
        if len(there) <= len(said) + 4 and there and not is_benign and not is_known:
            sides = {(mark.axis, mark.side) for mark in bearer.unit.marks}
            if any(
                mark.word in joined
                for mark in bearer.segment.marks
                if not mark.axis.startswith((*_SILENT_AXES, "contrast")) and (mark.axis, mark.side) not in sides
            ):
                found.raise_sign("slot marked", share, f"{joined} / {other}")
            if len(flanks) == 2:
                found.raise_sign("slot taken", share, f"{joined} / {other}")
        if kind == "replace" and len(there) <= len(said) + 4:
            is_elsewhere = len(joined) > 1 and joined.lower() in found.page.lowered
            state = "foreign" if is_elsewhere else "variant" if _is_variant(joined, other) else "novel"
            strength = 0.3 + min(flank, 10) / 10 if len(joined) > 1 else 0.2
            found.raise_sign(f"slot {state}", strength, f"{joined} / {other}")


def _is_variant(said: str, there: str) -> bool:
    """Return whether two expressions have a character, or in English the beginning of a word, in common."""
    if not said.isascii():
        return bool(set(said) & set(there))
    return bool({word[:4].lower() for word in said.split()} & {word[:4].lower() for word in there.split()})


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
    lengths: list[int] = []
    previous: list[int] = []
    for number, place in enumerate(places):
        best = max((i for i in range(number) if places[i] < place), key=lengths.__getitem__, default=-1)
        lengths.append(lengths[best] + 1 if best >= 0 else 1)
        previous.append(best)
    longest: set[int] = set()
    last = max(range(len(places)), key=lengths.__getitem__, default=-1)
    while last >= 0:
        longest.add(last)
        last = previous[last]
    return longest
