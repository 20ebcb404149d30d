"""Whether a summary rests on the page: every number and date in it must stand in the page's text."""

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from monitor.evidence.calendar_dates import with_carried_years
from monitor.evidence.figures import Figure, read_figures
from monitor.evidence.units import NO_UNIT, PERCENT, agree

_FALLING = (
    *("降", "减", "跌", "负", "回落", "下滑", "收窄", "亏"),
    *("fell", "fall", "declin", "decreas", "drop", "down", "lower", "reduc", "cut", "minus", "loss"),
)


def ungrounded_numbers(summary: str, text: str) -> list[str]:
    """The numbers and dates of a summary that its page does not have, as the summary writes them; [] when it is sound.

    Compared are values, not spellings: width, thousands separators, percent signs and words, 万 and 亿, million and
    billion, Chinese numerals and units of one kind are folded (contracts, section 4). A number counts only as a whole
    token with a unit that agrees: 30 does not rest on 2030 or 1.30, 5% not on 5万, 3元 not on 3美元. A date may say
    less than the page's, never more; the year may come from the last date before it. A minus needs a minus or a word
    of falling on the other side.
    """
    claimed = read_figures(summary, is_page=False)
    seen = read_figures(text, is_page=True)
    dates = with_carried_years(list(seen.dates))
    missing = [date.written for date in claimed.dates if not any(date.rests_on(other) for other in dates)]
    by_value = _by_value(seen.figures)
    page_has_percent = "%" in text or "％" in text
    is_falling_there, is_falling_here = _tells_of_falling(text), _tells_of_falling(summary)
    for figure in claimed.figures:
        bearers = [
            other
            for value, kind in figure.readings
            for other, other_kind in by_value.get(value, ())
            if agree(kind, other_kind) or (page_has_percent and _is_column_of_percents(kind, other, other_kind))
        ]
        if not any(
            figure.is_negative == other.is_negative or (is_falling_there if figure.is_negative else is_falling_here)
            for other in bearers
        ):
            missing.append(figure.written)
    return list(dict.fromkeys(missing))


def _by_value(figures: Iterable[Figure]) -> dict[Fraction, list[tuple[Figure, str]]]:
    index: dict[Fraction, list[tuple[Figure, str]]] = defaultdict(list)
    for figure in figures:
        for value, kind in figure.readings:
            index[value].append((figure, kind))
    return index


def _is_column_of_percents(claimed: str, other: Figure, other_kind: str) -> bool:
    # Statistical tables print the sign once, in the head of the column; decimals make an accident unlikely.
    return claimed == PERCENT and other_kind == NO_UNIT and other.has_decimals


def _tells_of_falling(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _FALLING)
