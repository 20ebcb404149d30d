"""Deliveries from their planned time to a receiver on loopback, with a clock that the test turns."""

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.delivery import AlarmFinding, AlarmKind, AlarmView, Delivery, DeliveryStatus
from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.jobs.background import AlarmNotifier
from monitor.jobs.presence import HeartbeatRegistry
from monitor.jobs.scheduler import DeliveryPlanner, Scheduler
from monitor.services.audit import COMMAND_LINE
from monitor.services.deliveries import DeliveryService
from monitor.services.dispatch import DeliveryDispatcher
from monitor.steps import InProcessSteps
from monitor.vocabulary import ItemType, RunStatus

HOOK = "/hook"


class DeliveryBench:
    """The parts of delivery over one database, and a receiver."""

    def __init__(self, store: Store, settings: Settings, clock: Any, site: Any, dispatch: DeliveryDispatcher) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.site = site
        self.dispatch = dispatch
        self._count = 0

    def planner(self) -> DeliveryPlanner:
        return DeliveryPlanner(store=self.store, settings=self.settings, clock=self.clock)

    async def plan(self) -> None:
        """As the scheduler does it every second."""
        planner = self.planner()
        await planner.refresh()
        await planner.plan_due()

    async def work(self) -> None:
        """As a worker does it every second."""
        await self.dispatch.release_due()
        for delivery in await self.store.deliveries.list_due(self.clock.now()):
            await self.dispatch.attempt_delivery(delivery.id, delivery.attempts, InProcessSteps())

    async def log(self) -> list[Delivery]:
        return list(reversed(await self.store.deliveries.list()))

    def received(self) -> list[tuple[str, list[str]]]:
        """The key of everything that was posted, and the titles in it."""
        bodies = [json.loads(entry.body) for entry in self.site.asked]
        return [(body["key"], [item["title"] for item in body["briefing"]["items"]]) for body in bodies]

    async def see(self, source: Source, title: str) -> None:
        """An item that a run of the source saved at this moment."""
        self._count += 1
        url = f"{source.url}{self._count}.html"
        await self.store.items.save(
            Item(
                source_id=source.id,
                source=source.name,
                run_id=f"r{self._count}",
                url=url,
                url_key=url,
                title=title,
                section="news",
                type=ItemType.NOTICE,
                date=self.clock.now().date(),
                first_seen=self.clock.now(),
            )
        )

    async def run(self, source: Source, status: RunStatus) -> Run:
        self._count += 1
        run = Run(
            id=f"r{self._count}", source_id=source.id, source=source.name, planned_at=self.clock.now(), status=status
        )
        await self.store.runs.create(run)
        return run


NewBench = Callable[..., DeliveryBench]


@pytest.fixture
def new_bench(store: Store, settings: Settings, clock: Any, site: Any, new_dispatch: Any) -> NewBench:
    def build(**fields: Any) -> DeliveryBench:
        given = {"name": "partners", "url": site.url(HOOK), "schedule": "0 9 * * *", "deadline_minutes": 30, **fields}
        mine = settings.model_copy(
            update={
                "deliver": settings.deliver.model_copy(update={"targets": [TargetSettings(**given)]}),
                "network": settings.network.model_copy(update={"allowed_private_hosts": [site.host], "timeout_s": 1.0}),
            }
        )
        site.on(HOOK, "ok")
        return DeliveryBench(store, mine, clock, site, new_dispatch(mine))

    return build


@pytest.fixture
async def idle(store: Store, clock: Any) -> Source:
    """A source without a schedule: nothing is waited for."""
    return await store.sources.add(Source(name="office", url="https://office.example/", created_at=clock.now()))


async def test_a_planned_time_makes_one_delivery_however_many_schedulers_look(new_bench: NewBench, clock: Any) -> None:
    bench = new_bench()
    planners = [bench.planner(), bench.planner()]
    for planner in planners:
        await planner.refresh()
    clock.turn(hours=1, seconds=1)  # nine in Shanghai
    await asyncio.gather(*(planner.plan_due() for planner in planners))
    await bench.plan()
    (delivery,) = await bench.log()
    assert (delivery.id, delivery.status) == ("partners-20260302T010000Z", DeliveryStatus.WAITING)
    assert delivery.day == dt.date(2026, 3, 2)


async def test_after_an_outage_of_days_one_briefing_stands_for_all_planned_times(
    new_bench: NewBench, clock: Any, idle: Source
) -> None:
    bench = new_bench()
    await bench.plan()
    clock.turn(hours=1, seconds=1)
    await bench.see(idle, "before")
    await bench.plan()
    await bench.work()
    clock.turn(hours=6)
    await bench.see(idle, "on the first day")
    clock.turn(days=3, hours=2)
    await bench.plan()
    await bench.work()
    assert [titles for _, titles in bench.received()] == [["before"], ["on the first day"]]


async def test_what_is_found_between_two_briefings_comes_once_and_is_never_lost(
    new_bench: NewBench, clock: Any, idle: Source
) -> None:
    bench = new_bench(quiet="note")
    await bench.plan()
    expected = []
    for day in range(4):
        clock.turn(hours=1, seconds=1)
        for moment in ("before", "after"):
            await bench.see(idle, f"{moment} {day}")
            expected.append(f"{moment} {day}")
            await bench.plan()
            await bench.work()
        clock.turn(hours=22, minutes=59, seconds=59)
    titles = [title for _, report in bench.received() for title in report]
    assert sorted(titles) == sorted(expected[:-1])  # the last one waits for the fifth day
    assert len({key for key, _ in bench.received()}) == 4


async def test_a_briefing_waits_for_the_runs_of_its_sources(
    new_bench: NewBench, clock: Any, idle: Source, store: Store
) -> None:
    bench = new_bench()
    await bench.plan()
    clock.turn(hours=1, seconds=-1)
    run = await bench.run(idle, RunStatus.RUNNING)
    clock.turn(seconds=2)
    await bench.plan()
    await bench.work()
    assert bench.received() == []
    await bench.see(idle, "found by the run")
    await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
    await bench.work()
    assert [titles for _, titles in bench.received()] == [["found by the run"]]


async def test_at_its_deadline_a_briefing_goes_out_and_names_who_is_not_done(
    new_bench: NewBench, clock: Any, idle: Source, source: Source
) -> None:
    bench = new_bench(schedule="5 9 * * *")
    await bench.plan()
    clock.turn(hours=1, minutes=4)
    await bench.run(idle, RunStatus.RUNNING)
    clock.turn(minutes=1, seconds=1)
    await bench.plan()
    for _ in range(29):
        await bench.work()
        clock.turn(minutes=1)
    assert bench.received() == []
    clock.turn(minutes=1)
    await bench.work()
    body = json.loads(bench.site.asked[0].body)
    assert body["unfinished"] == ["office"]
    assert {gap["source"]: gap["kind"] for gap in body["briefing"]["gaps"]}["office"] == "running"
    assert source.name not in body["unfinished"]  # no planned time of it has come since it was added


async def test_a_source_whose_planned_run_has_not_begun_is_waited_for_and_named(
    new_bench: NewBench, clock: Any, source: Source, store: Store, settings: Settings
) -> None:
    bench = new_bench()
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    spread = bench.settings.model_copy(update={"work": settings.work.model_copy(update={"jitter_s": 3000})})
    scheduler = Scheduler(store=store, settings=spread, clock=clock, presence=presence)
    await scheduler.refresh()
    clock.turn(hours=1, seconds=1)
    await scheduler.create_due_runs()
    assert await store.runs.list() == []  # its start is spread over the next minutes
    await bench.work()
    assert bench.received() == []
    clock.turn(minutes=31)
    await bench.work()
    assert json.loads(bench.site.asked[0].body)["unfinished"] == [source.name]


async def test_every_try_sends_the_same_briefing_under_the_same_key_until_it_is_taken(
    new_bench: NewBench, clock: Any, idle: Source, reply: Any
) -> None:
    bench = new_bench()
    answers = iter([reply("", 500), reply("", 429, {"Retry-After": "90"}), None, reply("thanks")])

    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    def answer(_asked: Any) -> Any:
        return next(answers) or silent

    bench.site.on(HOOK, answer)
    await bench.plan()
    await bench.see(idle, "first")
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    waits = []
    for tries in range(1, 5):
        await bench.work()
        (delivery,) = await bench.log()
        assert (delivery.attempts, len(bench.site.asked)) == (tries, tries)
        if delivery.next_try_at is not None:
            waits.append((delivery.next_try_at - clock.now()).total_seconds())
            await bench.see(idle, f"later {tries}")
            clock.instant = delivery.next_try_at - dt.timedelta(seconds=1)
            await bench.work()
            assert len(bench.site.asked) == tries
            clock.instant = delivery.next_try_at
    assert waits == [5, 90, 120]
    assert (delivery.status, delivery.last_error) == (DeliveryStatus.SENT, None)
    assert bench.received() == [(delivery.key, ["first"])] * 4
    clock.turn(days=30)
    await bench.work()
    assert len(bench.site.asked) == 4


async def test_what_is_refused_for_good_fails_at_once_and_the_next_briefing_has_its_items(
    new_bench: NewBench, clock: Any, idle: Source, reply: Any
) -> None:
    bench = new_bench()
    bench.site.on(HOOK, reply("", 400))
    await bench.plan()
    await bench.see(idle, "unlucky")
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    await bench.work()
    (failed,) = await bench.log()
    assert (failed.status, failed.attempts) == (DeliveryStatus.FAILED, 1)
    assert "400" in (render(failed.last_error, "en") if failed.last_error else "")
    bench.site.on(HOOK, "ok")
    clock.turn(days=1)
    await bench.plan()
    await bench.work()
    assert [titles for _, titles in bench.received()] == [["unlucky"], ["unlucky"]]


async def test_a_receiver_that_stays_away_ends_in_a_failure_that_a_person_can_retry(
    new_bench: NewBench, clock: Any, idle: Source, reply: Any
) -> None:
    bench = new_bench()
    bench.site.on(HOOK, reply("", 503))
    await bench.plan()
    await bench.see(idle, "first")
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    people = people_of(bench)
    while True:
        await bench.work()
        (delivery,) = await bench.log()
        troubles = await people.list_problems()
        assert bool(troubles) is (delivery.attempts >= 3)
        if delivery.next_try_at is None:
            break
        clock.instant = delivery.next_try_at
    assert (delivery.status, delivery.attempts) == (DeliveryStatus.FAILED, 10)
    bench.site.on(HOOK, "ok")
    found = await people.retry(delivery.id, by=COMMAND_LINE)
    assert (found.status, found.attempts, found.key) == (DeliveryStatus.SENT, 11, delivery.key)
    assert set(bench.received()[0][1]) == set(bench.received()[-1][1])
    assert len({key for key, _ in bench.received()}) == 1
    with pytest.raises(UsageError, match="has not failed"):
        await people.retry(delivery.id, by=COMMAND_LINE)


def people_of(bench: DeliveryBench) -> DeliveryService:
    presence = HeartbeatRegistry(store=bench.store, clock=bench.clock, folder=bench.settings.data_dir)
    return DeliveryService(
        store=bench.store,
        settings=bench.settings,
        clock=bench.clock,
        presence=presence,
        dispatch=bench.dispatch,
        steps=InProcessSteps(),
    )


async def test_a_target_gets_what_its_filters_let_through_in_its_language(
    new_bench: NewBench, clock: Any, idle: Source, store: Store
) -> None:
    bench = new_bench(tags=["energy"], keywords=["能源"], types=["通知"], language="en", top=1)
    source = Source(name="bureau of energy", url="https://e.example/", tags=["energy"], created_at=clock.now())
    energy = await store.sources.add(source)
    await bench.plan()
    for of, title in ((energy, "能源通知一"), (energy, "能源通知二"), (energy, "人事通知"), (idle, "能源公告")):
        await bench.see(of, title)
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    await bench.work()
    briefing = json.loads(bench.site.asked[0].body)["briefing"]
    assert briefing["language"] == "en"
    assert {entry["title"] for entry in [*briefing["items"], *briefing["more"]]} == {"能源通知一", "能源通知二"}
    assert (len(briefing["items"]), [entry["name"] for entry in briefing["sources"]]) == (1, ["bureau of energy"])


async def test_the_day_of_a_target_is_that_of_its_own_time_zone(new_bench: NewBench, clock: Any, idle: Source) -> None:
    bench = new_bench(timezone="America/New_York", schedule="0 20 * * *")
    await bench.plan()
    clock.turn(minutes=30)  # half past seven in the evening of the first of March there, the next morning in Shanghai
    await bench.see(idle, "能源法")
    clock.turn(minutes=31)
    await bench.plan()
    await bench.work()
    (delivery,) = await bench.log()
    assert (delivery.day, delivery.status) == (dt.date(2026, 3, 1), DeliveryStatus.SENT)
    assert [titles for _, titles in bench.received()] == [["能源法"]]


@pytest.mark.parametrize(("quiet", "status", "letters"), [("none", "quiet", 0), ("note", "sent", 1)])
async def test_a_quiet_day_sends_what_the_administrator_chose(
    new_bench: NewBench, clock: Any, idle: Source, quiet: str, status: str, letters: int
) -> None:
    bench = new_bench(quiet=quiet)
    await bench.plan()
    await bench.run(idle, RunStatus.SUCCEEDED)
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    await bench.work()
    assert [str(delivery.status) for delivery in await bench.log()] == [status]
    assert len(bench.site.asked) == letters
    if letters:
        assert "无新增内容" in json.loads(bench.site.asked[0].body)["title"]


async def test_a_day_on_which_a_source_failed_is_not_quiet(new_bench: NewBench, clock: Any, idle: Source) -> None:
    bench = new_bench(quiet="none")
    await bench.plan()
    await bench.run(idle, RunStatus.FAILED)
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    await bench.work()
    (body,) = (json.loads(entry.body) for entry in bench.site.asked)
    assert [(gap["source"], gap["kind"]) for gap in body["briefing"]["gaps"]] == [("office", "failed")]


def fewer(usual: int, now: int) -> Message:
    return Message.of("alarm.list_fell", usual=usual, now=now)


async def raised(bench: DeliveryBench, source: Source, section: str, message: Message) -> AlarmView:
    """An alarm of this moment, handed to the notifier, as the end of a run does."""
    finding = AlarmFinding(kind=AlarmKind.STRUCTURE, message=message, section=section, section_key=section)
    await bench.store.alarms.reconcile(
        source.id or 0, run_id="r", findings=[finding], judged_kinds={}, at=bench.clock.now()
    )
    notes = await bench.store.alarms.list_unnotified()
    await AlarmNotifier(store=bench.store, settings=bench.settings, clock=bench.clock).notify(notes)
    assert await bench.store.alarms.list_unnotified() == []
    return notes[-1]


async def test_the_alarms_of_a_minute_go_to_a_target_as_one_message(
    new_bench: NewBench, clock: Any, idle: Source
) -> None:
    bench = new_bench(alarms=True)
    one = await raised(bench, idle, "news", fewer(20, 2))
    clock.turn(seconds=20)
    other = await raised(bench, idle, "laws", fewer(9, 1))
    clock.turn(seconds=29)
    await bench.work()
    assert bench.site.asked == []  # the minute is not over for everybody
    clock.turn(minutes=1)
    later = await raised(bench, idle, "data", fewer(30, 3))
    await bench.work()
    clock.turn(minutes=2)
    await bench.work()
    bodies = [json.loads(entry.body) for entry in bench.site.asked]
    assert [[AlarmView.model_validate(alarm) for alarm in body["alarms"]] for body in bodies] == [[one, other], [later]]
    assert {(body["kind"], body["target"]) for body in bodies} == {("alarm", "partners")}
    assert "office / laws · 列表结构有变 · 列表由约 9 条减到 1 条" in bodies[0]["text"]


async def test_an_alarm_is_told_once_however_often_it_is_handed_on(
    new_bench: NewBench, clock: Any, idle: Source
) -> None:
    bench = new_bench(alarms=True)
    note = await raised(bench, idle, "news", fewer(20, 2))
    notices = AlarmNotifier(store=bench.store, settings=bench.settings, clock=clock)
    for _ in range(3):
        await notices.notify([note])  # a process that was killed before it had heard of it
        clock.turn(minutes=2)
        await bench.work()
    assert len(bench.site.asked) == 1


async def test_an_alarm_that_comes_after_the_message_of_its_minute_goes_by_itself(
    new_bench: NewBench, clock: Any, idle: Source
) -> None:
    bench = new_bench(alarms=True)
    first = await raised(bench, idle, "news", fewer(20, 2))
    clock.turn(minutes=2)
    await bench.work()
    clock.turn(minutes=-2, seconds=30)  # as another machine has it
    second = await raised(bench, idle, "laws", fewer(9, 1))
    clock.turn(minutes=5)
    await bench.work()
    reported = [[alarm["id"] for alarm in json.loads(asked.body)["alarms"]] for asked in bench.site.asked]
    assert reported == [[first.id], [second.id]]


async def test_a_test_says_that_it_is_one_and_a_typed_briefing_leaves_the_planned_ones_as_they_are(
    new_bench: NewBench, clock: Any, idle: Source
) -> None:
    bench = new_bench()
    await bench.plan()
    await bench.see(idle, "first")
    people = people_of(bench)
    assert (await people.send_test("partners", by=COMMAND_LINE)).status is DeliveryStatus.SENT
    assert (await people.send_now("partners", by=COMMAND_LINE)).status is DeliveryStatus.SENT
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    await bench.work()
    test, typed, planned = (json.loads(entry.body) for entry in bench.site.asked)
    assert "测试" in test["title"]
    assert "briefing" not in test
    assert [item["title"] for item in typed["briefing"]["items"]] == ["first"]
    assert [item["title"] for item in planned["briefing"]["items"]] == ["first"]
    with pytest.raises(UsageError, match="There is no target 'nobody'"):
        await people.send_test("nobody", by=COMMAND_LINE)


async def test_mail_reaches_each_address_once_although_one_was_refused_at_first(
    new_bench: NewBench, clock: Any, idle: Source, open_mailbox: Callable[..., Awaitable[Any]], new_dispatch: Any
) -> None:
    mailbox = await open_mailbox()
    mailbox.refusals = {"clerk@example.org": "450 later"}
    to = ["partner@example.org", "clerk@example.org"]
    url = f"smtp://127.0.0.1:{mailbox.port}"
    bench = new_bench(url=url, sender="m@example.org", to=to, formats=["docx", "xlsx"])
    bench.settings.network.allowed_private_hosts.append(f"127.0.0.1:{mailbox.port}")
    await bench.plan()
    await bench.see(idle, "first")
    clock.turn(hours=1, seconds=1)
    await bench.plan()
    await bench.work()
    mailbox.refusals = {}
    clock.turn(seconds=5)
    await bench.work()
    (delivery,) = await bench.log()
    assert delivery.status is DeliveryStatus.SENT
    assert [envelope.rcpt_tos for envelope in mailbox.envelopes] == [["partner@example.org"], ["clerk@example.org"]]
    assert {message["Message-ID"] for message in mailbox.messages()} == {delivery.message_id}
    names = [attachment.get_filename() for attachment in mailbox.messages()[0].iter_attachments()]
    assert names == ["官方动态简报-2026-03-02.docx", "官方动态简报-2026-03-02.xlsx"]
