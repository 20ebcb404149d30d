"""The service is killed while it sweeps and while it sends: each event at least once, under one id, in order."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from standardwebhooks import Webhook

LIMIT_S = 240


class Receiver:
    """Keeps every post; answers 503 while it is down, and 200 after that."""

    def __init__(self) -> None:
        self.port = 0
        self.is_down = True
        self.posts: list[tuple[dict[str, str], bytes]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
            headers = {name.lower(): value for name, value in lines.items()}
            body = await reader.readexactly(int(headers["content-length"]))
            self.posts.append((headers, body))
            status = "503 Down" if self.is_down else "200 OK"
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
        writer.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with await asyncio.start_server(receiver.serve, "127.0.0.1", 0) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


async def wait_until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_so():  # noqa: ASYNC110 -- no event of ours
            await asyncio.sleep(0.05)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_a_service_that_is_killed_again_and_again_tells_of_every_item(trial: Any, receiver: Receiver) -> None:
    place = trial.ministry.workplace
    hosts = [*place.settings["network"]["allowed_private_hosts"], f"127.0.0.1:{receiver.port}"]
    place.configure(llm={"enabled": False}, network={"allowed_private_hosts": hosts})
    assert (await place.monitor("init")).code == 0
    added = await place.monitor("webhooks", "add", f"http://127.0.0.1:{receiver.port}/hook", "--json")
    assert added.code == 0, added.err
    service = await trial.start("serve")

    async def kill_when(is_so: Callable[[], bool]) -> None:
        await wait_until(is_so)
        await service.end(signal.SIGKILL)
        await service.start()

    sweep = await trial.start_command("sweep", "--all")
    for count in (1, 5, 12):
        await kill_when(lambda count=count: trial.rows("SELECT count(*) FROM item")[0][0] >= count)
    for count in (1, 5, 20):
        await kill_when(lambda count=count: len(receiver.posts) >= count)
    receiver.is_down = False
    replayed = await place.monitor("webhooks", "replay", "1", "--since", "2026-01-01T00:00:00+00:00")
    assert replayed.code == 0, replayed.err  # else the next attempt is minutes away
    for more in (3, 10):
        before = len(receiver.posts)
        await kill_when(lambda limit=before + more: len(receiver.posts) >= limit)
    await sweep.wait()
    unsent = (
        "SELECT (SELECT count(*) FROM webhook_event WHERE prepared_at IS NULL)"
        " + (SELECT count(*) FROM webhook_delivery WHERE status <> 'sent')"
        " + (SELECT count(*) FROM run WHERE ended_at IS NULL)"
    )
    await wait_until(lambda: trial.rows(unsent)[0][0] == 0)

    webhook = Webhook(added.json["secret"])
    events: list[dict[str, Any]] = [webhook.verify(body, headers) for headers, body in receiver.posts]
    stored = trial.rows("SELECT subject, key FROM webhook_event WHERE data IS NOT NULL ORDER BY id")
    assert {(event["subject"], event["id"]) for event in events} == set(stored)
    items = {f"item:{number}" for (number,) in trial.rows("SELECT id FROM item")}
    assert items == {event["subject"] for event in events if event["type"] == "item.created"}
    assert items
    for subject in {subject for subject, _ in stored}:
        came = list(dict.fromkeys(event["id"] for event in events if event["subject"] == subject))
        assert came == [key for of, key in stored if of == subject]
    bodies: dict[str, set[str]] = {}
    for event in events:
        bodies.setdefault(event["id"], set()).add(json.dumps(event))
    assert all(len(versions) == 1 for versions in bodies.values()), "the body is the same at every attempt"
