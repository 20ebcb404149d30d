"""Lists that show more of themselves by a button or as they are scrolled: read on, within limits, and said so."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.pages.loader import Loader
from monitor.vocabulary import Render

pytestmark = pytest.mark.asyncio(loop_scope="module")

BATCH = 10
MAX_BATCHES = 6  # the first, and five that are asked for
NEWEST = dt.date(2026, 11, 20)


class FixedClock:
    """Always the same instant, three days after the newest row."""

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 11, 23, 8, tzinfo=dt.UTC)


def rows(batch: int) -> str:
    numbers = range(batch * BATCH, (batch + 1) * BATCH)
    return "".join(
        f"<li><a href='/notice/{n}.html'>关于开展第{n}批试点工作的通知公告</a>"
        f"<span>{NEWEST - dt.timedelta(n // 4)}</span></li>"
        for n in numbers
    )


def with_button(
    batches: int, button: str = "<button id=more onclick=more()>加载更多</button>", drawn: bool = False
) -> str:
    """A list whose button brings the next batch from the site, and goes away after the last one."""
    first = "" if drawn else rows(0)
    return f"""<html><head><title>通知公告</title></head><body><ul class=list id=list>{first}</ul>{button}<script>
let next = {0 if drawn else 1};
async function more() {{
  const answer = await fetch('/rows?batch=' + next++);
  document.getElementById('list').insertAdjacentHTML('beforeend', await answer.text());
  if (next >= {batches}) document.getElementById('more').remove();
}}
{"more();" if drawn else ""}
</script></body></html>"""


def with_scrolling(batches: int, mark: str = "class=infinite-scroll") -> str:
    """A list that brings the next batch when its end comes into sight."""
    return f"""<html><head><title>通知公告</title></head><body><div {mark}><ul class=list id=list>{rows(0)}</ul></div>
<style>li {{ line-height: 120px }}</style><script>
let next = 1, busy = false;
addEventListener('scroll', async () => {{
  if (busy || next >= {batches} || scrollY + innerHeight < document.body.scrollHeight - 50) return;
  busy = true;
  const answer = await fetch('/rows?batch=' + next++);
  document.getElementById('list').insertAdjacentHTML('beforeend', await answer.text());
  busy = false;
}});
</script></body></html>"""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(open_site, workers) -> AsyncIterator[tuple[Any, Loader]]:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with open_site() as site:
        network = NetworkSettings(allowed_private_hosts=[site.host])
        parts = Loader.from_settings(
            pages=PagesSettings(delay_s=0), network=network, clock=FixedClock(), workers=workers
        )
        async with parts as loader:
            yield site, loader


@pytest.fixture
def site(shared, reply) -> Any:
    site, _ = shared
    site.forget()
    site.on("/rows", lambda asked: reply(rows(int(asked.path.partition("batch=")[2]))))
    return site


@pytest.fixture
def loader(shared) -> Loader:
    _, parts = shared
    return parts.for_run()


@pytest.mark.parametrize("make", [with_button, with_scrolling])
async def test_all_batches_of_a_list_that_ends_are_seen(loader, site, make: Callable[[int], str]) -> None:
    page = await loader.load(site.on("/list", make(4)))
    assert [candidate.url for candidate in page.candidates] == [site.url(f"/notice/{n}.html") for n in range(4 * BATCH)]
    assert (page.rendered, page.is_cut_short) == (True, False)
    assert page.candidates[-1].date == NEWEST - dt.timedelta((4 * BATCH - 1) // 4)


@pytest.mark.parametrize("make", [with_button, with_scrolling])
async def test_a_list_without_end_is_left_at_the_limit_and_says_so(loader, site, make: Callable[[int], str]) -> None:
    page = await loader.load(site.on("/list", make(10**9)))
    assert (len(page.candidates), page.is_cut_short) == (MAX_BATCHES * BATCH, True)
    assert len([path for path in site.paths() if path.startswith("/rows")]) == MAX_BATCHES - 1


@pytest.mark.parametrize("make", [with_button, with_scrolling])
async def test_a_list_whose_site_does_not_answer_for_more_is_cut_short(
    loader, site, make: Callable[[int], str]
) -> None:
    is_over = asyncio.Event()

    async def keep_silent(writer: asyncio.StreamWriter) -> None:
        await is_over.wait()

    site.on("/silent", lambda _asked: keep_silent)
    page = await loader.load(site.on("/list", make(4).replace("/rows?", "/silent?")))
    is_over.set()
    assert (len(page.candidates), page.is_cut_short) == (BATCH, True)


async def test_with_each_scroll_a_list_has_as_much_time_as_it_had_at_first(loader, site) -> None:
    def answer_late(asked: Any) -> Any:
        async def answer(writer: asyncio.StreamWriter) -> None:
            body = rows(int(asked.path.partition("batch=")[2])).encode()
            await asyncio.sleep(4.5)
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()

        return answer

    site.on("/late", answer_late)  # nothing has been learned yet of how long this takes
    page = await loader.load(site.on("/list", with_scrolling(3).replace("/rows?", "/late?")))
    assert (len(page.candidates), page.is_cut_short) == (3 * BATCH, False)


async def test_a_list_that_is_drawn_by_scripts_is_read_on_too(loader, site) -> None:
    page = await loader.load(site.on("/list", with_button(3, drawn=True)))
    assert (len(page.candidates), page.is_cut_short) == (3 * BATCH, False)


@pytest.mark.parametrize(
    "button",
    [
        "<a id=more href='javascript:more()'>查看更多</a>",
        "<a id=more href='#' onclick='more()'>Load more news</a>",
        "<div id=more class=load-more onclick=more()>点击加载更多</div>",
        "<input type=button id=more value='もっと見る' onclick=more()>",
        "<button id=more onclick=more()><span>Mehr anzeigen</span></button>",
    ],
)
async def test_buttons_of_many_makes_are_pressed(loader, site, button: str) -> None:
    assert len((await loader.load(site.on("/list", with_button(2, button)))).candidates) == 2 * BATCH


@pytest.mark.parametrize(
    "button",
    [
        "<a id=more href='/all.html'>查看更多</a>",  # a way to a section
        "<form action='/search'><button id=more>加载更多</button></form>",
        "<p id=more>加载更多</p>",
        "<button id=more onclick=more()>联系我们</button>",
    ],
)
async def test_what_is_no_button_for_more_is_not_pressed(loader, site, button: str) -> None:
    page = await loader.load(site.on("/list", with_button(2, button)), render=Render.ALWAYS)
    assert (len(page.candidates), page.is_cut_short) == (BATCH, False)
    assert not [path for path in site.paths() if path not in ("/robots.txt", "/list")]


async def test_a_button_that_leads_away_leaves_the_list_as_it_was(loader, site) -> None:
    site.on("/elsewhere", "<html><body><p>another page</p></body></html>")
    button = "<button id=more onclick=\"location.href = '/elsewhere'\">加载更多</button>"
    page = await loader.load(site.on("/list", with_button(2, button)))
    assert (len(page.candidates), page.final_url) == (BATCH, site.url("/list"))


async def test_a_button_that_brings_nothing_is_pressed_once(loader, site, reply) -> None:
    site.on("/rows", reply(""))
    page = await loader.load(site.on("/list", with_button(9)))
    assert (len(page.candidates), page.is_cut_short) == (BATCH, False)
    assert len([path for path in site.paths() if path.startswith("/rows")]) == 1


async def test_an_article_is_not_scrolled_into_the_next_one(loader, site) -> None:
    text = "<p>" + "各有关单位：现将有关事项通知如下，请认真贯彻执行，并于月底前报送材料。" * 60 + "</p>"
    page = with_scrolling(4).replace("<div", f"<h1>关于做好工作的通知</h1>{text}<div", 1)
    assert "/rows" not in (await loader.load(site.on("/article", page), render=Render.ALWAYS)).text
    assert not [path for path in site.paths() if path.startswith("/rows")]


async def test_without_the_browser_a_list_with_a_button_for_more_is_cut_short(loader, site) -> None:
    page = await loader.load(site.on("/list", with_button(3)), render=Render.NEVER)
    assert (len(page.candidates), page.rendered, page.is_cut_short) == (BATCH, False, True)


async def test_a_list_that_needed_the_browser_for_more_does_not_draw_its_neighbours(loader, site) -> None:
    await loader.load(site.on("/news/list", with_button(2)))
    assert not (await loader.load(site.on("/news/1.html", f"<h1>通知</h1><p>{'正文' * 200}</p>"))).rendered
