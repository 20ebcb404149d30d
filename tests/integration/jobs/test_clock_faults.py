"""A clock that leaps, either way: schedules, deliveries, leases, sessions and retention hold."""

import datetime as dt
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.db.tables.delivery import DeliveryStatus
from monitor.i18n.message import Message
from monitor.jobs.presence import LEASE_TIMEOUT_S, HeartbeatRegistry, LeaseHolder
from monitor.jobs.scheduler import DeliveryPlanner, Scheduler
from monitor.services.audit import COMMAND_LINE
from monitor.steps import InProcessSteps
from monitor.vocabulary import ItemType, Role, RunStatus

HOOK = "/hook"
PASSWORD = "床前明月光疑是地上霜举头望明月"  # noqa: S105 -- of a person who lives for one test
LEAPS = [dt.timedelta(days=1), dt.timedelta(days=366)]

Looked = Callable[[], Awaitable[list[Run]]]


@pytest.fixture
def looked(store: Store, settings: Settings, clock: Any) -> Looked:
    """What the scheduler does in a few seconds, and the work that it makes; gives the runs so far, oldest first."""
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    scheduler = Scheduler(store=store, settings=settings, clock=clock, presence=presence)

    async def look() -> list[Run]:
        await scheduler.refresh()
        await scheduler.create_due_runs()
        for run in await store.runs.list_open():
            await store.runs.update(run.id, status=RunStatus.SUCCEEDED, started_at=clock.now(), ended_at=clock.now())
        return [run for run in reversed(await store.runs.list()) if run.status is RunStatus.SUCCEEDED]

    return look


@pytest.mark.parametrize("leap", LEAPS)
async def test_a_clock_that_was_ahead_leaves_the_next_planned_time_its_run(
    store: Store, source: Source, clock: Any, looked: Looked, leap: dt.timedelta
) -> None:
    await store.sources.update(source.name, schedule="0 9 * * *")  # 01:00 UTC
    await looked()
    clock.turn(hours=5)
    await looked()
    clock.instant += leap  # four hours after the planned time, which is later than the grace
    await looked()
    clock.instant -= leap
    before = await looked()
    clock.turn(days=1, hours=-4)
    after = await looked()
    assert len(after) == len(before) + 1
    assert after[-1].planned_at == dt.datetime(2026, 3, 3, 1, tzinfo=dt.UTC)


async def test_a_clock_that_goes_back_a_day_and_forth_again_runs_nothing_twice(
    source: Source, clock: Any, looked: Looked
) -> None:
    for _ in range(3):
        clock.turn(hours=1)
        await looked()
    clock.turn(days=-1)
    for _ in range(30):
        clock.turn(hours=1)
        runs = await looked()
    planned = [run.planned_at for run in runs]
    assert len(planned) == len(set(planned))
    assert max(planned) == clock.now().replace(minute=0)


@pytest.mark.parametrize("day", [dt.date(2026, 3, 28), dt.date(2026, 10, 24)])
async def test_a_daily_run_starts_at_eight_on_the_wall_before_and_after_the_change_of_the_clock(
    store: Store, source: Source, clock: Any, looked: Looked, day: dt.date
) -> None:
    zone = ZoneInfo("Europe/Berlin")
    clock.instant = dt.datetime.combine(day, dt.time(0), zone).astimezone(dt.UTC)
    await store.sources.update(source.name, schedule="0 8 * * *", timezone=zone.key)
    for _ in range(3 * 24 * 2):
        await looked()
        clock.turn(minutes=30)
    runs = await looked()
    assert [run.planned_at.astimezone(zone).hour for run in runs] == [8, 8, 8]
    assert len({run.planned_at.astimezone(zone).utcoffset() for run in runs}) == 2


@pytest.mark.parametrize("days", [1, -1])
async def test_a_leap_of_the_clock_neither_takes_nor_gives_a_duty(store: Store, clock: Any, days: int) -> None:
    steady = {"s": 0.0}

    def duty(holder: str) -> LeaseHolder:
        return LeaseHolder("scheduler", holder=holder, store=store, clock=clock, monotonic=lambda: steady["s"])

    first, second = duty("first"), duty("second")
    assert await first.acquire()
    assert not await second.acquire()
    clock.turn(days=days)
    steady["s"] += 5
    assert not await second.acquire()
    assert await first.acquire()
    steady["s"] += LEASE_TIMEOUT_S - 1
    assert not await second.acquire()


async def test_a_duty_is_given_up_even_where_the_database_is_away(tmp_path: Path, clock: Any) -> None:
    async with Store.open(f"postgresql://postgres@/nothing?host={tmp_path}") as away:
        await LeaseHolder("scheduler", holder="first", store=away, clock=clock).release()


async def test_a_holder_that_was_suspended_for_an_hour_finds_that_another_has_its_duty(
    store: Store, source: Source, settings: Settings, clock: Any, looked: Looked
) -> None:
    steady = {"s": 0.0}
    suspended = LeaseHolder("scheduler", holder="suspended", store=store, clock=clock, monotonic=lambda: 0.0)
    other = LeaseHolder("scheduler", holder="other", store=store, clock=clock, monotonic=lambda: steady["s"])
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    asleep = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
    assert await suspended.acquire()
    await asleep.refresh()
    await other.acquire()
    clock.turn(hours=1, seconds=1)
    steady["s"] += 3600
    assert await other.acquire()
    await looked()
    await asleep.create_due_runs()  # it wakes, and does not know yet
    assert not await suspended.acquire()
    (run,) = await store.runs.list()
    assert run.planned_at == dt.datetime(2026, 3, 2, 1, tzinfo=dt.UTC)


async def test_a_source_whose_runs_failed_while_the_clock_was_ahead_does_not_rest_for_it(
    store: Store, source: Source, clock: Any, looked: Looked
) -> None:
    await looked()
    clock.turn(days=366)  # no certificate is valid any more
    for _ in range(5):
        failed = {"status": RunStatus.FAILED, "has_new": False, "error": Message.other("certificate expired")}
        await store.runs.end("no run", source.id, at=clock.now(), **failed)
    clock.turn(days=-366)
    await looked()
    clock.turn(hours=1)
    runs = await looked()
    assert [run.planned_at for run in runs] == [dt.datetime(2026, 3, 2, 1, tzinfo=dt.UTC)]


class Post:
    """Planned briefings of one target, and a receiver."""

    def __init__(self, store: Store, settings: Settings, clock: Any, site: Any, new_dispatch: Any) -> None:
        target = TargetSettings(name="partners", url=site.url(HOOK), schedule="0 9 * * *", quiet="note")
        self.settings = settings.model_copy(
            update={
                "deliver": settings.deliver.model_copy(update={"targets": [target]}),
                "network": settings.network.model_copy(update={"allowed_private_hosts": [site.host], "timeout_s": 1.0}),
            }
        )
        self.store, self.clock, self.site = store, clock, site
        self.dispatch = new_dispatch(self.settings)
        self._count = 0

    async def work(self) -> None:
        planner = DeliveryPlanner(store=self.store, settings=self.settings, clock=self.clock)
        await planner.refresh()
        await planner.plan_due()
        await self.dispatch.release_due()
        for delivery in await self.store.deliveries.list_due(self.clock.now()):
            await self.dispatch.attempt_delivery(delivery.id, delivery.attempts, InProcessSteps())

    async def find(self, source: Source, title: str) -> None:
        self._count += 1
        url = f"{source.url}{self._count}.html"
        seen = {"run_id": "r", "section": "news", "type": ItemType.NOTICE, "source_id": source.id}
        now = self.clock.now()
        await self.store.items.save(
            Item(**seen, source=source.name, url=url, url_key=url, title=title, date=now.date(), first_seen=now)
        )

    def received(self) -> list[list[str]]:
        return [[item["title"] for item in json.loads(entry.body)["briefing"]["items"]] for entry in self.site.asked]


@pytest.fixture
async def post(store: Store, settings: Settings, clock: Any, site: Any, new_dispatch: Any) -> Post:
    site.on(HOOK, "ok")
    return Post(store, settings, clock, site, new_dispatch)


@pytest.mark.parametrize("leap", LEAPS)
async def test_no_item_is_lost_to_the_briefings_by_a_clock_that_was_ahead(
    store: Store, clock: Any, post: Post, leap: dt.timedelta
) -> None:
    office = await store.sources.add(Source(name="o", url="https://office.example/", created_at=clock.now()))
    await post.work()
    clock.turn(hours=2)
    await post.find(office, "before")
    await post.work()
    clock.instant += leap
    await post.work()
    clock.instant -= leap
    await post.work()
    await post.find(office, "after")
    for _ in range(3):
        clock.turn(days=1)
        await post.work()
    titles = [title for titles in post.received() for title in titles]
    assert sorted(set(titles)) == ["after", "before"]


async def test_a_try_that_was_put_off_by_a_clock_that_was_ahead_is_made_when_it_is_right_again(
    store: Store, clock: Any, post: Post, site: Any, reply: Any
) -> None:
    await post.work()
    clock.turn(days=366, hours=2)
    site.on(HOOK, reply("busy", 503))
    await post.work()
    (delivery,) = await store.deliveries.list()
    assert (delivery.status, delivery.attempts) == (DeliveryStatus.QUEUED, 1)
    clock.turn(days=-366)
    site.on(HOOK, "ok")
    await post.work()
    (delivery,) = [entry for entry in await store.deliveries.list() if entry.id == delivery.id]
    assert delivery.status is DeliveryStatus.SENT


@pytest.mark.parametrize("days", [1, -1])
async def test_sessions_hold_while_the_clock_leaps_and_when_it_is_right_again(
    settings: Settings, clock: Any, days: int
) -> None:
    async with open_app(settings) as app:
        app.clock = clock
        await app.people.add("lilei", Role.READER, by=COMMAND_LINE)
        await app.people.set_password("lilei", PASSWORD, by=COMMAND_LINE)
        old = await app.people.sign_in("lilei", PASSWORD, address="192.0.2.1", browser="Firefox")
        clock.turn(days=days)
        assert await app.people.authenticate(old.cookie) is not None
        new = await app.people.sign_in("lilei", PASSWORD, address="192.0.2.1", browser="Firefox")
        clock.turn(days=-days)
        for cookie in (old.cookie, new.cookie):
            assert await app.people.authenticate(cookie) is not None
        clock.turn(days=17)
        for cookie in (old.cookie, new.cookie):
            assert await app.people.authenticate(cookie) is None, "it held for longer than two weeks and a leap"


class TestRetention:
    """The daily pruning believes a clock only as far as days have passed."""

    @pytest.fixture
    async def calls(self, settings: Settings, clock: Any) -> Any:
        """The app, with a model call on record for each of the last 400 days."""
        settings.work.retention_days = 400
        async with open_app(settings) as app:
            app.clock = clock
            async with app.store.sessions.begin_write() as session:
                for age in range(400):
                    at = clock.now() - dt.timedelta(days=age, hours=1)
                    session.add(ModelCall(run_id="r", phase="rank", model="m", outcome="ok", at=at))
            await app.retention.prune_expired()
            yield app

    async def test_a_clock_that_is_a_year_ahead_costs_two_days_however_often_the_service_starts(
        self, calls: Any, clock: Any
    ) -> None:
        clock.turn(days=1)
        clock.turn(days=366)
        deleted = [(await calls.retention.prune_expired()).model_calls for _ in range(20)]
        clock.turn(hours=12)
        deleted.append((await calls.retention.prune_expired()).model_calls)
        assert sum(deleted) <= 2
        clock.turn(days=-366)
        assert (await calls.retention.prune_expired()).model_calls == 0

    async def test_right_days_delete_a_day_each_and_a_long_stop_is_caught_up_with(self, calls: Any, clock: Any) -> None:
        deleted = []
        for _ in range(5):
            clock.turn(days=1)
            deleted.append((await calls.retention.prune_expired()).model_calls)
        assert deleted == [1, 1, 1, 1, 1]
        clock.turn(days=10)
        for _ in range(10):
            deleted.append((await calls.retention.prune_expired()).model_calls)
            clock.turn(days=1)
        assert sum(deleted) == 24
