"""Events from what happens up to a receiver on loopback: each at least once, under one id, in order of its subject."""

import asyncio
import datetime as dt
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from standardwebhooks import Webhook

from monitor.bootstrap import App, open_app
from monitor.clock import SystemClock
from monitor.config.model import Settings
from monitor.db.queries.webhooks import WebhookLogEntry
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import ItemSnapshot, Revision
from monitor.db.tables.policies import Deadline, Topic, TopicFit
from monitor.db.tables.research import Research, ResearchStatus
from monitor.db.tables.webhooks import WebhookDeliveryStatus, WebhookEventType, WebhookFormat
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.page import ChangeKind
from monitor.services.alerts import AlertService
from monitor.services.audit import COMMAND_LINE
from monitor.services.webhooks.dispatch import WebhookDispatcher
from monitor.services.webhooks.endpoints import WebhookForm
from monitor.vocabulary import DeadlineKind, ItemType, RunStatus, Visibility

DOWN = {"status": 503}
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


class Stage:
    """The program over one database, an endpoint on loopback, and what came there."""

    def __init__(self, app: App, clock: Any, site: Any, reply: Any) -> None:
        self.app = app
        self.store = app.store
        self.clock = clock
        self.site = site
        self.reply = reply
        self.url = site.on("/hook", "")
        self._count = 0

    async def open_endpoint(self, **fields: Any) -> tuple[int, str]:
        endpoint, secret = await self.app.webhooks.add(WebhookForm(**{"url": self.url} | fields), by=COMMAND_LINE)
        return endpoint.id, secret

    async def save_item(self, run_id: str = "r", **fields: Any) -> Item:
        self._count += 1
        url = f"https://bureau.example/{self._count}"
        values = {"section": "news", "type": ItemType.NOTICE, "first_seen": self.clock.now(), "source": "bureau"}
        values |= {"url": url, "url_key": url, "title": f"item {self._count}", "run_id": run_id} | fields
        return (await self.store.items.save(Item(**values)))[0]

    async def revise(self, item: Item) -> None:
        self._count += 1
        now = self.clock.now()
        revision = Revision(
            item_id=item.id, run_id="r", seen_at=now, kind=ChangeKind.CHANGED, before_text=f"{self._count}"
        )
        snapshot = ItemSnapshot(item_id=item.id, looked_at=now, run_id="r", page={})
        await self.store.revisions.save(snapshot, revision=revision)

    async def send(self) -> None:
        """What a worker does that has just started."""
        await self.build_dispatcher().send_due()

    def build_dispatcher(self) -> WebhookDispatcher:
        app = self.app
        return WebhookDispatcher(
            store=app.store,
            settings=app.settings,
            settings_service=app.settings_service,
            clock=self.clock,
            data_loader=app.webhook_data,
        )

    def answer(self, **fields: Any) -> None:
        self.site.on("/hook", self.reply(**fields))

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(asked.body) for asked in self.site.asked if asked.path == "/hook"]

    def received_types(self) -> list[str]:
        return [event["type"] for event in self.received()]

    async def list_log(self, endpoint_id: int) -> list[WebhookLogEntry]:
        return await self.store.webhooks.list_log(endpoint_id, limit=1000)


@pytest.fixture
async def stage(settings: Settings, clock: Any, site: Any, reply: Any) -> AsyncIterator[Stage]:
    network = settings.network.model_copy(update={"allowed_private_hosts": [site.host], "timeout_s": 5.0})
    async with open_app(settings.model_copy(update={"network": network})) as app:
        app.clock = clock
        yield Stage(app, clock, site, reply)


def check_order(events: list[dict[str, Any]], expected: dict[str, list[str]]) -> None:
    """Each subject's events came at least once, and none before an earlier one was there."""
    for subject, keys in expected.items():
        came = [event["id"] for event in events if event["subject"] == subject]
        firsts = list(dict.fromkeys(came))
        assert firsts == keys, subject
        places = {key: place for place, key in enumerate(keys)}
        assert all(places[later] >= places[earlier] for earlier, later in pairwise(came)), subject


async def list_keys(stage: Stage, endpoint_id: int) -> dict[str, list[str]]:
    """The ids of the events of each subject, oldest first."""
    found: dict[str, list[str]] = {}
    for entry in reversed(await stage.list_log(endpoint_id)):
        found.setdefault(entry.subject, []).append(entry.key)
    return found


@one_database
async def test_a_receiver_that_is_down_for_a_day_gets_each_event_under_its_id_and_in_order(stage: Stage) -> None:
    endpoint_id, _ = await stage.open_endpoint()
    stage.answer(**DOWN)
    items = [await stage.save_item() for _ in range(3)]
    for hour in range(0, 24, 2):
        if hour % 12 == 0:
            for item in items:
                await stage.revise(item)
        await stage.send()
        stage.clock.turn(hours=2)
    keys = await list_keys(stage, endpoint_id)
    assert {len(of_subject) for of_subject in keys.values()} == {3}
    during = stage.received()
    assert {event["type"] for event in during} == {"item.created"}, "what comes later waits"
    stage.answer(status=200)
    for _ in range(12):
        await stage.send()
        stage.clock.turn(hours=2)
    check_order(stage.received(), keys)
    entries = await stage.list_log(endpoint_id)
    assert {entry.status for entry in entries} == {WebhookDeliveryStatus.SENT}
    assert len(stage.received()) == len(during) + len(entries), "each once after the outage"
    asked = [request for request in stage.site.asked if request.path == "/hook"]
    assert [request.headers["webhook-id"] for request in asked] == [event["id"] for event in stage.received()]
    first = [request.body for request in asked if request.headers["webhook-id"] == asked[0].headers["webhook-id"]]
    assert len(first) > 4
    assert len(set(first)) == 1, "the body is the same at every attempt"
    endpoint = await stage.app.webhooks.get(endpoint_id, by=COMMAND_LINE)
    assert (endpoint.failing_since, endpoint.disabled_at) == (None, None)


async def test_sending_that_is_killed_at_any_request_loses_nothing_and_keeps_the_order(stage: Stage) -> None:
    endpoint_id, _ = await stage.open_endpoint()
    items = [await stage.save_item() for _ in range(3)]
    for item in items:
        await stage.revise(item)
        await stage.revise(item)
    sending: list[asyncio.Task[None]] = []
    kills = iter(range(12))

    def take_and_kill(asked: Any) -> Any:
        if next(kills, None) is not None:
            sending[-1].cancel()
        return stage.reply(status=200)

    stage.site.on("/hook", take_and_kill)
    for _ in range(40):
        sending.append(asyncio.create_task(stage.send()))
        with suppress(asyncio.CancelledError):
            await sending[-1]
        stage.clock.turn(minutes=1)
    keys = await list_keys(stage, endpoint_id)
    assert {len(of_subject) for of_subject in keys.values()} == {3}
    check_order(stage.received(), keys)
    assert len(stage.received()) > 9, "some came twice"
    assert {entry.status for entry in await stage.list_log(endpoint_id)} == {WebhookDeliveryStatus.SENT}


async def test_an_event_is_stored_with_what_it_tells_of_or_not_at_all(stage: Stage, source: Source) -> None:
    await stage.save_item()
    await stage.open_endpoint()
    with suppress(asyncio.CancelledError):
        async with stage.store.transaction():
            await stage.save_item()
            raise asyncio.CancelledError  # killed before the commit
    item = await stage.save_item(source_id=source.id)
    await stage.store.items.save(Item(**item.model_dump(exclude={"id"})))
    await stage.send()
    assert [event["subject"] for event in stage.received()] == [f"item:{item.id}"], "before the endpoint, none"


async def test_every_kind_of_event_is_told_in_the_shapes_of_the_api(stage: Stage, source: Source) -> None:
    await stage.open_endpoint(language="zh")
    store, now = stage.store, stage.clock.now()
    await store.runs.create(Run(id="run", source_id=source.id, source=source.name, planned_at=now))
    item = await stage.save_item("run", source=source.name, source_id=source.id)
    await stage.send()
    assert stage.received() == [], "an item is told of when its run has ended"
    await store.items.update(item.id or 0, summary="what it says")
    await store.runs.end("run", source.id, status=RunStatus.SUCCEEDED, at=now)
    await stage.revise(item)
    for task_id, visibility in (("open", Visibility.OPEN), ("mine", Visibility.PRIVATE)):
        research = Research(
            id=task_id, query="why?", language="zh", asked_by="wu", visibility=visibility, created_at=now
        )
        await store.research.create(research)
        await store.research.claim(task_id, executor="x", at=now)
        await store.research.end(task_id, executor="x", status=ResearchStatus.SUCCEEDED, at=now)
    await stage.app.drafts.start(language="zh", by=COMMAND_LINE)
    await stage.send()
    await stage.send()
    by_type = {event["type"]: event for event in stage.received()}
    assert sorted(by_type) == ["briefing.created", "item.changed", "item.created", "research.ended", "run.ended"]
    created = by_type["item.created"]
    assert created["timestamp"] == "2026-03-02T00:00:00Z"
    assert created["data"]["item"]["summary"] == "what it says"
    assert set(created["data"]) == {"item", "topics", "is_baseline"}
    assert by_type["item.changed"]["data"]["change"]["kind"] == "changed"
    assert by_type["run.ended"]["data"]["run"]["status"] == "succeeded"
    assert by_type["research.ended"]["data"]["research"]["taskId"] == "open"
    assert set(by_type["briefing.created"]["data"]) == {"briefing", "saved"}


@one_database
async def test_an_endpoint_is_told_of_its_types_and_topics(stage: Stage) -> None:
    now = stage.clock.now()
    topic = await stage.store.topics.add(Topic(name="power", created_at=now))
    await stage.open_endpoint(types=["item.created"], topics=[topic.id])
    await stage.open_endpoint(url=stage.site.on("/other", ""), types=["run.ended"])
    fitting, _ = await stage.save_item(), await stage.save_item()
    fit = TopicFit(
        topic_id=topic.id or 0,
        item_id=fitting.id or 0,
        score=1,
        is_match=True,
        reason=Message.other("x"),
        judged_at=now,
    )
    await stage.store.topics.put_fit(fit)
    await stage.revise(fitting)
    await stage.send()
    await stage.send()
    assert [(event["type"], event["data"]["topics"][0]["name"]) for event in stage.received()] == [
        ("item.created", "power")
    ]
    assert [asked.path for asked in stage.site.asked] == ["/hook"]
    with pytest.raises(UsageError):
        await stage.open_endpoint(topics=[4711])


@one_database
async def test_a_stock_library_verifies_the_requests_by_the_old_and_the_new_secret(stage: Stage) -> None:
    endpoint_id, old = await stage.open_endpoint()
    stage.clock.instant = SystemClock().now()  # the library looks at the time
    new = await stage.app.webhooks.replace_secret(endpoint_id, by=COMMAND_LINE)
    await stage.app.webhooks.send_test(endpoint_id, by=COMMAND_LINE)
    await stage.send()
    (asked,) = stage.site.asked
    for secret in (old, new):
        assert Webhook(secret).verify(asked.body, asked.headers)["type"] == "webhook.test"
    stage.clock.turn(hours=25)
    await stage.app.webhooks.send_test(endpoint_id, by=COMMAND_LINE)
    await stage.send()
    assert [len(asked.headers["webhook-signature"].split()) for asked in stage.site.asked] == [2, 1]
    stored = await stage.store.webhooks.get_endpoint(endpoint_id)
    assert stored is not None
    assert "whsec_" not in stored.model_dump_json(), "secrets are stored encrypted"


@one_database
async def test_410_disables_an_endpoint_until_somebody_enables_it(stage: Stage) -> None:
    endpoint_id, _ = await stage.open_endpoint()
    first = await stage.save_item()
    stage.answer(status=410)
    await stage.send()
    stage.answer(status=200)
    missed = await stage.save_item()
    stage.clock.turn(days=1)
    await stage.send()
    endpoint = await stage.app.webhooks.get(endpoint_id, by=COMMAND_LINE)
    assert endpoint.disabled_reason == Message("webhook.gone")
    assert len(stage.received()) == 1
    with pytest.raises(Conflict):
        await stage.app.webhooks.send_test(endpoint_id, by=COMMAND_LINE)
    await stage.app.webhooks.set_enabled(endpoint_id, is_enabled=True, by=COMMAND_LINE)
    await stage.send()
    assert [event["subject"] for event in stage.received()[1:]] == [f"item:{first.id}"], "what waited goes on"
    assert await stage.app.webhooks.replay(endpoint_id, endpoint.disabled_at, by=COMMAND_LINE) == 2
    await stage.send()
    assert f"item:{missed.id}" in [event["subject"] for event in stage.received()[2:]]


@one_database
async def test_an_endpoint_that_fails_for_days_is_disabled_and_its_events_can_be_sent_again(stage: Stage) -> None:
    endpoint_id, _ = await stage.open_endpoint()
    stage.answer(**DOWN)
    for day in range(6):
        if day in (0, 3):
            await stage.save_item()
        for _ in range(4):
            await stage.send()
            stage.clock.turn(hours=6)
    endpoint = await stage.app.webhooks.get(endpoint_id, by=COMMAND_LINE)
    assert endpoint.disabled_reason == Message.of("webhook.failing_for_days", days=5)
    entries = await stage.list_log(endpoint_id)
    (given_up,) = [entry for entry in entries if entry.status is WebhookDeliveryStatus.FAILED]
    assert given_up.attempts == 10
    stage.site.forget()
    stage.answer(status=200)
    await stage.app.webhooks.set_enabled(endpoint_id, is_enabled=True, by=COMMAND_LINE)
    delivery = await stage.app.webhooks.redeliver(endpoint_id, given_up.id, by=COMMAND_LINE)
    await stage.send()
    (event,) = [event for event in stage.received() if event["id"] == given_up.key]
    detail = await stage.app.webhooks.get_delivery(endpoint_id, delivery.id, by=COMMAND_LINE)
    assert [tried.status for tried in detail.tries] == [200, *[503] * 10], "the log keeps what was tried before"
    assert json.loads(detail.body) == event
    assert {entry.status for entry in await stage.list_log(endpoint_id)} == {WebhookDeliveryStatus.SENT}


@one_database
async def test_retry_after_holds_for_all_that_goes_to_an_endpoint(stage: Stage) -> None:
    await stage.open_endpoint()
    stage.answer(status=429, headers={"Retry-After": "3600"})
    await stage.save_item()
    await stage.send()
    await stage.save_item()
    stage.answer(status=200)
    stage.clock.turn(minutes=59)
    await stage.send()
    assert len(stage.received()) == 1
    stage.clock.turn(minutes=1)
    await stage.send()
    assert len(stage.received()) == 3


@one_database
@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "http://127.0.0.1:9/x", "http://[::1]/"])
async def test_an_inner_address_is_refused_and_the_log_says_so(stage: Stage, url: str) -> None:
    endpoint_id, _ = await stage.open_endpoint(url=url)
    await stage.save_item()
    await stage.send()
    (entry,) = await stage.list_log(endpoint_id)
    assert (entry.status, entry.attempts) == (WebhookDeliveryStatus.PENDING, 1)
    assert entry.last_error is not None
    assert "private" in str(entry.last_error) or "not allowed" in str(entry.last_error)


@one_database
async def test_a_cloud_event_has_the_attributes_of_the_specification(stage: Stage) -> None:
    await stage.open_endpoint(format=WebhookFormat.CLOUDEVENTS)
    item = await stage.save_item()
    await stage.send()
    (asked,) = stage.site.asked
    event = json.loads(asked.body)
    assert asked.headers["content-type"] == "application/cloudevents+json"
    assert {name: event[name] for name in ("specversion", "type", "subject", "source", "time")} == {
        "specversion": "1.0",
        "type": WebhookEventType.ITEM_CREATED,
        "subject": f"item:{item.id}",
        "source": "urn:monitor",
        "time": "2026-03-02T00:00:00Z",
    }
    assert event["id"] == asked.headers["webhook-id"]


@one_database
async def test_a_near_deadline_is_told_once_for_each_lead_time_and_to_its_team_alone(stage: Stage) -> None:
    team = await stage.store.teams.add("Energy", stage.clock.now())
    assert team is not None
    everybody, _ = await stage.open_endpoint(types=["deadline.near"])
    members, _ = await stage.open_endpoint(types=["deadline.near"], team="Energy")
    open_item, secret = [await stage.save_item() for _ in range(2)]
    await stage.store.teams.assign(Item, secret.id or 0, team.id)
    now = stage.clock.now()
    day = now.date() + dt.timedelta(days=10)
    rows = [
        Deadline(item_id=item.id or 0, kind=kind, day=day, seen_at=now)
        for item, kind in ((open_item, DeadlineKind.COMMENTS_UNTIL), (secret, DeadlineKind.APPLY_BY))
    ]
    ids = await stage.store.deadlines.save([(row, None) for row in rows])
    alerts = AlertService(store=stage.store, settings=stage.app.settings, clock=stage.clock)
    for _ in range(14):
        await alerts.raise_due()
        await alerts.raise_due()
        await stage.send()
        stage.clock.turn(days=1)
    sent = {
        endpoint_id: [(entry.subject, entry.type) for entry in reversed(await stage.list_log(endpoint_id))]
        for endpoint_id in (everybody, members)
    }
    mine, theirs = [(f"deadline:{number}", WebhookEventType.DEADLINE_NEAR) for number in ids]
    assert sent[everybody] == [mine, mine]
    assert sorted(sent[members]) == sorted([mine, mine, theirs, theirs])
    days = {event["data"]["deadline"]["day"] for event in stage.received()}
    assert days == {day.isoformat()}
