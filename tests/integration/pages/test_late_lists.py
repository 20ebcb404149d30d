"""Lists that come late, and pages that never rest: all rows are seen."""

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

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROW_COUNT = 12
ROWS = "".join(
    f"<li><a href='/notice/{n}.html'>关于开展第{n}批试点工作的通知公告</a><span>2026-11-{n + 1:02}</span></li>"
    for n in range(ROW_COUNT)
)
FRAME = (
    "<nav><a href='/a'>首页</a><a href='/b'>政务公开</a></nav><footer>"
    + "主办单位：办公厅 版权所有 " * 30
    + "</footer>"
)
ENDLESS = "<script>const polls = () => fetch('/status').then(answer => answer.text()).then(polls); polls()</script>"
TICKING = "<p id=clock></p><script>setInterval(() => { clock.textContent = performance.now() }, 20)</script>"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(open_site) -> AsyncIterator[tuple[Any, Renderer]]:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with open_site() as site:
        renderer = open_renderer(site)
        yield site, renderer
        await renderer.close()


def open_renderer(site: Any) -> Renderer:
    network = NetworkSettings(allowed_private_hosts=[site.host])
    return Renderer(pages=PagesSettings(timeout_s=30), network=network, guard=Guard.from_settings(network))


@pytest.fixture
def site(shared) -> Any:
    site, _ = shared
    site.forget()
    site.on("/rows.js", f'const rows = "{ROWS}"')
    return site


@pytest.fixture
def renderer(shared) -> Renderer:
    _, renderer = shared
    return renderer


def build_page(script: str, *, inside: str = "", around: str = FRAME) -> str:
    return (
        f"<html><head><title>通知公告</title></head><body>{around}<ul id=list>{inside}</ul>"
        "<script src=/rows.js></script>"
        f"<script>const list = document.getElementById('list'); {script}</script></body></html>"
    )


def answer_after(delay_s: float, body: str):
    async def write(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(delay_s)
        data = body.encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
        await writer.drain()

    return lambda _: write


async def count_rows(renderer: Renderer, url: str) -> int:
    return (await renderer.render(url)).body.count("试点工作".encode())


FILL = "list.innerHTML = rows"
FETCH = "fetch('/rows').then(answer => answer.text()).then(rows => { list.innerHTML = rows })"


@pytest.mark.parametrize(("delay_s", "around"), [(0.2, FRAME), (1, FRAME), (1, ""), (3, FRAME), (8, "")])
async def test_rows_that_a_timer_brings_are_seen(renderer, site, delay_s: float, around: str) -> None:
    page = build_page(f"setTimeout(() => {{ {FILL} }}, {delay_s * 1000})", around=around)
    assert await count_rows(renderer, site.on(f"/timer-{delay_s}-{len(around)}/list", page)) == ROW_COUNT


@pytest.mark.parametrize("delay_s", [0.2, 1, 3, 8])
async def test_rows_that_the_site_sends_late_are_seen(renderer, site, delay_s: float) -> None:
    site.on("/rows", answer_after(delay_s, ROWS))
    assert await count_rows(renderer, site.on("/list", build_page(FETCH))) == ROW_COUNT


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(f"setTimeout(() => {FETCH}, 700)", id="timer and request"),
        pytest.param(
            f"requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => {{ {FILL} }})))",
            id="frames",
        ),
        pytest.param(f"requestIdleCallback(() => {{ {FILL} }})", id="idle"),
        pytest.param(f"new IntersectionObserver(() => {{ {FILL} }}).observe(list)", id="in sight"),
        pytest.param(
            f"const c = new MessageChannel(); c.port1.onmessage = () => {{ {FILL} }}; c.port2.postMessage(1)",
            id="message",
        ),
        pytest.param(
            "const blob = new Blob(['setTimeout(() => postMessage(1), 100)']);"
            f"new Worker(URL.createObjectURL(blob)).onmessage = () => {{ {FILL} }}",
            id="worker",
        ),
        pytest.param(f"new Worker('/worker.js').onmessage = () => {{ {FILL} }}", id="worker of a file"),
        pytest.param(f"indexedDB.open('rows').onsuccess = () => setTimeout(() => {{ {FILL} }}, 0)", id="store"),
        pytest.param(
            f"let n = 0; const id = setInterval(() => {{ if (++n == 3) {{ clearInterval(id); {FILL} }} }}, 200)",
            id="interval",
        ),
        pytest.param(
            f"let left = 6; const next = () => {{ if (left--) setTimeout(next, 200); else {FILL} }}; next()", id="chain"
        ),
        pytest.param(f"setTimeout('{FILL}', 500)", id="text"),
    ],
)
async def test_rows_are_seen_whatever_brings_them(renderer, site, reply, script: str) -> None:
    site.on("/rows", ROWS)
    site.on("/worker.js", reply("setTimeout(() => postMessage(1), 100)", headers={"content-type": "text/javascript"}))
    assert await count_rows(renderer, site.on("/list", build_page(script))) == ROW_COUNT


@pytest.mark.parametrize("way", ["innerHTML", "in place"])
async def test_a_skeleton_is_waited_for_until_it_is_replaced(renderer, site, way: str) -> None:
    skeleton = "<li class=skeleton><a></a><span></span></li>" * ROW_COUNT
    fill = "for (const [n, row] of [...list.children].entries()) row.outerHTML = rows.split(/(?=<li>)/)[n]"
    script = f"setTimeout(() => {{ {FILL if way == 'innerHTML' else fill} }}, 1500)"
    assert await count_rows(renderer, site.on(f"/{way[:2]}/list", build_page(script, inside=skeleton))) == ROW_COUNT


async def test_a_second_list_that_the_site_sends_later_is_seen(renderer, site) -> None:
    """The first one is there; what the page requests for the first time may belong to it."""
    site.on("/rows", answer_after(2, ROWS.replace("/notice/", "/second/")))
    page = build_page(FETCH.replace("list.innerHTML =", "list.innerHTML +="), inside=ROWS) + TICKING
    assert await count_rows(renderer, site.on("/list", page)) == 2 * ROW_COUNT


async def test_pages_of_a_list_that_the_page_requests_in_a_row_are_all_seen(renderer, site, reply) -> None:
    site.on("/rows", lambda asked: reply(ROWS.replace("/notice/", f"/{asked.path.partition('=')[2]}/")))
    script = (
        "const load = n => n < 9 && fetch('/rows?page=' + n).then(answer => answer.text())"
        ".then(rows => { list.innerHTML += rows; load(n + 1) }); load(0)"
    )
    assert await count_rows(renderer, site.on("/list", build_page(script))) == 9 * ROW_COUNT


async def test_polling_that_never_ends_stops_nothing(renderer, site) -> None:
    site.on("/rows", answer_after(0.5, ROWS))
    site.on("/status", answer_after(0.02, "fine"))
    assert await count_rows(renderer, site.on("/list", build_page(FETCH) + ENDLESS)) == ROW_COUNT


async def test_a_page_whose_text_changes_for_ever_is_taken_once_its_list_stands_still(renderer, site) -> None:
    site.on("/rows", answer_after(0.5, ROWS))
    assert await count_rows(renderer, site.on("/list", build_page(FETCH) + TICKING)) == ROW_COUNT


async def test_a_page_that_tampers_with_what_tells_its_timers_is_read_all_the_same(renderer, site) -> None:
    script = (
        "document.addEventListener('monitor:outstanding', event => { event.stopImmediatePropagation();"
        "document.dispatchEvent(new CustomEvent('monitor:outstanding-is', {detail: '{\"timers\": 3}'})) }, true);"
        f"setTimeout(() => {{ {FILL} }}, 100)"
    )
    assert await count_rows(renderer, site.on("/list", build_page(script))) == ROW_COUNT
