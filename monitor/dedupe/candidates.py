"""Which items are compared: those that share a key, and of many that do, those that stand side by side in its order.

Every index gives an item a bounded number of partners, however many items there are: the pairs grow as the items do.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from monitor.dedupe.identity import DocumentIdentity
from monitor.dedupe.titles import strip_document_form

_MAX_BLOCK_ITEMS = 24  # of which every two are compared; of more, no more pairs an item
_MAX_TEXT_BLOCK_ITEMS = 5
_MAX_NEIGHBOURS = 10
_MAX_TEXT_NEIGHBOURS = 3
_MIN_TITLE_CHARS = 4
_ANCHOR_CHARS = 12
_ANCHOR_EVERY, _ANCHOR_EVERY_SHORT = 16, 4  # the anchors of a long text are among those that a short one would have
_SHORT_TEXT_CHARS = 150
_MAX_ANCHORED_CHARS = 600
_CONTINUED_CHARS = 200
_MAX_LEAD_CHARS = 200
IndexPair = tuple[int, int]
Identities = Sequence[DocumentIdentity]


def find_candidate_pairs(identities: Identities) -> list[IndexPair]:
    """Return the pairs that may be one document, or a policy and its interpretation, each once, in their order."""
    pairs = {
        *_iter_pairs_of_keys(identities),
        *_iter_pairs_of_beginnings(identities),
        *_iter_pairs_of_endings(identities),
        *_iter_pairs_of_texts(identities),
    }
    return sorted(pairs)


def _order(one: int, other: int) -> IndexPair:
    return (one, other) if one < other else (other, one)


def _iter_pairs_of_keys(identities: Identities) -> Iterator[IndexPair]:
    """Yield the pairs of one address, one name or one number: of many, those close in time, in title or in text."""
    blocks: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, identity in enumerate(identities):
        for key in set(_iter_keys(identity)):
            blocks[key].append(index)
    for members in blocks.values():
        if len(members) <= _MAX_BLOCK_ITEMS:
            yield from combinations(members, 2)
        else:
            yield from _iter_neighbours(members, lambda index: _build_time_key(identities[index]), _MAX_NEIGHBOURS)
            yield from _iter_neighbours(members, lambda index: identities[index].text, _MAX_TEXT_NEIGHBOURS)


def _iter_keys(identity: DocumentIdentity) -> Iterator[tuple[str, str]]:
    title = identity.title
    yield "address", identity.address
    for body in (title.body, title.full, title.name, identity.subject, strip_document_form(title.body)):
        if body:
            yield "body", body
    if identity.number:
        yield "number", f"{identity.number.year} {identity.number.serial}"


def _iter_neighbours(members: Sequence[int], get_key: Callable[[int], object], count: int) -> Iterator[IndexPair]:
    """Yield each with so many that follow it in the order of the key."""
    in_order = sorted(members, key=get_key)  # type: ignore[arg-type]
    for place, first in enumerate(in_order):
        for other in in_order[place + 1 : place + 1 + count]:
            yield _order(first, other)


def _build_time_key(identity: DocumentIdentity) -> tuple[dt.date, str, str, str]:
    return identity.day or dt.date.min, identity.title.full, identity.address, identity.text[:_CONTINUED_CHARS]


def _iter_pairs_of_beginnings(identities: Identities) -> Iterator[IndexPair]:
    """Yield each truncated title with those that begin with it, which follow it in their order."""
    if not any(identity.title.is_truncated for identity in identities):
        return
    entries = [
        (title, index)
        for index, identity in enumerate(identities)
        for title in {identity.title.full, identity.title.head}
        if len(title) >= _MIN_TITLE_CHARS
    ]
    yield from _iter_extensions(entries, lambda index: identities[index].title.is_truncated)


def _iter_pairs_of_endings(identities: Identities) -> Iterator[IndexPair]:
    """Yield each title with those that have something before it, as the name of an office."""
    entries = [(identity.title.full[::-1], index) for index, identity in enumerate(identities)]
    yield from _iter_extensions([entry for entry in entries if len(entry[0]) >= _MIN_TITLE_CHARS], lambda _: True)


def _iter_extensions(entries: list[tuple[str, int]], is_meant: Callable[[int], bool]) -> Iterator[IndexPair]:
    """Yield each that is meant with the nearest whose words begin with its own."""
    entries.sort()
    for place, (words, index) in enumerate(entries):
        if is_meant(index):
            for longer, other in entries[place + 1 : place + 1 + _MAX_NEIGHBOURS]:
                if not longer.startswith(words):
                    break
                if other != index:
                    yield _order(index, other)


def _iter_pairs_of_texts(identities: Identities) -> Iterator[IndexPair]:
    """Yield the pairs that share a piece of the text at a place that the text itself sets.

    What copies share begins near the beginning of one of them. Of many that share a piece, those are compared which go
    on alike behind it.
    """
    blocks: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for index, identity in enumerate(identities):
        for place in _list_anchors(identity.text):
            blocks[identity.text[place : place + _ANCHOR_CHARS]].setdefault(index, place)
    for places in blocks.values():
        if len(places) == 1:
            continue
        pairs: Iterator[IndexPair] = combinations(places, 2)
        if len(places) > _MAX_TEXT_BLOCK_ITEMS:
            ends = {index: identities[index].text[place : place + _CONTINUED_CHARS] for index, place in places.items()}
            pairs = _iter_neighbours(list(places), ends.__getitem__, _MAX_TEXT_NEIGHBOURS)
        for first, other in pairs:
            if min(places[first], places[other]) <= _MAX_LEAD_CHARS:
                yield _order(first, other)


def _list_anchors(text: str) -> list[int]:
    opening = text[:_MAX_ANCHORED_CHARS]
    every = _ANCHOR_EVERY_SHORT if len(opening) < _SHORT_TEXT_CHARS else _ANCHOR_EVERY
    return [place for place, char in enumerate(opening) if not ord(char) % every]
