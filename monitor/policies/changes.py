"""What changed between two readings of a document: its deadlines, and a revision of its page in sentences."""

import datetime as dt
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from monitor.db.tables.evidence import Revision
from monitor.db.tables.policies import Deadline, DeadlineMove
from monitor.document import DocumentFacts, ItemChange, StatedDeadline
from monitor.i18n.message import Message
from monitor.page import ChangeKind, EditOperation, PageChange, PageEdit, PagePart
from monitor.verify.figures import parse_figures
from monitor.vocabulary import DeadlineKind, ItemChangeKind, Verdict

MAX_DEADLINES = 200
"""So many days of one document are kept, the first ones."""

MAX_SUBJECT_CHARS = 300
_MAX_FIGURES = 3  # of one article or paragraph
_MAX_EDITS_WITH_FIGURES = 20
_MAX_COMPARED_CHARS = 2000
_MAX_NAMES = 8
_LIST_NUMBER = re.compile(r"^\s{0,8}[（(]?\d{1,3}[.、)）](?!\d)", re.MULTILINE)
_PLACE_IN_TEXT = re.compile(r"[条條章款项項号號届屆]$")
_LISTED_OPERATIONS = (EditOperation.CHANGED, EditOperation.ADDED, EditOperation.REMOVED)


class _DayOfKind(Protocol):
    @property
    def kind(self) -> DeadlineKind: ...

    @property
    def day(self) -> dt.date: ...

    @property
    def subject(self) -> str: ...


Before = TypeVar("Before", bound=_DayOfKind)
After = TypeVar("After", bound=_DayOfKind)


@dataclass(frozen=True)
class DeadlineChange:
    """A deadline that is new (`before` None), was moved, or is stated no more (`after` None)."""

    kind: DeadlineKind
    subject: str
    before: dt.date | None
    after: dt.date | None
    passage: str = ""

    def is_open(self, today: dt.date) -> bool:
        """Whether one of the two days is still to come."""
        return any(day is not None and day >= today for day in (self.before, self.after))


@dataclass(frozen=True)
class DeadlineUpdate:
    """A row of a deadline as it is to be stored, and what changed of it; None where its day stays."""

    row: Deadline
    change: DeadlineChange | None


def list_deadlines(facts: DocumentFacts) -> list[StatedDeadline]:
    """Return the days that a document states, each once; without those that its own text does not bear."""
    stated = [deadline for deadline in facts.deadlines if deadline.verdict.is_kept]
    for kind in DeadlineKind:
        day: dt.date | None = getattr(facts, kind.value)
        if day is not None and not any(given.kind is kind and given.day == day for given in facts.deadlines):
            verdict = facts.verdicts.get(kind.value, Verdict.SUPPORTED)
            passage = facts.evidence.get(kind.value, "")
            stated += [StatedDeadline(kind=kind, day=day, passage=passage, verdict=verdict)] if verdict.is_kept else []
    cut = [given.model_copy(update={"subject": given.subject[:MAX_SUBJECT_CHARS]}) for given in stated]
    by_key = {(given.kind, given.day, build_subject_key(given.subject)): given for given in reversed(cut)}
    return list(by_key.values())[::-1][:MAX_DEADLINES]


def compare_deadlines(before: DocumentFacts, after: DocumentFacts) -> list[DeadlineChange]:
    """Return which deadlines a document added, moved or dropped from one reading to the next."""
    pairs = _pair_deadlines(list_deadlines(before), list_deadlines(after))
    return [change for pair in pairs if (change := _describe_pair(pair)) is not None]


def update_deadlines(
    known: Sequence[Deadline], stated: Sequence[StatedDeadline], *, item_id: int, at: dt.datetime
) -> list[DeadlineUpdate]:
    """Return the rows of an item's deadlines as they are after a reading; rows of dropped ones may be taken up again.

    A row that stays as it is is not among them.
    """
    live = [row for row in known if row.dropped_at is None]
    dropped = [row for row in known if row.dropped_at is not None]
    updates: list[DeadlineUpdate] = []
    for pair in _pair_deadlines(live, stated):
        change, row, now = _describe_pair(pair), pair.before, pair.after
        if now is None and row is not None:
            updates.append(DeadlineUpdate(Deadline(**row.model_dump() | {"dropped_at": at}), change))
            continue
        if now is None:
            continue
        if row is None:
            row = next((old for old in dropped if _is_same_subject(old, now)), None)
            dropped = [old for old in dropped if old is not row]
        values = now.model_dump() | {"dropped_at": None}
        if row is None:
            updates.append(DeadlineUpdate(Deadline(**values, item_id=item_id, seen_at=at), change))
        elif any(getattr(row, name) != value for name, value in values.items()):
            updates.append(DeadlineUpdate(Deadline(**row.model_dump() | values), change))
    return updates


@dataclass(frozen=True)
class _Pair(Generic[Before, After]):
    before: Before | None
    after: After | None


def _describe_pair(pair: _Pair[Before, After]) -> DeadlineChange | None:
    before, after = pair.before, pair.after
    stated = after or before
    if stated is None or (before is not None and after is not None and before.day == after.day):
        return None
    return DeadlineChange(
        kind=stated.kind,
        subject=stated.subject,
        before=None if before is None else before.day,
        after=None if after is None else after.day,
        passage=getattr(after, "passage", ""),
    )


def _pair_deadlines(before: Sequence[Before], after: Sequence[After]) -> Iterator[_Pair[Before, After]]:
    """Pair the deadlines of two readings: what has kind, day and subject in common first, then day, then subject.

    What is left of a kind is paired in the order of days where both readings have as many of it: the page renamed the
    subject and moved the day. Everything else is new, or gone.
    """
    old, new = list(before), list(after)
    rules: tuple[Callable[[_DayOfKind, _DayOfKind], bool], ...] = (
        lambda one, other: one.day == other.day and _is_same_subject(one, other),
        lambda one, other: one.kind is other.kind and one.day == other.day,
        _is_same_subject,
    )
    for is_same in rules:
        for earlier in list(old):
            later = next((candidate for candidate in new if is_same(earlier, candidate)), None)
            if later is not None:
                yield _Pair(earlier, later)
                old = [left for left in old if left is not earlier]
                new = [left for left in new if left is not later]
    for kind in DeadlineKind:
        left = sorted((stated for stated in old if stated.kind is kind), key=lambda stated: stated.day)
        right = sorted((stated for stated in new if stated.kind is kind), key=lambda stated: stated.day)
        if len(left) == len(right):
            yield from (_Pair(earlier, later) for earlier, later in zip(left, right, strict=True))
        else:
            yield from (_Pair(earlier, None) for earlier in left)
            yield from (_Pair(None, later) for later in right)


def _is_same_subject(one: _DayOfKind, other: _DayOfKind) -> bool:
    return one.kind is other.kind and build_subject_key(one.subject) == build_subject_key(other.subject)


def build_subject_key(subject: str) -> str:
    """Return a subject as subjects are compared: without case, width, spaces and signs."""
    folded = unicodedata.normalize("NFKC", subject[:MAX_SUBJECT_CHARS]).casefold()
    return "".join(char for char in folded if char.isalnum())


def name_deadline(kind: DeadlineKind, subject: str = "") -> Message:
    """Name a deadline in a sentence: its kind, and what it is of where it does not hold for the whole document."""
    name = Message.of(f"word.deadline.{kind}")
    return Message.of("deadline.named", name=name, subject=subject) if subject else name


def describe_deadline_change(change: DeadlineChange) -> Message:
    name = name_deadline(change.kind, change.subject)
    if change.before is None:
        return Message.of("deadline.added", name=name, after=change.after)
    if change.after is None:
        return Message.of("deadline.dropped", name=name, before=change.before)
    return Message.of("deadline.moved", name=name, before=change.before, after=change.after)


def describe_changes(revision: Revision, moves: Iterable[DeadlineChange]) -> list[ItemChange]:
    """Say what a revision changed as a reader needs it: days first, then figures, articles, documents, and the rest."""
    change = revision.change
    described = [
        ItemChange(kind=ItemChangeKind.DEADLINE_MOVED, message=describe_deadline_change(move)) for move in moves
    ]
    if revision.kind is ChangeKind.WITHDRAWN:
        message = Message.of("item_change.withdrawn")
        return [*described, ItemChange(kind=ItemChangeKind.WITHDRAWN, message=message)]
    described += [
        ItemChange(kind=ItemChangeKind.FIGURE_CHANGED, message=message) for message in _describe_figures(change)
    ]
    described += [
        ItemChange(kind=ItemChangeKind.ARTICLE_CHANGED, message=message) for message in _describe_articles(change)
    ]
    for op in _LISTED_OPERATIONS:
        if titles := [edit.after or edit.before for edit in change.list_edits(PagePart.ATTACHMENT) if edit.op is op]:
            message = Message.of(f"item_change.attachments_{op}", titles=titles[:_MAX_NAMES])
            described.append(ItemChange(kind=ItemChangeKind.ATTACHMENT_CHANGED, message=message))
    if not described:
        described.append(ItemChange(kind=ItemChangeKind.TEXT_CHANGED, message=Message.of("item_change.text")))
    return described


def assign_moves(
    revisions: Iterable[Revision], moves: Iterable[tuple[Deadline, DeadlineMove]]
) -> dict[int, list[DeadlineChange]]:
    """Return the moves of deadlines by the id of the revision that made them: the last one of the item before them."""
    by_item: dict[int, list[Revision]] = {}
    for revision in sorted(revisions, key=lambda revision: revision.seen_at):
        by_item.setdefault(revision.item_id, []).append(revision)
    assigned: dict[int, list[DeadlineChange]] = {}
    for deadline, move in moves:
        seen = by_item.get(deadline.item_id, ())
        earlier = [revision for revision in seen if revision.seen_at <= move.seen_at]
        if earlier:
            change = DeadlineChange(deadline.kind, deadline.subject, move.before, move.after, move.passage)
            assigned.setdefault(earlier[-1].id or 0, []).append(change)
    return assigned


def has_changed_figure(change: PageChange) -> bool:
    """Whether a page states another figure than before in a paragraph or article that stayed."""
    return any(True for _ in _describe_figures(change))


def _describe_articles(change: PageChange) -> Iterator[Message]:
    for op in _LISTED_OPERATIONS:
        if names := change.list_articles(op):
            yield Message.of(f"item_change.articles_{op}", articles=names[:_MAX_NAMES])


def _describe_figures(change: PageChange) -> Iterator[Message]:
    """Name the figures that were replaced in paragraphs and articles that stayed; of long changes the first ones."""
    texts = [edit for edit in change.edits if edit.part in (PagePart.ARTICLE, PagePart.PARAGRAPH)]
    changed = [edit for edit in texts if edit.op is EditOperation.CHANGED]
    for edit in changed[:_MAX_EDITS_WITH_FIGURES]:
        yield from _describe_replaced_figures(edit)


def _describe_replaced_figures(edit: PageEdit) -> Iterator[Message]:
    """Name the figures that an edit replaced; where it adds or removes some, nobody can say which became which."""
    before, after = _count_figures(edit.before), _count_figures(edit.after)
    gone, new = list((before - after).elements()), list((after - before).elements())
    if len(gone) != len(new):
        return
    for old, figure in list(zip(gone, new, strict=True))[:_MAX_FIGURES]:
        if edit.article:
            yield Message.of("item_change.figure_in_article", article=edit.article, before=old, after=figure)
        else:
            yield Message.of("item_change.figure", before=old, after=figure)


def _count_figures(text: str) -> Counter[str]:
    """Count the figures of a text as they are written; days, periods and numbers of articles are none."""
    found = parse_figures(_LIST_NUMBER.sub("", text[:_MAX_COMPARED_CHARS]), is_page=False)
    written = (re.sub(r"\s+", " ", figure.written) for figure in found.figures)
    return Counter(figure for figure in written if not _PLACE_IN_TEXT.search(figure))
