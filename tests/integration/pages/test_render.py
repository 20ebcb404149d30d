import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import Renderer
from monitor.fetch.guard import Guard
from monitor.fetch.result import FetchError
from monitor.i18n.catalogue import render
from monitor.page import PageErrorCode

pytestmark = pytest.mark.asyncio(loop_scope="module")

DRAWN_LATE = """<html><head><title>Late</title></head><body><div id="app"></div><script>
fetch('/data').then(r => r.json()).then(rows => {
  document.getElementById('app').innerHTML = rows.map(r => `<li><a href="/n/${r}">第${r}号公告</a></li>`).join('');
});</script></body></html>"""
DRAWN_BY_TIMER = """<html><body><div id="app"></div><script>
setTimeout(() => { document.getElementById('app').textContent = 'drawn in the end'; }, 600);</script></body></html>"""
COOKIE_WALL = "<html><body><script>document.cookie='pass=1'; location.reload();</script></body></html>"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(open_site) -> AsyncIterator[tuple[Any, Renderer]]:
    """One browser for all tests that do not need one of their own: starting it costs more than most of them."""
    pages = PagesSettings(timeout_s=20)
    try:
        find_browser(pages.browser)
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with open_site() as site:
        opened = open_renderer(pages, NetworkSettings(allowed_private_hosts=[site.host]))
        yield site, opened
        await opened.close()


@pytest.fixture
def site(shared) -> Any:
    site, _ = shared
    site.forget()
    return site


@pytest.fixture
def renderer(shared) -> Renderer:
    _, renderer = shared
    return renderer


def open_renderer(pages: PagesSettings, network: NetworkSettings) -> Renderer:
    return Renderer(pages=pages, network=network, guard=Guard(allowed_private_hosts=network.allowed_private_hosts))


async def failure(renderer: Renderer, url: str) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await renderer.render(url)
    return caught.value


async def test_what_scripts_draw_is_seen(renderer, site, reply) -> None:
    site.on("/data", reply("[1,2,3]", headers={"content-type": "application/json"}))
    response = await renderer.render(site.on("/", DRAWN_LATE))
    assert response.status == 200
    assert "第3号公告" in response.body.decode("utf-8-sig")


async def test_a_page_that_is_still_empty_is_given_more_time(renderer, site) -> None:
    assert b"drawn in the end" in (await renderer.render(site.on("/", DRAWN_BY_TIMER))).body


async def test_a_page_that_never_rests_is_taken_as_it_stands(site, network) -> None:
    busy = "<html><body><p id=p>%s</p><script>setInterval(() => p.append('.'), 20)</script>"
    renderer = open_renderer(PagesSettings(timeout_s=4), network)
    try:
        assert b"stands" in (await renderer.render(site.on("/", busy % ("it stands here " * 30)))).body
    finally:
        await renderer.close()


async def test_pictures_fonts_and_media_are_not_loaded(renderer, site) -> None:
    page = (
        "<html><head><style>@font-face{font-family:f;src:url(/f.woff2)} p{font-family:f}</style></head>"
        "<body><p>text</p><img src=/i.png><video src=/v.mp4 autoplay></video><script src=/s.js></script></body></html>"
    )
    site.on("/s.js", "1")
    await renderer.render(site.on("/", page))
    assert site.paths() == ["/", "/s.js"]


async def test_a_cookie_wall_is_passed_as_any_browser_does(renderer, site, reply) -> None:
    def wall(asked):
        return reply("<p>inside</p>") if "pass=1" in asked.headers.get("cookie", "") else reply(COOKIE_WALL, 412)

    response = await renderer.render(site.on("/", wall))
    assert (response.status, b"inside" in response.body) == (200, True)


async def test_a_wall_that_stays_is_a_block(renderer, site, reply) -> None:
    error = await failure(renderer, site.on("/", reply("<p>no</p>", 412)))
    assert (error.error.code, error.error.detail_code) == (PageErrorCode.WEB_BLOCKED, "http_412")


@pytest.mark.parametrize(("status", "code"), [(404, "NotFound"), (403, "WebBlocked"), (500, "BadGateway")])
async def test_error_statuses_are_named_as_without_a_browser(renderer, site, reply, status: int, code: str) -> None:
    assert (await failure(renderer, site.on("/", reply("<p>no</p>", status)))).error.code == code


async def test_redirects_end_at_the_final_url(renderer, site, reply) -> None:
    site.on("/end", "<p>there</p>")
    response = await renderer.render(site.on("/start", reply(status=302, headers={"location": "/end"})))
    assert response.final_url == site.url("/end")
    assert response.hops == (site.url("/start"), site.url("/end"))


async def test_requests_of_the_page_to_private_addresses_are_refused(renderer, site) -> None:
    reached = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(note, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    target = f"127.0.0.1:{port}"
    page = (
        f"<html><body><p>text</p><iframe src='http://{target}/frame'></iframe><script src='http://{target}/s.js'></script>"
        f"<script>fetch('http://{target}/fetch').catch(() => 0); new WebSocket('ws://{target}/socket');"
        f"navigator.sendBeacon('http://{target}/beacon', 'x')</script></body></html>"
    )
    await renderer.render(site.on("/", page))
    server.close()
    await server.wait_closed()
    assert reached == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://2130706433/", "file:///etc/passwd", "data:text/html,x"])
async def test_the_browser_is_not_sent_where_we_do_not_go(renderer, url: str) -> None:
    assert (await failure(renderer, url)).error.code is PageErrorCode.FORBIDDEN


async def test_a_page_that_leads_to_a_private_address_is_refused(renderer, site, reply) -> None:
    script = site.on("/script", "<script>location.href = 'http://127.0.0.1:1/secret'</script>")
    assert (await failure(renderer, script)).error.code is PageErrorCode.FORBIDDEN


async def test_a_document_is_no_page(renderer, site, reply) -> None:
    pdf = reply(b"%PDF-1.4 x", headers={"content-type": "application/octet-stream"})
    assert (await failure(renderer, site.on("/a.bin", pdf))).error.code is PageErrorCode.UNSUPPORTED_TYPE


async def test_a_page_over_the_limit_is_too_large(site, network) -> None:
    renderer = open_renderer(PagesSettings(max_bytes=50_000), network)
    try:
        assert (await failure(renderer, site.on("/", "x" * 60_000))).error.code is PageErrorCode.TOO_LARGE
    finally:
        await renderer.close()


async def test_a_site_that_does_not_answer_ends_as_a_timeout(site, network) -> None:
    async def silence(writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    renderer = open_renderer(PagesSettings(timeout_s=2), network)
    try:
        assert (await failure(renderer, site.on("/", lambda _: silence))).error.code is PageErrorCode.TIMEOUT
        assert b"fine" in (await renderer.render(site.on("/fine", "<p>fine</p>"))).body
    finally:
        await renderer.close()


async def test_a_dialog_or_a_popup_stops_nothing(renderer, site) -> None:
    page = "<html><body><p>text</p><script>alert('x'); window.open('/other')</script></body></html>"
    assert b"text" in (await renderer.render(site.on("/", page))).body


async def test_pages_are_drawn_at_once_up_to_the_limit_and_the_browser_is_recycled(site, network) -> None:
    settings = PagesSettings(max_concurrency=2, browser=BrowserSettings(recycle_after=3))
    renderer = open_renderer(settings, network)
    urls = [site.on(f"/{i}", f"<p>page {i}</p>") for i in range(5)]
    try:
        first = await renderer.render(urls[0])
        session = renderer._session
        answers = await asyncio.gather(*(renderer.render(url) for url in urls))
        assert [b"page %d" % i in answer.body for i, answer in enumerate(answers)] == [True] * 5
        assert b"page 0" in first.body
        assert renderer._session is not session
        assert session is not None
        assert session.is_dead()
    finally:
        await renderer.close()


async def test_a_page_that_goes_on_while_the_next_one_is_loaded_does_not_reach_it(renderer, site, reply) -> None:
    """It fetches, and wants to lead the tab elsewhere, between the next page's request and its answer."""
    is_listening, next_is_asked, has_gone_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def call_when_the_next_is_asked(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        await writer.drain()
        is_listening.set()
        await next_is_asked.wait()
        writer.write(b"data: x\n\n")
        await writer.drain()
        await asyncio.Event().wait()

    async def answer_when_the_first_has_gone_on(writer: asyncio.StreamWriter) -> None:
        next_is_asked.set()
        await has_gone_on.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>second</p>")
        await writer.drain()

    def note(asked):
        has_gone_on.set()
        return reply("fine")

    site.on("/calls", lambda _: call_when_the_next_is_asked)
    site.on("/gone-on", note)
    site.on("/elsewhere", "<p>elsewhere</p>")
    script = (
        "new EventSource('/calls').onmessage = () => { document.body.append('late');"
        "fetch('/gone-on'); fetch('/never', {keepalive: true}); location.href = '/elsewhere' }"
    )
    first = site.on("/first", f"<html><body><p>{'first ' * 60}</p><script>{script}</script></body></html>")
    second = site.on("/second", lambda _: answer_when_the_first_has_gone_on)
    assert b"first" in (await renderer.render(first)).body
    await is_listening.wait()
    response = await renderer.render(second)
    assert (response.final_url, response.hops) == (second, (second,))
    assert b"<p>second</p>" in response.body
    assert b"late" not in response.body


async def test_a_page_that_no_other_follows_is_left(renderer, site, reply) -> None:
    is_left = asyncio.Event()

    def note(asked):
        is_left.set()
        return reply("fine")

    site.on("/left", note)
    script = "addEventListener('pagehide', () => fetch('/left', {keepalive: true}))"
    await renderer.render(site.on("/", f"<html><body><p>{'text ' * 60}</p><script>{script}</script></body></html>"))
    async with asyncio.timeout(20):
        await is_left.wait()


async def test_a_browser_that_dies_is_started_again(renderer, site) -> None:
    url = site.on("/", "<p>fine</p>")
    await renderer.render(url)
    await crash(renderer)
    assert b"fine" in (await renderer.render(url)).body


async def test_a_browser_that_dies_in_mid_page_is_started_once_more(renderer, site, reply) -> None:
    deaths = 1

    def deadly(asked):
        async def kill(writer: asyncio.StreamWriter) -> None:
            await crash(renderer)

        nonlocal deaths
        deaths -= 1
        return kill if deaths >= 0 else reply("<p>fine</p>")

    assert b"fine" in (await renderer.render(site.on("/", deadly))).body


async def test_a_page_that_kills_every_browser_is_an_error_of_the_page(renderer, site) -> None:
    async def kill(writer: asyncio.StreamWriter) -> None:
        await crash(renderer)

    error = await failure(renderer, site.on("/", lambda _: kill))
    assert error.error.code is PageErrorCode.NETWORK
    assert "stopped 2 times" in render(error.error.message, "en")


async def test_a_browser_that_cannot_be_started_is_missing(network, tmp_path) -> None:
    broken = tmp_path / "browser"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    renderer = open_renderer(PagesSettings(browser=BrowserSettings(path=broken)), network)
    with pytest.raises(BrowserMissing, match=r"pages\.browser\.path"):
        await renderer.render("http://93.184.216.34/")
    renderer = open_renderer(PagesSettings(browser=BrowserSettings(endpoint="http://127.0.0.1:1")), network)
    with pytest.raises(BrowserMissing, match="endpoint"):
        await renderer.render("http://93.184.216.34/")


async def crash(renderer: Renderer) -> None:
    """Kills the browser's own process, as the system does when memory runs out."""
    session = renderer._session
    assert session is not None
    died = asyncio.Event()
    session._browser.on("disconnected", lambda _: died.set())
    control = await session._browser.new_browser_cdp_session()
    killing = asyncio.ensure_future(control.send("Browser.crash"))
    await died.wait()
    await asyncio.gather(killing, return_exceptions=True)
