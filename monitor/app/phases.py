"""How far a run came, phase by phase, as its page tells it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from monitor.domain.live import RunEvent
from monitor.domain.tables import Item, Run, RunSection
from monitor.domain.words import SWEEP_PHASES, Phase, RunStatus

REVISIT = "revisit"
_ORDER = [*map(str, SWEEP_PHASES), REVISIT]
_LAST = {str(Phase.RANK), REVISIT}
"""A run that came so far went through all of its phases: often nothing is due to be looked at again."""


class PhaseState(StrEnum):
    WAITING = "waiting"
    NOW = "now"
    DONE = "done"
    STOPPED = "stopped"
    NOT_REACHED = "not_reached"


_UNTOUCHED = (PhaseState.WAITING, PhaseState.NOT_REACHED)


class PhaseView(NamedTuple):
    """A phase of a run; `done` of `total` sections or items, where that is known."""

    phase: str
    state: PhaseState
    done: int | None = None
    total: int | None = None


def phases_of(
    run: Run, *, last: RunEvent | None, sections: Sequence[RunSection], items: Sequence[Item]
) -> list[PhaseView]:
    """The phases in their order; `last` is the latest event of a phase, None where the run told of none."""
    at = _ORDER.index(_phase_of(run, last, sections))
    views = [
        PhaseView(phase, _state(run, place, at), *_count(phase, sections, items)) for place, phase in enumerate(_ORDER)
    ]
    views = [view._replace(done=None, total=None) if view.state in _UNTOUCHED else view for view in views]
    if run.status is RunStatus.RUNNING and last is not None:
        views[at] = views[at]._replace(done=last.data.get("done", 0), total=last.data.get("total"))
    return views


def _phase_of(run: Run, last: RunEvent | None, sections: Sequence[RunSection]) -> str:
    if last is not None and last.data.get("phase") in _ORDER:
        return str(last.data["phase"])
    if not sections:
        return Phase.NAVIGATE
    if any(section.ended is None for section in sections):
        return Phase.CRAWL
    return Phase.SUMMARISE if run.status is RunStatus.RUNNING else REVISIT


def _state(run: Run, place: int, at: int) -> PhaseState:
    if run.status is RunStatus.QUEUED:
        return PhaseState.WAITING
    if place < at:
        return PhaseState.DONE
    if run.status is RunStatus.RUNNING:
        return PhaseState.NOW if place == at else PhaseState.WAITING
    if run.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) or _ORDER[at] in _LAST:
        return PhaseState.DONE
    return PhaseState.STOPPED if place == at else PhaseState.NOT_REACHED


def _count(phase: str, sections: Sequence[RunSection], items: Sequence[Item]) -> tuple[int | None, int | None]:
    match phase:
        case Phase.NAVIGATE:
            return len(sections), len(sections)
        case Phase.CRAWL:
            return sum(section.ended is not None for section in sections), len(sections)
        case Phase.SUMMARISE:
            return sum(bool(item.summary) for item in items), len(items)
        case Phase.RANK:
            return sum(one.rank is not None for one in items), len(items)
    return None, None
