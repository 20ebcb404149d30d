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
from monitor.jobs.presence import HeartbeatRegistry
from monitor.jobs.scheduler import AlarmNotifier, DeliveryPlanner, Scheduler
from monitor.services.audit import COMMAND_LINE
from monitor.services.deliveries import DeliveryService
from monitor.services.dispatch import DeliveryDispatcher
from monitor.steps import InProcessSteps
from monitor.vocabulary import ItemType, RunStatus

HOOK = "/hook"


class Desk:
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
        bodies = [json.loads(one.body) for one in self.site.asked]
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


NewDesk = Callable[..., Desk]


@pytest.fixture
def new_desk(store: Store, settings: Settings, clock: Any, site: Any, new_dispatch: Any) -> NewDesk:
    def build(**fields: Any) -> Desk:
        given = {"name": "partners", "url": site.url(HOOK), "schedule": "0 9 * * *", "deadline_minutes": 30, **fields}
        mine = settings.model_copy(
            update={
                "deliver": settings.deliver.model_copy(update={"targets": [TargetSettings(**given)]}),
                "network": settings.network.model_copy(update={"allowed_private_hosts": [site.host], "timeout_s": 1.0}),
            }
        )
        site.on(HOOK, "ok")
        return Desk(store, mine, clock, site, new_dispatch(mine))

    return build


@pytest.fixture
async def idle(store: Store, clock: Any) -> Source:
    """A source without a schedule: nothing is waited for."""
    return await store.sources.add(Source(name="office", url="https://office.example/", created_at=clock.now()))


async def test_a_planned_time_makes_one_delivery_however_many_schedulers_look(new_desk: NewDesk, clock: Any) -> None:
    desk = new_desk()
    planners = [desk.planner(), desk.planner()]
    for planner in planners:
        await planner.refresh()
    clock.turn(hours=1, seconds=1)  # nine in Shanghai
    await asyncio.gather(*(planner.plan_due() for planner in planners))
    await desk.plan()
    (delivery,) = await desk.log()
    assert (delivery.id, delivery.status) == ("partners-20260302T010000Z", DeliveryStatus.WAITING)
    assert delivery.day == dt.date(2026, 3, 2)


async def test_after_an_outage_of_days_one_briefing_stands_for_all_planned_times(
    new_desk: NewDesk, clock: Any, idle: Source
) -> None:
    desk = new_desk()
    await desk.plan()
    clock.turn(hours=1, seconds=1)
    await desk.see(idle, "before")
    await desk.plan()
    await desk.work()
    clock.turn(hours=6)
    await desk.see(idle, "on the first day")
    clock.turn(days=3, hours=2)
    await desk.plan()
    await desk.work()
    assert [titles for _, titles in desk.received()] == [["before"], ["on the first day"]]


async def test_what_is_found_between_two_briefings_comes_once_and_is_never_lost(
    new_desk: NewDesk, clock: Any, idle: Source
) -> None:
    desk = new_desk(quiet="note")
    await desk.plan()
    expected = []
    for day in range(4):
        clock.turn(hours=1, seconds=1)
        for moment in ("before", "after"):
            await desk.see(idle, f"{moment} {day}")
            expected.append(f"{moment} {day}")
            await desk.plan()
            await desk.work()
        clock.turn(hours=22, minutes=59, seconds=59)
    titles = [title for _, told in desk.received() for title in told]
    assert sorted(titles) == sorted(expected[:-1])  # the last one waits for the fifth day
    assert len({key for key, _ in desk.received()}) == 4


async def test_a_briefing_waits_for_the_runs_of_its_sources(
    new_desk: NewDesk, clock: Any, idle: Source, store: Store
) -> None:
    desk = new_desk()
    await desk.plan()
    clock.turn(hours=1, seconds=-1)
    run = await desk.run(idle, RunStatus.RUNNING)
    clock.turn(seconds=2)
    await desk.plan()
    await desk.work()
    assert desk.received() == []
    await desk.see(idle, "found by the run")
    await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
    await desk.work()
    assert [titles for _, titles in desk.received()] == [["found by the run"]]


async def test_at_its_deadline_a_briefing_goes_out_and_names_who_is_not_done(
    new_desk: NewDesk, clock: Any, idle: Source, source: Source
) -> None:
    desk = new_desk(schedule="5 9 * * *")
    await desk.plan()
    clock.turn(hours=1, minutes=4)
    await desk.run(idle, RunStatus.RUNNING)
    clock.turn(minutes=1, seconds=1)
    await desk.plan()
    for _ in range(29):
        await desk.work()
        clock.turn(minutes=1)
    assert desk.received() == []
    clock.turn(minutes=1)
    await desk.work()
    body = json.loads(desk.site.asked[0].body)
    assert body["unfinished"] == ["office"]
    assert {gap["source"]: gap["kind"] for gap in body["briefing"]["gaps"]}["office"] == "running"
    assert source.name not in body["unfinished"]  # no planned time of it has come since it was added


async def test_a_source_whose_planned_run_has_not_begun_is_waited_for_and_named(
    new_desk: NewDesk, clock: Any, source: Source, store: Store, settings: Settings
) -> None:
    desk = new_desk()
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    spread = desk.settings.model_copy(update={"work": settings.work.model_copy(update={"jitter_s": 3000})})
    scheduler = Scheduler(store=store, settings=spread, clock=clock, presence=presence)
    await scheduler.refresh()
    clock.turn(hours=1, seconds=1)
    await scheduler.create_due_runs()
    assert await store.runs.list() == []  # its start is spread over the next minutes
    await desk.work()
    assert desk.received() == []
    clock.turn(minutes=31)
    await desk.work()
    assert json.loads(desk.site.asked[0].body)["unfinished"] == [source.name]


async def test_every_try_sends_the_same_briefing_under_the_same_key_until_it_is_taken(
    new_desk: NewDesk, clock: Any, idle: Source, reply: Any
) -> None:
    desk = new_desk()
    answers = iter([reply("", 500), reply("", 429, {"Retry-After": "90"}), None, reply("thanks")])

    async def silent(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    def answer(_asked: Any) -> Any:
        return next(answers) or silent

    desk.site.on(HOOK, answer)
    await desk.plan()
    await desk.see(idle, "first")
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    waits = []
    for tries in range(1, 5):
        await desk.work()
        (delivery,) = await desk.log()
        assert (delivery.attempts, len(desk.site.asked)) == (tries, tries)
        if delivery.next_try_at is not None:
            waits.append((delivery.next_try_at - clock.now()).total_seconds())
            await desk.see(idle, f"later {tries}")
            clock.instant = delivery.next_try_at - dt.timedelta(seconds=1)
            await desk.work()
            assert len(desk.site.asked) == tries
            clock.instant = delivery.next_try_at
    assert waits == [5, 90, 120]
    assert (delivery.status, delivery.last_error) == (DeliveryStatus.SENT, None)
    assert desk.received() == [(delivery.key, ["first"])] * 4
    clock.turn(days=30)
    await desk.work()
    assert len(desk.site.asked) == 4


async def test_what_is_refused_for_good_fails_at_once_and_the_next_briefing_has_its_items(
    new_desk: NewDesk, clock: Any, idle: Source, reply: Any
) -> None:
    desk = new_desk()
    desk.site.on(HOOK, reply("", 400))
    await desk.plan()
    await desk.see(idle, "unlucky")
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    await desk.work()
    (failed,) = await desk.log()
    assert (failed.status, failed.attempts) == (DeliveryStatus.FAILED, 1)
    assert "400" in (render(failed.last_error, "en") if failed.last_error else "")
    desk.site.on(HOOK, "ok")
    clock.turn(days=1)
    await desk.plan()
    await desk.work()
    assert [titles for _, titles in desk.received()] == [["unlucky"], ["unlucky"]]


async def test_a_receiver_that_stays_away_ends_in_a_failure_that_a_person_can_retry(
    new_desk: NewDesk, clock: Any, idle: Source, reply: Any
) -> None:
    desk = new_desk()
    desk.site.on(HOOK, reply("", 503))
    await desk.plan()
    await desk.see(idle, "first")
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    people = people_of(desk)
    while True:
        await desk.work()
        (delivery,) = await desk.log()
        troubles = await people.list_problems()
        assert bool(troubles) is (delivery.attempts >= 3)
        if delivery.next_try_at is None:
            break
        clock.instant = delivery.next_try_at
    assert (delivery.status, delivery.attempts) == (DeliveryStatus.FAILED, 10)
    desk.site.on(HOOK, "ok")
    found = await people.retry(delivery.id, by=COMMAND_LINE)
    assert (found.status, found.attempts, found.key) == (DeliveryStatus.SENT, 11, delivery.key)
    assert set(desk.received()[0][1]) == set(desk.received()[-1][1])
    assert len({key for key, _ in desk.received()}) == 1
    with pytest.raises(UsageError, match="has not failed"):
        await people.retry(delivery.id, by=COMMAND_LINE)


def people_of(desk: Desk) -> DeliveryService:
    presence = HeartbeatRegistry(store=desk.store, clock=desk.clock, folder=desk.settings.data_dir)
    return DeliveryService(
        store=desk.store,
        settings=desk.settings,
        clock=desk.clock,
        presence=presence,
        dispatch=desk.dispatch,
        steps=InProcessSteps(),
    )


async def test_a_target_gets_what_its_filters_let_through_in_its_language(
    new_desk: NewDesk, clock: Any, idle: Source, store: Store
) -> None:
    desk = new_desk(tags=["energy"], keywords=["能源"], types=["通知"], language="en", top=1)
    source = Source(name="bureau of energy", url="https://e.example/", tags=["energy"], created_at=clock.now())
    energy = await store.sources.add(source)
    await desk.plan()
    for of, title in ((energy, "能源通知一"), (energy, "能源通知二"), (energy, "人事通知"), (idle, "能源公告")):
        await desk.see(of, title)
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    await desk.work()
    briefing = json.loads(desk.site.asked[0].body)["briefing"]
    assert briefing["language"] == "en"
    assert {one["title"] for one in [*briefing["items"], *briefing["more"]]} == {"能源通知一", "能源通知二"}
    assert (len(briefing["items"]), [one["name"] for one in briefing["sources"]]) == (1, ["bureau of energy"])


@pytest.mark.parametrize(("quiet", "status", "letters"), [("none", "quiet", 0), ("note", "sent", 1)])
async def test_a_quiet_day_sends_what_the_administrator_chose(
    new_desk: NewDesk, clock: Any, idle: Source, quiet: str, status: str, letters: int
) -> None:
    desk = new_desk(quiet=quiet)
    await desk.plan()
    await desk.run(idle, RunStatus.SUCCEEDED)
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    await desk.work()
    assert [str(one.status) for one in await desk.log()] == [status]
    assert len(desk.site.asked) == letters
    if letters:
        assert "无新增内容" in json.loads(desk.site.asked[0].body)["title"]


async def test_a_day_on_which_a_source_failed_is_not_quiet(new_desk: NewDesk, clock: Any, idle: Source) -> None:
    desk = new_desk(quiet="none")
    await desk.plan()
    await desk.run(idle, RunStatus.FAILED)
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    await desk.work()
    (body,) = (json.loads(one.body) for one in desk.site.asked)
    assert [(gap["source"], gap["kind"]) for gap in body["briefing"]["gaps"]] == [("office", "failed")]


def fewer(usual: int, now: int) -> Message:
    return Message.of("alarm.list_fell", usual=usual, now=now)


async def raised(desk: Desk, source: Source, section: str, message: Message) -> AlarmView:
    """An alarm of this moment, handed to the notifier, as the end of a run does."""
    finding = AlarmFinding(kind=AlarmKind.STRUCTURE, message=message, section=section, section_key=section)
    await desk.store.alarms.reconcile(
        source.id or 0, run_id="r", findings=[finding], judged_kinds={}, at=desk.clock.now()
    )
    notes = await desk.store.alarms.list_unnotified()
    await AlarmNotifier(store=desk.store, settings=desk.settings, clock=desk.clock).notify(notes)
    assert await desk.store.alarms.list_unnotified() == []
    return notes[-1]


async def test_the_alarms_of_a_minute_go_to_a_target_as_one_message(
    new_desk: NewDesk, clock: Any, idle: Source
) -> None:
    desk = new_desk(alarms=True)
    one = await raised(desk, idle, "news", fewer(20, 2))
    clock.turn(seconds=20)
    other = await raised(desk, idle, "laws", fewer(9, 1))
    clock.turn(seconds=29)
    await desk.work()
    assert desk.site.asked == []  # the minute is not over for everybody
    clock.turn(minutes=1)
    later = await raised(desk, idle, "data", fewer(30, 3))
    await desk.work()
    clock.turn(minutes=2)
    await desk.work()
    bodies = [json.loads(one.body) for one in desk.site.asked]
    assert [[AlarmView.model_validate(one) for one in body["alarms"]] for body in bodies] == [[one, other], [later]]
    assert {(body["kind"], body["target"]) for body in bodies} == {("alarm", "partners")}
    assert "office / laws · 列表结构有变 · 列表由约 9 条减到 1 条" in bodies[0]["text"]


async def test_an_alarm_is_told_once_however_often_it_is_handed_on(new_desk: NewDesk, clock: Any, idle: Source) -> None:
    desk = new_desk(alarms=True)
    note = await raised(desk, idle, "news", fewer(20, 2))
    notices = AlarmNotifier(store=desk.store, settings=desk.settings, clock=clock)
    for _ in range(3):
        await notices.notify([note])  # a process that was killed before it had heard of it
        clock.turn(minutes=2)
        await desk.work()
    assert len(desk.site.asked) == 1


async def test_an_alarm_that_comes_after_the_message_of_its_minute_goes_by_itself(
    new_desk: NewDesk, clock: Any, idle: Source
) -> None:
    desk = new_desk(alarms=True)
    first = await raised(desk, idle, "news", fewer(20, 2))
    clock.turn(minutes=2)
    await desk.work()
    clock.turn(minutes=-2, seconds=30)  # as another machine has it
    second = await raised(desk, idle, "laws", fewer(9, 1))
    clock.turn(minutes=5)
    await desk.work()
    told = [[alarm["id"] for alarm in json.loads(asked.body)["alarms"]] for asked in desk.site.asked]
    assert told == [[first.id], [second.id]]


async def test_a_test_says_that_it_is_one_and_a_typed_briefing_leaves_the_planned_ones_as_they_are(
    new_desk: NewDesk, clock: Any, idle: Source
) -> None:
    desk = new_desk()
    await desk.plan()
    await desk.see(idle, "first")
    people = people_of(desk)
    assert (await people.send_test("partners", by=COMMAND_LINE)).status is DeliveryStatus.SENT
    assert (await people.send_now("partners", by=COMMAND_LINE)).status is DeliveryStatus.SENT
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    await desk.work()
    test, typed, planned = (json.loads(one.body) for one in desk.site.asked)
    assert "测试" in test["title"]
    assert "briefing" not in test
    assert [item["title"] for item in typed["briefing"]["items"]] == ["first"]
    assert [item["title"] for item in planned["briefing"]["items"]] == ["first"]
    with pytest.raises(UsageError, match="There is no target 'nobody'"):
        await people.send_test("nobody", by=COMMAND_LINE)


async def test_mail_reaches_each_address_once_although_one_was_refused_at_first(
    new_desk: NewDesk, clock: Any, idle: Source, open_mailbox: Callable[..., Awaitable[Any]], new_dispatch: Any
) -> None:
    mailbox = await open_mailbox()
    mailbox.refusals = {"clerk@example.org": "450 later"}
    to = ["partner@example.org", "clerk@example.org"]
    url = f"smtp://127.0.0.1:{mailbox.port}"
    desk = new_desk(url=url, sender="m@example.org", to=to, formats=["docx", "xlsx"])
    desk.settings.network.allowed_private_hosts.append(f"127.0.0.1:{mailbox.port}")
    await desk.plan()
    await desk.see(idle, "first")
    clock.turn(hours=1, seconds=1)
    await desk.plan()
    await desk.work()
    mailbox.refusals = {}
    clock.turn(seconds=5)
    await desk.work()
    (delivery,) = await desk.log()
    assert delivery.status is DeliveryStatus.SENT
    assert [envelope.rcpt_tos for envelope in mailbox.envelopes] == [["partner@example.org"], ["clerk@example.org"]]
    assert {message["Message-ID"] for message in mailbox.messages()} == {delivery.message_id}
    names = [attachment.get_filename() for attachment in mailbox.messages()[0].iter_attachments()]
    assert names == ["官方动态简报-2026-03-02.docx", "官方动态简报-2026-03-02.xlsx"]
