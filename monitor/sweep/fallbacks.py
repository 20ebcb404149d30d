"""Recording, as it happens, each event that makes a run degraded."""

from monitor.domain.words import EventKind, Phase
from monitor.logs import logger_of
from monitor.ports import Clock, Progress, ProgressCallback, untold
from monitor.store import Store


class Fallbacks:
    def __init__(self, *, run_id: str, store: Store, clock: Clock, tell: ProgressCallback = untold) -> None:
        self._run_id = run_id
        self._tell = tell
        self._store = store
        self._clock = clock

    async def note(self, phase: Phase, where: str, reason: str) -> None:
        """Keep that something fell back, was cut short or failed: phase, place and reason."""
        logger_of("sweep").warning("fell back", phase=str(phase), where=where, reason=reason)
        await self._store.runs.add_fallback(self._run_id, phase, where, reason, self._clock.now())
        self._tell(Progress(phase=phase, place=where, reason=reason, kind=EventKind.FALLBACK))
