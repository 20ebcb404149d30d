"""The stream of a run's events: strict, whole, gone on with where it was left, ended with run, client or service."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from monitor.config.model import Settings
from monitor.db.tables.collection import Run
from monitor.db.tables.research import RunEvent
from monitor.services.audit import COMMAND_LINE
from monitor.services.events import RunEventLog
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind, Phase, RunStatus
from monitor.web.app import serve_web

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
TIMEOUT_S = 30.0


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.web.port = 0
        return settings

    return change


@pytest.fixture
async def client(desk: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A program that watches runs over a real connection: `told`, which has ended, and `goes`, which has not."""
    for run_id, status in (("told", RunStatus.SUCCEEDED), ("goes", RunStatus.RUNNING)):
        await desk.app.store.runs.create(Run(id=run_id, source="示例部", planned_at=NOON, status=status, ended_at=NOON))
    token = await desk.app.tokens.create("watcher", "reader", by=COMMAND_LINE)
    async with (
        serve_web(desk.app) as address,
        httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
    ):
        yield client


def parsed(stream: str) -> list[dict[str, str]]:
    """The events of a stream, read as strictly as the standard allows; comments are none."""
    assert "\r" not in stream
    events: list[dict[str, str]] = []
    *blocks, rest = stream.split("\n\n")
    assert rest == "", "the last event is whole"
    for block in blocks:
        fields: dict[str, str] = {}
        for line in block.split("\n"):
            if line.startswith(":"):
                continue
            name, colon, value = line.partition(": ")
            assert colon, line
            assert name in {"event", "id", "data", "retry"}, line
            assert name not in fields, line
            fields[name] = value
        if "data" in fields:
            events.append(fields)
    return events


async def test_the_stream_of_a_run_is_whole_strict_and_goes_on_where_it_was_left(
    desk: Any, client: httpx.AsyncClient
) -> None:
    reported = [
        RunEvent(run_id="told", at=NOON, kind=EventKind.PAGE, data={"url": f"https://o.gov/{n}\nx"}) for n in range(30)
    ]
    await desk.app.store.run_events.add(reported)
    answer = await client.get("/api/v1/runs/told/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    first, *pages, last = parsed(answer.text)
    assert (first["event"], first["id"], last["event"], last["data"]) == (
        "status",
        "0",
        "end",
        '{"status": "succeeded"}',
    )
    assert [page["event"] for page in pages] == ["page"] * 30
    numbers = [int(page["id"]) for page in pages]
    assert numbers == sorted(set(numbers))
    assert last["id"] == pages[-1]["id"]
    back = await client.get("/api/v1/runs/told/events?after=1", headers={"Last-Event-ID": pages[9]["id"]})
    assert [row["id"] for row in parsed(back.text)[1:-1]] == [page["id"] for page in pages[10:]]
    assert (await client.get("/api/v1/runs/told/events", headers={"Last-Event-ID": "x"})).status_code == 422


async def lines_of(client: httpx.AsyncClient, path: str, *, until: str) -> list[str]:
    """The lines of a stream up to the one that holds this, after which the client hangs up."""
    lines: list[str] = []
    async with asyncio.timeout(TIMEOUT_S), client.stream("GET", path, timeout=TIMEOUT_S) as stream:
        async for line in stream.aiter_lines():
            lines.append(line)
            if until in line:
                break
    return lines


async def test_two_who_watch_are_told_as_it_happens_and_nothing_stays_behind_when_they_go(
    desk: Any, client: httpx.AsyncClient
) -> None:
    log = RunEventLog(store=desk.app.store, clock=desk.app.clock)
    report_progress = log.get_progress_callback("goes")

    async def run() -> None:
        for number in range(20):
            report_progress(Progress(phase=Phase.CRAWL, kind=EventKind.PAGE, url=f"https://o.gov/{number}/"))
            await asyncio.sleep(0.02)

    running = asyncio.create_task(run())
    both = await asyncio.gather(*(lines_of(client, "/api/v1/runs/goes/events", until="o.gov/19/") for _ in range(2)))
    await running
    await log.close()
    for lines in both:
        urls = [line.partition("o.gov/")[2].partition("/")[0] for line in lines if line.startswith("data:")]
        assert [int(url) for url in urls if url] == list(range(20))
    async with asyncio.timeout(TIMEOUT_S):
        while desk.app.run_events._channels:  # noqa: ASYNC110 -- the server notices by itself that they have gone
            await asyncio.sleep(0.01)


async def test_a_service_that_stops_ends_the_streams_at_once(desk: Any) -> None:
    await desk.app.store.runs.create(Run(id="goes", source="示例部", planned_at=NOON, status=RunStatus.RUNNING))
    token = await desk.app.tokens.create("watcher", "reader", by=COMMAND_LINE)
    loop, lines = asyncio.get_running_loop(), []
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=TIMEOUT_S) as client:
        async with serve_web(desk.app) as address:
            request = client.build_request("GET", f"{address}api/runs/goes/events")
            answer = await client.send(request, stream=True)
            stream = answer.aiter_lines()
            lines = [await anext(stream)]
            stopped_at = loop.time()
        assert loop.time() - stopped_at < 2.0
        lines += [line async for line in stream]
        await answer.aclose()
    assert "event: end" not in lines, "the run has not ended"
