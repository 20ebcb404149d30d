"""Alerts from what a run or the calendar brings up to a receiver on loopback: each once, whatever is killed when."""

import asyncio
import datetime as dt
import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.queries.deadlines import DeadlineFilter
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.delivery import DeliveryStatus
from monitor.db.tables.policies import (
    AlertKind,
    DocumentKey,
    ItemFacts,
    Policy,
    PolicyDocument,
    Topic,
    TopicAlerts,
    TopicFit,
)
from monitor.document import DocumentFacts, Relation, StatedDeadline
from monitor.i18n.message import Message
from monitor.jobs.presence import HeartbeatRegistry
from monitor.jobs.scheduler import Scheduler
from monitor.services.alerts import AlertService
from monitor.services.deadlines import DeadlineQuery, DeadlineService
from monitor.services.dispatch import DeliveryDispatcher
from monitor.steps import InProcessSteps
from monitor.vocabulary import DeadlineKind, ItemType, JoinedBy, KeyRole, MarkAction, PolicyStage, RelationType

COMMENTS = DeadlineKind.COMMENTS_UNTIL
TODAY = dt.date(2026, 3, 2)
APRIL_1, MAY_1 = dt.date(2026, 4, 1), dt.date(2026, 5, 1)
IN_SUITE_ON_SQLITE = ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)]


def states(*days: dt.date, kind: DeadlineKind = COMMENTS, relations: tuple[Relation, ...] = ()) -> DocumentFacts:
    deadlines = [StatedDeadline(kind=kind, day=day, subject=f"{n}" if n else "") for n, day in enumerate(days)]
    return DocumentFacts(deadlines=deadlines, relations=list(relations))


class AlertBench:
    """Deadlines, alerts and deliveries over one database, and a receiver."""

    def __init__(self, store: Store, settings: Settings, clock: Any, site: Any, dispatch: DeliveryDispatcher) -> None:
        self.store = store
        self.settings = settings
        self.clock = clock
        self.site = site
        self.dispatch = dispatch
        self.alerts = AlertService(store=store, settings=settings, clock=clock)
        self.deadlines = DeadlineService(store=store, settings=settings, clock=clock, alerts=self.alerts)
        self._count = 0

    async def save(self, title: str, *, source: str = "bureau", day: dt.date = TODAY, **more: Any) -> Item:
        self._count += 1
        url = f"https://bureau.example/{self._count}"
        values = {"section": "news", "type": ItemType.NOTICE, "first_seen": self.clock.now(), **more}
        item = Item(
            **{"run_id": "r", "source": source, "url": url, "url_key": url, "title": title, "date": day} | values
        )
        return (await self.store.items.save(item))[0]

    async def read(self, item: Item, before: DocumentFacts | None, after: DocumentFacts) -> None:
        await self.deadlines.update(item, before, after, "r")

    async def pass_minute(self) -> None:
        """As scheduler and worker do it, from one minute to the next."""
        for _ in range(2):
            await self.alerts.raise_due()
            await self.alerts.release()
            await self.dispatch.release_due()
            for delivery in await self.store.deliveries.list_due(self.clock.now()):
                await self.dispatch.attempt_delivery(delivery.id, delivery.attempts, InProcessSteps())
            self.clock.turn(seconds=61)

    def received(self) -> list[list[tuple[str, str]]]:
        """The messages that came, each with its alerts: their kind, and their item."""
        bodies = [json.loads(asked.body) for asked in self.site.asked]
        return [[(alert["kind"], alert["title"]) for alert in body["alerts"]] for body in bodies]


NewBench = Callable[..., AlertBench]


@pytest.fixture
def new_bench(store: Store, settings: Settings, clock: Any, site: Any, new_dispatch: Any) -> NewBench:
    def build(**fields: Any) -> AlertBench:
        target = TargetSettings(
            **{"name": "team", "url": site.url("/hook"), "alerts": True, "language": "en", **fields}
        )
        mine = settings.model_copy(
            update={
                "deliver": settings.deliver.model_copy(update={"targets": [target]}),
                "network": settings.network.model_copy(update={"allowed_private_hosts": [site.host], "timeout_s": 1.0}),
            }
        )
        site.on("/hook", "ok")
        return AlertBench(store, mine, clock, site, new_dispatch(mine))

    return build


async def test_a_moved_deadline_is_told_once_and_marks_the_summary_stale(new_bench: NewBench, store: Store) -> None:
    bench = new_bench()
    item = await bench.save("consultation")
    first, second = states(APRIL_1), states(MAY_1)
    await bench.read(item, None, first)
    assert await store.alerts.list_waiting() == [], "a first reading is no change"
    await bench.read(item, first, second)
    await bench.read(item, first, second)
    await bench.pass_minute()
    await bench.pass_minute()
    assert bench.received() == [[("deadline_moved", "consultation")]]
    body = json.loads(bench.site.asked[0].body)
    assert "Comments due: moved from 2026-04-01 to 2026-05-01." in body["text"]
    stored = await store.items.get(item.id or 0)
    assert stored is not None
    assert stored.is_summary_stale
    (row,), _ = await store.deadlines.list_open(DeadlineFilter())
    assert (row.day, [(move.before, move.after) for move in row.moves]) == (MAY_1, [(APRIL_1, MAY_1)])


async def test_what_did_not_change_raises_nothing(new_bench: NewBench, store: Store) -> None:
    bench = new_bench()
    item = await bench.save("rule")
    same = states(APRIL_1, MAY_1)
    await bench.read(item, None, same)
    await bench.read(item, same, same.model_copy(update={"number": "国发〔2026〕3号"}))
    past = states(dt.date(2026, 1, 5)), states(dt.date(2026, 2, 5))
    old = await bench.save("old consultation")
    await bench.read(old, None, past[0])
    await bench.read(old, *past)
    assert await store.alerts.list_waiting() == [], "nobody needs to hear of days that are past"
    unchanged = await store.items.get(item.id or 0)
    assert unchanged is not None
    assert not unchanged.is_summary_stale


async def test_better_rules_for_the_same_text_change_the_calendar_and_raise_nothing(
    new_bench: NewBench, store: Store
) -> None:
    bench = new_bench()
    item = await bench.save("rule")
    await bench.read(item, None, states(APRIL_1))
    better = states(MAY_1)
    await bench.read(item, better, better)
    (row,), _ = await store.deadlines.list_open(DeadlineFilter())
    assert (row.day, row.moves) == (MAY_1, [])
    assert await store.alerts.list_waiting() == []


async def test_a_day_that_a_changed_page_adds_or_drops_is_told(new_bench: NewBench) -> None:
    bench = new_bench()
    item = await bench.save("rule")
    one, both = states(APRIL_1), states(APRIL_1, MAY_1)
    await bench.read(item, None, one)
    await bench.read(item, one, both)
    await bench.read(item, both, one)
    await bench.pass_minute()
    (body,) = [json.loads(asked.body) for asked in bench.site.asked]
    assert [alert["message"] for alert in body["alerts"]] == [
        "Comments due (1): 2026-05-01, newly stated on the page.",
        "Comments due (1): 2026-05-01 is no longer stated on the page.",
    ]


async def test_a_day_that_moves_there_and_back_and_there_again_is_told_each_time(new_bench: NewBench) -> None:
    bench = new_bench()
    item = await bench.save("consultation")
    first, second = states(APRIL_1), states(MAY_1)
    await bench.read(item, None, first)
    for before, after in ((first, second), (second, first), (first, second)):
        await bench.read(item, before, after)
        await bench.pass_minute()
    assert len(bench.received()) == 3


async def test_reminders_come_seven_days_and_one_day_before_each_once(new_bench: NewBench, clock: Any) -> None:
    bench = new_bench()
    item = await bench.save("consultation")
    await bench.read(item, None, states(TODAY + dt.timedelta(days=10)))
    messages: dict[int, int] = {}
    for passed in range(14):
        before = len(bench.site.asked)
        await bench.pass_minute()
        await bench.pass_minute()
        if len(bench.site.asked) > before:
            messages[10 - passed] = len(bench.site.asked) - before
        clock.turn(days=1, seconds=-244)
    assert messages == {7: 1, 1: 1}


async def test_what_a_scheduler_that_stood_still_has_missed_is_told_until_the_day_itself(
    new_bench: NewBench, clock: Any
) -> None:
    bench = new_bench()
    for title, days in (("soon", 10), ("gone", 8)):
        await bench.read(await bench.save(title), None, states(TODAY + dt.timedelta(days=days)))
    clock.turn(days=10)
    await bench.pass_minute()
    assert bench.received() == [[("deadline_near", "soon")]]


async def test_no_reminder_is_raised_at_night(new_bench: NewBench, clock: Any, store: Store) -> None:
    bench = new_bench()
    await bench.read(await bench.save("consultation"), None, states(TODAY + dt.timedelta(days=7)))
    clock.turn(hours=-4)  # four in the morning in Shanghai
    assert await bench.alerts.raise_due() == []
    clock.turn(hours=4)
    assert len(await bench.alerts.raise_due()) == 1


async def test_the_alerts_of_a_minute_are_one_message(new_bench: NewBench, clock: Any) -> None:
    bench = new_bench()
    for number in range(3):
        item = await bench.save(f"consultation {number}")
        await bench.read(item, None, states(APRIL_1))
        await bench.read(item, states(APRIL_1), states(MAY_1))
        await bench.alerts.release()
        clock.turn(seconds=20)
    await bench.pass_minute()
    assert [len(alerts) for alerts in bench.received()] == [3]


@pytest.mark.parametrize(
    ("fields", "count"),
    [({"sources": ["bureau"]}, 1), ({"sources": ["other"]}, 0), ({"keywords": ["grid"]}, 0), ({"alerts": False}, 0)],
)
async def test_a_target_hears_of_what_its_briefings_would_have(
    new_bench: NewBench, store: Store, fields: dict[str, Any], count: int
) -> None:
    bench = new_bench(**fields)
    item = await bench.save("consultation")
    await bench.read(item, None, states(APRIL_1))
    await bench.read(item, states(APRIL_1), states(MAY_1))
    assert len(await store.alerts.list_waiting()) == count


async def test_nobody_hears_of_hidden_items(new_bench: NewBench, store: Store, clock: Any) -> None:
    bench = new_bench()
    item = await bench.save("consultation")
    await bench.read(item, None, states(TODAY + dt.timedelta(days=7)))
    await store.marks.mark(MarkAction.HIDE, [item.id or 0], person="anna", at=clock.now(), reason="no")
    assert await bench.alerts.raise_due() == []


async def test_a_document_that_repeals_one_of_the_archive_is_told_once(new_bench: NewBench) -> None:
    bench = new_bench()
    await bench.save("旧办法", day=dt.date(2020, 1, 1), document_number="国发〔2019〕3号")
    relation = Relation(type=RelationType.REPEALS, number="国发[2019]3号", title=None)
    elsewhere = Relation(type=RelationType.REPEALS, number="国发〔2018〕1号", title="从未见过的办法")
    for title in ("新办法", "新办法（转载）"):
        item = await bench.save(title)
        await bench.read(item, None, states(relations=(relation, elsewhere)))
    old = await bench.save("旧闻", day=dt.date(2025, 1, 1))
    await bench.read(old, None, states(relations=(relation,)))
    await bench.pass_minute()
    assert bench.received() == [[("repealed", "新办法")]]


async def file_together(store: Store, *items: Item, stages: tuple[PolicyStage, ...]) -> None:
    now = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    async with store.sessions.begin_write() as session:
        policy = Policy(name="p", key="p", created_at=now, updated_at=now)
        session.add(policy)
        await session.flush()
        for item, stage in zip(items, stages, strict=True):
            joined = {"joined_by": JoinedBy.TITLE, "reason": Message.other(""), "joined_at": now}
            session.add(PolicyDocument(policy_id=policy.id, item_id=item.id, stage=stage, **joined))


async def follow(store: Store, item: Item, *targets: str) -> None:
    """A topic that the item fits, and whose followers hear of it at once."""
    now = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    async with store.sessions.begin_write() as session:
        topic = Topic(name="grid fees", alerts=TopicAlerts.AT_ONCE, targets=list(targets), created_at=now)
        session.add(topic)
        await session.flush()
        fit = {"score": 0.9, "is_match": True, "reason": Message.other("words"), "judged_at": now}
        session.add(TopicFit(topic_id=topic.id, item_id=item.id, **fit))


async def test_a_notice_that_extends_a_deadline_is_told_once_also_to_the_topics_of_what_it_extends(
    new_bench: NewBench, store: Store
) -> None:
    bench = new_bench(alerts=False)
    asked = await bench.save("consultation")
    await bench.read(asked, None, states(APRIL_1))
    notice = await bench.save("Comment period extended", day=TODAY + dt.timedelta(days=1), run_id="r2")
    await bench.read(notice, None, states(MAY_1))
    await file_together(store, asked, notice, stages=(PolicyStage.CONSULTATION, PolicyStage.CONSULTATION))
    await follow(store, asked, "team")
    for _ in range(2):
        await bench.deadlines.announce_postponements([notice])
    await bench.pass_minute()
    assert bench.received() == [[("deadline_moved", "Comment period extended")]]
    assert "moved from 2026-04-01 to 2026-05-01" in json.loads(bench.site.asked[0].body)["text"]
    await bench.read(asked, states(APRIL_1), states(MAY_1))
    await bench.pass_minute()
    assert len(bench.received()) == 1, "the page that follows tells the same move"


async def test_an_extension_that_came_with_what_it_extends_is_no_news(new_bench: NewBench, store: Store) -> None:
    bench = new_bench()
    items = [await bench.save("consultation"), await bench.save("extended", day=TODAY + dt.timedelta(days=1))]
    for item, day in zip(items, (APRIL_1, MAY_1), strict=True):
        await bench.read(item, None, states(day))
    await file_together(store, *items, stages=(PolicyStage.CONSULTATION, PolicyStage.CONSULTATION))
    await bench.deadlines.announce_postponements(items)
    assert await store.alerts.list_waiting() == []


@pytest.mark.parametrize("stage", [PolicyStage.REPEAL, PolicyStage.CONSULTATION])
async def test_days_that_come_after_a_repeal_bring_no_reminder_and_its_topics_hear_of_the_repeal(
    new_bench: NewBench, store: Store, clock: Any, stage: PolicyStage
) -> None:
    bench = new_bench(alerts=False)
    rule = await bench.save("旧办法", document_number="国发〔2019〕3号")
    days = [TODAY + dt.timedelta(days=7), TODAY + dt.timedelta(days=20)]
    await bench.read(rule, None, states(*days, kind=DeadlineKind.COMPLY_BY))
    await follow(store, rule, "team")
    repeal = await bench.save("废止决定", day=TODAY)
    relation = Relation(type=RelationType.REPEALS, number="国发[2019]3号", title=None)
    taking_effect = {"in_force": TODAY + dt.timedelta(days=10), "stage": stage}
    facts = states(relations=(relation,)).model_copy(update=taking_effect)
    stored = ItemFacts(
        item_id=repeal.id or 0, facts=facts.model_dump(mode="json"), text_sha256="0", read_at=clock.now()
    )
    keys = [(rule, KeyRole.OWN), (repeal, KeyRole.CITED)]
    names = [
        DocumentKey(item_id=item.id or 0, key="number:2019.3", role=role, written="国发[2019]3号")
        for item, role in keys
    ]
    await store.policies.save_facts(
        stored.model_copy(update={"item_id": rule.id, "facts": states(*days).model_dump(mode="json")}), names[:1]
    )
    await store.policies.save_facts(stored, names[1:])
    await file_together(store, rule, repeal, stages=(PolicyStage.FINAL, stage))
    await bench.read(repeal, None, facts)
    for _ in range(20):
        await bench.pass_minute()
        clock.turn(days=1, seconds=-2 * 61)
    received = [alert for message in bench.received() for alert in message]
    is_repealed = stage is PolicyStage.REPEAL
    expected = {("deadline_near", "旧办法"): 2 if is_repealed else 4, ("repealed", "废止决定"): int(is_repealed)}
    assert Counter(received) == +Counter(expected), "a draft proposes a repeal and repeals nothing"
    entries = await bench.deadlines.list(DeadlineQuery(since=TODAY))
    assert [entry.day for entry in entries if entry.item_id == rule.id] == (days[:1] if is_repealed else days)


async def test_a_document_is_found_repealed_by_its_name_where_its_number_is_not_known_but_not_its_draft(
    new_bench: NewBench, store: Store, clock: Any
) -> None:
    bench = new_bench()
    stages = {
        "关于《新型储能管理办法》征求意见的公告": PolicyStage.CONSULTATION,
        "关于印发《新型储能管理办法》的通知": PolicyStage.FINAL,
    }
    for title, stage in stages.items():
        item = await bench.save(title, day=dt.date(2025, 1, 1))
        facts = DocumentFacts(stage=stage).model_dump(mode="json")
        stored = ItemFacts(item_id=item.id or 0, facts=facts, text_sha256="0", read_at=clock.now())
        key = DocumentKey(
            item_id=item.id or 0, key="name:新型储能管理办法", role=KeyRole.OWN, written="新型储能管理办法"
        )
        await store.policies.save_facts(stored, [key])
    repeal = await bench.save("废止决定")
    relation = Relation(type=RelationType.REPEALS, number="能源局令第3号", title="新型储能管理办法")
    await bench.read(repeal, None, states(relations=(relation,)))
    (alert,) = await store.alerts.list_waiting()
    assert alert.message.args["title"] == "关于印发《新型储能管理办法》的通知"


async def test_the_targets_of_a_topic_hear_of_its_items_at_once(new_bench: NewBench, store: Store, clock: Any) -> None:
    bench = new_bench(alerts=False)
    topic = Topic(name="grid fees", alerts=TopicAlerts.AT_ONCE, targets=["team", "gone"], created_at=clock.now())
    later = Topic(name="later", alerts=TopicAlerts.BRIEFING, targets=["team"], created_at=clock.now())
    item = await bench.save("consultation")
    async with store.sessions.begin_write() as session:
        session.add_all([topic, later])
        await session.flush()
        fits = [
            TopicFit(
                topic_id=fitting.id,
                item_id=item.id,
                score=0.9,
                is_match=True,
                reason=Message.other("words"),
                judged_at=clock.now(),
            )
            for fitting in (topic, later)
        ]
        session.add_all(fits)
    for _ in range(2):
        await bench.alerts.raise_for_topics(item, [(topic, fits[0]), (later, fits[1])])
    await bench.read(item, None, states(APRIL_1))
    await bench.read(item, states(APRIL_1), states(MAY_1))
    (match, move) = await store.alerts.list_waiting()
    assert (match.kind, match.target, match.topic_id) == (AlertKind.TOPIC_MATCH, "team", topic.id)
    assert (move.kind, move.topic_id) == (AlertKind.DEADLINE_MOVED, topic.id), "a move of its items is told too"


async def test_alerts_for_a_target_that_is_gone_are_dropped(new_bench: NewBench, store: Store) -> None:
    bench = new_bench()
    item = await bench.save("consultation")
    await bench.read(item, None, states(APRIL_1))
    await bench.read(item, states(APRIL_1), states(MAY_1))
    bench.settings.deliver.targets.clear()
    await bench.alerts.release()
    assert await store.alerts.list_waiting() == []


async def test_the_scheduler_raises_and_releases(new_bench: NewBench, store: Store, source: Source, clock: Any) -> None:
    bench = new_bench()
    await bench.read(await bench.save("consultation"), None, states(TODAY + dt.timedelta(days=7)))
    presence = HeartbeatRegistry(
        store=store, clock=clock, folder=bench.settings.data_dir, executor_id=bench.settings.work.executor_id
    )
    scheduler = Scheduler(store=store, settings=bench.settings, clock=clock, presence=presence)
    async with asyncio.timeout(30), scheduler.run():
        while not await store.alerts.list_waiting():  # noqa: ASYNC110 -- the scheduler works beside
            await asyncio.sleep(0.05)
        clock.turn(minutes=2)
        while not await store.deliveries.list():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (delivery,) = await store.deliveries.list()
    assert delivery.status is DeliveryStatus.QUEUED


@pytest.mark.parametrize("database_url", IN_SUITE_ON_SQLITE, indirect=True)
async def test_in_a_quarter_every_alert_comes_once_and_the_calendar_is_right_after_each_move(
    new_bench: NewBench, store: Store, clock: Any
) -> None:
    bench, chance = new_bench(), random.Random(16)  # noqa: S311 -- the same quarter each time
    due: dict[str, dt.date] = {}
    items: dict[str, Item] = {}
    expected: Counter[tuple[str, str]] = Counter()
    for passed in range(90):
        today = TODAY + dt.timedelta(days=passed)
        if passed < 40:
            name = f"policy {passed}"
            items[name], due[name] = await bench.save(name), today + dt.timedelta(days=chance.randint(-3, 45))
            await bench.read(items[name], None, states(due[name]))
        for name in chance.sample(sorted(due), k=min(len(due), 3)):
            before, after = due[name], due[name] + dt.timedelta(days=chance.choice([-5, 0, 14, 28]))
            for _ in range(2):  # as by a run that goes on after a kill
                await bench.read(items[name], states(before), states(after))
            if after != before:
                expected["deadline_moved", name] += max(before, after) >= today
                due[name] = after
        for name, day in due.items():
            left = (day - today).days
            expected["deadline_near", name] += left in (1, 7)
        assert await _list_calendar(bench) == due
        await bench.pass_minute()
        await bench.pass_minute()
        clock.turn(days=1, seconds=-4 * 61)
    received = Counter(alert for message in bench.received() for alert in message)
    assert received == +expected
    assert {kind for kind, _ in received} == {"deadline_moved", "deadline_near"}


async def _list_calendar(bench: AlertBench) -> dict[str, dt.date]:
    entries = await bench.deadlines.list(DeadlineQuery(since=dt.date(2020, 1, 1)))
    assert len({entry.title for entry in entries}) == len(entries), "each once"
    return {entry.title: entry.day for entry in entries}


_CHILD = """
import asyncio, datetime as dt, os, signal, sys
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.services.alerts import AlertService
from monitor.services.deadlines import DeadlineService
from tests.integration.jobs.test_alerts import APRIL_1, MAY_1, states

url, point, now, item_id = sys.argv[1:]

class Clock:
    def now(self):
        return dt.datetime.fromisoformat(now)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with Store.open(url) as store:
        settings = Settings(database_url=url, timezone="Asia/Shanghai")
        settings.deliver.targets.append(TargetSettings(name="team", url="http://127.0.0.1:9/", alerts=True))
        alerts = AlertService(store=store, settings=settings, clock=Clock())
        service = DeadlineService(store=store, settings=settings, clock=Clock(), alerts=alerts)
        if point == "releasing":
            async with store.transaction():
                await alerts.release()
                die()
        if point == "released":
            await alerts.release()
            die()
        item = await store.items.get(int(item_id))
        async with store.transaction():
            await service.update(item, states(APRIL_1), states(MAY_1), "r")
            if point == "raising":
                die()
        die()

asyncio.run(main())
"""


@pytest.mark.parametrize("database_url", IN_SUITE_ON_SQLITE, indirect=True)
@pytest.mark.parametrize("points", [("raising", "raised"), ("raised", "releasing"), ("raised", "released")])
async def test_a_kill_between_raising_and_sending_sends_once(
    new_bench: NewBench, clock: Any, store: Store, database_url: str, points: tuple[str, ...]
) -> None:
    bench = new_bench()
    item = await bench.save("consultation")
    await bench.read(item, None, states(APRIL_1))
    for point in points:
        words = (database_url, point, clock.now().isoformat(), str(item.id))
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", _CHILD, *words)
        assert await child.wait() == -signal.SIGKILL
        clock.turn(minutes=2)
    await bench.read(item, states(APRIL_1), states(MAY_1))  # as a run does that goes on after a kill
    await bench.pass_minute()
    await bench.pass_minute()
    assert bench.received() == [[("deadline_moved", "consultation")]]
