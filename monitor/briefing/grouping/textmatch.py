"""Whether two texts are one text in two places: the same but for what a copier puts before, behind and between."""

import re
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from rapidfuzz.distance import Indel

from monitor.briefing.grouping.folding import core, folded

_MAX_CHARS = 1500  # the opening tells documents apart
_LEAST_CHARS = 24
_LEAST_SHARE = 0.6
_LONG_CHARS = 300
_WORDS_BETWEEN = 8
_PIECES = 12
_PIECE_CHARS = 8
_LEAST_PIECES = 3
_CREDIT = re.compile(
    r"(?:信息|文章|稿件)?(?:来源|发布时间|发布日期|责任编辑|编辑|作者|记者|审核|校对|浏览次数|阅读次数|字号|分享到)\s?[:(][^\s。]{0,20}"
)

_PAGE = re.compile(
    r"^[ \t]*(?:[-—–]+ ?\d{1,3} ?[-—–]+|第 ?\d{1,3} ?页(?:[ ,，/]*共 ?\d{1,3} ?页)?|page \d{1,3}(?: of \d{1,3})?)"
    r"[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)


class Verdict(Enum):
    """What comparing two texts came to."""

    AGREE = "agree"
    CLASH = "clash"  # one form, filled in differently
    APART = "apart"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict, what both texts share in one piece, and whether a letter or two differ in or around it."""

    verdict: Verdict
    shared: str = ""
    has_slips: bool = False


def comparable(text: str | None) -> str:
    """A text as it is compared: its opening, folded, letters and digits alone, without credits and page numbers."""
    opening = _PAGE.sub(" ", (text or "")[: 2 * _MAX_CHARS])
    return core(_CREDIT.sub(" ", folded(opening)))[:_MAX_CHARS]


def compare(one: str, other: str) -> Comparison:
    """Compare two texts in the form of `comparable`.

    They agree where the greater part of the shorter one stands in the other without a gap that is filled differently.
    A copier adds at one end or cuts at one: where both have something else before or behind what they share, or
    another figure or name within it, they are one form filled in twice.
    """
    if len(one) < _LEAST_CHARS or len(other) < _LEAST_CHARS:
        return Comparison(Verdict.UNKNOWN)
    shorter, longer = sorted((one, other), key=lambda text: (len(text), text))
    if shorter in longer:
        return Comparison(Verdict.AGREE, shorter)
    blocks = _long_blocks(shorter, longer)
    matched = sum(size for _, _, size in blocks)
    if matched < max(_LEAST_CHARS / 2, 0.25 * len(shorter)):
        return Comparison(Verdict.APART)
    first, last = blocks[0], blocks[-1]
    ends = last[0] + last[2], last[1] + last[2]
    edges = ((shorter[: first[0]], longer[: first[1]]), (shorter[ends[0] :], longer[ends[1] :]))
    gaps = [
        (shorter[a + size : next_a], longer[b + size : next_b])
        for (a, b, size), (next_a, next_b, _) in pairwise(blocks)
    ]
    slips = sum(_is_slip(gap) for gap in gaps)
    edge = max(min(map(len, edge)) for edge in edges)
    if edge > _allowed_edge(matched) or any(not _is_harmless(gap) for gap in gaps):
        return Comparison(Verdict.CLASH)
    if slips > 1 + len(shorter) // 200:
        return Comparison(Verdict.CLASH)
    if matched < max(_LEAST_CHARS, _LEAST_SHARE * len(shorter)):
        return Comparison(Verdict.UNKNOWN)
    return Comparison(Verdict.AGREE, shorter[first[0] : ends[0]], slips > 0 or edge > 2)


def may_agree(one: str, other: str) -> bool:
    """Whether two texts can agree at all, told cheaply: some pieces of the shorter one stand in the other."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _LEAST_CHARS:
        return False
    if len(shorter) < _PIECES * _PIECE_CHARS:
        return True
    return sum(_piece(shorter, place) in longer for place in _piece_places(shorter)) >= _LEAST_PIECES


def figures_in(text: str) -> frozenset[str]:
    """The numbers of a text but years and single digits: what a form is filled in with."""
    numbers = re.findall(r"\d+(?:\.\d+)*", text)
    return frozenset(number for number in numbers if len(number) > 1 and not re.fullmatch(r"(?:19|20)\d\d", number))


def _long_blocks(shorter: str, longer: str) -> list[tuple[int, int, int]]:
    """The long pieces that both texts have, in their order: place in the shorter, place in the longer, length.

    The shorter text is aligned with the part of the longer that its pieces stand in: alignment with the whole of a text
    that is much longer would find its letters all over it.
    """
    least = 6 if _is_wide(shorter) else 14
    start, end = _window(shorter, longer)
    blocks: list[tuple[int, int, int]] = []
    for op in Indel.opcodes(shorter, longer[start:end]):
        if op.tag == "equal" and op.src_end - op.src_start >= least:
            a, b, size = op.src_start, op.dest_start + start, op.src_end - op.src_start
            floor_a, floor_b = (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]) if blocks else (0, 0)
            while a > floor_a and b > floor_b and shorter[a - 1] == longer[b - 1]:
                a, b, size = a - 1, b - 1, size + 1
            blocks.append((a, b, size))
    return blocks


def _window(shorter: str, longer: str) -> tuple[int, int]:
    """Where in the longer text the shorter one may stand, by the places of its pieces; all of it where that is open."""
    shifts = [found - place for place in _piece_places(shorter) if (found := longer.find(_piece(shorter, place))) >= 0]
    if len(shifts) < _LEAST_PIECES:
        return 0, len(longer)
    margin = len(shorter) // 4
    return max(0, min(shifts) - margin), max(shifts) + len(shorter) + margin


def _piece_places(text: str) -> range:
    return range(0, len(text) - _PIECE_CHARS + 1, max(1, (len(text) - _PIECE_CHARS) // (_PIECES - 1)))


def _piece(text: str, place: int) -> str:
    return text[place : place + _PIECE_CHARS]


def _allowed_edge(matched: int) -> int:
    """What both texts may have for themselves before or behind: beside a long shared text, a line of the site's."""
    return 2 if matched < _LONG_CHARS else matched // 25


def _is_wide(text: str) -> bool:
    return len(text.encode()) > 2 * len(text)


def _is_slip(gap: tuple[str, str]) -> bool:
    one, other = gap
    return bool(one and other) or len(one + other) > _WORDS_BETWEEN


def _is_harmless(gap: tuple[str, str]) -> bool:
    """A letter mistyped, or words that only one has and that hold no figure."""
    one, other = gap
    if any(map(str.isdigit, one + other)):
        return False
    return max(len(one), len(other)) <= 2 if one and other else len(one + other) <= 4 * _WORDS_BETWEEN
