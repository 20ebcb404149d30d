"""Every reader takes time that grows with the length of its text alone, whatever piece the text repeats.

Processor time counts, of a process of its own. A reader that is fast in the longest of three lengths passes; of another
one the times of all three tell how it grows. `make soak` measures the lengths of real attacks.
"""

from collections.abc import Iterator

import pytest

from tests.scaling.atoms import ATOMS
from tests.scaling.laboratory import Case, Laboratory
from tests.scaling.readers import READERS

MAX_GROWTH = 2.6
"""Of the time with each doubling of a text: 2 in theory, and what caches and the collector add."""

MAX_S_OF_500_KB = 1.0
SLOW_READERS = {
    **dict.fromkeys(("page of an article", "page of paragraphs", "title and metadata", "sentences"), 4.0),
    **dict.fromkeys(("dates", "dates of lists", "masked dates", "injection", "injected lines", "citations"), 4.0),
    **dict.fromkeys(("page", "list of many rows", "list and what is between", "periods"), 8.0),
    **dict.fromkeys(("figures of a page", "figures of a summary", "grounding", "particulars"), 16.0),
    **dict.fromkeys(("clauses", "judge: page", "judge: statement"), 30.0),
}
"""Readers that do so much for each character that they take longer, with the seconds that they may take: twice what
they took when this was written. Their time grows with the length all the same."""

_SHORT_CHARS, _SHORT_FLOOR_S = 1_000, 0.1
_CHARS_BY_READER = {"judge: page": 100, "judge: statement": 100}  # so much do they do for each
_SHARE = 8
"""Of the atoms a reader meets one in so many in the suite; each is met by many readers, and all by all in the soak."""

_LONG_CHARS, _LONG_FLOOR_S = 125_000, 0.2
_REPEATS = 3


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    laboratory = Laboratory(limit_s=5)
    yield laboratory
    laboratory.close()


@pytest.fixture(scope="module")
def long_laboratory() -> Iterator[Laboratory]:
    laboratory = Laboratory(limit_s=60)
    yield laboratory
    laboratory.close()


def test_there_are_enough_atoms_and_readers() -> None:
    assert len(ATOMS) >= 60
    assert len({atom.name for atom in ATOMS}) == len(ATOMS)
    assert len(READERS) >= 50


@pytest.mark.timeout(900)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_takes_time_that_grows_with_the_length_of_its_text(laboratory: Laboratory, reader: str) -> None:
    chars = _CHARS_BY_READER.get(reader, _SHORT_CHARS)
    # What has a limit may grow faster up to it, as with the depth of markup: then a longer text takes no longer.
    faults = [
        fault
        for atom in ATOMS[list(READERS).index(reader) % _SHARE :: _SHARE]
        if _find_growth(laboratory, reader, atom.name, chars, _SHORT_FLOOR_S)
        and (fault := _find_growth(laboratory, reader, atom.name, 4 * chars, _SHORT_FLOOR_S))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_ends_soon_with_half_a_megabyte(long_laboratory: Laboratory, reader: str) -> None:
    faults = []
    for atom in ATOMS:
        spent = long_laboratory.measure(Case(reader, atom.name, 4 * _LONG_CHARS))
        if spent is None or spent > SLOW_READERS.get(reader, MAX_S_OF_500_KB):
            faults.append(f"{reader} × {atom.name}: {spent} s")
        elif fault := _find_growth(long_laboratory, reader, atom.name, _LONG_CHARS, _LONG_FLOOR_S):
            faults.append(fault)
    assert not faults, "\n".join(faults)


def _find_growth(laboratory: Laboratory, reader: str, atom: str, chars: int, floor_s: float) -> str | None:
    """Return how the time of a reader grows, if it grows too fast from `chars` to four times as many; else None."""
    longest = laboratory.measure(Case(reader, atom, 4 * chars))
    if longest is not None and longest < floor_s:
        return None
    times = [laboratory.measure(Case(reader, atom, length, _REPEATS)) for length in (chars, 2 * chars, 4 * chars)]
    first, last = times[0], times[-1]
    if first is None or last is None:
        return f"{reader} × {atom}: {times} s, which is over the limit"
    if last < floor_s or last <= MAX_GROWTH**2 * first:
        return None
    return f"{reader} × {atom}: " + ", ".join(f"{time:.3f} s" for time in times if time is not None)
