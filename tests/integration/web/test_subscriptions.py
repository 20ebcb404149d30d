"""Readers have briefings sent to their own mail address: confirmed, sent, and ended without an account."""

import datetime as dt
import re
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict, NotFound, UsageError
from monitor.jobs.scheduler import DeliveryPlanner
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.subscriptions import MAX_SUBSCRIPTIONS, SubscriptionForm, SubscriptionState
from monitor.steps import InProcessSteps
from monitor.vocabulary import Role
from tests.conftest import Mailbox, OpenMailbox
from tests.integration.web.conftest import Desk
from tests.integration.web.test_briefings import filled

READER = Actor("reader", Role.READER)
ADDRESS = "anna@example.org"


class TurnedClock:
    """Two days ago, until it is turned: the items are of today, and come in on its third day."""

    def __init__(self) -> None:
        self.instant = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)

    def now(self) -> dt.datetime:
        return self.instant

    def turn(self, **by: float) -> None:
        self.instant += dt.timedelta(**by)


@pytest.fixture
async def mailbox(open_mailbox: OpenMailbox) -> Mailbox:
    return await open_mailbox()


@pytest.fixture
def desk_settings(mailbox: Mailbox) -> Callable[[Settings], Settings]:
    """A mail target that is open for subscriptions, and goes to nobody by itself."""
    target = TargetSettings(
        name="open",
        url=f"smtp://127.0.0.1:{mailbox.port}",
        sender="m@example.org",
        to=["boss@example.org"],
        bcc=["archive@example.org"],
        deadline_minutes=0,
        subscriptions=True,
    )

    def change(settings: Settings) -> Settings:
        settings.deliver.targets = [target]
        settings.network.allowed_private_hosts = [f"127.0.0.1:{mailbox.port}"]
        settings.web.public_url = "http://monitor.example"
        return settings

    return change


@pytest.fixture
async def clock(desk: Desk) -> TurnedClock:
    desk.app.clock = TurnedClock()
    await desk.sign_in("reader")
    await filled(desk.app)
    return desk.app.clock


async def plan(desk: Desk) -> None:
    """As the scheduler does it every second."""
    planner = DeliveryPlanner(store=desk.app.store, settings=desk.app.settings, clock=desk.app.clock)
    await planner.refresh()
    await planner.plan_due()


async def work(desk: Desk) -> None:
    """As a worker does it every second."""
    await desk.app.dispatch.release_due()
    for delivery in await desk.app.store.deliveries.list_due(desk.app.clock.now()):
        await desk.app.dispatch.attempt_delivery(delivery.id, delivery.attempts, InProcessSteps())


async def subscribe(desk: Desk, **form: Any) -> int:
    wanted = SubscriptionForm.model_validate({"address": ADDRESS, "schedule": "daily 00:00", **form})
    return (await desk.app.subscriptions.subscribe(wanted, by=READER)).id


async def get_path(desk: Desk, subscription_id: int) -> str:
    found = await desk.app.store.subscriptions.get(subscription_id)
    assert found is not None
    return f"/subscriptions/{found[0].token}"


def read(mail: EmailMessage) -> str:
    part = mail.get_body(("plain",))
    assert part is not None
    return str(part.get_content())


async def test_a_reader_confirms_gets_what_was_chosen_and_leaves_with_one_click(
    desk: Desk, clock: TurnedClock, mailbox: Mailbox
) -> None:
    reader = await desk.sign_in("reader", language="en")
    form = {"address": ADDRESS, "schedule_kind": "daily", "schedule_time": "00:00", "format": "docx", "type": "法规"}
    answer = await reader.post("/account/subscriptions", form | {"language": "zh"})
    assert answer.headers["location"] == "/account/subscriptions", answer.text
    await work(desk)
    (confirmation,) = mailbox.messages()
    link = re.search(r"http://monitor\.example(/subscriptions/\S+)", read(confirmation))
    assert (confirmation["To"], bool(link)) == (ADDRESS, True)
    path = link[1] if link else ""

    await plan(desk)
    clock.turn(days=1)
    await plan(desk)
    await work(desk)
    assert len(mailbox.messages()) == 1, "nothing but the link before it is confirmed"

    stranger = await desk.client()
    assert "reader" in (await stranger.get(path)).text
    assert (await desk.app.subscriptions.open(path.rpartition("/")[2])).state is SubscriptionState.UNCONFIRMED
    await stranger.post(f"{path}/confirm")
    await plan(desk)
    clock.turn(days=1)
    await plan(desk)
    await plan(desk)
    await work(desk)
    await work(desk)
    (mail,) = mailbox.messages()[1:]
    assert (mail["To"], mailbox.envelopes[-1].rcpt_tos) == (ADDRESS, [ADDRESS])
    assert mail["List-Unsubscribe"] == f"<http://monitor.example{path}>"
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert f"http://monitor.example{path}" in read(mail)
    assert [part.get_filename() is not None for part in mail.iter_attachments()] == [True]
    assert "Word" not in (await reader.get("/account/subscriptions")).text.partition("<h2>")[0]

    one_click = await stranger.post(path, data={"List-Unsubscribe": "One-Click"})
    assert (one_click.status_code, await desk.app.subscriptions.list(by=READER)) == (200, [])
    clock.turn(days=2)
    await plan(desk)
    await work(desk)
    assert len(mailbox.messages()) == 2
    assert (await stranger.post(f"{path}/confirm")).status_code == 410, "what has ended does not begin again"


async def test_a_subscription_brings_what_it_is_of(desk: Desk, clock: TurnedClock, mailbox: Mailbox) -> None:
    clock.turn(days=1)
    number = await subscribe(desk, types=["法规"])
    await desk.app.subscriptions.confirm((await get_path(desk, number)).rpartition("/")[2])
    await plan(desk)
    clock.turn(days=1)
    await plan(desk)
    await work(desk)
    (delivery,) = [row for row in await desk.app.store.deliveries.list() if row.kind == "planned"]
    briefing = await desk.app.deliveries.get_sent_briefing(delivery.id, by=READER)
    assert {item.type for item in briefing.items} == {"法规"}
    with pytest.raises(NotFound):
        await desk.app.deliveries.get_sent_briefing(delivery.id, by=Actor("editor", Role.EDITOR))


@pytest.mark.parametrize("reason", ["ended", "shut out", "erased"])
async def test_whoever_left_meanwhile_gets_nothing_of_what_was_already_planned(
    desk: Desk, clock: TurnedClock, mailbox: Mailbox, reason: str
) -> None:
    number = await subscribe(desk)
    await desk.app.subscriptions.confirm((await get_path(desk, number)).rpartition("/")[2])
    await plan(desk)
    clock.turn(days=1)
    await plan(desk)
    await desk.sign_in("admin")
    if reason == "ended":
        await desk.app.subscriptions.end(number, by=COMMAND_LINE)
    elif reason == "shut out":
        await desk.app.people.block_sign_in("reader", by=COMMAND_LINE)
    else:
        await desk.app.erasure.erase("reader", by=COMMAND_LINE)
    await work(desk)
    rows = await desk.app.store.deliveries.list()
    assert ([row.status for row in rows if row.kind == "planned"], mailbox.messages()) == ([DeliveryStatus.QUIET], [])
    clock.turn(days=1)
    await plan(desk)
    assert len(await desk.app.store.deliveries.list()) == len(rows)


async def test_an_address_that_bounces_is_a_failed_delivery_that_its_person_and_administrators_see(
    desk: Desk, clock: TurnedClock, mailbox: Mailbox
) -> None:
    mailbox.refusals[ADDRESS] = "550 5.1.1 no such user"
    await subscribe(desk)
    await work(desk)
    editor, reader, admin = [await desk.sign_in(role, language="en") for role in ("editor", "reader", "admin")]
    assert "550 5.1.1" in (await reader.get("/account/subscriptions")).text
    assert "550 5.1.1" in (await admin.get("/settings/subscriptions")).text
    assert ADDRESS not in (await editor.get("/deliveries")).text + (await editor.get("/")).text
    (row,) = await desk.app.store.deliveries.list()
    assert row.status is DeliveryStatus.FAILED
    with pytest.raises(NotFound):
        await desk.app.deliveries.retry(row.id, by=Actor("editor", Role.EDITOR))
    listed = (await admin.get("/api/v1/subscriptions")).json()["subscriptions"]
    assert [(entry["person"], entry["last_status"]) for entry in listed] == [("reader", "failed")]
    assert "token" not in listed[0]


async def test_what_cannot_be_subscribed_to_is_refused(desk: Desk, clock: TurnedClock) -> None:
    for wrong in ({"address": "nobody"}, {"schedule": "every 6 hours"}, {"topic": "none"}, {"target": "boss"}):
        with pytest.raises(UsageError):
            await subscribe(desk, **wrong)
    numbers = [await subscribe(desk) for _ in range(MAX_SUBSCRIPTIONS)]
    for number in numbers:
        with pytest.raises(Conflict):
            await subscribe(desk)
        await desk.app.subscriptions.end(number, by=READER)
        if number <= MAX_SUBSCRIPTIONS and len(await desk.app.subscriptions.list(by=COMMAND_LINE, everybody=True)) == 9:
            await subscribe(desk)
    with pytest.raises(Conflict):
        await subscribe(desk)  # ended ones count for a day: each sent a mail to an address that nobody confirmed
    with pytest.raises(NotFound):
        await desk.app.subscriptions.end(numbers[0] + 10, by=Actor("another", Role.EDITOR))


async def test_a_link_that_was_not_followed_in_time_confirms_nothing(desk: Desk, clock: TurnedClock) -> None:
    path = await get_path(desk, await subscribe(desk))
    clock.turn(days=8)
    stranger = await desk.client()
    assert (await stranger.post(f"{path}/confirm")).status_code == 410
    assert (await stranger.get("/subscriptions/unknown")).status_code == 404


async def test_without_an_open_target_the_page_says_what_is_missing_and_whom_to_ask(
    desk: Desk, clock: TurnedClock
) -> None:
    await desk.sign_in("admin")
    reader = await desk.sign_in("reader", language="en")
    number = await subscribe(desk)
    await desk.app.subscriptions.confirm((await get_path(desk, number)).rpartition("/")[2])
    desk.app.settings.deliver.targets[0].subscriptions = False
    page = (await reader.get("/account/subscriptions")).text
    assert "no mail target is open" in page
    assert "Ask an administrator: admin." in page
    assert "target closed" in page
    await plan(desk)
    clock.turn(days=1)
    await plan(desk)
    assert [row.kind for row in await desk.app.store.deliveries.list()] == ["confirmation"]
