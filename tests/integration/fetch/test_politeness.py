import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from monitor import __version__
from monitor.config.model import NetworkSettings, PagesSettings, Settings
from monitor.db.database import Store
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.politeness import Politeness
from monitor.fetch.result import FetchError
from monitor.i18n.catalogue import render
from monitor.services.host_traffic import HostTrafficService


class Time:
    """A clock that moves only when somebody sleeps by it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def client(network: NetworkSettings) -> AsyncIterator[HttpClient]:
    async with HttpClient(network=network) as opened:
        yield opened


def polite(client: HttpClient, time: Time, **settings) -> Politeness:
    return Politeness(client=client, pages=PagesSettings(**settings), monotonic=time.monotonic, sleep=time.sleep)


async def ask(politeness: Politeness, client: HttpClient, url: str) -> None:
    async with politeness.acquire(url):
        await client.fetch(url)


async def test_a_host_is_asked_one_at_a_time_and_with_a_pause(client, site, time) -> None:
    url = site.on("/a", "x")
    politeness = polite(client, time, delay_s=2, respect_robots=False)
    await asyncio.gather(*(ask(politeness, client, url) for _ in range(4)))
    assert site.max_in_progress == 1
    assert time.slept == [2, 2, 2]


async def test_what_this_process_serves_itself_is_asked_without_a_pause_while_it_is_served(site, time) -> None:
    own: set[str] = {site.host}
    async with HttpClient(network=NetworkSettings(), guard=Guard(own_hosts=own)) as client:
        url, politeness = site.on("/a", "x"), polite(client, time, delay_s=2)
        for _ in range(3):
            await ask(politeness, client, url)
        assert time.slept == []
        own.clear()
        with pytest.raises(FetchError, match="not public"):
            await ask(politeness, client, url)


async def test_what_robots_txt_disallows_is_not_asked(client, site, time) -> None:
    site.on("/robots.txt", "User-agent: *\nDisallow: /secret/\n")
    open_page, secret = site.on("/open", "x"), site.on("/secret/a", "x")
    politeness = polite(client, time, delay_s=0)
    await ask(politeness, client, open_page)
    with pytest.raises(FetchError) as caught:
        await ask(politeness, client, secret)
    assert (caught.value.error.code, caught.value.error.detail_code) == ("WebBlocked", "robots")
    assert site.paths() == ["/robots.txt", "/open"]


async def test_rules_for_us_by_name_come_before_those_for_all(client, site, time) -> None:
    site.on("/robots.txt", "User-agent: *\nDisallow:\n\nUser-agent: monitor\nDisallow: /\n")
    with pytest.raises(FetchError):
        await ask(polite(client, time, delay_s=0), client, site.on("/open", "x"))


async def test_robots_txt_is_read_again_after_a_day(client, site, time) -> None:
    site.on("/robots.txt", "User-agent: *\nDisallow: /b\n")
    url = site.on("/a", "x")
    politeness = polite(client, time, delay_s=0)
    await ask(politeness, client, url)
    time.now += 86_000
    await ask(politeness, client, url)
    time.now += 1_000
    await ask(politeness, client, url)
    assert site.paths() == ["/robots.txt", "/a", "/a", "/robots.txt", "/a"]


async def test_crawl_delay_is_kept_up_to_a_bound(client, site, time) -> None:
    site.on("/robots.txt", "User-agent: *\nCrawl-delay: 4\n")
    url = site.on("/a", "x")
    politeness = polite(client, time, delay_s=1)
    for _ in range(3):
        await ask(politeness, client, url)
    assert time.slept == [1, 4, 4]
    site.on("/robots.txt", "User-agent: *\nCrawl-delay: 9999\n")
    time.now += 90_000
    for _ in range(2):
        await ask(politeness, client, url)
    assert max(time.slept) == 10


@pytest.mark.parametrize("status", [404, 403, 410])
async def test_no_robots_txt_allows_everything(client, site, reply, time, status: int) -> None:
    site.on("/robots.txt", reply("no", status))
    url = site.on("/a", "x")
    politeness = polite(client, time, delay_s=0)
    await ask(politeness, client, url)
    assert politeness.find_robots_note(url) is None


async def test_a_broken_robots_txt_allows_everything_and_is_noted(client, site, reply, time) -> None:
    site.on("/robots.txt", reply("oops", 500))
    url = site.on("/a", "x")
    politeness = polite(client, time, delay_s=0)
    await ask(politeness, client, url)
    note = politeness.find_robots_note(url)
    assert note is not None
    assert "500" in render(note, "en")


async def test_an_error_page_in_place_of_robots_txt_is_no_rule(client, site, time) -> None:
    site.on("/robots.txt", "<html>Disallow: /</html>")
    await ask(polite(client, time, delay_s=0), client, site.on("/a", "x"))


async def test_a_turn_that_fails_frees_the_host(client, site, time) -> None:
    politeness = polite(client, time, delay_s=0, respect_robots=False)
    for _ in range(2):
        with pytest.raises(FetchError):
            await ask(politeness, client, site.url("/missing"))
    assert len(site.asked) == 2


async def test_a_host_is_asked_no_more_on_a_day_whose_requests_are_used_up(
    client, site, time, sqlite_url: str, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, pages={"daily_requests": 2})
    url = site.on("/a", "x")
    async with Store.open(sqlite_url) as store:
        clock = TurnedClock()
        traffic = HostTrafficService(store=store, clock=clock, settings=settings)
        politeness = Politeness(
            client=client, pages=settings.pages, budget=traffic, monotonic=time.monotonic, sleep=time.sleep
        )
        for _ in range(2):
            await ask(politeness, client, url)
        with pytest.raises(FetchError) as caught:
            await ask(politeness, client, url)
        assert caught.value.error.code == "Forbidden"
        assert "continues tomorrow" in render(caught.value.error.message, "en")
        assert site.paths() == ["/robots.txt", "/a", "/a"]
        clock.days += 1
        await ask(politeness, client, url)
        today, yesterday = await traffic.list_traffic(2)
        assert (today.requests, today.refused, yesterday.requests, yesterday.refused) == (1, 0, 2, 1)
        assert (yesterday.host, yesterday.limit) == (site.host, 2)


class TurnedClock:
    def __init__(self) -> None:
        self.days = 0

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC) + dt.timedelta(days=self.days)


async def test_the_user_agent_has_the_version_and_the_contact_that_is_set(site, time) -> None:
    network = NetworkSettings(contact_url="https://example.org/about-monitor", allowed_private_hosts=[site.host])
    site.on("/robots.txt", "User-agent: monitor\nDisallow: /secret/\n")
    secret = site.on("/secret/a", "x")
    async with HttpClient(network=network) as client:
        await ask(polite(client, time, delay_s=0), client, site.on("/a", "x"))
        with pytest.raises(FetchError):
            await ask(polite(client, time, delay_s=0), client, secret)
    said = site.asked[-1].headers["user-agent"]
    assert said == f"Mozilla/5.0 (compatible; Monitor/{__version__}; +https://example.org/about-monitor)"


@pytest.mark.parametrize("wrong", ["example.org", "javascript:alert(1)", "https://a b", "https://a.example/)(x"])
def test_a_contact_that_nobody_could_write_to_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        NetworkSettings(contact_url=wrong)
