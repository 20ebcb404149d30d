"""What about a source is out of the ordinary after a run: rules over what the store holds, nothing else."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from monitor.app.cadence import cadence_of
from monitor.domain.alarms import AlarmFinding, AlarmKind
from monitor.domain.causes import Cause
from monitor.domain.tables import Fallback, Run, RunSection, Section, Source
from monitor.domain.urls import url_key
from monitor.domain.words import Phase, RunStatus, SectionEnd

FAILURES = 3
"""So many failures in a row are an alarm."""

HISTORY = 30
"""So many earlier readings of a section are looked at."""

_LEAST_LIST = 8
_FALLEN_TO = 0.25
_DATED_SHARE = 0.7
_UNDATED_SHARE = 0.3
_BLOCKED = "WebBlocked/"
_BLOCKED_PAGES = 3


@dataclass(frozen=True, kw_only=True)
class SectionState:
    """A section of the run that ended, its earlier readings, newest first, and what is remembered of it."""

    row: RunSection
    earlier: Sequence[RunSection]
    memory: Section | None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The alarms that are due, and for each scope that could be judged, the kinds that were.

    A scope is a section's key, or the empty string for the whole source.
    """

    due: list[AlarmFinding]
    judged: dict[str, frozenset[AlarmKind]]


def judge(
    source: Source, run: Run, sections: Sequence[SectionState], fallbacks: Sequence[Fallback], *, today: dt.date
) -> Verdict:
    """What is out of the ordinary after `run`, the last one of its source; `today` is the day where the source is."""
    due = [finding for finding in (_blocked(fallbacks), _failing(source, run)) if finding is not None]
    has_read = any(state.row.ended not in (None, SectionEnd.ERROR) for state in sections)
    judged = {"": frozenset({AlarmKind.FAILING, *([AlarmKind.BLOCKED] if has_read else [])})}
    for state in sections:
        findings, kinds = _judged_section(state, today, is_source_down=run.status is RunStatus.FAILED)
        due += findings
        judged[url_key(state.row.url)] = kinds
    return Verdict(due=due, judged=judged)


def _judged_section(
    state: SectionState, today: dt.date, *, is_source_down: bool
) -> tuple[list[AlarmFinding], frozenset[AlarmKind]]:
    row = state.row
    kinds: set[AlarmKind] = set()
    found: list[AlarmFinding | None] = []
    if row.listed is not None:
        kinds |= {AlarmKind.STRUCTURE, AlarmKind.DATES_LOST}
        found += [_structure(state), _dates_lost(state)]
    if row.ended not in (None, SectionEnd.ERROR):
        kinds |= {AlarmKind.SILENCE, AlarmKind.GAP, AlarmKind.FAILING}
        found += [_silence(state, today), _gap(state)]
    elif not is_source_down and not any(found):
        found.append(_section_failing(state))
    return [one for one in found if one is not None], frozenset(kinds)


def _structure(state: SectionState) -> AlarmFinding | None:
    """The list is gone, or has fallen to a quarter of what it was."""
    usual = median([row.listed for row in state.earlier if row.listed] or [0])
    now = state.row.listed or 0
    if usual and now == 0:
        return _of(state, AlarmKind.STRUCTURE, Cause.LIST_GONE.told(f"{usual:g}"))
    if usual >= _LEAST_LIST and now <= usual * _FALLEN_TO:
        return _of(state, AlarmKind.STRUCTURE, Cause.LIST_FELL.told(f"{usual:g}", now))
    return None


def _dates_lost(state: SectionState) -> AlarmFinding | None:
    """Candidates stand on the list as before, but without the dates that they had."""
    shares = [row.listed_dated / row.listed for row in state.earlier if row.listed]
    now = state.row.listed or 0
    if not now or median(shares or [0.0]) < _DATED_SHARE or state.row.listed_dated / now > _UNDATED_SHARE:
        return None
    return _of(state, AlarmKind.DATES_LOST, Cause.DATES_LOST.told(state.row.listed_dated, now))


def _silence(state: SectionState, today: dt.date) -> AlarmFinding | None:
    arrivals = state.memory.arrivals if state.memory is not None else []
    cadence = cadence_of([dt.date.fromisoformat(day) for day in arrivals])
    if cadence is None or cadence.silent_days(today) <= cadence.silent_after_days:
        return None
    return _of(state, AlarmKind.SILENCE, Cause.SILENT.told(cadence.last_on, f"{cadence.usual_days:g}"))


def _gap(state: SectionState) -> AlarmFinding | None:
    if not state.row.is_gap:
        return None
    return _of(state, AlarmKind.GAP, Cause.GAP.told(state.row.pages, state.row.ended))


def _section_failing(state: SectionState) -> AlarmFinding | None:
    failures = 0
    for row in (state.row, *state.earlier):
        if row.ended is not SectionEnd.ERROR:
            break
        failures += 1
    if failures < FAILURES:
        return None
    return _of(state, AlarmKind.FAILING, Cause.NOT_READ.told(failures, state.row.error))


def _blocked(fallbacks: Sequence[Fallback]) -> AlarmFinding | None:
    """The site turns us away from a list, or from several articles; one article elsewhere is no block."""
    blocked = [fallback for fallback in fallbacks if fallback.reason.startswith(_BLOCKED)]
    if not any(one.phase is not Phase.SUMMARISE for one in blocked) and len(blocked) < _BLOCKED_PAGES:
        return None
    count, first = len(blocked), blocked[0].reason
    message = Cause.BLOCKED_PAGES.told(count, first) if count > 1 else Cause.BLOCKED_PAGE.told(first)
    return AlarmFinding(kind=AlarmKind.BLOCKED, message=message)


def _failing(source: Source, run: Run) -> AlarmFinding | None:
    if source.consecutive_failures < FAILURES:
        return None
    reason = run.error or source.last_error or "no reason"
    message = Cause.FAILING.told(source.consecutive_failures, reason)
    return AlarmFinding(kind=AlarmKind.FAILING, message=message)


def _of(state: SectionState, kind: AlarmKind, message: str) -> AlarmFinding:
    return AlarmFinding(kind=kind, message=message, section=state.row.name, section_key=url_key(state.row.url))
