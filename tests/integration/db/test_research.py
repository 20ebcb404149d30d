"""Researches: taken by one process at a time, kept step by step, told in order, forgotten whole."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.maintenance import INTERRUPTED_RESEARCH_ERROR, transfer_database
from monitor.db.tables.evidence import EvidenceRecord
from monitor.db.tables.research import Research, ResearchEvent, ResearchRemark, ResearchStatus
from monitor.i18n.message import Message
from monitor.vocabulary import FetchMode

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
PLAN = {"query": "工业机器人", "report_title": "工业机器人"}


def research(task_id: str = "r-1", *, minutes: int = 0, query: str = "工业机器人的补贴如何?", **more: Any) -> Research:
    return Research(id=task_id, query=query, language="zh", created_at=NOON + timedelta(minutes=minutes), **more)


def message(
    task_id: str = "r-1", *, step: str = "plan", status: str = "progress", progress: float = 0.0
) -> ResearchEvent:
    data = {"stepId": step, "stepType": step, "status": status, "progress": progress, "label": "", "payload": {}}
    return ResearchEvent(task_id=task_id, at=NOON, data=data)


@pytest.fixture
async def running(store: Store) -> Research:
    await store.research.create(research())
    taken = await store.research.claim("r-1", executor="a", at=NOON)
    assert taken is not None
    return taken


async def test_a_research_is_put_on_record_once_with_whatever_it_is_asked(store: Store) -> None:
    strange = research(query="什么\x00是\ud800?", config={"engines": ["bing\x00"]}, options={"review_plan": True})
    assert await store.research.create(strange)
    assert not await store.research.create(research(query="another"))
    kept = await store.research.get("r-1")
    assert kept is not None
    assert (kept.query, kept.config, kept.options) == ("什么是??", {"engines": ["bing"]}, {"review_plan": True})
    assert (kept.status, kept.attempt, kept.outputs, kept.state) == (ResearchStatus.QUEUED, 1, {}, None)


async def test_one_that_is_begun_goes_on_in_the_hands_of_another_and_an_ended_one_does_not(store: Store) -> None:
    await store.research.create(research())
    first = await store.research.claim("r-1", executor="a", at=NOON)
    again = await store.research.claim("r-1", executor="b", at=NOON + timedelta(hours=1))
    assert first is not None
    assert again is not None
    assert (again.started_at, again.executor, again.status) == (NOON, "b", ResearchStatus.RUNNING)
    assert await store.research.end("r-1", executor="b", status=ResearchStatus.DEGRADED, at=NOON)
    assert not await store.research.end("r-1", executor="b", status=ResearchStatus.FAILED, at=NOON)
    assert await store.research.claim("r-1", executor="a", at=NOON) is None
    assert await store.research.claim("nobody", executor="a", at=NOON) is None


async def test_what_was_asked_waits_for_the_queue_once(store: Store) -> None:
    await store.research.create(research("r-2", minutes=1))
    await store.research.create(research())
    assert [pair.workflow_id for pair in await store.research.list_unqueued()] == ["r-1:1", "r-2:1"]
    await store.research.mark_enqueued("r-1", at=NOON)
    assert [entry.id for entry in await store.research.list_unqueued()] == ["r-2"]
    await store.research.requeue("r-1")
    assert [pair.id for pair in await store.research.list_unqueued()] == ["r-1", "r-2"]


async def test_the_plan_is_looked_at_and_goes_on_as_it_was_changed(store: Store, running: Research) -> None:
    await store.research.save_plan(running.id, PLAN, [{"title": "旧"}, {"title": "二"}])
    await store.research.save_output(running.id, "plan", {"result": {"content": "a"}})
    new = {
        "state": PLAN | {"report_title": "新"},
        "paragraphs": [{"title": "一"}],
        "plan": {"result": {"content": "b"}},
    }
    assert not await store.research.approve(running.id, **new, event=message())
    await store.research.mark_awaiting_plan(running.id, executor="a")
    assert await store.research.list_unqueued() == []
    assert await store.research.claim(running.id, executor="b", at=NOON) is None
    assert await store.research.approve(running.id, **new, event=message())
    state, paragraphs = await store.research.load_notebook(running.id)
    assert state == PLAN | {"report_title": "新"}
    assert paragraphs == [{"title": "一"}]
    assert await store.research.load_output(running.id, "plan") == {"result": {"content": "b"}}
    assert [pair.workflow_id for pair in await store.research.list_unqueued()] == ["r-1:2"]
    assert await store.research_events.count(running.id) == 1


async def test_what_steps_and_paragraphs_gave_is_kept_beside_each_other(store: Store, running: Research) -> None:
    assert await store.research.load_notebook(running.id) == (None, [])
    await store.research.save_plan(running.id, PLAN, [{"title": "一"}, {"title": "二"}])
    await store.research.save_paragraph(running.id, 1, {"title": "二", "text": "有\x00字"})
    assert await store.research.load_notebook(running.id) == (PLAN, [{"title": "一"}, {"title": "二", "text": "有字"}])
    await store.research.save_output(running.id, "plan", {"result": 1})
    await store.research.save_output(running.id, "deep_search", {"result": 2})
    assert await store.research.load_output(running.id, "plan") == {"result": 1}
    assert await store.research.load_output(running.id, "deep_search") == {"result": 2}
    assert await store.research.load_output(running.id, "modeling") is None


async def test_cancelling_stops_a_running_one_later_and_a_waiting_one_at_once(store: Store, running: Research) -> None:
    await store.research.create(research("r-2"))
    stopped = [
        await store.research.request_cancel(text, at=NOON, event=message(text)) for text in ("r-1", "r-2", "r-3")
    ]
    assert stopped == [ResearchStatus.RUNNING, ResearchStatus.CANCELLED, None]
    assert await store.research.list_cancel_requested(["r-1", "r-2", "r-3"]) == {"r-1", "r-2"}
    assert [await store.research_events.count(entry) for entry in ("r-1", "r-2")] == [0, 1]
    assert await store.research.request_cancel("r-2", at=NOON, event=message("r-2")) is None


async def test_one_that_failed_goes_on_and_one_that_succeeded_does_not(store: Store, running: Research) -> None:
    assert not await store.research.resume(running.id, executor="b")
    await store.research.end(
        running.id, executor="a", status=ResearchStatus.FAILED, at=NOON, error=Message.other("gone")
    )
    assert await store.research.resume(running.id, executor=None)
    assert [pair.workflow_id for pair in await store.research.list_unqueued()] == ["r-1:2"]
    resumed = await store.research.get(running.id)
    assert resumed is not None
    assert (resumed.ended_at, resumed.error, resumed.is_cancel_requested) == (None, None, False)
    await store.research.claim(running.id, executor="b", at=NOON)
    assert not await store.research.end(running.id, executor="a", status=ResearchStatus.FAILED, at=NOON)
    assert await store.research.end(running.id, executor="b", status=ResearchStatus.SUCCEEDED, at=NOON)
    assert not await store.research.resume(running.id, executor="b")


async def test_one_is_given_up_only_while_nobody_else_has_it(store: Store, running: Research) -> None:
    now = {"reason": Message.other("lost"), "at": NOON, "event": message(status="error")}
    assert not await store.research.abandon(running.id, executor="b", **now)
    assert await store.research.abandon(running.id, executor="a", **now)
    assert not await store.research.abandon(running.id, executor="a", **now)
    row = (await store.research.list_rows(reader=None))[0]
    assert (row.status, row.error, row.ended_at) == (ResearchStatus.FAILED, Message.other("lost"), NOON)


async def test_messages_come_in_their_order_and_from_the_one_that_has_it(store: Store, running: Research) -> None:
    numbers = await store.research_events.add([message(progress=n / 10) for n in range(4)], executor="a")
    assert await store.research_events.add([message(progress=0.9)], executor="b") is None
    assert await store.research_events.add([message("gone")], executor="a") is None
    mine = await store.research_events.after(running.id, 0)
    assert [entry.data["progress"] for entry in mine] == [0.0, 0.1, 0.2, 0.3]
    assert [event.id for event in mine] == numbers == sorted(numbers)
    assert [event.id for event in await store.research_events.after(running.id, mine[1].id or 0, limit=1)] == [
        mine[2].id
    ]
    latest = await store.research_events.latest(running.id)
    assert latest is not None
    assert latest.id == mine[3].id
    assert await store.research_events.get_status(running.id) == (ResearchStatus.RUNNING, None)
    assert await store.research_events.get_status("gone") is None


async def test_a_step_that_began_anew_has_not_ended(store: Store, running: Research) -> None:
    reported = [("plan", "start"), ("plan", "complete"), ("deep_search", "start"), ("deep_search", "complete")]
    reported += [("deep_search", "start"), ("modeling", "start")]
    await store.research_events.add([message(step=step, status=status) for step, status in reported], executor="a")
    assert await store.research_events.list_ended_steps(running.id) == {"plan"}


async def test_the_history_goes_on_by_its_last_row_and_shows_no_reports(store: Store) -> None:
    for number in range(5):
        await store.research.create(research(f"r-{number}", minutes=number // 2, query=f"第{number}个问题"))
    await store.research.claim("r-4", executor="a", at=NOON)
    await store.research.save_output("r-4", "reporting", {"result": {}, "score": {"quotes": 3}})
    await store.research_events.add([message("r-4", progress=0.1), message("r-4", progress=0.65)], executor="a")
    first = await store.research.list_rows(reader=None, limit=2)
    rest = await store.research.list_rows(reader=None, after=(first[-1].created_at, first[-1].id), limit=9)
    assert [pair.id for pair in [*first, *rest]] == ["r-4", "r-3", "r-2", "r-1", "r-0"]
    assert [(entry.progress, entry.score) for entry in first] == [(0.65, {"quotes": 3}), (0.0, None)]
    assert [row.id for row in await store.research.list_rows(reader=None, text="第2个")] == ["r-2"]


async def test_remarks_are_kept_while_it_runs(store: Store, running: Research) -> None:
    remark = ResearchRemark(task_id=running.id, person="anna", text="多看\x00地方政策", at=NOON)
    assert await store.research.add_remark(remark)
    assert [entry.text for entry in await store.research.list_remarks(running.id)] == ["多看地方政策"]
    await store.research.end(running.id, executor="a", status=ResearchStatus.SUCCEEDED, at=NOON)
    assert not await store.research.add_remark(remark)


def record(record_id: str, task_id: str, *, attempt: int = 1) -> EvidenceRecord:
    return EvidenceRecord(
        id=record_id,
        research_id=task_id,
        attempt=attempt,
        number=1,
        url="https://o.gov/",
        final_url="https://o.gov/",
        way=FetchMode.HTTP,
        headers={},
        fetched_at=NOON,
        size=0,
    )


async def test_an_old_research_is_forgotten_with_all_that_is_its_own(store: Store, running: Research) -> None:
    await store.research.create(research("young", minutes=90))
    await store.captures.add([], [record("a", running.id, attempt=2), record("b", "young")])
    assert await store.evidence.get_next_research_attempt(running.id) == 3
    await store.research.save_plan(running.id, PLAN, [{"title": "一"}])
    await store.research_events.add([message()], executor="a")
    before = NOON + timedelta(hours=1)
    assert (await store.retention.prune(before)).researches == 0, "it is at work"
    await store.research.end(running.id, executor="a", status=ResearchStatus.SUCCEEDED, at=NOON)
    pruned = await store.retention.prune(before)
    assert (pruned.researches, pruned.records) == (1, 1)
    assert await store.research.get(running.id) is None
    assert await store.research.load_notebook(running.id) == (None, [])
    assert await store.research_events.count(running.id) == 0
    assert await store.evidence.get_record("b") is not None


async def test_a_research_at_work_is_a_failed_one_where_the_database_is_copied_to(
    store: Store, running: Research, url: str, tmp_path: Any
) -> None:
    await store.captures.add([], [record("a", running.id)])
    await store.research.save_plan(running.id, PLAN, [{"title": "一"}])
    await store.research_events.add([message()], executor="a")
    target = f"sqlite:///{tmp_path / 'copy.db'}"
    migrate.upgrade(target)
    counts = transfer_database(url, target)
    assert [counts[name] for name in ("research", "research_paragraph", "research_event", "record")] == [1, 1, 1, 1]
    async with Store.open(target) as there:
        copied = await there.research.get(running.id)
        assert copied is not None
        assert (copied.status, copied.error) == (ResearchStatus.FAILED, INTERRUPTED_RESEARCH_ERROR)
        assert await there.research.load_notebook(running.id) == (PLAN, [{"title": "一"}])
