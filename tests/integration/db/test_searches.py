"""The ledger of searches and the answers that are kept, on both databases."""

import datetime as dt

from monitor.db.database import Store
from monitor.db.tables.research import SearchAnswer, SearchCall

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


def call(backend: str, at: dt.datetime, outcome: str = "ok", cost: float | None = None, **facts: str) -> SearchCall:
    return SearchCall(backend=backend, route=facts.pop("route", "here"), at=at, outcome=outcome, cost=cost, **facts)


async def test_requests_are_counted_by_backend_and_time(store: Store) -> None:
    for entry in (
        call("brave", NOW - 2 * MINUTE, cost=0.5),
        call("brave", NOW, cost=0.25),
        call("brave", NOW, "Timeout", cost=0.0),
        call("ddg_html", NOW),
    ):
        await store.searches.add(entry)
    assert await store.searches.count_requests_since("brave", NOW - MINUTE) == 2
    assert await store.searches.count_requests_since("brave", NOW + MINUTE) == 0
    spent = await store.searches.load_daily_usage(NOW.date(), NOW.date())
    assert [(usage.backend, usage.requests, usage.failed, usage.cost) for usage in spent] == [
        ("brave", 3, 1, 0.75),
        ("ddg_html", 1, 0, None),
    ]
    tomorrow = NOW.date() + dt.timedelta(days=1)
    assert await store.searches.load_daily_usage(tomorrow, tomorrow) == []


async def test_the_last_block_is_found_by_backend_and_route(store: Store) -> None:
    blocked = {"detail_code": "captcha_required"}
    await store.searches.add(call("baidu_html", NOW - MINUTE, "WebBlocked", **blocked))
    await store.searches.add(call("baidu_html", NOW, "WebBlocked", **blocked, route="there"))
    await store.searches.add(call("baidu_html", NOW + MINUTE))
    assert await store.searches.get_last_seen("baidu_html", "here", "captcha_required") == NOW - MINUTE
    assert await store.searches.get_last_seen("baidu_html", "there", "captcha_required") == NOW
    assert await store.searches.get_last_seen("ddg_html", "here", "captcha_required") is None


async def test_an_answer_is_kept_for_its_lifetime_and_the_newest_holds(store: Store) -> None:
    for at, findings in ((NOW - MINUTE, {"hits": ["光伏"]}), (NOW, {"hits": ["风电"]})):
        await store.searches.save_answer(SearchAnswer(key="k", at=at, findings=findings), not_before=NOW - 9 * MINUTE)
    assert await store.searches.get_answer("k", not_before=NOW) == {"hits": ["风电"]}
    assert await store.searches.get_answer("k", not_before=NOW + MINUTE) is None
    assert await store.searches.get_answer("other", not_before=NOW) is None
    later = SearchAnswer(key="later", at=NOW + 2 * MINUTE, findings={})
    await store.searches.save_answer(later, not_before=NOW + MINUTE)
    assert await store.searches.get_answer("k", not_before=NOW - 9 * MINUTE) is None


async def test_old_requests_are_pruned_with_the_rest(store: Store) -> None:
    for at in (NOW - MINUTE, NOW + MINUTE):
        await store.searches.add(call("brave", at))
    await store.retention.prune(NOW)
    assert await store.searches.count_requests_since("brave", NOW - 9 * MINUTE) == 1
