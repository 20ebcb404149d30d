import asyncio
import gzip
import ipaddress
from collections.abc import AsyncIterator

import pytest

from monitor.config.model import NetworkSettings
from monitor.errors import SettingsError
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Address, Guard
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode


class Waits:
    """Stands where the client would sleep, and keeps for how long."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
async def client(network: NetworkSettings, waits: Waits) -> AsyncIterator[HttpClient]:
    async with HttpClient(network=network, max_bytes=1_000_000, sleep=waits) as opened:
        yield opened


async def failure(client: HttpClient, url: str, **options) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await client.fetch(url, **options)
    return caught.value


async def test_an_answer_comes_back_whole_and_decompressed(client, site, reply) -> None:
    url = site.on("/a", reply(gzip.compress("新闻".encode()), headers={"content-encoding": "gzip"}))
    response = await client.fetch(url)
    assert (response.status, response.body.decode(), response.final_url) == (200, "新闻", url)
    assert response.content_type == "text/html; charset=utf-8"
    assert "Monitor" in site.asked[0].headers["user-agent"]


async def test_redirects_are_followed_and_remembered(client, site, reply) -> None:
    site.on("/end", "there")
    site.on("/middle", reply(status=302, headers={"location": "end"}))
    start = site.on("/start", reply(status=301, headers={"location": "/middle#part"}))
    response = await client.fetch(start)
    assert (response.url, response.final_url, response.body) == (start, site.url("/end"), b"there")
    assert response.hops == (start, site.url("/middle"))


async def test_a_redirect_loop_ends(client, site, reply) -> None:
    loop = site.on("/loop", reply(status=302, headers={"location": "/loop"}))
    assert (await failure(client, loop)).error.code is PageErrorCode.NETWORK
    assert len(site.asked) == 11


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:1/",
        "http://localhost/",
        "http://169.254.169.254/latest/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
        "file:///etc/passwd",
        "ftp://8.8.8.8/",
    ],
)
async def test_a_redirect_to_where_we_do_not_go_is_refused(client, site, reply, location: str) -> None:
    start = site.on("/start", reply(status=302, headers={"location": location}))
    assert (await failure(client, start)).error.code is PageErrorCode.FORBIDDEN


async def test_a_name_that_changes_its_answer_after_the_check_gains_nothing(site) -> None:
    answers = iter(["93.184.216.34", "127.0.0.1"])

    async def rebinding(host: str, port: int) -> list[Address]:
        return [ipaddress.ip_address(next(answers))]

    site.on("/a", "secret")
    async with HttpClient(network=NetworkSettings(), guard=Guard(resolver=rebinding)) as client:
        error = await failure(client, f"http://innocent.example:{site.port}/a")
    assert error.error.code is PageErrorCode.FORBIDDEN
    assert site.asked == []


async def test_posts_become_gets_after_a_redirect_and_keys_stay_with_their_host(client, site, reply) -> None:
    site.on("/end", "there")
    start = site.on("/start", reply(status=303, headers={"location": "/end"}))
    form = {"content-type": "application/x-www-form-urlencoded", "x-key": "k"}
    await client.fetch(start, method="POST", content=b"q=1", headers=form)
    assert [(asked.method, asked.body) for asked in site.asked] == [("POST", b"q=1"), ("GET", b"")]
    assert "content-type" not in site.asked[1].headers


@pytest.mark.parametrize(("status", "times"), [(503, 3), (502, 3), (500, 1), (404, 1), (403, 1), (412, 1)])
async def test_only_what_may_pass_is_asked_again(client, site, reply, waits, status: int, times: int) -> None:
    error = await failure(client, site.on("/a", reply("no", status)))
    assert len(site.asked) == times
    assert error.response is not None
    assert error.response.status == status
    assert waits.seconds == [0.5, 1.0][: times - 1]


async def test_a_site_that_recovers_is_read(client, site, reply) -> None:
    answers = iter([reply("busy", 503), reply("fine")])
    assert (await client.fetch(site.on("/a", lambda _: next(answers)))).body == b"fine"


async def test_retry_after_is_waited_for_when_it_is_short(client, site, reply, waits) -> None:
    answers = iter([reply("slow down", 429, {"retry-after": "3"}), reply("fine")])
    assert (await client.fetch(site.on("/a", lambda _: next(answers)))).body == b"fine"
    assert waits.seconds == [3.0]


@pytest.mark.parametrize("header", [{}, {"retry-after": "3600"}, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}])
async def test_a_429_that_asks_for_more_is_reported_at_once(client, site, reply, waits, header) -> None:
    error = await failure(client, site.on("/a", reply("slow down", 429, header)))
    assert (error.error.code, error.error.detail_code) == (PageErrorCode.WEB_BLOCKED, "http_429")
    assert waits.seconds == []


async def test_posts_are_not_repeated(client, site, reply) -> None:
    await failure(client, site.on("/a", reply("busy", 503)), method="POST", content=b"x")
    assert len(site.asked) == 1


async def test_a_body_over_the_limit_is_not_read_to_its_end(client, site) -> None:
    sent = 0

    def endless(asked):
        async def write(writer: asyncio.StreamWriter) -> None:
            nonlocal sent
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n")
            while sent < 200_000_000:
                writer.write(b"x" * 65536)
                sent += 65536
                await writer.drain()

        return write

    assert (await failure(client, site.on("/a", endless))).error.code is PageErrorCode.TOO_LARGE
    assert sent < 20_000_000


async def test_a_declared_length_and_a_bomb_are_too_large(client, site, reply) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    site.on("/bomb", reply(bomb, headers={"content-encoding": "gzip"}))
    assert (await failure(client, site.url("/bomb"))).error.code is PageErrorCode.TOO_LARGE
    site.on("/long", reply(b"x" * 1_000_001))
    assert (await failure(client, site.url("/long"))).error.code is PageErrorCode.TOO_LARGE


async def test_a_site_that_drips_ends_as_a_timeout(client, site) -> None:
    def drip(asked):
        async def write(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

        return write

    error = await failure(client, site.on("/a", drip), timeout_s=0.3)
    assert error.error.code is PageErrorCode.TIMEOUT


async def test_a_closed_port_is_a_network_error_after_three_tries(waits) -> None:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with HttpClient(network=NetworkSettings(allowed_private_hosts=[f"127.0.0.1:{port}"]), sleep=waits) as client:
        error = await failure(client, f"http://127.0.0.1:{port}/")
    assert error.error.code is PageErrorCode.NETWORK
    assert len(waits.seconds) == 2


async def test_a_connection_that_is_cut_is_tried_again(client, site, reply) -> None:
    async def cut(writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    answers = iter([cut, reply("fine")])
    assert (await client.fetch(site.on("/a", lambda _: next(answers)))).body == b"fine"


def test_settings_that_cannot_work_say_so(tmp_path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    with pytest.raises(SettingsError, match="ca_bundle"):
        HttpClient(network=NetworkSettings(ca_bundle=empty))
    with pytest.raises(SettingsError, match="proxy"):
        HttpClient(network=NetworkSettings(proxy="nonsense://x"))


async def test_legacy_tls_can_be_allowed() -> None:
    async with HttpClient(network=NetworkSettings(allow_legacy_tls=True)):
        pass


async def test_through_a_proxy_private_addresses_stay_refused(site, reply) -> None:
    site.on("http://public.invalid/page", "by proxy")
    network = NetworkSettings(proxy=f"http://{site.host}", proxy_suffixes=["public.invalid"])
    async with HttpClient(network=network) as client:
        assert (await client.fetch("http://public.invalid/page")).body == b"by proxy"
        assert (await failure(client, "http://10.0.0.1/")).error.code is PageErrorCode.FORBIDDEN
    assert site.paths() == ["http://public.invalid/page"]


async def test_a_question_is_answered_whatever_the_status_and_its_redirect_is_shown(client, site, reply) -> None:
    for status in (200, 302, 403, 404, 500):
        url = site.on("/ask", reply("said", status, {"location": "/elsewhere"}))
        response = await client.request(url, method="POST", content=b"x")
        assert (response.status, response.body, response.final_url) == (status, b"said", url)
        assert response.headers["location"] == "/elsewhere"
    assert {asked.path for asked in site.asked} == {"/ask"}


async def test_a_question_is_asked_again_by_post_where_that_may_help(client, site, reply, waits) -> None:
    answers = [reply("", 503), reply("", 429, {"retry-after": "2"}), reply("at last")]
    url = site.on("/ask", lambda _: answers.pop(0))
    assert (await client.request(url, method="POST", content=b"x")).body == b"at last"
    assert [asked.body for asked in site.asked] == [b"x"] * 3
    assert waits.seconds == [0.5, 2.0]
    site.on("/ask", reply("", 503))
    assert (await client.request(url)).status == 503
    with pytest.raises(FetchError) as caught:
        await client.request("http://127.0.0.1:9/")
    assert caught.value.error.code is PageErrorCode.FORBIDDEN
