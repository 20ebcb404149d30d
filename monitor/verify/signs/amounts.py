"""Signs in the figures, dates and periods of a statement: whose they are, and in what bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from monitor.verify.clauses import Segment
from monitor.verify.signs.page import Bearer, Comparison, PageUnit
from monitor.verify.units import YEAR, NumericFigure


class _Amount(Protocol):
    @property
    def written(self) -> str: ...


@dataclass
class _Rivalry:
    """How near the page's places of an amount are to what the statement says of it, beside those of others."""

    own: float | None = None
    own_near: float = 0.0
    swapped: float = 0.0
    rival: float = 0.0
    rival_text: str = ""


def compare_amounts(found: Comparison) -> None:
    for segment in found.segments:
        for figure in segment.figures:
            _compare_figure(found, segment, figure)
        for date in segment.dates:
            others = [other for piece in found.segments for other in piece.dates if other is not date]
            rivalry = _Rivalry()
            for unit, part in found.page.parts_with_amounts:
                # What is of one value is compared once.
                values = dict.fromkeys(other.value for other in part.dates)
                own = {value for value in values if value.covers(date.value)}
                for value in values:
                    is_said = any(value.covers(third.value) for third in others)
                    _rate(found, segment, unit, part, rivalry, is_own=value in own, is_said=is_said, is_here=bool(own))
            rivals = [other.written for unit in found.units for part in unit.segments for other in part.dates]
            is_borne = any(other.covers(date) for unit in found.units for part in unit.segments for other in part.dates)
            _raise_signs(found, "date", date.written, rivalry, rivals=rivals, is_borne=is_borne)
    for bearer in found.bearers:
        _compare_periods(found, bearer)
        _compare_bounds(found, bearer)


def _compare_figure(found: Comparison, segment: Segment, figure: NumericFigure) -> None:
    said = {value for piece in found.segments for other in piece.figures for value, _ in other.readings}
    rivalry = _Rivalry()
    equal = found.page.list_equal_figures(figure)
    places, own = {id(part) for _, part, _ in equal}, {id(other) for _, _, other in equal}
    for unit, part in found.page.parts_with_amounts:
        is_here = id(part) in places
        kinds: set[tuple[bool, bool]] = set()
        for other in part.figures:
            is_own, is_said = id(other) in own, any(value in said for value, _ in other.readings)
            # Figures of a part that are alike in both rate alike.
            if (is_own, is_said) not in kinds and (is_own or is_said or figure.is_comparable_to(other)):
                kinds.add((is_own, is_said))
                _rate(found, segment, unit, part, rivalry, is_own=is_own, is_said=is_said, is_here=is_here)
    borne = [other for unit in found.units for part in unit.segments for other in part.figures]
    is_borne = any(id(other) in own for other in borne)
    rivals = [other.written for other in borne if figure.is_comparable_to(other)]
    _raise_signs(found, "figure", figure.written, rivalry, rivals=rivals, is_borne=is_borne)


def _rate(
    found: Comparison,
    segment: Segment,
    unit: PageUnit,
    part: Segment,
    rivalry: _Rivalry,
    *,
    is_own: bool,
    is_said: bool,
    is_here: bool,
) -> None:
    words = frozenset(word for word in segment.words if word[0] != "@") if segment.dates else segment.words
    near = found.page.compute_share(words & part.words, words)
    score = near + 0.6 * found.page.compute_share(found.words & (unit.words | unit.context), found.words)
    if is_own:
        rivalry.own = max(rivalry.own or 0.0, score)
        rivalry.own_near = max(rivalry.own_near, near)
    elif is_said:
        rivalry.swapped = max(rivalry.swapped, 0.0 if is_here else near)
    elif not is_here and score > rivalry.rival:
        rivalry.rival, rivalry.rival_text = score, part.text


def _raise_signs(
    found: Comparison, kind: str, written: str, rivalry: _Rivalry, *, rivals: Sequence[str], is_borne: bool
) -> None:
    if rivalry.own is None:
        return
    found.raise_sign(f"{kind} rival", max(rivalry.rival - rivalry.own, -0.5) + 0.5, f"{written} / {rivalry.rival_text}")
    found.raise_sign(f"{kind} swapped", rivalry.swapped - rivalry.own_near, written)
    found.raise_sign(f"{kind} apart", 1.6 - rivalry.own, written)
    if not is_borne:
        found.raise_sign(f"{kind} {'other' if rivals else 'elsewhere'}", 1.0, f"{written} / {', '.join(rivals[:2])}")


def _compare_periods(found: Comparison, bearer: Bearer) -> None:
    said = {word for word in bearer.segment.words if word[0] == "@"}
    there = {word for word in bearer.unit.words | bearer.unit.context if word[0] == "@"}
    for word in said - there:
        rivals = sorted(other[1:] for other in there if other[1] == word[1])
        found.raise_sign("period other" if rivals else "period new", 1.0, f"{word[1:]} / {' '.join(rivals)}")


def _compare_bounds(found: Comparison, bearer: Bearer) -> None:
    """Compare the bounds and directions that stand right beside equal figures."""
    segment = bearer.segment
    for figure in segment.figures:
        if any(kind == YEAR for _, kind in figure.readings):
            continue
        theirs = [
            _find_sides(piece, other)
            for unit, piece, other in found.page.list_equal_figures(figure)
            if (unit is bearer.unit or found.page.compute_share(segment.words & piece.words, segment.words) >= 0.4)
        ]
        if not theirs:
            continue
        mine = _find_sides(segment, figure)
        for axis in ("bound", "direction"):
            sides = {sides[axis] for sides in theirs if axis in sides}
            if axis in mine and sides and mine[axis] not in sides:
                found.raise_sign(f"figure {axis}", 1.0, figure.written)
            elif axis == "bound" and (axis in mine) != bool(sides):
                found.raise_sign("figure bound new" if axis in mine else "figure bound left", 1.0, figure.written)


def _find_sides(segment: Segment, figure: NumericFigure) -> dict[str, str]:
    """Return the sides of the nearest bound and direction right before a figure, or of a bound right after it."""
    text, place = segment.text.lower(), segment.text.find(figure.written)
    nearest: dict[str, tuple[int, str]] = {}
    for mark in segment.marks if place >= 0 else ():
        if mark.axis not in ("bound", "direction"):
            continue
        word, end = mark.word.lower(), place + len(figure.written)
        before = text.rfind(word, max(place - (30 if word.isascii() else 12), 0), place)
        after = text.find(word, end, end + 6) if mark.axis == "bound" else -1
        distance = place - before if before >= 0 else after - end if after >= 0 else None
        if distance is not None and distance < nearest.get(mark.axis, (1000, ""))[0]:
            nearest[mark.axis] = (distance, f"{'not ' if mark.is_negated else ''}{mark.side}")
    return {axis: side for axis, (_, side) in nearest.items()}
