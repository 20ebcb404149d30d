"""Of a long page, the passages that a paragraph can use: whole sentences, word for word, in the page's order."""

from collections.abc import Sequence

from monitor.domain.terms import folded
from monitor.evidence.sentences import split_sentences
from monitor.evidence.vocabulary import words_of

GAP = "…"
"""The line between two passages that are not neighbours on the page; no quote may span it."""

_LEAD = 3
_LEAD_BONUS = 2


def passages_of(text: str, wanted: str, max_chars: int) -> str:
    """The text itself where it is short enough, else its sentences that hold most of what is wanted.

    A sentence counts the words and pairs of characters of `wanted` that stand in it, and two more if it is among the
    first three, where pages say what they are about. Chosen sentences that are neighbours stand as they do on the page.
    """
    if len(text) <= max_chars:
        return text
    keys = words_of(wanted)
    sentences = [
        (number, sentence) for number, line in enumerate(text.splitlines()) for sentence in split_sentences(line)
    ]
    scores = [
        sum(key in plain for key in keys) + _LEAD_BONUS * (place < _LEAD)
        for place, plain in enumerate(folded(one) for _, one in sentences)
    ]
    chosen: set[int] = set()
    room = max_chars
    for place in sorted(range(len(sentences)), key=lambda place: (-scores[place], place)):
        needed = len(sentences[place][1]) + len(GAP) + 2
        if needed <= room:
            chosen.add(place)
            room -= needed
    return _joined(sentences, sorted(chosen))


def shares_of(lengths: Sequence[int], room: int) -> list[int]:
    """How much of the room each text gets: what it needs, and where there is too little, all the same at most."""
    shares = [0] * len(lengths)
    left = len(lengths)
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        shares[place] = min(lengths[place], room // left)
        room -= shares[place]
        left -= 1
    return shares


def _joined(sentences: Sequence[tuple[int, str]], chosen: Sequence[int]) -> str:
    pieces: list[str] = []
    for before, place in zip([None, *chosen], chosen, strict=False):
        line, sentence = sentences[place]
        if before is None:
            gap = f"{GAP}\n" if place else ""
        elif place != before + 1:
            gap = f"\n{GAP}\n"
        elif line != sentences[before][0]:
            gap = "\n"
        else:
            gap = " " if pieces[-1][-1:].isascii() else ""
        pieces.append(gap + sentence)
    return "".join(pieces)
