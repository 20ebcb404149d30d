"""Researches in a worker: what was asked goes into their queue, and what broke off there is mended."""

from monitor.app.research import ResearchDesk
from monitor.domain.research import ResearchStatus
from monitor.ports import Clock
from monitor.store import Store
from monitor.store.research import OpenResearch
from monitor.work.queue import BROKEN, RESEARCH, DurableQueue

_SETTLED_AFTER_S = 30.0


class ResearchRounds:
    """Brings the researches on record and the queue together.

    Each time that a research goes on, at first, after its plan was looked at, after a failure, is a workflow of its
    own, named after the research and a number: it is carried out once, by whichever worker takes it.
    """

    def __init__(self, *, store: Store, clock: Clock, desk: ResearchDesk, queue: DurableQueue) -> None:
        self._store = store
        self._clock = clock
        self._desk = desk
        self._queue = queue

    async def look(self) -> None:
        """Put what waits into the queue; done twice it does no harm."""
        for one in await self._store.research.unnoticed():
            await self._queue.enqueue_research(one.flow, one.id)
            await self._store.research.mark_enqueued(one.id, at=self._clock.now())

    async def mend(self) -> None:
        """Have done what the queue does not do any more: broken off, of another version, or from a backup."""
        under_way = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
        waiting = [
            one for one in await self._store.research.open() if one.status in under_way and one.enqueued_at is not None
        ]
        if not waiting:
            return
        stale = set(await self._queue.stale(RESEARCH))
        states = await self._queue.states([one.flow for one in waiting])
        for one in waiting:
            is_lost = self._is_settled(one) and states.get(one.flow, "SUCCESS") == "SUCCESS"
            if one.flow in stale or is_lost:
                await self._queue.forget(one.flow)
                await self._store.research.requeue(one.id)
            elif states.get(one.flow) in BROKEN:
                reason = f"It broke off again and again; `monitor research --resume {one.id}` goes on with it."
                await self._desk.give_up(one.id, executor=one.executor, reason=reason)

    def _is_settled(self, one: OpenResearch) -> bool:
        # Between the row and the queue another worker may be at work this very moment.
        return one.enqueued_at is not None and (self._clock.now() - one.enqueued_at).total_seconds() > _SETTLED_AFTER_S
