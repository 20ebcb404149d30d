"""What two items are to each other: one document, a policy and its reading, or two documents.

What must differ decides first: numbers, years, batches, periods, annexes, stages. Then what must agree: the title's
body, the number, the text. Where nothing proves that two items are one document they are two.
"""

import re
from enum import Enum

from rapidfuzz.distance import Indel

from monitor.briefing.grouping.docnumber import same_number
from monitor.briefing.grouping.identity import (
    CLOSE_DAYS,
    REPOST_DAYS,
    Identity,
    are_of_two_offices,
    days_between,
    have_one_unique_number,
    is_office_in_doubt,
    is_one_office,
)
from monitor.briefing.grouping.textmatch import Comparison, Verdict, compare, figures_in, may_agree
from monitor.briefing.grouping.textproof import does_text_prove, is_telling
from monitor.briefing.grouping.titlemarks import OF_ANOTHER, clashing, stages_of
from monitor.briefing.grouping.titleparts import LEAST_BODY, Title, is_office, width, without_form

_LONG_BODY = 12
_LEAST_BEGINNING = 14
_LONG_TITLE = 20
_COPY_DAYS = 7
_READING_DAYS = 180
_RECURRING = re.compile(
    r"日报|周报|旬报|月报|季报|快报|简报|快讯|行情|指数|监测|预报|预警|提醒|例行|会议|发布会|任免|受理|拟|公示|处罚|名单|报价"
    r"|\b(?:daily|weekly|monthly|quarterly|annual|minutes|speech|remarks|statement|testimony|bulletin|report|overview"
    r"|release)s?\b|wochen|monats|bericht|议事|会议|결과|동향"
)
_DIGITS = re.compile(r"\d+")


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
    if _must_differ(one, other) or not _is_same(one, other):
        return Relation.DIFFERENT
    return Relation.SAME


def _explains(reading: Identity, policy: Identity) -> bool:
    """Whether a reading names this policy in its title, or carries its number; an edition of another year is not it."""
    gap = days_between(reading, policy)
    if len(reading.subject) < LEAST_BODY / 2 or (gap is not None and gap > _READING_DAYS):
        return False
    if have_one_unique_number(reading, policy):
        return not clashing(reading.title.marks, policy.title.marks)
    title = policy.title
    if reading.subject_issuer and title.issuer and not is_one_office(reading.subject_issuer, title.issuer):
        return False
    names = (title.body, title.full, title.name, without_form(title.body))
    return reading.subject in names


def _must_differ(one: Identity, other: Identity) -> bool:
    """Whether numbers, offices, years, batches, periods, annexes or stages say that these are two documents."""
    if same_number(one.number, other.number) is False or are_of_two_offices(one, other):
        return True
    return clashing(one.title.marks, other.title.marks) and not _have_one_title(one, other)


def _is_same(one: Identity, other: Identity) -> bool:
    is_unique = have_one_unique_number(one, other)
    has_one_title = _have_one_title(one, other)
    bears_one_number = is_unique and _may_bear_one_number(one.title, other.title)
    is_beginning = _is_beginning(one.title, other.title)
    if not (has_one_title or bears_one_number or is_beginning) and not may_agree(one.text, other.text):
        return False
    texts = compare(one.text, other.text)
    if not _may_be_one_edition(one, other, texts):
        return False
    if is_office_in_doubt(one, other) and not is_unique and not is_telling(texts):
        return False
    if has_one_title:
        return is_unique or _holds_for_one_title(one, other, texts)
    if bears_one_number:
        return texts.verdict is not Verdict.CLASH
    if is_beginning:
        return _holds_for_cut_title(one, other, texts)
    return texts.verdict is Verdict.AGREE and does_text_prove(one, other, texts)


def _may_be_one_edition(one: Identity, other: Identity, texts: Comparison) -> bool:
    """Whether no title names an edition of its own; where one alone does, the text has to say that it is the same."""
    a, b = one.title.edition, other.title.edition
    if a == b or (a and b):
        return a == b
    if any(item.day and f"{item.day.year}年{item.day.month}月{item.day.day}日" in (a or b) for item in (one, other)):
        return True
    is_of_these_days = any(item.day and str(item.day.year) in (a or b) for item in (one, other))
    gap = days_between(one, other)
    return texts.verdict is Verdict.AGREE and is_of_these_days and gap is not None and gap <= REPOST_DAYS


def _have_one_title(one: Identity, other: Identity) -> bool:
    """Whether the bodies are equal, and what stands around them names no two offices or kinds of reading."""
    a, b = one.title, other.title
    if a.is_cut or b.is_cut or (a.aside and b.aside and a.aside != b.aside):
        return False
    if a.full == b.full:
        return True
    if a.reading and b.reading:
        letters, others = (sorted(title.full.removeprefix("关于")) for title in (a, b))
        return a.reading.form == b.reading.form and a.reading.subject == b.reading.subject and letters == others
    if stages_of(a.marks) != stages_of(b.marks):
        return False
    if a.body == b.body:
        return True
    shorter, longer = sorted((a.full, b.full), key=len)
    before = longer.removesuffix(shorter)
    is_site = before in one.host.split(".") or before in other.host.split(".")
    return len(shorter) >= LEAST_BODY and longer != before and (is_site or is_office(before))


def _may_bear_one_number(a: Title, b: Title) -> bool:
    """Whether two titles of one number may be one document's: spellings of one title, or one the number alone.

    An annex or a part of a document may bear its number too.
    """
    if a.is_number or b.is_number:
        return not any(mark in OF_ANOTHER or mark[0] in ("annex", "part") for mark in a.marks | b.marks)
    return a.marks == b.marks and Indel.normalized_similarity(a.body, b.body) >= 0.6


def _is_beginning(a: Title, b: Title) -> bool:
    """Whether a cut title is how the other one begins, be it without the issuer that one of them names."""
    for one, other in ((a, b), (b, a)):
        for cut, whole in ((one.full, other.full), (one.head, other.head)):
            if one.is_cut and width(cut) >= LEAST_BODY and whole.startswith(cut):
                return True
    return False


def _holds_for_one_title(one: Identity, other: Identity, texts: Comparison) -> bool:
    gap = days_between(one, other)
    if texts.verdict is Verdict.CLASH:
        return False
    if texts.verdict is Verdict.AGREE:
        is_recurring = _is_recurring(one, other)
        if texts.has_slips:
            return gap is not None and gap <= CLOSE_DAYS and not is_recurring
        days = CLOSE_DAYS if is_recurring else REPOST_DAYS
        least_figures = 2 if gap is None or gap <= REPOST_DAYS else 4
        has_figures = len(figures_in(texts.shared)) >= least_figures
        return has_figures or gap is None or gap <= days or _has_one_number(one, other)
    is_named = one.title.is_named or other.title.is_named
    if texts.verdict is Verdict.APART and not is_named:
        return False
    return _holds_without_text(one, other, gap, is_named=is_named)


def _holds_without_text(one: Identity, other: Identity, gap: int | None, *, is_named: bool) -> bool:
    """Whether equal titles alone are enough: one that is short is not, one that comes again needs the same day."""
    is_elsewhere = one.host != other.host
    least = min(width(one.title.body), width(other.title.body))
    if least < LEAST_BODY or (least < _LONG_BODY and not is_named and not is_elsewhere):
        return False
    is_signed = is_named or _has_one_number(one, other) or bool(one.title.issuer and other.title.issuer)
    if gap is None:
        return is_named or (is_signed and is_elsewhere and not _is_recurring(one, other))
    if _is_recurring(one, other) and not is_named:
        has_period = any(kind in ("year", "期", "号", "nth", "number") for kind, _ in one.title.marks)
        is_told_apart = has_period or least >= _LONG_TITLE
        return least >= _LONG_BODY and (gap == 0 or (gap <= CLOSE_DAYS and is_elsewhere and is_told_apart))
    if not is_elsewhere:
        return gap <= CLOSE_DAYS if is_signed else gap <= 1 and not _are_neighbours(one, other)
    return gap <= (REPOST_DAYS if is_signed or least >= _LONG_TITLE else _COPY_DAYS)


def _are_neighbours(one: Identity, other: Identity) -> bool:
    """Whether one title stands at two addresses of a folder that differ in numbers alone, which are two files."""
    forms = {_DIGITS.sub("0", item.address) for item in (one, other)}
    return one.title.full == other.title.full and len(forms) == 1 and forms.pop().count("/") > 1


def _is_recurring(one: Identity, other: Identity) -> bool:
    return any(_RECURRING.search(item.title.plain) for item in (one, other))


def _holds_for_cut_title(one: Identity, other: Identity, texts: Comparison) -> bool:
    gap = days_between(one, other)
    if texts.verdict in (Verdict.CLASH, Verdict.APART):
        return False
    if texts.verdict is Verdict.AGREE or _has_one_number(one, other):
        return gap is None or gap <= REPOST_DAYS
    if min(width(one.title.full), width(other.title.full)) < _LEAST_BEGINNING:
        return False
    # On one site two documents of a day may begin alike, and differ behind the cut.
    is_elsewhere = one.host != other.host
    is_whole_known = one.title.is_cut != other.title.is_cut
    is_clear = is_whole_known and _is_nothing_told_behind(one.title, other.title)
    if is_elsewhere and is_clear and not _is_recurring(one, other):
        return gap is not None and gap <= _COPY_DAYS
    return gap == 0 and (is_elsewhere or (is_whole_known and one.title.marks == other.title.marks))


def _is_nothing_told_behind(a: Title, b: Title) -> bool:
    """Whether the rest of the title has no batch, annex or stage that makes another document of it."""
    return all(kind == "year" for kind, _ in a.marks ^ b.marks)


def _has_one_number(one: Identity, other: Identity) -> bool:
    return same_number(one.number, other.number) is True
