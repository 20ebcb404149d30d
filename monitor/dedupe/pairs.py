"""What two items are to each other: without a proof that they are one document, they are two."""

import re
from collections.abc import Collection
from enum import Enum

from rapidfuzz.distance import OSA, Indel

from monitor.dates import find_dates
from monitor.dedupe.identity import (
    MAX_CLOSE_DAYS,
    MAX_REPOST_DAYS,
    DocumentIdentity,
    are_from_different_offices,
    count_days_between,
    have_same_unique_number,
    is_office_ambiguous,
    is_same_office,
)
from monitor.dedupe.numbers import compare_numbers, is_abbreviation_of, keep_alphanumerics
from monitor.dedupe.texts import (
    TextComparison,
    TextMatch,
    compare_texts,
    could_match,
    extract_figures,
    have_nothing_in_common,
)
from monitor.dedupe.titles import (
    DISTINCT_DOCUMENT_STAGES,
    MIN_BODY_WIDTH,
    TitleFields,
    filter_stages,
    have_conflicting_marks,
    is_office,
    is_stated_in,
    is_time_mark,
    measure_width,
    strip_document_form,
)

_MIN_DISTINCTIVE_CHARS = 40
_ANNOUNCEMENT_PREFIX = re.compile(r"^[^\W\d_]{2,12}?(?:印发|发布|公布|出台)(?=.{6})")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[a-zà-ÿ]{3,}|\d+(?:\.\d+)?|[^\W\da-zà-ÿ]+")


def is_distinctive(texts: TextComparison) -> bool:
    """Whether a shared text is more than a form of words that any office may use."""
    is_long = measure_width(texts.shared) >= _MIN_DISTINCTIVE_CHARS
    return texts.verdict is TextMatch.AGREE and (is_long or len(extract_figures(texts.shared)) > 1)


def is_proven_by_text(one: DocumentIdentity, other: DocumentIdentity, texts: TextComparison) -> bool:
    """Whether one text under two titles is one document.

    A form has the same words for many documents, so the shared text must have what only one of the titles says. It must
    also have the marks of only one title, or enough figures.
    """
    gap = count_days_between(one, other)
    if gap is None or gap > MAX_REPOST_DAYS or texts.has_small_differences:
        return False
    figures = len(extract_figures(texts.shared))
    if figures > 1 and _is_subtitled(one.title, other.title):
        return True
    for mark in one.title.marks ^ other.title.marks:
        is_explained = is_stated_in(mark, texts.shared) or (figures > 1 and is_time_mark(mark))
        if mark in DISTINCT_DOCUMENT_STAGES or not is_explained:
            return False
    if compare_numbers(one.number, other.number) is True or (one.title.name and one.title.name == other.title.name):
        return True
    if _is_prefixed_by_speaker(one.title, other.title):
        return True
    least_figures = 2 if gap <= MAX_CLOSE_DAYS else 4
    return _is_about_both(one.title, other.title, texts.shared, has_figures=figures >= least_figures)


def _is_about_both(a: TitleFields, b: TitleFields, shared: str, *, has_figures: bool) -> bool:
    """Whether one title is the other one cut down, extended, mistyped or retold, for what a shared text is about."""
    if a.body == b.body:
        return not (a.aside and b.aside)
    shares = _compute_title_shares(a, b, shared)
    if OSA.distance(a.body, b.body, score_cutoff=1) <= 1:
        # Of a word and its misspelling the text has one; of two words that differ it has none, or both.
        has_same_numbers = _DIGITS.findall(a.body) == _DIGITS.findall(b.body)
        return has_same_numbers and min(shares) == 0 and max(shares) >= 0.5
    names = [_ANNOUNCEMENT_PREFIX.sub("", strip_document_form(title.body)) for title in (a, b)]
    (shorter, _), (longer, share) = sorted(zip(names, shares, strict=True), key=lambda named: len(named[0]))
    if measure_width(shorter) >= MIN_BODY_WIDTH:
        if sorted(shorter) == sorted(longer):
            return True
        if has_figures and longer.endswith(shorter) and measure_width(shorter) > 0.6 * measure_width(longer):
            return True
        if is_abbreviation_of(shorter, longer) and share >= 0.3:
            return True
    is_retold = has_figures and Indel.normalized_similarity(shorter, longer) < 0.6
    return min(shares) >= 0.25 or (is_retold and max(shares) >= 0.5 and sum(shares) >= 0.6)


def _is_subtitled(a: TitleFields, b: TitleFields) -> bool:
    """Whether one title is the other without the part behind its dash."""
    return (a.head == b.body or b.head == a.body) and min(map(measure_width, (a.head, b.head))) >= MIN_BODY_WIDTH


def _is_prefixed_by_speaker(a: TitleFields, b: TitleFields) -> bool:
    """Whether one title is the other with a name and a colon before it."""
    names = {keep_alphanumerics(title.plain.partition(":")[2]) for title in (a, b)} & {a.full, b.full}
    return any(measure_width(name) >= MIN_BODY_WIDTH for name in names)


def _compute_title_shares(a: TitleFields, b: TitleFields, shared: str) -> tuple[float, float]:
    """The shares of what only the one and only the other title says that are in the shared text."""
    pieces, others = _split_title_pieces(a), _split_title_pieces(b)
    return _compute_share(pieces - others, shared), _compute_share(others - pieces, shared)


def _split_title_pieces(title: TitleFields) -> frozenset[str]:
    """The words of scripts with spaces, and the pairs of characters of those without."""
    found: set[str] = set()
    for word in _WORD.findall(title.plain):
        found |= {word} if word.isascii() else {word[place : place + 2] for place in range(max(1, len(word) - 1))}
    return frozenset(map(keep_alphanumerics, found))


def _compute_share(pieces: Collection[str], text: str) -> float:
    return sum(piece in text for piece in pieces) / len(pieces) if pieces else 1.0


_LONG_BODY_CHARS = 12
_MIN_TRUNCATED_CHARS = 14
_LONG_TITLE_CHARS = 20
_MAX_COPY_DAYS = 7
_MAX_INTERPRETATION_DAYS = 180

_RECURRING = re.compile(
    r"日报|周报|旬报|月报|季报|快报|简报|快讯|行情|指数|监测|预报|预警|提醒|例行|会议|发布会|任免|受理|拟|公示|处罚|名单|报价"
    r"|\b(?:daily|weekly|monthly|quarterly|annual|minutes|speech|remarks|statement|testimony|bulletin|report|overview"
    r"|release)s?\b|wochen|monats|bericht|议事|会议|결과|동향"
)


class DocumentRelation(Enum):
    SAME = "same"
    INTERPRETATION = "interpretation"
    DIFFERENT = "different"


def classify_relation(one: DocumentIdentity, other: DocumentIdentity) -> DocumentRelation:
    """Return the relation of two items, whatever their order."""
    if one.address == other.address:
        return DocumentRelation.SAME
    if (one.title.interpretation is None) != (other.title.interpretation is None):
        reading, policy = (one, other) if one.title.interpretation else (other, one)
        if _is_interpretation_of(reading, policy):
            return DocumentRelation.INTERPRETATION
        if not policy.is_interpretation:
            return DocumentRelation.DIFFERENT
    elif one.is_interpretation != other.is_interpretation and not _have_one_text(one, other):
        reading, policy = (one, other) if one.is_interpretation else (other, one)
        return DocumentRelation.INTERPRETATION if _is_interpretation_of(reading, policy) else DocumentRelation.DIFFERENT
    return DocumentRelation.SAME if _is_same_document(one, other) else DocumentRelation.DIFFERENT


def _have_one_text(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    return could_match(one.text, other.text) and compare_texts(one.text, other.text).verdict is TextMatch.AGREE


def _is_interpretation_of(interpretation: DocumentIdentity, policy: DocumentIdentity) -> bool:
    """Whether an interpretation names this policy, not an edition of another year, in its title or by its number."""
    gap = count_days_between(interpretation, policy)
    if len(interpretation.subject) < MIN_BODY_WIDTH / 2 or (gap is not None and gap > _MAX_INTERPRETATION_DAYS):
        return False
    if have_same_unique_number(interpretation, policy):
        return not have_conflicting_marks(interpretation.title.marks, policy.title.marks)
    title, issuer = policy.title, interpretation.subject_issuer
    if issuer and title.issuer and not is_same_office(issuer, title.issuer):
        return False
    names = (title.body, title.full, title.name, strip_document_form(title.body))
    return interpretation.subject in names


def _must_differ(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether numbers, offices, years, batches, periods, annexes or stages say that these are two documents."""
    if compare_numbers(one.number, other.number) is False or are_from_different_offices(one, other):
        return True
    return have_conflicting_marks(one.title.marks, other.title.marks) and not _have_same_title(one, other)


def _is_same_document(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether something proves it; whether anything could is asked first, for of most pairs nothing can."""
    is_unique = have_same_unique_number(one, other)
    has_one_title = _have_same_title(one, other)
    bears_one_number = is_unique and _may_share_number(one.title, other.title)
    is_beginning = _is_truncation(one.title, other.title)
    if not (has_one_title or bears_one_number or is_beginning) and not could_match(one.text, other.text):
        return False
    is_title_alone = has_one_title and not (is_unique or is_beginning or one.title.is_named or other.title.is_named)
    if _must_differ(one, other) or (is_title_alone and have_nothing_in_common(one.text, other.text)):
        return False
    texts = compare_texts(one.text, other.text)
    if not _may_be_same_edition(one, other, texts):
        return False
    if is_office_ambiguous(one, other) and not is_unique and not is_distinctive(texts):
        return False
    if has_one_title:
        return is_unique or _accepts_same_title(one, other, texts)
    if bears_one_number:
        return texts.verdict is not TextMatch.CONFLICT
    if is_beginning:
        return _accepts_truncated_title(one, other, texts)
    return texts.verdict is TextMatch.AGREE and is_proven_by_text(one, other, texts)


def _may_be_same_edition(one: DocumentIdentity, other: DocumentIdentity, texts: TextComparison) -> bool:
    """Whether the titles name no two editions; where one alone names one, the texts must agree."""
    a, b = one.title.edition, other.title.edition
    if a == b or (a and b):
        return a == b
    days = {date.value.to_date() for date in find_dates(a or b)} - {None}
    if days & {one.day, other.day}:
        return True
    is_of_these_days = any(item.day and str(item.day.year) in (a or b) for item in (one, other))
    gap = count_days_between(one, other)
    return texts.verdict is TextMatch.AGREE and is_of_these_days and gap is not None and gap <= MAX_REPOST_DAYS


def _have_same_title(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether the bodies are equal, without two offices or kinds of interpretation around them."""
    a, b = one.title, other.title
    if a.is_truncated or b.is_truncated or (a.aside and b.aside and a.aside != b.aside):
        return False
    if a.full == b.full:
        return True
    if a.interpretation and b.interpretation:
        letters, others = (sorted(title.full.removeprefix("关于")) for title in (a, b))
        return a.interpretation == b.interpretation and letters == others
    if a.body != b.body and not _is_prefixed_by_office(one, other):
        return False
    return filter_stages(a.marks) == filter_stages(b.marks)


def _is_prefixed_by_office(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether one title is the other with the name of a site or an office before it."""
    shorter, longer = sorted((one.title.full, other.title.full), key=len)
    if len(shorter) < MIN_BODY_WIDTH or not longer.endswith(shorter):
        return False
    before = longer.removesuffix(shorter)
    return before in one.host.split(".") or before in other.host.split(".") or is_office(before)


def _may_share_number(a: TitleFields, b: TitleFields) -> bool:
    """Whether titles of one number may be one document's, which its annexes and parts may bear too."""
    if a.is_number or b.is_number:
        return not any(mark in DISTINCT_DOCUMENT_STAGES or mark[0] in ("annex", "part") for mark in a.marks | b.marks)
    return a.marks == b.marks and Indel.normalized_similarity(a.body, b.body) >= 0.6


def _is_truncation(a: TitleFields, b: TitleFields) -> bool:
    """Whether the other title begins with a truncated one, with or without its issuer."""
    if not (a.is_truncated or b.is_truncated):
        return False
    return any(
        short.is_truncated and measure_width(cut) >= MIN_BODY_WIDTH and whole.startswith(cut)
        for short, long in ((a, b), (b, a))
        for cut, whole in ((short.full, long.full), (short.head, long.head))
    )


def _accepts_same_title(one: DocumentIdentity, other: DocumentIdentity, texts: TextComparison) -> bool:
    gap = count_days_between(one, other)
    if texts.verdict is TextMatch.CONFLICT:
        return False
    if texts.verdict is TextMatch.AGREE:
        is_recurring = _is_recurring(one, other)
        if texts.has_small_differences:
            return gap is not None and gap <= MAX_CLOSE_DAYS and not is_recurring
        days = MAX_CLOSE_DAYS if is_recurring else MAX_REPOST_DAYS
        least_figures = 2 if gap is None or gap <= MAX_REPOST_DAYS else 4
        has_figures = len(extract_figures(texts.shared)) >= least_figures
        return has_figures or gap is None or gap <= days or _have_same_number(one, other)
    is_named = one.title.is_named or other.title.is_named
    if texts.verdict is TextMatch.UNRELATED and not is_named:
        return False
    return _accepts_without_text(one, other, gap, is_named=is_named)


def _accepts_without_text(one: DocumentIdentity, other: DocumentIdentity, gap: int | None, *, is_named: bool) -> bool:
    """Whether equal titles alone are enough: a short one is not, a recurring one needs the same day."""
    is_elsewhere = one.host != other.host
    least = min(measure_width(one.title.body), measure_width(other.title.body))
    if least < MIN_BODY_WIDTH or (least < _LONG_BODY_CHARS and not is_named and not is_elsewhere):
        return False
    is_signed = is_named or _have_same_number(one, other) or bool(one.title.issuer and other.title.issuer)
    if gap is None:
        return is_named or (is_signed and is_elsewhere and not _is_recurring(one, other))
    if _is_recurring(one, other) and not is_named:
        has_period = any(kind in ("year", "期", "号", "nth", "number") for kind, _ in one.title.marks)
        is_distinguished = has_period or least >= _LONG_TITLE_CHARS
        return least >= _LONG_BODY_CHARS and (gap == 0 or (gap <= MAX_CLOSE_DAYS and is_elsewhere and is_distinguished))
    if not is_elsewhere:
        return gap <= MAX_CLOSE_DAYS if is_signed else gap <= 1 and not _are_sibling_files(one, other)
    return gap <= (MAX_REPOST_DAYS if is_signed or least >= _LONG_TITLE_CHARS else _MAX_COPY_DAYS)


def _are_sibling_files(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    """Whether one title is at two addresses of a folder that differ in numbers alone, which are two files."""
    forms = {_DIGITS.sub("0", item.address) for item in (one, other)}
    return one.title.full == other.title.full and len(forms) == 1 and forms.pop().count("/") > 1


def _is_recurring(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    return any(_RECURRING.search(item.title.plain) for item in (one, other))


def _accepts_truncated_title(one: DocumentIdentity, other: DocumentIdentity, texts: TextComparison) -> bool:
    gap = count_days_between(one, other)
    if texts.verdict in (TextMatch.CONFLICT, TextMatch.UNRELATED):
        return False
    if texts.verdict is TextMatch.AGREE or _have_same_number(one, other):
        return gap is None or gap <= MAX_REPOST_DAYS
    if min(measure_width(one.title.full), measure_width(other.title.full)) < _MIN_TRUNCATED_CHARS:
        return False
    # On one site two documents of a day may begin alike, and differ behind the cut.
    is_elsewhere = one.host != other.host
    is_whole_known = one.title.is_truncated != other.title.is_truncated
    # No batch, annex or stage in the rest of the title makes another document of it.
    is_clear = is_whole_known and all(kind == "year" for kind, _ in one.title.marks ^ other.title.marks)
    if is_elsewhere and is_clear and not _is_recurring(one, other):
        return gap is not None and gap <= _MAX_COPY_DAYS
    return gap == 0 and (is_elsewhere or (is_whole_known and one.title.marks == other.title.marks))


def _have_same_number(one: DocumentIdentity, other: DocumentIdentity) -> bool:
    return compare_numbers(one.number, other.number) is True
