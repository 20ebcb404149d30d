"""Whether two texts are copies: the same but for what a copier adds before, behind and between."""

import re
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from rapidfuzz.distance import Indel

from monitor.dedupe.numbers import keep_alphanumerics, normalize_text

_MAX_CHARS = 1500  # the opening tells documents apart
MAX_READ_CHARS = 2 * _MAX_CHARS
"""How much of a text is read at all."""

_USUALLY_READ_CHARS = 2000  # of most texts this gives what is compared
_MARGIN_CHARS = 100  # a cut changes no more than what is just before it
_MIN_CHARS = 24
_MIN_SHARE = 0.6
_LONG_CHARS = 300
_MAX_GAP_CHARS = 8
_SAMPLE_PIECES = 12
_PIECE_CHARS = 8
_MIN_MATCHING_PIECES = 3
_CREDITS = "来源|发布时间|发布日期|责任编辑|编辑|作者|记者|审核|校对|浏览次数|阅读次数|字号|分享到"
# Every branch begins with a character of its own, so that a search for characters skips the rest quickly.
_CREDIT_LINE = re.compile(
    rf"(?:信息(?:{_CREDITS})|文章(?:{_CREDITS})|稿件(?:{_CREDITS})|{_CREDITS})\s?[:(][^\s。]{{0,20}}"
)

_PAGE_NUMBER = re.compile(
    r"^[ \t]*(?:[-—–]+ ?\d{1,3} ?[-—–]+|第 ?\d{1,3} ?页(?:[ ,，/]*共 ?\d{1,3} ?页)?|page \d{1,3}(?: of \d{1,3})?)"
    r"[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)


class TextMatch(Enum):
    AGREE = "agree"
    CONFLICT = "clash"  # one form, filled in differently
    UNRELATED = "apart"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The verdict, the stretch that both texts share, and whether a letter or two differ in or around it."""

    verdict: TextMatch
    shared: str = ""
    has_small_differences: bool = False


def normalize_for_comparison(text: str | None) -> str:
    """Return a text's opening as it is compared: folded letters and digits, without credits and page numbers."""
    opening = (text or "")[:MAX_READ_CHARS]
    folded = _fold_opening(opening[:_USUALLY_READ_CHARS])
    if len(opening) > _USUALLY_READ_CHARS and len(folded) < _MAX_CHARS + _MARGIN_CHARS:
        folded = _fold_opening(opening)
    return folded[:_MAX_CHARS]


def _fold_opening(opening: str) -> str:
    return keep_alphanumerics(_CREDIT_LINE.sub(" ", normalize_text(_PAGE_NUMBER.sub(" ", opening))))


def compare_texts(one: str, other: str) -> TextComparison:
    """Compare two texts as `normalize_for_comparison` gives them.

    They agree where the other has most of the shorter one, without a gap that is filled differently. A copier adds or
    cuts at one end: where both have something else before or behind what they share, or another figure or name within
    it, they are one form filled in twice.
    """
    if len(one) < _MIN_CHARS or len(other) < _MIN_CHARS:
        return TextComparison(TextMatch.UNKNOWN)
    shorter, longer = sorted((one, other), key=lambda text: (len(text), text))
    if shorter in longer:
        return TextComparison(TextMatch.AGREE, shorter)
    blocks = _find_long_blocks(shorter, longer)
    matched = sum(size for _, _, size in blocks)
    if matched < max(_MIN_CHARS / 2, 0.25 * len(shorter)):
        return TextComparison(TextMatch.UNRELATED)
    first, last = blocks[0], blocks[-1]
    ends = last[0] + last[2], last[1] + last[2]
    edges = ((shorter[: first[0]], longer[: first[1]]), (shorter[ends[0] :], longer[ends[1] :]))
    gaps = [
        (shorter[a + size : next_a], longer[b + size : next_b])
        for (a, b, size), (next_a, next_b, _) in pairwise(blocks)
    ]
    slips = sum(_is_small_difference(gap) for gap in gaps)
    edge = max(min(map(len, edge)) for edge in edges)
    # Beside a long shared text, both may have a line of their site's before or behind.
    is_edge_long = edge > (2 if matched < _LONG_CHARS else matched // 25)
    if is_edge_long or not all(map(_is_harmless, gaps)) or slips > 1 + len(shorter) // 200:
        return TextComparison(TextMatch.CONFLICT)
    if matched < max(_MIN_CHARS, _MIN_SHARE * len(shorter)):
        return TextComparison(TextMatch.UNKNOWN)
    return TextComparison(TextMatch.AGREE, shorter[first[0] : ends[0]], slips > 0 or edge > 2)


def could_match(one: str, other: str) -> bool:
    """Whether two texts can agree at all, checked cheaply: the other has some pieces of the shorter one."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _MIN_CHARS:
        return False
    return len(shorter) < _SAMPLE_PIECES * _PIECE_CHARS or _has_pieces(shorter, longer, _MIN_MATCHING_PIECES)


def have_nothing_in_common(one: str, other: str) -> bool:
    """Whether two long texts share none of some pieces: they are neither copies nor one form filled in twice."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) >= _SAMPLE_PIECES * _PIECE_CHARS and not _has_pieces(shorter, longer, 1)


def _has_pieces(shorter: str, longer: str, count: int) -> bool:
    found = 0
    for place in _iter_piece_offsets(shorter):
        found += shorter[place : place + _PIECE_CHARS] in longer
        if found == count:
            return True
    return False


def extract_figures(text: str) -> frozenset[str]:
    """Return the numbers of a text without years and single digits."""
    numbers = re.findall(r"\d+(?:\.\d+)*", text)
    return frozenset(number for number in numbers if len(number) > 1 and not re.fullmatch(r"(?:19|20)\d\d", number))


def _find_long_blocks(shorter: str, longer: str) -> list[tuple[int, int, int]]:
    """Return the long pieces that both texts have, in order: place in the shorter, place in the longer, length."""
    least = 6 if len(shorter.encode()) > 2 * len(shorter) else 14  # of wide characters, or of others
    start, end = _find_window(shorter, longer)
    blocks: list[tuple[int, int, int]] = []
    for op in Indel.opcodes(shorter, longer[start:end]):
        if op.tag == "equal" and op.src_end - op.src_start >= least:
            a, b, size = op.src_start, op.dest_start + start, op.src_end - op.src_start
            floor_a, floor_b = (blocks[-1][0] + blocks[-1][2], blocks[-1][1] + blocks[-1][2]) if blocks else (0, 0)
            while a > floor_a and b > floor_b and shorter[a - 1] == longer[b - 1]:
                a, b, size = a - 1, b - 1, size + 1
            blocks.append((a, b, size))
    return blocks


def _find_window(shorter: str, longer: str) -> tuple[int, int]:
    """Return where in the longer text the shorter one may be, by the places of its pieces; all of it if unclear."""
    shifts = [
        found - place
        for place in _iter_piece_offsets(shorter)
        if (found := longer.find(_get_piece(shorter, place))) >= 0
    ]
    if len(shifts) < _MIN_MATCHING_PIECES:
        return 0, len(longer)
    margin = len(shorter) // 4
    return max(0, min(shifts) - margin), max(shifts) + len(shorter) + margin


def _iter_piece_offsets(text: str) -> range:
    return range(0, len(text) - _PIECE_CHARS + 1, max(1, (len(text) - _PIECE_CHARS) // (_SAMPLE_PIECES - 1)))


def _get_piece(text: str, place: int) -> str:
    return text[place : place + _PIECE_CHARS]


def _is_small_difference(gap: tuple[str, str]) -> bool:
    one, other = gap
    return bool(one and other) or len(one + other) > _MAX_GAP_CHARS


def _is_harmless(gap: tuple[str, str]) -> bool:
    """A letter mistyped, or words that only one has and that hold no figure."""
    one, other = gap
    if any(map(str.isdigit, one + other)):
        return False
    return max(len(one), len(other)) <= 2 if one and other else len(one + other) <= 4 * _MAX_GAP_CHARS
