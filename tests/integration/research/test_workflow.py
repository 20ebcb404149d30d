"""A research as a whole: what it tells, and that it goes on after an interruption wherever that came."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.db.tables.research import ResearchStatus
from monitor.research.shapes import STEP_IDS, ResearchOptions, StepEvent, StepType
from monitor.research.workflow import ResearchOutcome, ResearchTaskProcessor
from monitor.steps import InProcessSteps

LIMITS = {"max_paragraphs": 2, "max_reflections": 1, "concurrency": 2}


class Interrupted(BaseException):
    """The process is gone."""


@dataclass
class Listeners:
    """Takes down what is told (`parts.Audience`), and cuts the research off before the message of number `last`."""

    reported: list[StepEvent] = field(default_factory=list)
    last: int | None = None

    async def publish(self, event: StepEvent) -> None:
        if self.last is not None and len(self.reported) >= self.last:
            raise Interrupted
        self.reported.append(event)

    async def flush(self) -> None:
        return None

    async def has_ended(self, step: StepType) -> bool:
        of_step = [text.status for text in self.reported if text.step_type is step]
        return "complete" in of_step and "start" not in of_step[of_step.index("complete") :]


async def carried_out(lab: Any, listeners: Listeners, **given: Any) -> ResearchOutcome:
    parts = await lab.parts(limits=LIMITS, **given)
    return await ResearchTaskProcessor(parts, steps=InProcessSteps(), event_sink=listeners).run()


def report_in(listeners: Listeners) -> dict[str, Any]:
    report: dict[str, Any] = listeners.reported[-1].payload["result"]
    return report


async def test_a_research_tells_its_steps_in_their_order_and_ends_with_a_report(storage: Any) -> None:
    storage.model, listeners = ScriptedModel("good"), Listeners()
    assert (await carried_out(storage, listeners)).status is ResearchStatus.SUCCEEDED
    report = listeners.reported
    edges = [(text.step_type, text.status) for text in report if text.status != "progress"]
    assert edges == [(step, status) for step in StepType for status in ("start", "complete")]
    assert all(text.step_id == STEP_IDS[text.step_type] for text in report)
    shares = [text.progress for text in report]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    chunks = "".join(text.payload.get("chunk", "") for text in report if text.step_type is StepType.REPORTING)
    assert chunks == report_in(listeners)["markdown"]
    assert "[1]" in chunks
    assert report[-1].payload["metadata"]["score"]["quoteFidelity"] == 1.0


async def test_without_a_model_there_is_a_report_too(storage: Any) -> None:
    listeners = Listeners()
    assert (await carried_out(storage, listeners)).status is ResearchStatus.SUCCEEDED
    assert "1.2亿千瓦" in report_in(listeners)["markdown"]


async def test_a_plan_is_waited_for_where_somebody_wants_to_see_it(storage: Any) -> None:
    storage.model, listeners = ScriptedModel("good"), Listeners()
    options = ResearchOptions(review_plan=True)
    assert (await carried_out(storage, listeners, options=options)).status is ResearchStatus.AWAITING_PLAN
    assert [text.status for text in listeners.reported if text.step_type is StepType.PLAN][-1] == "complete"
    assert listeners.reported[-1].payload["metadata"]["awaitsApproval"] is True
    assert not storage.searches
    outcome = await carried_out(storage, listeners, options=options, is_plan_approved=True)
    assert outcome.status is ResearchStatus.SUCCEEDED
    assert Counter(text.status for text in listeners.reported if text.step_type is StepType.PLAN)["start"] == 1


@pytest.mark.parametrize("last", [1, 2, 3, 5, 8, 12, 16, 20, 23])
async def test_an_interrupted_research_goes_on_and_repeats_no_finished_work(storage: Any, last: int) -> None:
    storage.model, listeners = ScriptedModel("good"), Listeners(last=last)
    with pytest.raises(Interrupted):
        await carried_out(storage, listeners)
    listeners.last = None
    assert (await carried_out(storage, listeners)).status is ResearchStatus.SUCCEEDED
    assert all(await asyncio.gather(*(listeners.has_ended(step) for step in StepType)))
    assert report_in(listeners)["markdown"].count("\n## ") >= 2
    # What was under way is asked once more; all else once.
    asked = Counter((call.phase, call.place) for call in storage.calls)
    assert sum(count - 1 for count in asked.values() if count > 1) <= LIMITS["concurrency"]


async def test_a_cancelled_research_says_so_and_has_no_result(storage: Any) -> None:
    storage.model, listeners, event = ScriptedModel("good"), Listeners(), asyncio.Event()
    event.set()
    assert (await carried_out(storage, listeners, cancel_event=event)).status is ResearchStatus.CANCELLED
    last = listeners.reported[-1]
    assert (last.status, last.payload["error"]["code"], last.payload["result"]) == ("error", "cancelled", None)
