"""The calendar of deadlines: each day once, whoever states it; and which reminders are due."""

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from pydantic import BaseModel

from monitor.db.queries.deadlines import DeadlineMoveView, DeadlineRow
from monitor.policies.changes import build_subject_key
from monitor.vocabulary import DeadlineKind, PolicyStage, Verdict

REMINDER_DAYS = (7, 1)
"""So many days before a deadline people are reminded of it."""

_OWN_STAGES = (
    PolicyStage.FINAL,
    PolicyStage.AMENDMENT,
    PolicyStage.REPEAL,
    PolicyStage.CONSULTATION,
    PolicyStage.DRAFT,
    PolicyStage.PILOT,
    PolicyStage.PLAN,
    PolicyStage.IMPLEMENTATION,
)
"""The documents that set days themselves, those first that are asked first; the others only tell of them."""

_PROPOSING_STAGES = (PolicyStage.PLAN, PolicyStage.DRAFT, PolicyStage.CONSULTATION)
_PROPOSED_KINDS = (DeadlineKind.IN_FORCE, DeadlineKind.VALID_UNTIL, DeadlineKind.COMPLY_BY)
_POSTPONING = re.compile(
    r"延长|延期|延後|延后|推迟|推遲|顺延|順延|展期|\b(?:extend|extension|postpon|defer|delay)", re.IGNORECASE
)


class DeadlineEntry(BaseModel):
    """A day of the calendar, with the document that sets it.

    `items` are all items that state it, that document first. `moved_from` is the day that it had before, `moved_at`
    when that was seen, `moves` how often it was moved. `known_since` is when the present day was first seen.
    """

    id: int
    kind: DeadlineKind
    day: dt.date
    subject: str
    passage: str
    verdict: Verdict
    item_id: int
    title: str
    url: str
    source: str
    policy_id: int | None
    policy: str | None
    moved_from: dt.date | None
    moved_at: dt.datetime | None
    moves: int
    seen_at: dt.datetime
    known_since: dt.datetime
    items: list[int]

    @property
    def key(self) -> str:
        """What it is of, whatever its day: the same for two items that state one deadline."""
        return build_deadline_key(self.item_id, self.policy_id, self.kind, self.subject)


def build_deadline_key(item_id: int, policy_id: int | None, kind: DeadlineKind, subject: str) -> str:
    scope = f"i{item_id}" if policy_id is None else f"p{policy_id}"
    digest = hashlib.sha256(build_subject_key(subject).encode()).hexdigest()[:12]
    return f"{scope}:{kind}:{digest}"


def merge_deadlines(rows: Iterable[DeadlineRow]) -> list[DeadlineEntry]:
    """Return the calendar of these deadlines, by day: one entry for what several documents of a policy state.

    A day that a draft proposed is left out once the final document sets another one, and a day that a later document
    of the policy postpones. `rows` are all that the policies concerned have.
    """
    entries: list[DeadlineEntry] = []
    by_kind = sorted(rows, key=lambda row: (row.scope, row.kind, row.day, row.id))
    for _, group in groupby(by_kind, key=lambda row: (row.scope, row.kind)):
        of_kind = list(group)
        valid = [row for row in of_kind if not any(_supersedes(other, row, of_kind) for other in of_kind)]
        for _, of_day in groupby(valid, key=lambda row: row.day):
            entries += _merge_day(list(of_day))
    return sorted(entries, key=lambda entry: (entry.day, entry.id))


def _merge_day(rows: Sequence[DeadlineRow]) -> Iterator[DeadlineEntry]:
    """Yield an entry for each subject that the leading document has on a day; the first one has what others state."""
    lead = min(rows, key=_get_precedence).item_id
    own = [row for row in rows if row.item_id == lead]
    others = [row for row in rows if row.item_id != lead]
    for row in own:
        same = [row, *(others if row is own[0] else [])]
        yield _build_entry(row, same)


def _get_precedence(row: DeadlineRow) -> tuple[int, dt.date, int]:
    place = _OWN_STAGES.index(row.stage) if row.stage in _OWN_STAGES else len(_OWN_STAGES)
    return place, row.published_on, row.item_id


def _build_entry(row: DeadlineRow, same: Sequence[DeadlineRow]) -> DeadlineEntry:
    move = _find_last_move(row)
    return DeadlineEntry(
        **row.model_dump(exclude={"id", "moves", "published_on", "stage", "known_since", "scope"}),
        id=min(one.id for one in same),
        moved_from=move and move.before,
        moved_at=move and move.seen_at,
        moves=len(row.moves),
        known_since=min(one.known_since for one in same),
        items=list(dict.fromkeys(one.item_id for one in same)),
    )


def _find_last_move(row: DeadlineRow) -> DeadlineMoveView | None:
    return next((move for move in reversed(row.moves) if move.before is not None and move.after == row.day), None)


def _supersedes(later: DeadlineRow, row: DeadlineRow, of_kind: Sequence[DeadlineRow]) -> bool:
    """Whether a later document of the policy sets another day in place of this one."""
    if later.item_id == row.item_id or later.day == row.day or later.published_on <= row.published_on:
        return False
    if any(one.item_id == later.item_id and one.day == row.day for one in of_kind):
        return False
    if not _is_same_deadline(later, row, of_kind):
        return False
    if later.stage is PolicyStage.FINAL and row.stage in _PROPOSING_STAGES and row.kind in _PROPOSED_KINDS:
        return True
    is_postponed = _POSTPONING.search(later.title) or _POSTPONING.search(later.passage)
    return bool(is_postponed) and later.published_on <= row.day < later.day


def _is_same_deadline(one: DeadlineRow, other: DeadlineRow, of_kind: Sequence[DeadlineRow]) -> bool:
    """Whether two documents mean the same: they name one subject, or each states one day of the kind alone."""
    if build_subject_key(one.subject) == build_subject_key(other.subject):
        return True
    return all(sum(row.item_id == item for row in of_kind) == 1 for item in (one.item_id, other.item_id))


class Reminder(BaseModel):
    """A reminder that is due; its key is the same however often it is found, and for every item of the deadline."""

    entry: DeadlineEntry
    key: str
    days_left: int


def find_due_reminders(entries: Iterable[DeadlineEntry], *, today: dt.date, zone: dt.tzinfo) -> list[Reminder]:
    """Return the reminders that are due today: of several that were missed the last one, of days past none.

    A deadline whose present day was seen after the day of a reminder brings no such reminder: it was news then.
    """
    due: list[Reminder] = []
    for entry in entries:
        days_left = (entry.day - today).days
        known_on = entry.known_since.astimezone(zone).date()
        for mark in sorted(REMINDER_DAYS):
            if 0 <= days_left <= mark:
                if known_on <= entry.day - dt.timedelta(days=mark):
                    key = f"near:{entry.key}:{entry.day}:{mark}"
                    due.append(Reminder(entry=entry, key=key, days_left=days_left))
                break
    return due
