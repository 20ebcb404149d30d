"""What two items are to each other: one document, a policy and its reading, or two documents.

What must differ decides first: numbers, years, batches, periods, annexes, stages. Then what must agree: the title's
body, the number, the text. Where nothing proves that two items are one document they are two.
"""

import re
from collections.abc import Collection
from enum import Enum

from rapidfuzz.distance import OSA, Indel

from monitor.briefing.grouping.docnumber import is_short_for, same_number
from monitor.briefing.grouping.folding import core
from monitor.briefing.grouping.identity import (
    Identity,
    are_of_two_offices,
    days_between,
    have_one_unique_number,
    is_office_in_doubt,
)
from monitor.briefing.grouping.textmatch import Comparison, Verdict, compare, figures_in
from monitor.briefing.grouping.titlemarks import clashing, is_of_time, is_said_in, stages_of
from monitor.briefing.grouping.titleparts import Title, is_office

_LEAST_BODY = 8
_LONG_BODY = 12
_LEAST_BEGINNING = 14
_LONG_TEXT = 40
_CLOSE_DAYS = 3
_REPOST_DAYS = 31
_READING_DAYS = 180
_RECURRING = re.compile(
    r"日报|周报|旬报|月报|季报|快报|简报|快讯|行情|指数|监测|预报|预警|提醒|例行|会议|发布会|任免|受理|拟|公示|处罚|名单|报价"
    r"|daily|weekly|monthly|quarterly|annual|minutes|speech|remarks|statement|testimony|bulletin|report|overview|release"
    r"|wochen|monats|bericht|议事|会议|결과|동향"
)
_OF_ANOTHER = frozenset({("stage", "corrected"), ("stage", "passed-on"), ("stage", "ended")})
_FORM = re.compile(
    r"的?(?:若干|实施|指导)?(?:通知|公告|通告|意见|决定|函|办法|全文)?(?:全文)?(?:发布|公布|印发|出台)?$"
)
_ANNOUNCED = re.compile(r"^[^\W\d_]{2,12}?(?:印发|发布|公布|出台)(?=.{6})")
_WORD = re.compile(r"[a-zà-ÿ]{3,}|\d+(?:\.\d+)?|[^\W\da-zà-ÿ]+")


class Relation(Enum):
    """What two items are to each other."""

    SAME = "same"
    INTERPRETATION = "interpretation"
    DIFFERENT = "different"


def relation(one: Identity, other: Identity) -> Relation:
    """What two items are to each other; the order of the two does not matter."""
    if one.address == other.address:
        return Relation.SAME
    if (one.title.reading is None) != (other.title.reading is None):
        reading, policy = (one, other) if one.title.reading else (other, one)
        if _explains(reading, policy):
            return Relation.INTERPRETATION
        if not policy.is_reading:
            return Relation.DIFFERENT
    elif one.is_reading != other.is_reading and compare(one.text, other.text).verdict is not Verdict.AGREE:
        reading, policy = (one, other) if one.is_reading else (other, one)
        return Relation.INTERPRETATION if _explains(reading, policy) else Relation.DIFFERENT
    if _must_differ(one, other) or not _is_same(one, other, compare(one.text, other.text)):
        return Relation.DIFFERENT
    return Relation.SAME


def _explains(reading: Identity, policy: Identity) -> bool:
    """Whether a reading names this policy in its title, or carries its number; an edition of another year is not it."""
    gap = days_between(reading, policy)
    if len(reading.subject) < _LEAST_BODY / 2 or (gap is not None and gap > _READING_DAYS):
        return False
    if have_one_unique_number(reading, policy):
        return not clashing(reading.title.marks, policy.title.marks)
    title = policy.title
    return reading.subject in (title.body, title.full)


def _must_differ(one: Identity, other: Identity) -> bool:
    """Whether numbers, offices, years, batches, periods, annexes or stages say that these are two documents."""
    if same_number(one.number, other.number) is False or are_of_two_offices(one, other):
        return True
    return clashing(one.title.marks, other.title.marks) and not _have_one_title(one.title, other.title)


def _is_same(one: Identity, other: Identity, texts: Comparison) -> bool:
    if not _may_be_one_edition(one, other, texts):
        return False
    is_unique = have_one_unique_number(one, other)
    if is_office_in_doubt(one, other) and not is_unique and not _is_telling(texts):
        return False
    if _have_one_title(one.title, other.title):
        return is_unique or _holds_for_one_title(one, other, texts)
    if is_unique and _may_bear_one_number(one.title, other.title):
        return texts.verdict is not Verdict.CLASH
    if (one.title.is_cut or other.title.is_cut) and _is_beginning(one.title, other.title):
        return _holds_for_cut_title(one, other, texts)
    return texts.verdict is Verdict.AGREE and _does_text_prove(one, other, texts)


def _may_be_one_edition(one: Identity, other: Identity, texts: Comparison) -> bool:
    """Whether no title names an edition of its own; where one alone does, the text has to say that it is the same."""
    a, b = one.title.edition, other.title.edition
    if a == b or (a and b):
        return a == b
    is_of_these_days = any(item.day and str(item.day.year) in (a or b) for item in (one, other))
    gap = days_between(one, other)
    return texts.verdict is Verdict.AGREE and is_of_these_days and gap is not None and gap <= _REPOST_DAYS


# --- titles -----------------------------------------------------------------------------------------------------


def _have_one_title(a: Title, b: Title) -> bool:
    """Whether the bodies are equal, and what stands around them names no two offices or kinds of reading."""
    if a.is_cut or b.is_cut or (a.aside and b.aside and a.aside != b.aside):
        return False
    if a.full == b.full:
        return True
    if a.reading and b.reading:
        return a.reading.form == b.reading.form and a.full.removeprefix("关于") == b.full.removeprefix("关于")
    if stages_of(a.marks) != stages_of(b.marks):
        return False
    if a.body == b.body:
        return True
    shorter, longer = sorted((a.full, b.full), key=len)
    return len(shorter) >= _LEAST_BODY and longer.endswith(shorter) and is_office(longer.removesuffix(shorter))


def _may_bear_one_number(a: Title, b: Title) -> bool:
    """Whether two titles of one number may be one document's: spellings of one title, or one the number alone.

    An annex or a part of a document may bear its number too.
    """
    if a.is_number or b.is_number:
        return not any(mark in _OF_ANOTHER or mark[0] in ("annex", "part") for mark in a.marks | b.marks)
    return a.marks == b.marks and Indel.normalized_similarity(a.body, b.body) >= 0.6


def _is_beginning(a: Title, b: Title) -> bool:
    shorter, longer = sorted((a.full, b.full), key=len)
    return _width(shorter) >= _LEAST_BEGINNING and longer.startswith(shorter) and (a if a.full == shorter else b).is_cut


def _holds_for_one_title(one: Identity, other: Identity, texts: Comparison) -> bool:
    gap = days_between(one, other)
    if texts.verdict is Verdict.CLASH:
        return False
    if texts.verdict is Verdict.AGREE:
        is_recurring = bool(_RECURRING.search(one.title.plain))
        if texts.has_slips:
            return gap is not None and gap <= _CLOSE_DAYS and not is_recurring
        days = _CLOSE_DAYS if is_recurring else _REPOST_DAYS
        least_figures = 2 if gap is None or gap <= _REPOST_DAYS else 4
        has_figures = len(figures_in(texts.shared)) >= least_figures
        return has_figures or gap is None or gap <= days or _has_one_number(one, other)
    is_named = one.title.is_named or other.title.is_named
    if texts.verdict is Verdict.APART and not is_named:
        return False
    return _holds_without_text(one, other, gap, is_named=is_named)


def _holds_without_text(one: Identity, other: Identity, gap: int | None, *, is_named: bool) -> bool:
    """Whether equal titles alone are enough: one that is short is not, one that comes again needs the same day."""
    is_elsewhere = one.host != other.host
    width = _width(one.title.body)
    if width < _LEAST_BODY or (width < _LONG_BODY and not is_named and not is_elsewhere):
        return False
    if gap is None:
        return is_named
    if _RECURRING.search(one.title.plain) and not is_named:
        has_period = any(kind in ("year", "期", "号", "nth", "number") for kind, _ in one.title.marks)
        return width >= _LONG_BODY and (gap == 0 or (gap <= _CLOSE_DAYS and is_elsewhere and has_period))
    is_signed = is_named or bool(one.title.issuer and other.title.issuer)
    return gap <= (_REPOST_DAYS if is_elsewhere and is_signed else _CLOSE_DAYS)


def _holds_for_cut_title(one: Identity, other: Identity, texts: Comparison) -> bool:
    gap = days_between(one, other)
    if texts.verdict in (Verdict.CLASH, Verdict.APART):
        return False
    if texts.verdict is Verdict.AGREE or _has_one_number(one, other):
        return gap is None or gap <= _REPOST_DAYS
    # On one site two documents of a day may begin alike, and differ behind the cut.
    is_sure = one.host != other.host or (
        one.title.is_cut != other.title.is_cut and one.title.marks == other.title.marks
    )
    return gap == 0 and is_sure


def _has_one_number(one: Identity, other: Identity) -> bool:
    return same_number(one.number, other.number) is True


# --- texts ------------------------------------------------------------------------------------------------------


def _is_telling(texts: Comparison) -> bool:
    """Whether a shared text is more than a form of words that any office may use."""
    if texts.verdict is not Verdict.AGREE:
        return False
    return _width(texts.shared) >= _LONG_TEXT or len(figures_in(texts.shared)) > 1


def _does_text_prove(one: Identity, other: Identity, texts: Comparison) -> bool:
    """Whether one text under two titles is one document.

    A form has the same words for many documents: what only one of the titles says must stand in the shared text, for
    then the text is about it. Marks that one title alone has must stand there too, or the text hold figures enough.
    """
    gap = days_between(one, other)
    if gap is None or gap > _REPOST_DAYS or texts.has_slips:
        return False
    figures = len(figures_in(texts.shared))
    if figures > 1 and _is_subtitled(one.title, other.title):
        return True
    for mark in one.title.marks ^ other.title.marks:
        if not (is_said_in(mark, texts.shared) or (figures > 1 and is_of_time(mark))):
            return False
    if _has_one_number(one, other) or (one.title.name and one.title.name == other.title.name):
        return True
    least_figures = 2 if gap <= _CLOSE_DAYS else 4
    return _is_about_both(one.title, other.title, texts.shared, has_figures=figures >= least_figures)


def _is_about_both(a: Title, b: Title, shared: str, *, has_figures: bool) -> bool:
    """Whether the titles are two names for what a shared text is about: one cut down, extended, mistyped or retold."""
    shares = _shares(a, b, shared)
    if OSA.distance(a.body, b.body, score_cutoff=1) <= 1:
        # Of a word and its misspelling the text has one; of two words that differ it has none, or both.
        return _numbers_in(a) == _numbers_in(b) and min(shares) == 0 and max(shares) >= 0.5
    names = [_ANNOUNCED.sub("", _FORM.sub("", title.body)) for title in (a, b)]
    (shorter, _), (longer, share) = sorted(zip(names, shares, strict=True), key=lambda named: len(named[0]))
    if _width(shorter) >= _LEAST_BODY:
        if shorter == longer or (has_figures and longer.endswith(shorter) and _width(shorter) > 0.6 * _width(longer)):
            return True
        if is_short_for(shorter, longer) and share >= 0.3:
            return True
    is_retold = has_figures and Indel.normalized_similarity(shorter, longer) < 0.6
    return min(shares) >= 0.25 or (is_retold and max(shares) >= 0.5 and sum(shares) >= 0.6)


def _is_subtitled(a: Title, b: Title) -> bool:
    """Whether one title is the other without what stands behind its dash."""
    return (a.head == b.body or b.head == a.body) and min(map(_width, (a.head, b.head))) >= _LEAST_BODY


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


def _width(body: str) -> int:
    """Letters as far as they tell: one of a script with blanks counts a third."""
    return sum(not char.isascii() for char in body) + sum(char.isascii() for char in body) // 3
