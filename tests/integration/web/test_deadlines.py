"""Deadlines over HTTP: the list, one with its moves, and the calendars."""

import datetime as dt
from typing import Any

import pytest
from icalendar import Calendar

from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Deadline, Policy, PolicyDocument, Topic, TopicFit, TopicFollower
from monitor.document import DocumentFacts, StatedDeadline
from monitor.i18n.message import Message
from monitor.services.audit import COMMAND_LINE
from monitor.services.deadlines import DeadlineQuery, create_calendar_key, find_first_day, fit_days
from monitor.vocabulary import DeadlineKind, ItemType, JoinedBy, PolicyStage

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
COMMENTS, IN_FORCE = DeadlineKind.COMMENTS_UNTIL, DeadlineKind.IN_FORCE


def states(kind: DeadlineKind, day: dt.date) -> DocumentFacts:
    return DocumentFacts(deadlines=[StatedDeadline(kind=kind, day=day, passage="请于该日前反馈意见。")])


@pytest.fixture
async def days(desk: Any) -> list[dt.date]:
    """Three deadlines of two sources, in five, ten and fifteen days; the first one was moved by two days."""
    app, now = desk.app, desk.app.clock.now()
    today = now.astimezone(dt.UTC).date()
    ahead = [today + dt.timedelta(days=days) for days in (5, 10, 15)]
    for number, (day, kind) in enumerate(zip(ahead, (COMMENTS, IN_FORCE, COMMENTS), strict=True)):
        url = f"https://a.example/{number}"
        item = Item(
            run_id="r",
            source="示例部" if number < 2 else "乙委",
            section="通知",
            url=url,
            url_key=url,
            title=f"办法{number}",
            type=ItemType.NOTICE,
            date=today,
            first_seen=now,
        )
        saved, _ = await app.store.items.save(item)
        if number == 0:
            before = states(kind, day - dt.timedelta(days=2))
            await app.deadlines.update(saved, None, before, "r")
            await app.deadlines.update(saved, before, states(kind, day), "r2")
        else:
            await app.deadlines.update(saved, None, states(kind, day), "r")
    return ahead


async def found(reader: Any, query: str = "") -> list[str]:
    answer = await reader.get(f"/api/v1/deadlines?{query}")
    assert answer.status_code == 200, answer.text
    return [entry["title"] for entry in answer.json()["deadlines"]]


async def test_the_list_is_narrowed_by_every_filter(desk: Any, days: list[dt.date]) -> None:
    reader = await desk.sign_in("reader")
    assert await found(reader) == ["办法0", "办法1", "办法2"]
    assert await found(reader, f"until={days[1]}") == ["办法0", "办法1"]
    assert await found(reader, f"since={days[1]}") == ["办法1", "办法2"]
    assert await found(reader, "kind=comments_until") == ["办法0", "办法2"]
    assert await found(reader, "source=乙委") == ["办法2"]
    assert await found(reader, "policy=3") == []
    assert (await reader.get("/api/v1/deadlines?topic=none")).status_code == 404
    assert (await reader.get("/api/v1/deadlines?kind=birthday")).status_code == 422


async def test_a_list_goes_on_where_its_cursor_says(desk: Any, days: list[dt.date]) -> None:
    reader = await desk.sign_in("reader")
    first = (await reader.get("/api/v1/deadlines?limit=2")).json()
    rest = (await reader.get(f"/api/v1/deadlines?limit=2&cursor={first['next']}")).json()
    assert [entry["title"] for entry in first["deadlines"] + rest["deadlines"]] == ["办法0", "办法1", "办法2"]
    assert rest["next"] is None


async def test_a_deadline_shows_its_passage_and_where_it_was_before(desk: Any, days: list[dt.date]) -> None:
    reader = await desk.sign_in("reader")
    (entry, *_) = (await reader.get("/api/v1/deadlines")).json()["deadlines"]
    shown = (await reader.get(f"/api/v1/deadlines/{entry['id']}")).json()
    assert (shown["day"], shown["passage"], shown["dropped"]) == (str(days[0]), "请于该日前反馈意见。", False)
    assert entry["moved_from"] == shown["history"][0]["before"] == str(days[0] - dt.timedelta(days=2))
    assert (await reader.get("/api/v1/deadlines/999")).status_code == 404


async def test_what_two_documents_of_a_policy_state_is_shown_as_one(desk: Any, days: list[dt.date]) -> None:
    store, now = desk.app.store, desk.app.clock.now()
    reading = Deadline(item_id=3, kind=IN_FORCE, day=days[1], seen_at=now)
    await store.deadlines.save([(reading, None)])
    async with store.sessions.begin_write() as session:
        session.add(Policy(id=5, name="办法", key="办法", created_at=now, updated_at=now))
        await session.flush()
        for item_id, stage in ((2, PolicyStage.FINAL), (3, PolicyStage.INTERPRETATION)):
            joined = {"joined_by": JoinedBy.NAME, "reason": Message.other("name"), "joined_at": now}
            session.add(PolicyDocument(policy_id=5, item_id=item_id, stage=stage, **joined))
    reader = await desk.sign_in("reader")
    (entry,) = (await reader.get("/api/v1/deadlines?kind=in_force&policy=5")).json()["deadlines"]
    assert (entry["title"], entry["items"], entry["policy"]) == ("办法1", [2, 3], "办法")
    assert (await reader.get(f"/api/v1/deadlines/{entry['id']}")).json()["items"] == [2, 3]
    assert await found(reader, "kind=in_force&source=乙委") == ["办法1"], "its interpretation is of that source"


async def test_a_calendar_is_a_feed_that_is_filtered_as_the_list_is(desk: Any, days: list[dt.date]) -> None:
    reader = await desk.sign_in("reader")
    answer = await reader.get("/feeds/deadlines.ics?kind=in_force&lang=en")
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    (event,) = Calendar.from_ical(answer.content).walk("VEVENT")
    assert (event["SUMMARY"], event.decoded("DTSTART")) == ("In force: 办法1", days[1])
    nobody = await desk.client()
    assert (await nobody.get("/feeds/deadlines.ics")).status_code == 401
    token = await desk.app.tokens.create("calendar", "reader", scopes=["read"], by=COMMAND_LINE)
    assert (await nobody.get("/feeds/deadlines.ics", auth=("any", token))).status_code == 200


async def test_a_follower_of_a_topic_has_a_calendar_of_their_own_until_they_are_shut_out(
    desk: Any, days: list[dt.date]
) -> None:
    await desk.sign_in("reader")
    app, key = desk.app, create_calendar_key()
    now = app.clock.now()
    async with app.store.sessions.begin_write() as session:
        topic = Topic(name="电价", created_at=now)
        session.add(topic)
        await session.flush()
        fit = {"score": 1.0, "is_match": True, "reason": Message.other("words"), "judged_at": now}
        session.add(TopicFit(topic_id=topic.id, item_id=1, **fit))
        session.add(TopicFit(topic_id=topic.id, item_id=2, **fit | {"is_match": False}))
        session.add(TopicFollower(topic_id=topic.id, person="reader", calendar_key=key, since=now))
    nobody = await desk.client()
    calendar = Calendar.from_ical((await nobody.get(f"/feeds/deadlines/{key}.ics")).content)
    assert calendar["X-WR-CALNAME"] == "电价"
    assert [event.decoded("DTSTART") for event in calendar.walk("VEVENT")] == [days[0]]
    assert (await nobody.get(f"/feeds/deadlines/{create_calendar_key()}.ics")).status_code == 404
    await app.people.block_sign_in("reader", by=COMMAND_LINE)
    assert (await nobody.get(f"/feeds/deadlines/{key}.ics")).status_code == 404


async def test_a_month_with_many_deadlines_shows_the_first_of_each_day_and_a_day_all_of_its_own(
    desk: Any, days: list[dt.date]
) -> None:
    now = desk.app.clock.now()
    busy = days[1]
    stated = [
        Deadline(item_id=1 + place % 3, kind=kind, day=busy, subject=f"第{place}项", seen_at=now)
        for kind in (COMMENTS, IN_FORCE)
        for place in range(120)
    ]
    await desk.app.store.deadlines.save([(deadline, None) for deadline in stated])
    query = DeadlineQuery(since=days[0], until=days[2])
    whole, found = await desk.app.deadlines.list(query), await desk.app.deadlines.list_days(query, limit=60)
    shown = [entry.id for entry in found.entries]
    assert found.cut == {busy}
    assert len(shown) <= 60
    assert {days[0], days[2]} <= {entry.day for entry in found.entries}, "a day with few keeps what it has"
    assert [entry.id for entry in whole if entry.id in set(shown)] == shown
    assert (await desk.app.deadlines.list_days(query, limit=1000)).entries == whole
    reader = await desk.sign_in("reader", language="en")
    month, day = (
        (await reader.get(f"/calendar?month={busy:%Y-%m}")).text,
        (await reader.get(f"/calendar?day={busy}")).text,
    )
    assert f"/calendar?day={busy}" in month
    assert "All of this day" in month
    assert "All of this day" not in day
    assert month.count("第") < day.count("第")
    today = (await reader.get("/api/v1/today")).json()["ahead"]
    assert today["is_more"] is True


async def test_a_full_calendar_has_what_is_to_come_before_what_is_past(
    desk: Any, days: list[dt.date], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.services.deadlines.MAX_EVENTS", 2)
    today = days[0] - dt.timedelta(days=5)
    item = (await desk.app.store.items.list(ItemFilter(), limit=1))[0]
    past = [
        Deadline(item_id=item.id, kind=IN_FORCE, day=today - dt.timedelta(days=back), seen_at=NOON) for back in (1, 9)
    ]
    await desk.app.store.deadlines.save([(row, None) for row in past])
    program = await desk.sign_in("reader")

    async def read(query: str) -> list[dt.date]:
        answer = await program.get(f"/feeds/deadlines.ics?{query}")
        return [event.decoded("DTSTART") for event in Calendar.from_ical(answer.content).walk("VEVENT")]

    assert await read("") == days[:2]
    assert await read("kind=in_force") == [past[0].day, days[1]]
    assert await read(f"since={past[1].day}") == [past[1].day, past[0].day], "from there on, as it was asked for"


def test_a_calendar_begins_on_the_earliest_day_for_which_there_is_room() -> None:
    today = dt.date(2026, 11, 30)
    counts = {today + dt.timedelta(days=days): count for days, count in ((-9, 1), (-5, 3), (-1, 2), (0, 4), (40, 6))}
    first_days = [find_first_day(counts, today, limit) for limit in (3, 10, 12, 14, 15, 16)]
    assert [(today - first).days for first in first_days] == [0, 0, 1, 1, 5, 9]


def test_busy_days_share_what_the_others_leave() -> None:
    assert fit_days([3, 4], 10) is None
    assert fit_days([1, 2, 100, 100], 21) == 9
    assert fit_days([100] * 30, 10) == 1
