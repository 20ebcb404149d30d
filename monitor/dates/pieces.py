"""Days over several short texts: cards show the day apart from year and month."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby

from monitor.dates.partial import PartialDate, SpanSet, WrittenDate

_HAS_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_MAX_PIECE_CHARS = 40
_MAX_LETTERS_BESIDE = 6


def find_days_in_pieces(
    parts: Sequence[str], stated: Mapping[int, PartialDate], find: Callable[[str], list[WrittenDate]]
) -> list[WrittenDate]:
    """Return the days of the texts in order, with their spans in `" ".join(parts)`: those within one, or over several.

    `find` returns those of one text; `stated` are the days of texts by their place, whatever these say.
    """
    starts = [0, *accumulate(len(part) + 1 for part in parts)]
    found: list[WrittenDate] = []
    for place, part in enumerate(parts):
        if place in stated:
            found.append(WrittenDate(part, starts[place], starts[place] + len(part), "machine", stated[place]))
        else:
            found.extend(_shift(day, starts[place]) for day in find(part))
    joined = " ".join(parts)
    for first, last in _list_runs(parts, found, starts):
        days = (_shift(day, starts[first]) for day in find(joined[starts[first] : starts[last + 1] - 1]))
        days_over = [day for day in days if _fills_texts(day, starts, joined)]
        if not days_over:
            continue
        # Over several texts a day may find the year that its own text lacks.
        found = [day for day in found if not any(_completes(other, day) for other in days_over)]
        taken = SpanSet(len(joined))
        for day in found:
            taken.take(day.start, day.end)
        found += [day for day in days_over if taken.is_free(day.start, day.end)]
    return sorted(found, key=lambda day: day.start)


def _list_runs(parts: Sequence[str], found: Sequence[WrittenDate], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of neighbouring short texts that may form a date together."""
    dated = {bisect_right(starts, day.start) - 1 for day in found if day.year is not None}
    pieces = [place not in dated and len(part) <= _MAX_PIECE_CHARS for place, part in enumerate(parts)]
    for is_piece, group in groupby(range(len(parts)), key=pieces.__getitem__):
        run = list(group)
        if is_piece and len(run) >= 2 and any(_HAS_DIGIT.search(parts[place]) for place in run):
            yield run[0], run[-1]


def _fills_texts(day: WrittenDate, starts: Sequence[int], joined: str) -> bool:
    """Whether a day over several texts leaves hardly a word of them, as one that ends in a title does not."""
    before = joined[starts[bisect_right(starts, day.start) - 1] : day.start]
    behind = joined[day.end : starts[bisect_right(starts, day.end - 1)]]
    return len(_LETTER.findall(before)) + len(_LETTER.findall(behind)) <= _MAX_LETTERS_BESIDE


def _completes(day: WrittenDate, other: WrittenDate) -> bool:
    return other.year is None and day.year is not None and day.start < other.end and other.start < day.end


def _shift(day: WrittenDate, offset: int) -> WrittenDate:
    return WrittenDate(day.written, day.start + offset, day.end + offset, day.form, day.value) if offset else day
