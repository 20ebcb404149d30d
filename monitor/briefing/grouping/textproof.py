"""Whether a text that two items share proves that they are one document, whatever their titles say."""

import re
from collections.abc import Collection

from rapidfuzz.distance import OSA, Indel

from monitor.briefing.grouping.docnumber import is_short_for, same_number
from monitor.briefing.grouping.folding import core
from monitor.briefing.grouping.identity import CLOSE_DAYS, REPOST_DAYS, Identity, days_between
from monitor.briefing.grouping.textmatch import Comparison, Verdict, figures_in
from monitor.briefing.grouping.titlemarks import OF_ANOTHER, is_of_time, is_said_in
from monitor.briefing.grouping.titleparts import LEAST_BODY, Title, width, without_form

_LONG_TEXT = 40
_ANNOUNCED = re.compile(r"^[^\W\d_]{2,12}?(?:印发|发布|公布|出台)(?=.{6})")
_WORD = re.compile(r"[a-zà-ÿ]{3,}|\d+(?:\.\d+)?|[^\W\da-zà-ÿ]+")


def is_telling(texts: Comparison) -> bool:
    """Whether a shared text is more than a form of words that any office may use."""
    if texts.verdict is not Verdict.AGREE:
        return False
    return width(texts.shared) >= _LONG_TEXT or len(figures_in(texts.shared)) > 1


def does_text_prove(one: Identity, other: Identity, texts: Comparison) -> bool:
    """Whether one text under two titles is one document.

    A form has the same words for many documents: what only one of the titles says must stand in the shared text, for
    then the text is about it. Marks that one title alone has must stand there too, or the text hold figures enough.
    """
    gap = days_between(one, other)
    if gap is None or gap > REPOST_DAYS or texts.has_slips:
        return False
    figures = len(figures_in(texts.shared))
    if figures > 1 and _is_subtitled(one.title, other.title):
        return True
    for mark in one.title.marks ^ other.title.marks:
        if mark in OF_ANOTHER or not (is_said_in(mark, texts.shared) or (figures > 1 and is_of_time(mark))):
            return False
    if same_number(one.number, other.number) is True or (one.title.name and one.title.name == other.title.name):
        return True
    if _is_by_speaker(one.title, other.title):
        return True
    least_figures = 2 if gap <= CLOSE_DAYS else 4
    return _is_about_both(one.title, other.title, texts.shared, has_figures=figures >= least_figures)


def _is_about_both(a: Title, b: Title, shared: str, *, has_figures: bool) -> bool:
    """Whether the titles are two names for what a shared text is about: one cut down, extended, mistyped or retold."""
    if a.body == b.body:
        return not (a.aside and b.aside)
    shares = _shares(a, b, shared)
    if OSA.distance(a.body, b.body, score_cutoff=1) <= 1:
        # Of a word and its misspelling the text has one; of two words that differ it has none, or both.
        return _numbers_in(a) == _numbers_in(b) and min(shares) == 0 and max(shares) >= 0.5
    names = [_ANNOUNCED.sub("", without_form(title.body)) for title in (a, b)]
    (shorter, _), (longer, share) = sorted(zip(names, shares, strict=True), key=lambda named: len(named[0]))
    if width(shorter) >= LEAST_BODY:
        if sorted(shorter) == sorted(longer):
            return True
        if has_figures and longer.endswith(shorter) and width(shorter) > 0.6 * width(longer):
            return True
        if is_short_for(shorter, longer) and share >= 0.3:
            return True
    is_retold = has_figures and Indel.normalized_similarity(shorter, longer) < 0.6
    return min(shares) >= 0.25 or (is_retold and max(shares) >= 0.5 and sum(shares) >= 0.6)


def _is_subtitled(a: Title, b: Title) -> bool:
    """Whether one title is the other without what stands behind its dash."""
    return (a.head == b.body or b.head == a.body) and min(map(width, (a.head, b.head))) >= LEAST_BODY


def _is_by_speaker(a: Title, b: Title) -> bool:
    """Whether one title is the other with a name and a colon before it."""
    names = {core(title.plain.partition(":")[2]) for title in (a, b)} & {a.full, b.full}
    return any(width(name) >= LEAST_BODY for name in names)


def _numbers_in(title: Title) -> list[str]:
    return re.findall(r"\d+", title.body)


def _shares(a: Title, b: Title, shared: str) -> tuple[float, float]:
    """How much of what only one title says stands in the shared text, for both."""
    pieces, others = _pieces(a), _pieces(b)
    return _share_in(pieces - others, shared), _share_in(others - pieces, shared)


def _pieces(title: Title) -> frozenset[str]:
    """The words of scripts with blanks, and the pairs of letters of those without."""
    found: set[str] = set()
    for word in _WORD.findall(title.plain):
        found |= {word} if word.isascii() else {word[place : place + 2] for place in range(max(1, len(word) - 1))}
    return frozenset(map(core, found))


def _share_in(pieces: Collection[str], text: str) -> float:
    return sum(piece in text for piece in pieces) / len(pieces) if pieces else 1.0
