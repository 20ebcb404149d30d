"""A quarter in quick motion (issue 16, point 3): each deadline once in the calendar, each alert once, whatever dies.

The service sweeps three sites each morning of its own time. What is due and what is sent comes from the world's table.
"""

import asyncio
import datetime as dt
import json
import random
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import httpx
import pytest
from icalendar import Calendar

from monitor.demo.serving import LoopbackRequest, LoopbackResponse, serve_loopback
from tests.acceptance.quarter import FIRST_DAY, SITES, TOPIC_WORDS, Due, SentAlert, World
from tests.acceptance.quarter_plan import at, build_month, build_quarter

ZONE = ZoneInfo("Asia/Shanghai")
TIMEOUT_S = 240  # beside other work on two cores, a start takes its time
KILL_WITHIN_S = 2.5

PROGRAM = """
import datetime as dt, sys
from pathlib import Path
from monitor.cli.main import main
from monitor.clock import SystemClock
from monitor.jobs import queue, scheduler, worker

ahead = Path("ahead")
SystemClock.now = staticmethod(lambda: dt.datetime.now(dt.UTC) + dt.timedelta(seconds=float(ahead.read_text())))

# Days pass in seconds: what is looked at each second is looked at more often.
scheduler._TICKS_PER_REFRESH = scheduler._TICKS_PER_REMINDER = 1
scheduler._TICK_INTERVAL_S = 0.1
worker._ENQUEUE_INTERVAL_S = queue._RUN_POLL_INTERVAL_S = queue._POLL_INTERVAL_S = 0.2
worker._RELEASE_INTERVAL_S = 0.2
main(sys.argv[1:])
"""


@dataclass
class Receiver:
    """Takes the posts of a webhook; one key is one message, however often it comes."""

    world: World
    port: int = 0
    posts: dict[str, tuple[dt.date, dict[str, Any]]] = field(default_factory=dict)

    def take(self, request: LoopbackRequest) -> LoopbackResponse:
        self.posts.setdefault(request.headers["idempotency-key"], (self.world.today, json.loads(request.body)))
        return LoopbackResponse(200, "text/plain")

    def list_alerts(self) -> list[SentAlert]:
        return [
            SentAlert(day, alert["kind"], alert["title"], _read_days(alert["message"]))
            for day, post in self.posts.values()
            for alert in post["alerts"]
        ]


def _read_days(text: str) -> tuple[dt.date, ...]:
    return tuple(map(dt.date.fromisoformat, re.findall(r"\d{4}-\d\d-\d\d", text)))


@dataclass
class Quarter:
    """The world, the service that watches it, and who is sent its alerts."""

    world: World
    workplace: Any
    service: Any
    hook: Receiver
    mailbox: Any
    token: str = ""
    mails: dict[str, list[SentAlert]] = field(default_factory=dict)

    def travel(self, day: dt.date, time: dt.time) -> None:
        """Set the service's clock, which goes on from there."""
        ahead = dt.datetime.combine(day, time, ZONE) - dt.datetime.now(dt.UTC)
        part = self.workplace.folder / "ahead.part"
        part.write_text(str(ahead.total_seconds()))
        part.replace(self.workplace.folder / "ahead")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.workplace.folder / "monitor.db", timeout=30)) as connection:
            return connection.execute(query).fetchall()

    async def wait_for(self, query: str, is_met: Callable[[list[tuple[Any, ...]]], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while not is_met(self.rows(query)):  # noqa: ASYNC110 -- the event is another process
                await asyncio.sleep(0.05)

    async def live(self, day: dt.date, dies_after_s: float | None) -> None:
        """A day: it dawns, the sites are swept, alerts go out; the service is killed on the way, where it is to be."""
        self.world.today = day
        dying = asyncio.create_task(self._die(dies_after_s)) if dies_after_s is not None else None
        self.travel(day, dt.time(9))
        await self._sweep(day)
        await self._send(day)
        if dying is not None:
            await dying
            await self._send(day)

    async def _die(self, after_s: float) -> None:
        await asyncio.sleep(after_s)  # the moment is the point
        await self.service.end(signal.SIGKILL)
        await self.service.start()

    async def _sweep(self, day: dt.date) -> None:
        """Wait until each site was swept this morning."""
        morning = dt.datetime.combine(day, dt.time(9), ZONE).astimezone(dt.UTC)
        query = f"SELECT source, status FROM run WHERE planned_at = '{morning:%Y-%m-%d %H:%M:%S.%f}'"  # noqa: S608
        await self.wait_for(query, lambda rows: sorted(rows) == [(site, "succeeded") for site in sorted(SITES)])

    async def _send(self, day: dt.date) -> None:
        """Let minutes pass until no alert waits any more."""
        waiting = (
            "SELECT 1 FROM alert WHERE delivery_id IS NULL UNION ALL SELECT 1 FROM delivery WHERE status <> 'sent'"
        )
        self.travel(day, dt.time(9, 10))
        await self._look_twice()
        for minute in range(12, 60, 2):
            if not self.rows(waiting):
                return
            self.travel(day, dt.time(9, minute))
            with suppress(TimeoutError):
                async with asyncio.timeout(4):
                    await self.wait_for(waiting, lambda rows: not rows)
        pytest.fail(f"{day}: alerts stay where they are")

    async def _look_twice(self) -> None:
        """Wait until the scheduler has looked at everything between two renewals of its lease."""
        query = "SELECT renewed_at FROM lease WHERE name = 'scheduler'"
        for _ in range(3):
            before = self.rows(query)
            await self.wait_for(query, lambda rows, before=before: rows != before)

    async def load_calendar(self) -> Counter[Due]:
        """The whole calendar by the API; the file for other programs has the same days of the same documents."""
        entries: list[dict[str, Any]] = []
        known = {"Authorization": f"Bearer {self.token}"}
        address = f"http://127.0.0.1:{self.workplace.settings['web']['port']}"
        async with httpx.AsyncClient(base_url=address, headers=known, timeout=TIMEOUT_S) as client:
            asked = {"since": "2026-01-01", "limit": "200"}
            while True:
                page = (await client.get("/api/v1/deadlines", params=asked)).raise_for_status().json()
                entries += page["deadlines"]
                if page["next"] is None:
                    break
                asked["cursor"] = page["next"]
            answer = await client.get("/feeds/deadlines.ics", params={"since": "2026-01-01", "lang": "en"})
        events = Calendar.from_ical(answer.raise_for_status().content).walk("VEVENT")
        listed = [(entry["day"], entry["url"]) for entry in entries]
        assert sorted(listed) == sorted((f"{event['dtstart'].dt}", f"{event['url']}") for event in events)
        assert len({event["uid"] for event in events}) == len(entries)
        return Counter(Due(entry["title"], entry["kind"], dt.date.fromisoformat(entry["day"])) for entry in entries)

    def check_alerts(self) -> None:
        """The mail got all alerts but those of a topic alone, the webhook those of its topic; each once."""
        day, expected = self.world.today, self.world.list_alerts(self.world.today)
        of_topic = Counter({alert: times for alert, times in expected.items() if _is_of_topic(alert.title)})
        _check_same(Counter(self.hook.list_alerts()), of_topic, f"{day}: webhook")
        for message in self.mailbox.messages():
            self.mails.setdefault(message["Message-ID"], list(self._read_mail(message)))
        mailed = Counter({alert: times for alert, times in expected.items() if alert.kind != "topic_match"})
        _check_same(Counter(alert for mail in self.mails.values() for alert in mail), mailed, f"{day}: mail")

    def _read_mail(self, message: Any) -> Iterator[SentAlert]:
        """Give what a mail of this day says as people read it; which document it means, by its address."""
        text = message.get_body(("plain",)).get_content().replace("\\", "")
        pages = {page.path: page for page in self.world.pages if page.on <= self.world.today}
        for kind, line in re.findall(r"^(deadline near|deadline moved|repealed|topic) · (.*)$", text, re.MULTILINE):
            page = pages[urlsplit(line.rsplit(maxsplit=1)[-1]).path]
            assert f"{page.title} ({page.site})" in line
            yield SentAlert(self.world.today, kind.replace(" ", "_"), page.title, _read_days(line))


def _is_of_topic(title: str) -> bool:
    return any(word in title for word in TOPIC_WORDS)


def _check_same(found: Counter[Any], expected: Counter[Any], what: str) -> None:
    missing, too_much = expected - found, found - expected
    assert not missing, f"{what}: missing {sorted(missing.elements())}; too much {sorted(too_much.elements())}"
    assert not too_much, f"{what}: too much {sorted(too_much.elements())}"


@pytest.fixture
async def open_quarter(workplace: Any, free_port: int, open_mailbox: Any, new_process: Any) -> Any:
    """Open a world to a service of its own time, with a topic with a webhook, and a mail for all alerts."""

    @asynccontextmanager
    async def open_world(world: World) -> AsyncIterator[Quarter]:
        hook, mailbox = Receiver(world), await open_mailbox()
        async with world.serve(), serve_loopback(hook.take, methods=("POST",)) as hook.port:
            configure(world, workplace, free_port, hook, mailbox)
            workplace.program = ("-c", PROGRAM)
            quarter = Quarter(world, workplace, new_process("serve", workplace.program), hook, mailbox)
            quarter.travel(FIRST_DAY, dt.time(8, 59))
            quarter.token = (await workplace.monitor("users", "token", "reader")).out.strip()
            words = [part for word in TOPIC_WORDS for part in ("--word", word)]
            sent = ["--alerts", "at_once", "--target", "hook"]
            added = await workplace.monitor("topics", "add", "energy storage", *words, *sent)
            assert added.code == 0, added.err
            await quarter.service.start()
            try:
                await quarter.wait_for("SELECT 1 FROM schedule", lambda rows: len(rows) == len(SITES))
                yield quarter
            finally:
                await quarter.service.end(signal.SIGKILL)

    return open_world


def configure(world: World, workplace: Any, port: int, hook: Receiver, mailbox: Any) -> None:
    sources = [
        {
            "name": site,
            "url": f"{world.base_urls[site]}/",
            "schedule": "0 9 * * *",
            "sections": [{"name": name, "url": f"{world.base_urls[site]}/{name}/"} for name in ("policy", "news")],
        }
        for site in SITES
    ]
    mail = {"url": f"smtp://127.0.0.1:{mailbox.port}", "sender": "m@example.org", "to": ["p@example.org"]}
    targets = [
        {"name": "hook", "url": f"http://127.0.0.1:{hook.port}/hook", "language": "en"},
        {"name": "mail", "alerts": True, "language": "en", **mail},
    ]
    hosts = [*map(_get_host, world.base_urls.values()), f"127.0.0.1:{hook.port}", f"127.0.0.1:{mailbox.port}"]
    workplace.configure(
        timezone=ZONE.key,
        database_url=f"sqlite:///{workplace.folder / 'monitor.db'}",
        sources=sources,
        llm={"enabled": False},
        deliver={"targets": targets},
        network={"allowed_private_hosts": hosts},
        pages={"delay_s": 0, "render": "never"},
        web={"port": port},
    )


def _get_host(url: str) -> str:
    return urlsplit(url).netloc


async def live_through(quarter: Quarter, days: Sequence[dt.date], kills: int) -> None:
    chance = random.Random(16)  # noqa: S311 -- the same moments each time
    fatal = set(chance.sample(sorted({*days[1:]} & quarter.world.list_alert_days()), kills))
    for day in days:
        await quarter.live(day, chance.uniform(0, KILL_WITHIN_S) if day in fatal else None)
        _check_same(await quarter.load_calendar(), quarter.world.list_due(day), f"{day}: calendar")
        quarter.check_alerts()


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_in_a_month_with_two_kills_every_deadline_and_every_alert_comes_once(open_quarter: Any) -> None:
    world, last = build_month()
    days = sorted(day for day in {FIRST_DAY} | world.list_alert_days() if day <= at(last))
    async with open_quarter(world) as quarter:
        await live_through(quarter, days, kills=2)


@pytest.mark.soak
@pytest.mark.timeout(3600)
async def test_in_a_quarter_with_thirty_kills_every_deadline_and_every_alert_comes_once(open_quarter: Any) -> None:
    world, last = build_quarter()
    async with open_quarter(world) as quarter:
        await live_through(quarter, [at(number) for number in range(last + 1)], kills=30)
