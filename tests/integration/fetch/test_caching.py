"""The HTTP cache: asked about each time, carried once, and no way around guard and limits."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from monitor.config.model import NetworkSettings
from monitor.fetch.client import CACHE_FILE, CachePolicy, HttpClient
from monitor.fetch.result import FetchError

BODY = "<html><body>" + "已印发的文件。" * 2000 + "</body></html>"


def tagged(reply: Any, body: str, tag: str, **headers: str) -> Callable[[Any], Any]:
    """A page that answers 304 to those who hold it."""

    def answer(asked: Any) -> Any:
        if asked.headers.get("if-none-match") == tag:
            return reply("", 304, {"etag": tag})
        return reply(body, 200, {"etag": tag, **headers})

    return answer


@pytest.fixture
def new_client(network: NetworkSettings, tmp_path) -> Callable[[], HttpClient]:
    return lambda: HttpClient(network=network, cache_folder=tmp_path / "cache", max_bytes=100_000)


async def test_a_page_that_did_not_change_is_asked_about_and_not_carried_again(new_client, site, reply) -> None:
    url = site.on("/list", tagged(reply, BODY, '"v1"'))
    async with new_client() as client:
        first = await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)
    async with new_client() as client:
        second = await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)
    assert (first.is_from_cache, second.is_from_cache) == (False, True)
    assert second.body == first.body == BODY.encode()
    assert second.status == 200
    assert [asked.headers.get("if-none-match") for asked in site.asked] == [None, '"v1"']


async def test_last_modified_serves_where_there_is_no_etag(new_client, site, reply) -> None:
    day = "Tue, 03 Feb 2026 08:00:00 GMT"
    url = site.on(
        "/list",
        lambda asked: (
            reply("", 304)
            if asked.headers.get("if-modified-since") == day
            else reply(BODY, headers={"last-modified": day})
        ),
    )
    async with new_client() as client:
        answers = [await client.fetch(url, cache_policy=CachePolicy.REVALIDATE) for _ in range(2)]
    assert [answer.is_from_cache for answer in answers] == [False, True]


async def test_a_page_that_changed_comes_anew(new_client, site, reply) -> None:
    async with new_client() as client:
        for tag in ('"v1"', '"v2"'):
            url = site.on("/list", tagged(reply, f"<p>{tag}</p>", tag))
            assert (await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)).body == f"<p>{tag}</p>".encode()


async def test_a_page_that_calls_itself_fresh_is_asked_about_all_the_same(new_client, site, reply) -> None:
    url = site.on("/list", tagged(reply, BODY, '"v1"', **{"cache-control": "max-age=3600"}))
    async with new_client() as client:
        for _ in range(2):
            await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)
        assert len(site.asked) == 2
        assert (await client.fetch(url, cache_policy=CachePolicy.REUSE)).is_from_cache
        assert len(site.asked) == 2


async def test_what_may_not_be_stored_and_what_nobody_asked_to_keep_is_not_kept(new_client, site, reply) -> None:
    forbidden = site.on("/a", tagged(reply, BODY, '"v1"', **{"cache-control": "no-store"}))
    plain = site.on("/b", tagged(reply, BODY, '"v1"'))
    async with new_client() as client:
        for _ in range(2):
            await client.fetch(forbidden, cache_policy=CachePolicy.REVALIDATE)
            await client.fetch(plain)
    assert not any("if-none-match" in asked.headers for asked in site.asked)


async def test_a_page_that_its_site_could_not_be_asked_about_takes_no_room(new_client, site, reply, tmp_path) -> None:
    fresh = {"cache-control": "max-age=3600"}
    site.on("/page", reply(BODY, headers=fresh))
    site.on("/document", reply(BODY, headers=fresh))
    async with new_client() as client:
        for _ in range(2):
            answers = [
                await client.fetch(site.url("/page"), cache_policy=CachePolicy.REVALIDATE),
                await client.fetch(site.url("/document"), cache_policy=CachePolicy.REUSE),
            ]
    assert [answer.is_from_cache for answer in answers] == [False, True]
    assert [answer.body for answer in answers] == [BODY.encode()] * 2
    with closing(sqlite3.connect(tmp_path / "cache" / CACHE_FILE)) as kept:
        assert kept.execute("SELECT count(*) FROM entries").fetchone() == (1,)


async def test_a_kept_page_is_still_behind_guard_and_limit(new_client, network, site, reply, tmp_path) -> None:
    url = site.on("/list", tagged(reply, BODY, '"v1"', **{"cache-control": "max-age=3600"}))
    async with new_client() as client:
        await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)
        for keep in CachePolicy:
            with pytest.raises(FetchError) as failure:
                await client.fetch(url, cache_policy=keep, max_bytes=1_000)
            assert failure.value.error.code == "TooLarge"
    async with HttpClient(network=NetworkSettings(), cache_folder=tmp_path / "cache") as stranger:
        with pytest.raises(FetchError) as failure:
            await stranger.fetch(url, cache_policy=CachePolicy.REUSE)
    assert failure.value.error.code == "Forbidden"


async def test_a_cache_that_cannot_be_written_costs_only_the_saving(network, site, reply, tmp_path) -> None:
    (tmp_path / "file").write_text("no folder")
    url = site.on("/list", tagged(reply, BODY, '"v1"'))
    async with HttpClient(network=network, cache_folder=tmp_path / "file" / "cache") as client:
        for _ in range(2):
            assert (await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)).body == BODY.encode()


async def test_a_cache_that_is_no_database_costs_only_the_saving(network, site, reply, tmp_path) -> None:
    (tmp_path / CACHE_FILE).write_bytes(b"not a database" * 1000)
    url = site.on("/list", tagged(reply, BODY, '"v1"'))
    async with HttpClient(network=network, cache_folder=tmp_path) as client:
        assert (await client.fetch(url, cache_policy=CachePolicy.REVALIDATE)).body == BODY.encode()
