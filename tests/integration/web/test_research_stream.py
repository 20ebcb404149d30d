"""The stream of a research: strict, whole, by the published schema, gone on with where it was left, for any number."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import event as sql_event

from monitor.config.model import Settings
from monitor.db.tables.research import Research, ResearchEvent, ResearchStatus
from monitor.i18n.catalogue import get_word
from monitor.research.shapes import (
    STEP_IDS,
    CamelCaseSchema,
    ModelBlueprint,
    Plan,
    ResearchReport,
    SearchAgentResult,
    SearchStrategy,
    StepEvent,
    StepStatus,
    StepType,
    compute_progress,
)
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import Visibility
from monitor.web.api import events as streaming
from monitor.web.app import serve_web
from tests.integration.web.sse import Message, Reader

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
TIMEOUT_S = 60.0
EXECUTOR = "here"
SCHEMA = json.loads((Path(__file__).resolve().parents[3] / "docs/schemas/research-event.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
PIECES = [f"第{number}句\u2028引用\r\n[1]。" for number in range(40)]
RESULTS: dict[StepType, CamelCaseSchema] = {
    StepType.PLAN: Plan(content="一个问题"),
    StepType.DEEP_SEARCH: SearchAgentResult(strategy=SearchStrategy(primary_query="稀土")),
    StepType.MODELING: ModelBlueprint(),
    StepType.REPORTING: ResearchReport(markdown="".join(PIECES)),
}


def make_event(step: StepType, status: StepStatus, share: float, **payload: Any) -> StepEvent:
    return StepEvent(
        step_id=STEP_IDS[step],
        step_type=step,
        status=status,
        progress=compute_progress(step, share),
        label=get_word("zh", "step_label", step),
        payload=payload,
    )


def whole() -> Iterator[StepEvent]:
    """What a research tells whose last step was begun twice, for it was killed in the middle."""
    for step in StepType:
        yield make_event(step, "start", 0)
        if step is StepType.REPORTING:
            yield make_event(step, "progress", 0.5, chunk="was lost")
            yield make_event(step, "start", 0.5)
            for place, piece in enumerate(PIECES, start=1):
                yield make_event(step, "progress", 0.5 + 0.4 * place / len(PIECES), chunk=piece)
        metadata = {"tokens": 1024, "durationMs": 12650}
        yield make_event(step, "progress", 0.95, metadata=metadata)
        yield make_event(step, "complete", 1, result=RESULTS[step].to_json(), metadata=metadata)


def cut(code: str) -> Iterator[StepEvent]:
    """What a research tells that ends in the middle."""
    yield make_event(StepType.PLAN, "start", 0)
    error = {"code": code, "message": "到此为止。"}
    yield make_event(StepType.PLAN, "error", 0.5, error=error, result=None)


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.web.port = 0
        return settings

    return change


@pytest.fixture
async def client(desk: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A program that watches over a real connection."""
    token = await desk.app.tokens.create("watcher", "reader", by=COMMAND_LINE)
    async with (
        serve_web(desk.app) as address,
        httpx.AsyncClient(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            limits=httpx.Limits(max_connections=None),
        ) as client,
    ):
        yield client


async def begin(app: Any, task_id: str) -> None:
    research = Research(
        id=task_id,
        query="稀土",
        language="zh",
        created_at=NOON,
        status=ResearchStatus.RUNNING,
        executor=EXECUTOR,
        visibility=Visibility.OPEN,
    )
    assert await app.store.research.create(research)


async def report_progress(app: Any, task_id: str, events: list[StepEvent]) -> None:
    rows = [ResearchEvent(task_id=task_id, at=NOON, data=event.to_json()) for event in events]
    assert await app.store.research_events.add(rows, executor=EXECUTOR)


async def end(app: Any, task_id: str, status: ResearchStatus) -> None:
    assert await app.store.research.end(task_id, executor=EXECUTOR, status=status, at=app.clock.now())


async def read(client: httpx.AsyncClient, task_id: str, *, last: str = "", at_most: int | None = None) -> list[Message]:
    """The messages after the one that is known, to the end or until there are so many and the reader hangs up."""
    messages: list[Message] = []
    reader = Reader()
    headers = {"Last-Event-ID": last} if last else {}
    async with client.stream("GET", f"/api/v1/research/{task_id}/events", headers=headers) as stream:
        if stream.status_code == 204:
            return []
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        async for piece in stream.aiter_bytes():
            messages += reader.feed(piece)
            if at_most is not None and len(messages) >= at_most:
                return messages[:at_most]
    reader.end()
    assert reader.retry_ms
    return messages


def conforms(messages: list[Message]) -> list[dict[str, Any]]:
    """The objects of a stream from its beginning, every one of them as the schema says, none out of order."""
    documents = [json.loads(message.data) for message in messages]
    for document in documents:
        VALIDATOR.validate(document)
    assert {message.event for message in messages} == {"message"}
    numbers = [int(message.id) for message in messages]
    assert numbers == sorted(set(numbers))
    progress = [document["progress"] for document in documents]
    assert progress == sorted(progress)
    return documents


def report_in(documents: list[dict[str, Any]]) -> str:
    """The report, put together from the pieces since its last beginning."""
    reported = [document for document in documents if document["stepType"] == "reporting"]
    begun = max(place for place, entry in enumerate(reported) if entry["status"] == "start")
    return "".join(entry["payload"].get("chunk", "") for entry in reported[begun:])


async def test_a_research_is_told_by_the_schema_from_its_start_to_its_report(
    desk: Any, client: httpx.AsyncClient
) -> None:
    await begin(desk.app, "r")
    events = list(whole())
    await report_progress(desk.app, "r", events)
    await end(desk.app, "r", ResearchStatus.SUCCEEDED)
    messages = await read(client, "r")
    documents = conforms(messages)
    assert documents == [event.to_json() for event in events]
    last = documents[-1]
    assert (last["stepType"], last["status"], last["progress"]) == ("reporting", "complete", 1.0)
    assert report_in(documents) == last["payload"]["result"]["markdown"] == "".join(PIECES)


async def test_who_comes_back_gets_what_is_missing_and_who_has_all_is_told_to_stay_away(
    desk: Any, client: httpx.AsyncClient
) -> None:
    await begin(desk.app, "r")
    await report_progress(desk.app, "r", list(whole()))
    await end(desk.app, "r", ResearchStatus.SUCCEEDED)
    messages = await read(client, "r")
    back = await client.get("/api/v1/research/r/events?after=0", headers={"Last-Event-ID": messages[9].id})
    assert Reader().feed(back.content) == messages[10:], "the header goes before the parameter"
    again = await client.get(f"/api/v1/research/r/events?after={messages[-2].id}")
    assert Reader().feed(again.content) == messages[-1:]
    assert (
        await client.get("/api/v1/research/r/events", headers={"Last-Event-ID": messages[-1].id})
    ).status_code == 204
    for wrong in ("x", "-1", "9" * 30):
        assert (await client.get("/api/v1/research/r/events", headers={"Last-Event-ID": wrong})).status_code == 422
    assert (await client.get("/api/v1/research/nobody/events")).status_code == 404


@pytest.mark.parametrize(
    ("code", "status"), [("cancelled", ResearchStatus.CANCELLED), ("failed", ResearchStatus.FAILED)]
)
async def test_a_research_that_ends_early_says_so_with_its_last_message(
    desk: Any, client: httpx.AsyncClient, code: str, status: ResearchStatus
) -> None:
    await begin(desk.app, "r")
    watching = asyncio.create_task(read(client, "r"))
    await report_progress(desk.app, "r", list(cut(code)))
    await end(desk.app, "r", status)
    last = conforms(await asyncio.wait_for(watching, TIMEOUT_S))[-1]
    assert (last["status"], last["payload"]["error"]["code"], last["payload"]["result"]) == ("error", code, None)


async def test_a_research_that_waits_for_its_plan_keeps_its_stream_open(desk: Any, client: httpx.AsyncClient) -> None:
    await begin(desk.app, "r")
    await report_progress(desk.app, "r", list(whole())[:3])
    await desk.app.store.research.mark_awaiting_plan("r", executor=EXECUTOR)
    watching = asyncio.create_task(read(client, "r"))
    assert len(await read(client, "r", at_most=3)) == 3
    refused = make_event(StepType.PLAN, "error", 1, error={"code": "cancelled", "message": "x"}, result=None)
    event = ResearchEvent(task_id="r", at=NOON, data=refused.to_json())
    assert not watching.done()
    await desk.app.store.research.request_cancel("r", at=desk.app.clock.now(), event=event)
    documents = conforms(await asyncio.wait_for(watching, TIMEOUT_S))
    assert [document["status"] for document in documents] == ["start", "progress", "complete", "error"]


async def test_where_nothing_is_told_comments_keep_the_connection_and_a_long_stream_is_taken_up_again(
    desk: Any, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_HEARTBEAT_S", 0.02)
    await begin(desk.app, "r")
    events = list(whole())
    await report_progress(desk.app, "r", events[:5])
    reader, messages = Reader(), []
    async with asyncio.timeout(TIMEOUT_S), client.stream("GET", "/api/v1/research/r/events") as stream:
        async for piece in stream.aiter_bytes():
            messages += reader.feed(piece)
            if len(reader.comments) >= 3:
                break
    assert len(messages) == 5
    monkeypatch.setattr(streaming, "_MAX_STREAM_S", 0.0)
    messages += await read(client, "r", last=messages[-1].id)
    assert len(messages) == 5, "the stream was ended by the server, with nothing told"
    await report_progress(desk.app, "r", events[5:])
    await end(desk.app, "r", ResearchStatus.SUCCEEDED)
    while more := await read(client, "r", last=messages[-1].id):
        messages += more
    assert conforms(messages) == [event.to_json() for event in events]


async def test_fifty_readers_at_once_get_every_message_once_and_in_order(desk: Any, client: httpx.AsyncClient) -> None:
    """Some see it from the start, some hang up and come back again and again, some come when it is over."""
    await begin(desk.app, "r")
    events = list(whole())
    asked: Counter[str] = Counter()

    def count(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked["events"] += "FROM research_event" in statement

    async def run() -> None:
        for first in range(0, len(events), 3):
            await report_progress(desk.app, "r", events[first : first + 3])
            await asyncio.sleep(0.05)  # a research takes a while
        await end(desk.app, "r", ResearchStatus.DEGRADED)

    async def comes_back(pieces: int) -> list[Message]:
        messages: list[Message] = []
        while not messages or not _is_last(messages[-1]):
            last = messages[-1].id if messages else ""
            messages += await read(client, "r", last=last, at_most=pieces)
        return messages

    running = asyncio.create_task(run())
    loop = asyncio.get_running_loop()
    begun = loop.time()
    sql_event.listen(desk.app.store._engine.sync_engine, "before_cursor_execute", count)
    async with asyncio.timeout(TIMEOUT_S):
        stay = [asyncio.create_task(read(client, "r")) for _ in range(30)]
        back = [asyncio.create_task(comes_back(7 + place)) for place in range(15)]
        await running
        late = [asyncio.create_task(read(client, "r")) for _ in range(5)]
        reported = await asyncio.gather(*stay, *back, *late)
    assert len(reported) == 50
    numbers = [entry.id for entry in reported[0]]
    assert len(numbers) == len(events)
    assert all([message.id for message in messages] == numbers for messages in reported)
    conforms(reported[0])
    # One question for all each quarter of a second; a reader who comes asks for what was there before him.
    visits = len(stay) + len(late) + sum(-(-len(events) // (7 + place)) for place in range(15))
    assert asked["events"] <= 4 * (loop.time() - begun + 1) + 3 * visits
    assert not desk.app.research_events._channels, "nobody watches any more, so nobody asks"


def _is_last(message: Message) -> bool:
    document = json.loads(message.data)
    return document["status"] == "error" or document["progress"] == 1.0


async def test_readers_who_only_wait_cost_the_database_the_same_as_one(desk: Any, client: httpx.AsyncClient) -> None:
    await begin(desk.app, "r")
    await report_progress(desk.app, "r", list(whole())[:2])
    readers = [asyncio.create_task(read(client, "r")) for _ in range(50)]
    async with asyncio.timeout(TIMEOUT_S):
        while not (channels := desk.app.research_events._channels) or channels["r"].readers < 50:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    asked = 0

    def count(_: Any, __: Any, statement: str, *___: Any) -> None:
        nonlocal asked
        asked += "FROM research" in statement

    sql_event.listen(desk.app.store._engine.sync_engine, "before_cursor_execute", count)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.sleep(1.0)
    waited_s = loop.time() - began  # a busy machine wakes late, after more questions
    assert asked <= 2 * 4 * waited_s + 2, "how it stands and what is new, four times a second"
    await end(desk.app, "r", ResearchStatus.FAILED)
    reported = await asyncio.wait_for(asyncio.gather(*readers), TIMEOUT_S)
    assert {len(messages) for messages in reported} == {2}
