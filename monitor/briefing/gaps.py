"""What a briefing could not see, or not in full, by the state of each source."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from monitor.briefing.item import FallbackSchema
from monitor.db.reading import UnseenPlace
from monitor.db.tables.delivery import AlarmKind
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.vocabulary import Phase, RunStatus

RunGapKind = Literal["failed", "cancelled", "degraded", "running", "never_run", "silent"]
CoverageGapKind = Literal["unseen", "over_limit", "left", "refused", "possible_gap"]
AlarmGapKind = Literal["silence", "structure", "dates_lost", "blocked", "failing", "drift"]
GapKind = Literal[RunGapKind, CoverageGapKind, AlarmGapKind]

GAP_KIND_BY_ALARM: dict[AlarmKind, GapKind] = {
    AlarmKind.SILENCE: "silence",
    AlarmKind.STRUCTURE: "structure",
    AlarmKind.DATES_LOST: "dates_lost",
    AlarmKind.BLOCKED: "blocked",
    AlarmKind.FAILING: "failing",
    AlarmKind.GAP: "possible_gap",
    AlarmKind.DRIFT: "drift",
}


_BLINDING_ALARMS = (AlarmKind.STRUCTURE, AlarmKind.BLOCKED, AlarmKind.FAILING, AlarmKind.DRIFT)
"""Alarms that mean that what a source publishes may not be seen."""


class OpenAlarm(MessageModel):
    """An alarm of a source that is not over; `section` is empty where the whole source is meant."""

    kind: AlarmKind
    section: str = ""
    message: Message


class SourceRunSummary(MessageModel):
    """What the runs of a source in the period came to; `status` is the latest one's, None where there was none.

    `new_items` counts all that it brought, also what the words or types of a briefing leave out; `over_limit`, `left`
    and `refused` the candidates in range that the latest run saw and did not save. `possible_gaps` are the lists of
    which a run saw nothing that it knew, so that something may lie between.
    """

    name: str
    status: RunStatus | None = None
    run_id: str | None = None
    is_baseline: bool = False
    new_items: int = 0
    last_error: Message | None = None
    last_run_at: dt.datetime | None = None
    last_new_item_at: dt.datetime | None = None
    fallbacks: list[FallbackSchema] = Field(default_factory=list)
    unseen: list[UnseenPlace] = Field(default_factory=list)
    possible_gaps: list[UnseenPlace] = Field(default_factory=list)
    alarms: list[OpenAlarm] = Field(default_factory=list)
    over_limit: int = 0
    left: int = 0
    refused: int = 0

    @property
    def is_incomplete(self) -> bool:
        """Whether something of this source was not seen in the period, or may not have been.

        That a summary or a rank fell back says nothing of it: what was there is in the briefing.
        """
        is_read = self.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED)
        is_blind = any(alarm.kind in _BLINDING_ALARMS for alarm in self.alarms)
        return not is_read or is_blind or bool(self.unseen or self.possible_gaps or self.over_limit)


class Gap(MessageModel):
    """Something that the briefing does not show, or may not show whole.

    `place` is the section or page that is meant, `reason` what the run or the alarm has on record;
    `count` says how many items, `day` since when there were none.
    """

    source: str
    kind: GapKind
    phase: Phase | None = None
    place: str = ""
    reason: Message | None = None
    count: int | None = None
    day: dt.date | None = None
    url: str | None = None

    @property
    def is_unseen(self) -> bool:
        """Whether something may be missing; a step that fell back, or a source without news, is none of that."""
        return self.kind not in ("degraded", "silent")


def list_gaps(source: SourceRunSummary) -> list[Gap]:
    """All that a source's runs and alarms leave open, the gravest first."""
    name = source.name
    gaps = [
        *_list_status_gaps(source),
        *(
            Gap(source=name, kind="degraded", phase=fallback.phase, place=fallback.where, reason=fallback.reason)
            for fallback in source.fallbacks
        ),
        *(
            Gap(source=name, kind="unseen", place=unread.section, reason=unread.reason, url=unread.url)
            for unread in source.unseen
        ),
        *(Gap(source=name, kind="possible_gap", place=gap.section, url=gap.url) for gap in source.possible_gaps),
        *(
            Gap(source=name, kind=GAP_KIND_BY_ALARM[alarm.kind], place=alarm.section, reason=alarm.message)
            for alarm in source.alarms
            if alarm.kind is not AlarmKind.GAP  # told by the runs themselves
        ),
    ]
    kinds: tuple[GapKind, ...] = ("over_limit", "left", "refused")
    gaps.extend(Gap(source=name, kind=kind, count=count) for kind in kinds if (count := getattr(source, kind)))
    if source.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) and source.new_items == 0:
        last = source.last_new_item_at
        gaps.append(Gap(source=name, kind="silent", day=last.date() if last else None))
    return gaps


def _list_status_gaps(state: SourceRunSummary) -> list[Gap]:
    if state.status is None:
        kind: GapKind = "never_run"
    elif state.status is RunStatus.FAILED:
        kind = "failed"
    elif state.status is RunStatus.CANCELLED:
        kind = "cancelled"
    elif not state.status.is_final:
        return [Gap(source=state.name, kind="running")]
    elif state.status is RunStatus.DEGRADED and not state.fallbacks:
        kind = "degraded"
    else:
        return []
    return [Gap(source=state.name, kind=kind, reason=state.last_error)]


def count_gaps(gaps: Iterable[Gap]) -> defaultdict[str, Counter[str]]:
    """Return how many gaps of each kind every source has."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for gap in gaps:
        counts[gap.source][gap.kind] += 1
    return counts
