"""The use cases around researches: ask, carry out, approve a plan, remark, cancel, and look at what came of it."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress

from monitor.app.handover import SERVICE_PATIENCE_S
from monitor.app.obeying import StopWatch
from monitor.app.research_events import ResearchLog, follow, last_word
from monitor.app.research_gear import ResearchGear, language_of
from monitor.app.research_notebook import as_kept
from monitor.app.research_plan import approval, output_of, plan_anew
from monitor.app.research_reading import ResearchReading
from monitor.app.research_view import ResearchSummary, ResearchView
from monitor.app.sweeps import WORKER
from monitor.domain.research import Research, ResearchEvent, ResearchRemark, ResearchStatus
from monitor.errors import Conflict, RunCancelled, UsageError, WorkFailed
from monitor.logs import belonging_to, logger_of
from monitor.ports import Clock, Presence, Steps
from monitor.research.shapes import PlanParagraph, ResearchOptions, SearchConfig
from monitor.research.workflow import ResearchTaskProcessor
from monitor.store import Store
from monitor.store.research import ResearchKey

MOST_CHARS = 2000
"""The longest question."""

_EXECUTOR = "research"
_LOOK_EVERY_S = 0.5
_CANCELLED = "The research was cancelled."
_log = logger_of("research")

OnEvent = Callable[[ResearchEvent], None]


class ResearchDesk(ResearchReading):
    """Has researches done; `gear` equips each, `steps` are those of one that is carried out here and now."""

    def __init__(self, *, store: Store, clock: Clock, gear: ResearchGear, steps: Steps, presence: Presence) -> None:
        super().__init__(store=store, pages=gear.kept_pages, settings=gear.settings)
        self._clock = clock
        self._gear = gear
        self._steps = steps
        self._presence = presence
        self._stops = StopWatch(store.research.to_be_cancelled)

    async def list(self, *, limit: int = 50, after: ResearchKey | None = None, text: str = "") -> list[ResearchSummary]:
        """The history as it is by now."""
        await self.tidy()
        return await super().list(limit=limit, after=after, text=text)

    async def get(self, task_id: str) -> ResearchView:
        """A research as it is by now."""
        await self.tidy()
        return await super().get(task_id)

    async def is_served(self) -> bool:
        """Whether a service is there that takes researches out of the queue."""
        return WORKER in (await self._presence.alive()).values()

    def notes_of_search(self, config: SearchConfig) -> Sequence[str]:
        """What is to be said of the backends that would be asked."""
        return self._gear.searching.for_research(config.engines).notes

    async def ask(self, query: str, *, config: SearchConfig, options: ResearchOptions, by: str) -> str:
        """Put a research into the queue; answers its id. `UsageError` where no worker is at work."""
        research = self._new(query, config, options, by)
        if not await self.is_served():
            raise UsageError("No worker is at work: start `monitor serve`, or `monitor worker` beside this process.")
        await self._store.research.create(research)
        return research.id

    async def run_here(
        self,
        query: str,
        *,
        config: SearchConfig,
        options: ResearchOptions,
        by: str,
        on_event: OnEvent | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> str:
        """Carry out a research in this process, to its end; answers its id. A plan is not waited for."""
        options = options.model_copy(update={"review_plan": False})
        research = self._new(query, config, options, by)
        async with self._presence.attending(_EXECUTOR) as executor:
            await self.tidy(mine=executor)
            research.status, research.executor = ResearchStatus.RUNNING, executor
            await self._store.research.create(research)
            await self._here(research.id, executor, on_event, cancel_event)
        return research.id

    async def resume_here(
        self, task_id: str, *, on_event: OnEvent | None = None, cancel_event: asyncio.Event | None = None
    ) -> None:
        """Go on, in this process, with a research that failed or was cancelled; `Conflict` where it did not."""
        async with self._presence.attending(_EXECUTOR) as executor:
            await self._resume(task_id, executor)
            await self._here(task_id, executor, on_event, cancel_event)

    async def resume(self, task_id: str) -> int:
        """The same by the service, waiting for nothing; answers the number of the last message that was told before."""
        after = await self._last_number(task_id)
        await self._resume(task_id, None)
        return after

    async def wait_for(
        self, task_id: str, *, on_event: OnEvent, cancel_event: asyncio.Event | None = None, after: int = 0
    ) -> ResearchStatus:
        """Follow a research that a service carries out to its end, and pass on the wish to stop it.

        `WorkFailed` where no service has been there for a minute: the research goes on when one is.
        """
        following = asyncio.create_task(follow(task_id, store=self._store, on_event=on_event, after=after))
        loop, is_asked = asyncio.get_running_loop(), False
        seen = loop.time()
        try:
            while not following.done():
                await asyncio.wait({following}, timeout=_LOOK_EVERY_S)
                if cancel_event is not None and cancel_event.is_set() and not is_asked:
                    is_asked = True
                    with suppress(Conflict):
                        await self.cancel(task_id)
                if await self.is_served():
                    seen = loop.time()
                elif loop.time() - seen > SERVICE_PATIENCE_S:
                    raise WorkFailed(f"The service that took {task_id} is gone; it goes on when the service does.")
            return following.result()
        finally:
            following.cancel()

    async def carry_out(
        self,
        task_id: str,
        *,
        executor: str,
        steps: Steps,
        cancel_event: asyncio.Event | None = None,
        on_event: OnEvent | None = None,
    ) -> ResearchStatus:
        """Carry out a research on record, or go on with it where it was left; answers how it stands then.

        `on_event` hears each message as soon as it is kept.
        """
        research = await self._store.research.take(task_id, executor=executor, at=self._clock.now())
        if research is None:
            standing = await self._store.research_events.standing(task_id)
            return standing.status if standing else ResearchStatus.CANCELLED
        log = ResearchLog(store=self._store, clock=self._clock, task_id=task_id, executor=executor, on_kept=on_event)
        await log.open()
        _log.info("research begins", task=task_id)
        try:
            with belonging_to(run=task_id, source=""):
                status = await self._outcome(research, steps, log, cancel_event or asyncio.Event())
        except Exception as error:
            # Whatever ended it, the research does not stay `running`; what it kept stays kept.
            with suppress(Exception):
                await log.flush()
            await self.give_up(task_id, executor=executor, reason=str(error) or type(error).__name__)
            raise
        finally:
            await log.close()
        _log.info("research ended", task=task_id, status=str(status))
        return status

    async def approve(self, task_id: str, title: str, paragraphs: Sequence[PlanParagraph], by: str) -> None:
        """Let a research that waits go on by this plan; `Conflict` where it does not wait."""
        del by
        research, state = await self.row(task_id), await self.state(task_id)
        if research.status is not ResearchStatus.AWAITING_PLAN or state is None:
            raise Conflict(f"The research {task_id} does not wait for its plan: it is {research.status}.")
        plan_anew(state, title, paragraphs, most=self._gear.settings.research.max_paragraphs)
        plan = output_of(state, research.outputs["plan"])
        kept, rows = as_kept(state)
        latest = await self._store.research_events.latest(task_id)
        progress = latest.data["progress"] if latest else 0.0
        told = approval(research, plan, progress=progress, at=self._clock.now())
        if not await self._store.research.approve(task_id, state=kept, paragraphs=rows, plan=plan, told=told):
            raise Conflict(f"The research {task_id} does not wait for its plan any more.")

    async def remark(self, task_id: str, text: str, by: str) -> None:
        """Say something to those who work at it; the nodes that summarise read the latest. `Conflict` at its end."""
        research = await self.row(task_id)
        if not text.strip() or len(text) > MOST_CHARS:
            raise UsageError(f"A remark has 1 to {MOST_CHARS} characters.")
        remark = ResearchRemark(task_id=research.id, person=by, text=text.strip(), at=self._clock.now())
        if not await self._store.research.add_remark(remark):
            raise Conflict(f"The research {task_id} has ended: nobody reads remarks any more.")

    async def cancel(self, task_id: str, by: str = "") -> ResearchStatus:
        """Ask a research to stop; `Conflict` where it has ended. Answers how it stands then."""
        del by
        await self.tidy()
        research = await self.row(task_id)
        told = await self._last_word(research, "cancelled", _CANCELLED)
        status = await self._store.research.request_cancel(research.id, at=self._clock.now(), told=told)
        if status is None:
            raise Conflict(f"The research {task_id} has ended already: {research.status}.")
        return status

    async def tidy(self, *, mine: str | None = None) -> None:
        """End as failed what a process began outside of the queue and did not live to end; it can be gone on with.

        What is in the hands of `mine`, which has begun nothing yet, is of another process that had the same name.
        """
        running = [one for one in await self._store.research.open() if one.status is ResearchStatus.RUNNING]
        lost = [one for one in running if one.enqueued_at is None]
        alive = await self._presence.alive() if lost else {}
        for one in lost:
            if one.executor not in alive or one.executor == mine:
                reason = f"Its process ended without a word; `monitor research --resume {one.id}` goes on with it."
                await self.give_up(one.id, executor=one.executor, reason=reason)

    async def give_up(
        self, task_id: str, *, executor: str | None, reason: str, status: ResearchStatus = ResearchStatus.FAILED
    ) -> None:
        """End a research that this executor had and nobody carries out any more."""
        code = "cancelled" if status is ResearchStatus.CANCELLED else "failed"
        told = await self._last_word(await self.row(task_id), code, reason)
        now = self._clock.now()
        await self._store.research.give_up(task_id, status=status, reason=reason, at=now, executor=executor, told=told)

    async def _outcome(
        self, research: Research, steps: Steps, log: ResearchLog, event: asyncio.Event
    ) -> ResearchStatus:
        """Do the work and write down how it ended."""
        executor = research.executor or ""
        processor = ResearchTaskProcessor(await self._gear.parts(research, event), steps=steps, audience=log)
        try:
            outcome = await self._stops.obey(processor.run(), event, run_id=research.id)
            if outcome is None:
                outcome = await processor.end("cancelled", _CANCELLED)
        except RunCancelled as moved:
            # Another process has it by now: its row is that one's.
            _log.warning("research moved on", task=research.id, reason=str(moved))
            return ResearchStatus.RUNNING
        if outcome.status is ResearchStatus.AWAITING_PLAN:
            await self._store.research.await_plan(research.id, executor=executor)
        else:
            now = self._clock.now()
            await self._store.research.end(
                research.id, executor=executor, status=outcome.status, at=now, error=outcome.error
            )
        return outcome.status

    async def _here(
        self, task_id: str, executor: str, on_event: OnEvent | None, cancel_event: asyncio.Event | None
    ) -> None:
        try:
            await self.carry_out(
                task_id, executor=executor, steps=self._steps, cancel_event=cancel_event, on_event=on_event
            )
        except asyncio.CancelledError:
            await self.give_up(task_id, executor=executor, reason=_CANCELLED, status=ResearchStatus.CANCELLED)
            raise

    async def _resume(self, task_id: str, executor: str | None) -> None:
        await self.tidy(mine=executor)
        if not await self._store.research.resume(task_id, executor=executor):
            status = (await self.row(task_id)).status
            raise Conflict(f"The research {task_id} is {status}: only one that failed or was cancelled is resumed.")

    async def _last_number(self, task_id: str) -> int:
        latest = await self._store.research_events.latest((await self.row(task_id)).id)
        return (latest.id or 0) if latest else 0

    async def _last_word(self, research: Research, code: str, message: str) -> ResearchEvent:
        latest = await self._store.research_events.latest(research.id)
        return last_word(
            research.id, latest, language=research.language, code=code, message=message, at=self._clock.now()
        )

    def _new(self, query: str, config: SearchConfig, options: ResearchOptions, by: str) -> Research:
        query = query.strip()
        if not query or len(query) > MOST_CHARS:
            raise UsageError(f"A question has 1 to {MOST_CHARS} characters.")
        now = self._clock.now()
        return Research(
            id=f"r-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
            query=query,
            language=language_of(query),
            config=config.wire(),
            options=options.wire(),
            asked_by=by,
            created_at=now,
        )
