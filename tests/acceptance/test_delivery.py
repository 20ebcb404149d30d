"""The service is killed while it delivers (issue 5, point 5): nothing missing, and a repeat carries the same key."""

import asyncio
import datetime as dt
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.delivery import DeliveryPlan
from monitor.vocabulary import RunStatus

LIMIT_S = 240  # a service that starts beside other work on two cores takes its time
TARGETS = [f"hook-{number}" for number in range(8)]


class Receiver:
    """Takes posts and answers each one only when it is let."""

    def __init__(self) -> None:
        self.port = 0
        self.posts: list[tuple[str, str]] = []  # target and key of all that came
        self.taken: list[str] = []  # the targets whose posts were answered with 200
        self._permits = asyncio.Semaphore(0)
        self._changed = asyncio.Condition()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
            body = json.loads(await reader.readexactly(int(lines["content-length"])))
            assert body["key"] == lines["idempotency-key"]
            self.posts.append((body["target"], body["key"]))
            await self._announce()
            answered = asyncio.ensure_future(self._permits.acquire())
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait([answered, gone], return_when=asyncio.FIRST_COMPLETED)
            if answered.done() and not gone.done():
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                await writer.drain()
                self.taken.append(body["target"])
                await self._announce()
            answered.cancel()
            gone.cancel()
        writer.close()

    def answer(self, count: int) -> None:
        for _ in range(count):
            self._permits.release()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S), self._changed:
            await self._changed.wait_for(is_so)

    async def _announce(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    async with await asyncio.start_server(receiver.serve, "127.0.0.1", 0) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


def configure(trial: Any, receiver: Receiver, mailbox: Any, now: dt.datetime) -> None:
    """Eight webhooks and a mail, all due in this minute."""
    common = {"schedule": f"{now.minute} {now.hour} * * *", "timezone": "UTC", "deadline_minutes": 0}
    url = f"http://127.0.0.1:{receiver.port}/hook"
    mail = {"url": f"smtp://127.0.0.1:{mailbox.port}", "sender": "m@example.org", "to": ["p@example.org"]}
    targets = [{"name": name, "url": url, **common} for name in TARGETS] + [{"name": "mail", **mail, **common}]
    hosts = [f"127.0.0.1:{receiver.port}", f"127.0.0.1:{mailbox.port}"]
    trial.ministry.workplace.configure(
        sources=[], llm={"enabled": False}, deliver={"targets": targets}, network={"allowed_private_hosts": hosts}
    )


async def all_due(trial: Any, receiver: Receiver, mailbox: Any) -> None:
    """One item on record, and planned times that nobody has dealt with yet."""
    now = dt.datetime.now(dt.UTC)
    configure(trial, receiver, mailbox, now)
    begun = now.replace(second=0, microsecond=0) - dt.timedelta(seconds=1)
    targets = trial.ministry.workplace.settings["deliver"]["targets"]
    async with Store.open(trial.database_url) as store:
        await store.check()
        source = await store.sources.add(Source(name="office", url="https://office.example/", created_at=now))
        await store.runs.create(
            Run(id="r1", source_id=source.id, source="office", planned_at=now, status=RunStatus.SUCCEEDED)
        )
        await store.items.save(
            Item(
                source_id=source.id,
                source="office",
                run_id="r1",
                url="https://office.example/1",
                url_key="1",
                title="能源法",
                section="news",
                date=now.date(),
                first_seen=now,
            )
        )
        await store.deliveries.save_plans(
            [
                DeliveryPlan(target=target["name"], cron=target["schedule"], timezone="UTC", dealt_until=begun)
                for target in targets
            ]
        )


async def all_sent(trial: Any) -> dict[str, tuple[str, str, int]]:
    """Wait until every delivery is sent; key, Message-ID and tries by target."""
    query = "SELECT target, status, key, message_id, attempts FROM delivery"
    async with asyncio.timeout(LIMIT_S):
        rows: list[Any] = []
        while {status for _, status, *_ in rows} != {"sent"}:
            await asyncio.sleep(0.1)
            rows = trial.rows(query)
    assert len(rows) == len(TARGETS) + 1, "a planned time made more than one delivery"
    return {target: (key, message_id, attempts) for target, _, key, message_id, attempts in rows}


def assert_each_once(receiver: Receiver, mailbox: Any, sent: dict[str, tuple[str, str, int]], *, doubtful: int) -> None:
    """Everybody has it under one key; only what was taken in the moment of a kill was taken twice."""
    assert {(target, key) for target, key in receiver.posts} == {(name, sent[name][0]) for name in TARGETS}
    taken = Counter(receiver.taken)
    assert set(taken) == set(TARGETS)
    assert taken.total() <= len(TARGETS) + doubtful
    assert {message["Message-ID"] for message in mailbox.messages()} == {sent["mail"][1]}


def parts_of(trial: Any) -> tuple[list[str], str]:
    """What is started, and the one that is killed."""
    is_sqlite = trial.database_url.startswith("sqlite")
    return (["serve"], "serve") if is_sqlite else (["scheduler", "scheduler", "worker", "worker"], "worker")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_a_service_that_is_killed_while_it_delivers_leaves_nobody_out(
    trial: Any, receiver: Receiver, open_mailbox: Callable[..., Awaitable[Any]]
) -> None:
    mailbox = await open_mailbox()
    await all_due(trial, receiver, mailbox)
    words, victim = parts_of(trial)
    processes = [await trial.start(word) for word in words]
    dying = [process for process in processes if process.word == victim]

    async def kill_and_start() -> None:
        for process in dying:
            await process.end(signal.SIGKILL)
        for process in dying:
            await process.start()

    await receiver.until(lambda: len(receiver.posts) >= 4)  # received, not answered: the service waits
    before = len(receiver.posts)
    await kill_and_start()
    await receiver.until(lambda: len(receiver.posts) >= before + 2)  # the same ones again
    receiver.answer(2)
    await receiver.until(lambda: len(receiver.taken) == 2)  # answered this moment, perhaps not written down
    await kill_and_start()
    receiver.answer(100)
    sent = await all_sent(trial)
    assert_each_once(receiver, mailbox, sent, doubtful=2)
    assert len(receiver.posts) > len(TARGETS), "no kill met a delivery on its way"
    typed = await trial.ministry.workplace.monitor("deliver", "now", TARGETS[0], "--json")
    assert (typed.code, typed.json["status"]) == (0, "sent"), typed.err
    assert receiver.posts[-1] == (TARGETS[0], typed.json["key"])


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_forty_kills_at_moments_spread_over_the_deliveries(
    trial: Any, receiver: Receiver, open_mailbox: Callable[..., Awaitable[Any]]
) -> None:
    mailbox = await open_mailbox()
    words, victim = parts_of(trial)
    receiver.answer(100_000)
    for number in range(40):
        await all_due(trial, receiver, mailbox)
        processes = [await trial.start(word) for word in words]
        moment = number % (len(TARGETS) + 1)
        await receiver.until(lambda moment=moment: len(receiver.posts) >= moment)
        for place, process in enumerate(processes):
            if process.word == victim:
                await process.end(signal.SIGKILL)
                is_left_to_others = len(processes) > 1 and place % 2 == number % 2
                if not is_left_to_others:
                    await process.start()
        sent = await all_sent(trial)
        assert_each_once(receiver, mailbox, sent, doubtful=4)
        for process in trial.started:
            await process.end(signal.SIGKILL)
        trial.started.clear()
        receiver.posts.clear()
        receiver.taken.clear()
        mailbox.envelopes.clear()
        trial.forget(["briefing_record", "delivery", "delivery_plan", "item", "known_url", "run", "source"])
