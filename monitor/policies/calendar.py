"""The calendar of deadlines: each day once, whoever states it; and which reminders are due."""

import datetime as dt
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from pydantic import BaseModel, Field

from monitor.db.queries.deadlines import DeadlineRow, build_scope
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

    `items` are all items that state it, that document first, then those whose day it has taken the place of.
    `moved_from` is the day that it had before, `moved_at` when that was seen, `moves` how often it was moved.
    `known_since` is when the present day was first seen. `place` tells the deadlines of one kind and day apart.
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
    place: int = Field(default=0, exclude=True)


_COPIED_FIELDS = (DeadlineEntry.model_fields.keys() & DeadlineRow.model_fields.keys()) - {"id", "moves"}


def merge_deadlines(rows: Iterable[DeadlineRow]) -> list[DeadlineEntry]:
    """Return the calendar of these deadlines, by day: one entry for what several documents of a policy state.

    A day that a draft proposed is left out once the final document sets another one; so is a day that a later document
    of the policy postpones, one that another document repeats of a page that has moved it since, and one that comes
    when its document is repealed. `rows` are all that the policies concerned have.
    """
    entries: list[DeadlineEntry] = []
    by_kind = sorted(rows, key=lambda row: (row.scope, row.kind, row.day, row.id))
    for _, group in groupby(by_kind, key=lambda row: (row.scope, row.kind)):
        of_kind = _drop_repealed(list(group))
        replaced: dict[int, list[DeadlineRow]] = {}
        valid: list[DeadlineRow] = []
        for row in of_kind:
            later = _find_replacement(row, of_kind)
            if later is None:
                valid.append(row)
            else:
                replaced.setdefault(later.id, []).append(row)
        for _, of_day in groupby(valid, key=lambda row: row.day):
            entries += _merge_day(list(of_day), replaced)
    return sorted(entries, key=lambda entry: (entry.day, entry.id))


def _drop_repealed(of_kind: Sequence[DeadlineRow]) -> list[DeadlineRow]:
    """Leave out the days by which their documents are repealed, and what others only tell of these days."""
    standing = [row for row in of_kind if row.repealed_on is None or row.day < row.repealed_on]
    void = {row.day for row in of_kind} - {row.day for row in standing if row.stage in _OWN_STAGES}
    void &= {row.day for row in of_kind if row not in standing}
    return [row for row in standing if row.day not in void]


def _merge_day(rows: Sequence[DeadlineRow], replaced: Mapping[int, Sequence[DeadlineRow]]) -> Iterator[DeadlineEntry]:
    """Yield an entry for each subject that the leading document has on a day; the first one has what others state."""
    lead = min(rows, key=_get_precedence).item_id
    own = [row for row in rows if row.item_id == lead]
    others = [row for row in rows if row.item_id != lead]
    for place, row in enumerate(own):
        same = [row, *(others if place == 0 else [])]
        yield _build_entry(row, same, [old for stated in same for old in replaced.get(stated.id, ())], place)


def find_postponements(rows: Iterable[DeadlineRow], item_ids: Container[int]) -> list[tuple[DeadlineRow, DeadlineRow]]:
    """Return what these items postpone, as the old deadline and the new one; `rows` are all that the policies have."""
    found: list[tuple[DeadlineRow, DeadlineRow]] = []
    by_kind = sorted(rows, key=lambda row: (row.scope, row.kind, row.day, row.id))
    for _, group in groupby(by_kind, key=lambda row: (row.scope, row.kind)):
        of_kind = list(group)
        for row in of_kind:
            if row.item_id in item_ids:
                old = [other for other in of_kind if _postpones(row, other) and _supersedes(row, other, of_kind)]
                found += [(max(old, key=lambda other: other.day), row)] if old else []
    return found


def _get_precedence(row: DeadlineRow) -> tuple[int, dt.date, int]:
    place = _OWN_STAGES.index(row.stage) if row.stage in _OWN_STAGES else len(_OWN_STAGES)
    return place, row.published_on, row.item_id


def _build_entry(
    row: DeadlineRow, same: Sequence[DeadlineRow], replaced: Sequence[DeadlineRow], place: int
) -> DeadlineEntry:
    move = next((move for move in reversed(row.moves) if move.before is not None and move.after == row.day), None)
    moved_from, moved_at = (move.before, move.seen_at) if move else (None, None)
    postponed = [old for old in replaced if _postpones(row, old)]
    if move is None and postponed:
        moved_from, moved_at = max(old.day for old in postponed), row.seen_at
    return DeadlineEntry(
        **{name: getattr(row, name) for name in _COPIED_FIELDS},
        id=min(stated.id for stated in same),
        moved_from=moved_from,
        moved_at=moved_at,
        moves=len(row.moves),
        known_since=min(stated.known_since for stated in same),
        items=list(dict.fromkeys(stated.item_id for stated in (*same, *replaced))),
        place=place,
    )


def _find_replacement(row: DeadlineRow, of_kind: Sequence[DeadlineRow]) -> DeadlineRow | None:
    """Return the deadline that has taken the place of this one; None where it stands."""
    seen = {row.id}
    current = row
    while later := [other for other in of_kind if other.id not in seen and _supersedes(other, current, of_kind)]:
        current = max(later, key=lambda other: (other.published_on, other.id))
        seen.add(current.id)
    return None if current is row else current


def _supersedes(later: DeadlineRow, row: DeadlineRow, of_kind: Sequence[DeadlineRow]) -> bool:
    """Whether another document of the policy sets another day in place of this one."""
    if later.item_id == row.item_id or later.day == row.day or not _is_same_deadline(later, row, of_kind):
        return False
    if any(stated.item_id == later.item_id and stated.day == row.day for stated in of_kind):
        return False
    if _repeats_moved_day(row, later):
        return not _postpones(row, later)
    if later.published_on <= row.published_on:
        return False
    if later.stage is PolicyStage.FINAL and row.stage in _PROPOSING_STAGES and row.kind in _PROPOSED_KINDS:
        return True
    return _postpones(later, row)


def _repeats_moved_day(row: DeadlineRow, moved: DeadlineRow) -> bool:
    """Whether a document has its day from a page that has moved it since."""
    return any(move.before == row.day and row.known_since <= move.seen_at for move in moved.moves)


def _postpones(later: DeadlineRow, row: DeadlineRow) -> bool:
    """Whether a later document says that it extends or postpones a day that was still to come."""
    is_said = _POSTPONING.search(later.title) or _POSTPONING.search(later.passage)
    return bool(is_said) and later.item_id != row.item_id and later.published_on <= row.day < later.day


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
                    scope = build_scope(entry.item_id, entry.policy_id)
                    key = f"near:{scope}:{entry.kind}:{entry.day}:{entry.place}:{mark}"
                    due.append(Reminder(entry=entry, key=key, days_left=days_left))
                break
    return due
