"""The first look: what is new by importance, how the day's runs went, what was not read, what sites kept from us."""

from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.db.database import Store
from monitor.db.queries.dashboard import TierCount
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.db.tables.people import Person
from monitor.i18n.message import Message
from monitor.vocabulary import MarkAction, Phase, RunStatus

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

REFUSED = Message.of("cause.page_blocked", detail="http_403", error=Message.of("page.refused", status=403))


def an_item(source: Source, number: int, **facts: Any) -> Item:
    url = f"https://example.gov/{number}"
    given = {"run_id": "run-1", "first_seen": NOON, "title": f"Title {number}"} | facts
    return Item(source_id=source.id, source=source.name, section="news", url=url, url_key=url, **given)


async def a_run(store: Store, source: Source, name: str, at: datetime, status: RunStatus) -> str:
    await store.runs.create(Run(id=name, source_id=source.id, source=source.name, planned_at=at, status=status))
    return name


async def test_what_is_new_is_counted_by_tier_and_told_by_importance(store: Store, source: Source) -> None:
    saved = await store.items.save_all(
        [
            an_item(source, 1, tier=2, rank=1),
            an_item(source, 2, tier=1, rank=3),
            an_item(source, 3, tier=1, rank=2, first_seen=NOON + HOUR),
            an_item(source, 4),
            an_item(source, 5, tier=1, rank=1, first_seen=NOON - HOUR),
            an_item(source, 6, tier=1, rank=1),
        ]
    )
    await store.marks.mark(MarkAction.HIDE, [saved[5][0].id or 0], person="ada", at=NOON, reason="twice")
    assert await store.dashboard.count_by_tier(NOON, fresh_since=NOON + HOUR) == [
        TierCount(tier=1, count=2, fresh=1),
        TierCount(tier=2, count=1, fresh=0),
        TierCount(tier=None, count=1, fresh=0),
    ]
    assert [item.title for item in await store.dashboard.list_top_items(NOON, 3)] == ["Title 3", "Title 2", "Title 1"]


async def test_what_was_new_is_counted_by_day(store: Store, source: Source) -> None:
    store.sessions.timezone = "Etc/GMT+12"  # where days begin at noon of UTC
    first = [NOON, NOON + 23 * HOUR, NOON + 24 * HOUR, NOON + 80 * HOUR, NOON - HOUR]
    saved = [an_item(source, n, first_seen=at) for n, at in enumerate(first)]
    await store.items.save_all(saved)
    await store.items.save_all(saved)
    days = [NOON.date() + timedelta(days=n) for n in range(3)]
    assert await store.dashboard.count_new_by_day(days) == [2, 1, 0]


async def test_the_last_run_of_a_source_that_ended_speaks_for_it(store: Store, source: Source) -> None:
    other = await store.sources.add(Source(name="other", url="https://other.gov/", created_at=NOON))
    await a_run(store, source, "yesterday", NOON - 24 * HOUR, RunStatus.FAILED)
    await a_run(store, source, "early", NOON, RunStatus.FAILED)
    last = await a_run(store, source, "late", NOON + HOUR, RunStatus.DEGRADED)
    await a_run(store, source, "cancelled", NOON + 2 * HOUR, RunStatus.CANCELLED)
    await a_run(store, source, "in progress", NOON + 3 * HOUR, RunStatus.RUNNING)
    await a_run(store, source, "waits", NOON + 4 * HOUR, RunStatus.QUEUED)
    await a_run(store, other, "of the other", NOON, RunStatus.SUCCEEDED)
    for run_id in ("early", last):
        places = [
            UnseenPlace(section=run_id, url=f"https://example.gov/{n}", reason=Message.other("Timeout: late"))
            for n in (1, 2)
        ]
        await store.runs.add_unseen(run_id, places)
    reported = {run.source: run.status for run in await store.dashboard.list_last_runs(NOON)}
    assert reported == {source.name: RunStatus.DEGRADED, "other": RunStatus.SUCCEEDED}
    await store.runs.update("early", is_baseline=True)
    firsts = {entry.source: entry.is_baseline for entry in await store.dashboard.list_last_runs(NOON)}
    assert firsts == {source.name: True, "other": False}, "an earlier run of the day was the source's first"
    count, places = await store.dashboard.list_unread(NOON, 1)
    assert (count, [(place.section, place.source, place.run_id) for place in places]) == (
        2,
        [("late", source.name, "late")],
    )
    assert await store.dashboard.list_unread(NOON + 5 * HOUR, 1) == (0, [])


async def test_the_pulse_is_what_waits_what_runs_and_what_was_spent(store: Store, source: Source) -> None:
    assert (await store.dashboard.load_queue_status(NOON)).model_dump() == {
        "queued": 0,
        "running": 0,
        "oldest_queued_at": None,
        "tokens": 0,
    }
    for number in (1, 2):
        await a_run(store, source, f"waits {number}", NOON + number * HOUR, RunStatus.QUEUED)
    await a_run(store, source, "runs", NOON, RunStatus.RUNNING)
    for at in (NOON - HOUR, NOON):
        call = ModelCall(run_id="r", phase=Phase.RANK, model="m", prompt_tokens=3, completion_tokens=4, at=at)
        await store.usage.add(call)
    pulse = await store.dashboard.load_queue_status(NOON)
    assert (pulse.queued, pulse.running, pulse.oldest_queued_at, pulse.tokens) == (2, 1, NOON + HOUR, 7)


async def test_a_look_is_kept_for_those_who_have_a_name_here(store: Store) -> None:
    await store.people.add(Person(name="ada", password_hash="", created_at=NOON))
    assert await store.dashboard.get_last_visit("ada") == (None, None)
    assert await store.dashboard.get_last_visit("a token") is None
    await store.dashboard.save_visit("ada", NOON, NOON - HOUR)
    await store.dashboard.save_visit("a token", NOON, None)
    assert await store.dashboard.get_last_visit("ada") == (NOON, NOON - HOUR)


async def test_a_block_is_found_in_what_fell_back_and_in_what_was_not_seen_once_for_a_run(
    store: Store, source: Source
) -> None:
    url = "https://example.gov/list"
    for name, at in (("old", NOON - 48 * HOUR), ("new", NOON)):
        await a_run(store, source, name, at, RunStatus.DEGRADED)
        await store.runs.add_fallback(name, Phase.CRAWL, url, REFUSED, NOON)
        await store.runs.add_unseen(name, [UnseenPlace(section="s", url=url, reason=REFUSED)])
    captcha = Message.of("cause.page_blocked", detail="captcha_required", error=Message("page.captcha"))
    reason = Message.of("cause.no_article_date", reason=captcha)
    await store.runs.add_fallback("new", Phase.CRAWL, "https://cdn.example/7", reason, NOON)
    await store.runs.add_fallback(
        "new",
        Phase.CRAWL,
        "https://example.gov/8",
        Message.other('Timeout: it said WebBlocked/http_403: "cause.page_blocked"'),
        NOON,
    )
    reported = [(block.source, block.place, block.reason) for block in await store.dashboard.list_blocks(NOON - HOUR)]
    assert reported == [(source.name, "https://cdn.example/7", reason), (source.name, url, REFUSED)]
    assert len(await store.dashboard.list_blocks(NOON - 72 * HOUR, source_id=source.id)) == 3
    assert await store.dashboard.list_blocks(NOON - 72 * HOUR, source_id=999) == []


async def test_sections_of_many_sources_come_at_once(store: Store, source: Source, run: Run) -> None:
    assert await store.sections.load_for_sources([]) == {}
    assert await store.sections.load_for_sources([source.id or 0, 99]) == {}


async def test_sources_are_told_in_a_line_each(store: Store, source: Source) -> None:
    (one,) = await store.dashboard.list_sources()
    assert (one.name, one.is_enabled, one.is_planned, one.has_run, one.consecutive_failures) == (
        source.name,
        True,
        False,
        False,
        0,
    )
