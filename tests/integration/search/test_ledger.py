"""What is written down of requests, and what follows: quotas, costs, cool-downs; and answers that serve again."""

import asyncio
import datetime as dt
from typing import Any

import pytest
from sqlalchemy import select

from monitor.db.tables.research import SearchCall
from monitor.i18n.catalogue import render
from monitor.search.contract import DateRange, Recency, SearchQuery
from monitor.search.registry import CachingBackend
from monitor.search.service import MAX_PAGES_PER_BACKEND

CAPTCHA = "<html><head><title>百度安全验证</title></head><body></body></html>"
DAY = (dt.datetime(2026, 11, 20, 16, tzinfo=dt.UTC), dt.datetime(2026, 11, 21, 16, tzinfo=dt.UTC))  # in Shanghai


async def calls(searching: Any) -> list[SearchCall]:
    async with searching.store.sessions.begin_read() as session:
        return list((await session.scalars(select(SearchCall).order_by(SearchCall.id))).all())


@pytest.fixture
def served(searching: Any, services: dict[str, Any], site: Any, send: Any, result: Any) -> Any:
    """A backend whose service has one result."""

    def serve(name: str, **settings: Any) -> None:
        answer = services[name].build_response([result("A", "https://a.example/", "")])
        searching.asked_at(name, site.on(services[name].path, send(answer)), **settings)

    return serve


async def test_every_request_leaves_a_row_whatever_came_of_it(
    searching: Any, served: Any, service: Any, site: Any, reply: Any
) -> None:
    served(service.name, price=0.5)
    await searching.found(service.name)
    site.on(service.path, reply("", 404))
    await searching.found(service.name)
    good, bad = await calls(searching)
    assert (good.backend, good.outcome, good.results, good.cost) == (service.name, "ok", 1, 0.5)
    assert (bad.outcome, bad.results, bad.cost) == ("WebProviderError", 0, 0.0)
    assert good.at == searching.clock.now()
    (spent,) = await searching.store.searches.load_daily_usage(good.at.date(), good.at.date())
    assert (spent.backend, spent.requests, spent.failed, spent.cost) == (service.name, 2, 1, 0.5)


async def test_a_request_that_was_cut_off_by_its_time_leaves_a_row(searching: Any, site: Any) -> None:
    async def never(writer: Any) -> None:
        del writer
        await asyncio.Event().wait()

    searching.asked_at("brave", site.on("/res/v1/web/search", lambda _: never))
    await searching.found("brave", budget_ms=1500)
    assert len(site.asked) == 1
    (call,) = await calls(searching)
    assert call.outcome == "Timeout"
    assert call.cost is None


async def test_a_daily_quota_is_held_until_midnight(searching: Any, served: Any, site: Any) -> None:
    served("brave", daily_quota=2)
    for _ in range(2):
        assert (await searching.found("brave")).errors == []
    (error,) = (await searching.found("brave")).errors
    assert (error.type, error.retryable) == ("WebProviderError", False)
    assert "search.backends.brave.daily_quota of 2" in render(error.message, "en")
    assert len(site.asked) == 2
    searching.clock.at = DAY[1] - dt.timedelta(seconds=1)
    assert (await searching.found("brave")).errors
    searching.clock.at = DAY[1]
    assert (await searching.found("brave")).errors == []


async def test_after_a_captcha_the_service_is_left_alone_for_ten_minutes(
    searching: Any, served: Any, site: Any, reply: Any
) -> None:
    searching.asked_at("baidu_html", site.on("/s", reply(CAPTCHA)))
    assert (await searching.found("baidu_html")).errors[0].detail_code == "captcha_required"
    served("baidu_html")
    for minutes in (0, 5, 9.9):
        searching.clock.at = DAY[0] + dt.timedelta(hours=16, minutes=minutes)
        (error,) = (await searching.found("baidu_html")).errors
        assert (error.type, error.detail_code) == ("WebBlocked", "captcha_required")
        assert "Not asked" in render(error.message, "en")
    assert len(site.asked) == 1
    other = searching.open(network={"user_agent": "Another/1", "allowed_private_hosts": [site.host]})
    assert (await other.build_search(["baidu_html"]).search(SearchQuery(text="x"), 3)).items
    searching.clock.at = DAY[0] + dt.timedelta(hours=16, minutes=10)
    assert (await searching.found("baidu_html")).items


async def test_those_who_wait_for_their_turn_do_not_ask_after_a_captcha(searching: Any, site: Any, reply: Any) -> None:
    searching.asked_at("baidu_html", site.on("/s", reply(CAPTCHA)))
    search = searching.open().build_search(["baidu_html"])
    answers = await asyncio.gather(*(search.search(SearchQuery(text=f"{n}"), 3) for n in range(5)))
    assert [answer.errors[0].detail_code for answer in answers] == ["captcha_required"] * 5
    assert len(site.asked) == 1


async def test_pages_are_kept_up_to_a_number(searching: Any, site: Any, reply: Any) -> None:
    searching.asked_at("ddg_html", site.on("/html/", lambda _: reply(f"<html><body>{len(site.asked)}</body></html>")))
    for number in range(MAX_PAGES_PER_BACKEND + 3):
        searching.clock.at = DAY[0] + dt.timedelta(seconds=number)
        await searching.found("ddg_html")
    kept = sorted((searching.folder / "debug" / "search").iterdir())
    assert len(kept) == MAX_PAGES_PER_BACKEND
    assert kept[-1].read_text() == f"<html><body>{MAX_PAGES_PER_BACKEND + 3}</body></html>"


async def test_the_same_query_is_asked_once_within_the_lifetime(searching: Any, served: Any, site: Any) -> None:
    searching.settings["cache_s"] = 60
    served("brave")
    first = await searching.found("brave", trace_id="one", budget_ms=5000)
    searching.clock.at += dt.timedelta(seconds=59)
    again = await searching.found("brave", trace_id="two")
    assert again.items == first.items
    assert len(site.asked) == 1
    searching.clock.at += dt.timedelta(seconds=2)
    await searching.found("brave")
    assert len(site.asked) == 2


async def test_an_error_or_a_part_of_an_answer_does_not_serve_again(
    searching: Any, served: Any, services: dict[str, Any], site: Any, send: Any, reply: Any, result: Any
) -> None:
    searching.settings["cache_s"] = 60
    searching.asked_at("brave", site.on(services["brave"].path, reply("", 500)))
    assert (await searching.found("brave")).errors
    served("brave")
    assert (await searching.found("brave")).items
    results = [result(f"{n}", f"https://a.example/{n}", "") for n in range(10)]
    good = send(services["baidu_html"].build_response(results))
    answers = [good, reply("", 500), good]
    searching.asked_at("baidu_html", site.on("/s", lambda _: answers.pop(0) if len(answers) > 1 else answers[0]))
    assert (await searching.found("baidu_html", limit=20)).errors
    assert (await searching.found("baidu_html", limit=20)).errors == []


def test_all_that_changes_an_answer_and_nothing_else_changes_its_key() -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

    def key(name: str = "brave", address: str = "https://a/", limit: int = 3, text: str = "x", **options: Any) -> str:
        backend: Any = Named(name)
        nothing: Any = None
        remembering = CachingBackend(backend, base_url=address, cache=nothing, lifetime=dt.timedelta(1), clock=nothing)
        return remembering.build_key(SearchQuery(text=text, **options), limit)

    days = DateRange(start=dt.date(2026, 1, 1))
    others = [
        key(),
        key(name="tavily"),
        key(address="https://b/"),
        key(limit=4),
        key(text="y"),
        key(lang="zh"),
        key(time_range=Recency.DAY),
        key(time_range=days),
        key(site_filter="gov.cn"),
        key(depth="basic"),
        key(depth="advanced"),
    ]
    assert len(set(others)) == len(others)
    assert key(trace_id="t", budget_ms=5) == key()
