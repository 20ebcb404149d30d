"""Logs: quiet until begun, one JSON document a line, with run and source."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from monitor.logs import bind_log_context, configure_logging, get_logger


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("monitor")
    before = (list(root.handlers), root.level, ours.level)
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    ours.setLevel(before[2])


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_nothing_is_written_before_the_log_is_begun(capfd: pytest.CaptureFixture[str]) -> None:
    get_logger("store").error("database gone")
    assert capfd.readouterr() == ("", "")


def test_an_event_is_one_json_line_with_its_room_and_level() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    get_logger("store").warning("database gone", reason="磁盘\n已满")
    (event,) = lines(stream)
    assert event["event"] == "database gone"
    assert (event["level"], event["logger"], event["reason"]) == ("warning", "monitor.store", "磁盘\n已满")
    assert str(event["at"]).endswith("Z")


async def test_events_of_two_runs_at_once_bear_each_its_own_run_and_source() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)

    async def run(name: str) -> None:
        with bind_log_context(run=f"run-{name}", source=name):
            await asyncio.sleep(0)
            await asyncio.gather(*(said(name) for _ in range(2)))

    async def said(name: str) -> None:
        get_logger("sweep").info("read", by=name)

    await asyncio.gather(run("a"), run("b"))
    get_logger("sweep").info("idle")
    *events, last = lines(stream)
    assert len(events) == 4
    assert all(event["run"] == f"run-{event['by']}" and event["source"] == event["by"] for event in events)
    assert "run" not in last


def test_libraries_are_heard_from_their_warnings_on_and_begun_twice_writes_once() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    configure_logging(stream=stream)
    logging.getLogger("some.library").info("chatter")
    logging.getLogger("some.library").warning("trouble")
    assert [event["event"] for event in lines(stream)] == ["trouble"]


def test_an_exception_stays_on_its_line() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    try:
        int("no")
    except ValueError:
        get_logger("work").exception("step failed")
    (event,) = lines(stream)
    assert "ValueError: invalid literal" in str(event["exception"])


def test_people_read_plain_lines() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, is_readable=True)
    get_logger("work").info("run ended", status="succeeded")
    assert "run ended" in stream.getvalue()
    assert "{" not in stream.getvalue()
