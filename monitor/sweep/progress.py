"""How a run reports what it does while it works, and records what fell back."""

from collections.abc import Callable
from typing import Literal

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import get_logger
from monitor.vocabulary import EventKind, Phase, SectionEnd


class Progress(MessageModel):
    """One sign of life from a run, for a person who waits: which phase, where in it, how far.

    After the phases comes `revisit`, which looks again at the pages of earlier items. What stands below `kind` belongs
    to the event of that kind: `ordinal` is the section's place in the run, `ended` why its reading ended, `reason` why
    something fell back or a page could not be seen, `outcome` what came of a model call.
    """

    phase: Phase | Literal["revisit"]
    place: str = ""
    done: int = 0
    total: int | None = None
    message: Message | None = None
    kind: EventKind = EventKind.STEP
    url: str = ""
    title: str = ""
    reason: Message | None = None
    ordinal: int | None = None
    ended: SectionEnd | None = None
    pages: int | None = None
    candidates: int | None = None
    saved: int | None = None
    item_id: int | None = None
    tokens: int | None = None
    ms: int | None = None
    outcome: str = ""


ProgressCallback = Callable[[Progress], None]


def discard_progress(progress: Progress) -> None:
    """Report to nobody, where no one waits for a run."""


def describe_end(ended: SectionEnd) -> Message:
    """How the reading of a section ended, as a value of other messages."""
    return Message(f"cause.ended_{ended}")


class FallbackRecorder:
    def __init__(
        self, *, run_id: str, store: Store, clock: Clock, report_progress: ProgressCallback = discard_progress
    ) -> None:
        self._run_id = run_id
        self._report_progress = report_progress
        self._store = store
        self._clock = clock

    async def record(self, phase: Phase, where: str, reason: Message) -> None:
        """Keep that something fell back, was cut short or failed: phase, place and reason."""
        get_logger("sweep").warning("fell back", phase=str(phase), where=where, reason=str(reason))
        await self._store.runs.add_fallback(self._run_id, phase, where, reason, self._clock.now())
        self._report_progress(Progress(phase=phase, place=where, reason=reason, kind=EventKind.FALLBACK))
