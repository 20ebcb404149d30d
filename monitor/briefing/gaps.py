"""What a briefing could not see, or may not have seen whole: told by the state of each source."""

import datetime as dt
from typing import Literal

from pydantic import BaseModel, Field

from monitor.briefing.wire import FallbackWire
from monitor.domain.alarms import AlarmKind
from monitor.domain.reading import UnseenPlace
from monitor.domain.words import RunStatus

GapKind = Literal[
    "failed", "cancelled", "degraded", "running", "never_run", "silent", "unseen", "over_limit", "left", "refused",
    "possible_gap", "silence", "structure", "dates_lost", "blocked", "failing",
]  # fmt: skip
"""The last five are open alarms of that kind; a possible gap is told by the runs themselves."""

_BY_ALARM: dict[AlarmKind, GapKind] = {
    AlarmKind.SILENCE: "silence", AlarmKind.STRUCTURE: "structure", AlarmKind.DATES_LOST: "dates_lost",
    AlarmKind.BLOCKED: "blocked", AlarmKind.FAILING: "failing",
}  # fmt: skip


class OpenAlarm(BaseModel):
    """An alarm of a source that is not over; `section` is empty where the whole source is meant."""

    kind: AlarmKind
    section: str = ""
    message: str


class SourceState(BaseModel):
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
    last_error: str | None = None
    last_run_at: dt.datetime | None = None
    last_new_item_at: dt.datetime | None = None
    fallbacks: list[FallbackWire] = Field(default_factory=list)
    unseen: list[UnseenPlace] = Field(default_factory=list)
    possible_gaps: list[UnseenPlace] = Field(default_factory=list)
    alarms: list[OpenAlarm] = Field(default_factory=list)
    over_limit: int = 0
    left: int = 0
    refused: int = 0

    @property
    def is_troubled(self) -> bool:
        """Whether something of this source was not seen in the period, or may not have been."""
        troubled = (None, RunStatus.FAILED, RunStatus.DEGRADED, RunStatus.CANCELLED)
        return self.status in troubled or bool(self.unseen or self.possible_gaps)


class Gap(BaseModel):
    """Something that the briefing does not show, or may not show whole."""

    source: str
    kind: GapKind
    detail: str = ""
    url: str | None = None


def gaps_of(state: SourceState) -> list[Gap]:
    """All that a source's runs and alarms leave open, the gravest first."""
    gaps = _of_status(state)
    gaps.extend(
        Gap(source=state.name, kind="degraded", detail=f"{fallback.phase} · {fallback.where} · {fallback.reason}")
        for fallback in state.fallbacks
    )
    gaps.extend(
        Gap(source=state.name, kind="unseen", detail=f"{place.section} · {place.reason}", url=place.url)
        for place in state.unseen
    )
    gaps.extend(
        Gap(source=state.name, kind="possible_gap", detail=place.section, url=place.url)
        for place in state.possible_gaps
    )
    gaps.extend(
        Gap(source=state.name, kind=_BY_ALARM[alarm.kind], detail=_joined(alarm.section, alarm.message))
        for alarm in state.alarms
        if alarm.kind in _BY_ALARM
    )
    counts: tuple[tuple[GapKind, int], ...] = (
        ("over_limit", state.over_limit), ("left", state.left), ("refused", state.refused),
    )  # fmt: skip
    gaps.extend(Gap(source=state.name, kind=kind, detail=str(count)) for kind, count in counts if count)
    if state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) and state.new_items == 0:
        last = state.last_new_item_at
        gaps.append(Gap(source=state.name, kind="silent", detail=last.date().isoformat() if last else ""))
    return gaps


def _of_status(state: SourceState) -> list[Gap]:
    if state.status is None:
        return [Gap(source=state.name, kind="never_run", detail=state.last_error or "")]
    if state.status is RunStatus.FAILED:
        return [Gap(source=state.name, kind="failed", detail=state.last_error or "")]
    if state.status is RunStatus.CANCELLED:
        return [Gap(source=state.name, kind="cancelled", detail=state.last_error or "")]
    if not state.status.is_final:
        return [Gap(source=state.name, kind="running")]
    if state.status is RunStatus.DEGRADED and not state.fallbacks:
        return [Gap(source=state.name, kind="degraded", detail=state.last_error or "")]
    return []


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
