"""Items as a person uses them, in a real browser: from a Chinese word in a text to the words of the saved page."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Page, Route, async_playwright, expect

from docs.tools.screenshots import SHOTS, sit_down, take
from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.model import BrowserSettings, Settings
from monitor.db.tables.collection import Item, Source
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web
from tests.acceptance.people import PASSWORD


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    try:
        path = find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture
async def address(tmp_path: Path, sqlite_url: str, free_port: int) -> AsyncIterator[str]:
    """A service with what the sample bureau published, and an editor."""
    site = SampleSite("bureau", today=SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date())
    async with site.serve() as url:
        settings = build_sample_settings(Settings(database_url=sqlite_url), url, folder=tmp_path)
        settings.web.port = free_port
        async with open_app(settings) as app:
            focus = [area["name"] for area in site.focus_areas]
            source = await app.sources.add(
                {"name": site.title, "url": f"{url}/", "focus_areas": focus}, by=COMMAND_LINE
            )
            await app.sweeps.sweep(source, by=COMMAND_LINE)
            await app.people.add("editor", "editor", by=COMMAND_LINE)
            await app.people.set_password("editor", PASSWORD, by=COMMAND_LINE)
            async with serve_web(app) as served:
                yield served


async def sign_in(page: Page, address: str) -> None:
    await page.goto(f"{address}items")
    await page.get_by_label("用户名").fill("editor")
    await page.locator("[name=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{address}items")


async def test_from_a_word_in_a_text_to_the_words_of_the_saved_page(chromium: Browser, address: str) -> None:
    context = await chromium.new_context(locale="zh-CN")
    page = await context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await sign_in(page, address)

    await page.get_by_label("标题、摘要或正文中的词").fill("建档立卡")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**q=*")  # its script is there too: without it the star is a plain form
    found = page.locator(".rows > .row")
    await expect(found).to_have_count(1)
    await expect(found.locator("mark").first).to_have_text("建档立卡")
    star = found.get_by_role("button", name="加星")
    await star.press("Enter")
    await expect(star).to_have_attribute("aria-pressed", "true")
    assert "q=" in page.url  # nothing was loaded anew

    title = await found.locator("h3 a").inner_text()
    await page.goto(await found.get_by_role("link", name=title).evaluate("link => link.href"))
    await expect(page.locator("h1")).to_have_text(title)
    await expect(page.locator(".head").get_by_role("button", name="加星")).to_have_attribute("aria-pressed", "true")
    claim = page.locator(".claims > li", has_text="1460个").last
    await claim.get_by_role("link").click()
    passage = page.locator("mark#passage")
    await expect(passage).to_contain_text("已有1460个项目完成建档立卡")
    await expect(passage).to_be_in_viewport()

    await page.get_by_role("link", name=f"← {title}").click()
    await page.get_by_role("button", name="隐藏").click()
    await expect(page.locator(".notice")).to_have_text("条目已标记。")
    await page.goto(f"{address}items?q=建档立卡")
    await expect(found).to_have_count(0)
    await page.goto(f"{address}items?hidden=only")
    await expect(found).to_have_count(1)
    assert complaints == []
    await context.close()


class KeyCounter:
    """Presses keys on a page and counts them; `loads` counts the pages that were loaded meanwhile."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.presses = self.loads = 0
        page.on("framenavigated", lambda _: self._count_load())

    def _count_load(self) -> None:
        self.loads += 1

    async def press(self, keys: str) -> None:
        for key in keys.split():
            self.presses += 1
            await self._page.keyboard.press(key)


@pytest.fixture
async def hundred(sqlite_url: str, tmp_path: Path, free_port: int) -> AsyncIterator[str]:
    """A service with a hundred new items, and an editor."""
    settings = Settings(database_url=sqlite_url, data_dir=tmp_path)
    settings.web.port = free_port
    async with open_app(settings) as app:
        now = SystemClock().now()
        source = await app.store.sources.add(Source(name="示例部", url="https://gov.example/", created_at=now))
        for number in range(100):
            url = f"https://gov.example/{number}.html"
            item = Item(
                source_id=source.id,
                run_id="r1",
                source="示例部",
                section="通知",
                url=url,
                url_key=url,
                title=f"关于事项{number:03}的通知",
                date=now.date(),
                tier=4,
                first_seen=now,
            )
            await app.store.items.save(item)
        await app.people.add("editor", "editor", by=COMMAND_LINE)
        await app.people.set_password("editor", PASSWORD, by=COMMAND_LINE)
        async with serve_web(app) as served:
            yield served


async def count_items(page: Page, address: str, filters: str) -> int:
    answer = await page.request.get(f"{address}api/items?limit=200&{filters}")
    return len((await answer.json())["items"])


async def test_a_hundred_items_are_triaged_with_at_most_140_keys_and_no_page_load(
    chromium: Browser, hundred: str
) -> None:
    context = await chromium.new_context(locale="zh-CN", viewport={"width": 1000, "height": 800})
    page = await context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await sign_in(page, hundred)
    await page.wait_for_load_state()
    # The rest of the list comes only after the last key: nobody's keys may outrun the page.
    are_keys_pressed = asyncio.Event()

    async def hold_back(route: Route) -> None:
        await are_keys_pressed.wait()
        await route.continue_()

    await page.route(lambda url: "cursor=" in url, hold_back)
    keys = KeyCounter(page)
    await keys.press("j")
    for _ in range(10):
        await keys.press(" ".join(["h"] * 6))  # hide six
        await keys.press("s j")  # star one, and go on
        await keys.press(" ".join(["b"] * 3))  # three into the briefing
    are_keys_pressed.set()
    await expect(page.locator(".rows > .row")).to_have_count(40)
    await expect(page.locator(".row.collected")).to_have_count(30)
    await expect(page.locator("#triage")).to_have_attribute("aria-busy", "false", timeout=30_000)  # all is stored
    briefing = await page.locator("#briefing").input_value()
    collected = await page.request.get(f"{hundred}api/briefings/{briefing}")
    assert len((await collected.json())["briefing"]["items"]) == 30
    assert await count_items(page, hundred, "hidden=only") == 60
    assert await count_items(page, hundred, "starred=true") == 10
    assert keys.presses <= 140
    assert keys.loads == 0
    assert complaints == []
    await context.close()


async def test_an_action_is_undone_and_many_are_marked_with_few_clicks(chromium: Browser, hundred: str) -> None:
    context = await chromium.new_context(locale="zh-CN", viewport={"width": 1400, "height": 900})
    page = await context.new_page()
    await sign_in(page, hundred)
    await page.wait_for_load_state()
    rows = page.locator(".rows > .row")
    first = await rows.first.get_attribute("data-id")
    await page.keyboard.press("j")
    await page.keyboard.press("h")
    await expect(page.locator(f'.row[data-id="{first}"]')).to_have_count(0)
    await expect(page.locator(".toast")).to_contain_text("已隐藏：1 条。")
    await page.keyboard.press("z")
    await expect(rows.first).to_have_attribute("data-id", str(first))
    await expect(page.locator(".toast")).to_contain_text("已撤销")
    assert await count_items(page, hundred, "hidden=only") == 0

    # Forty items with three clicks: the first tick, the last one with shift, and the button.
    boxes = rows.locator("input[type=checkbox]")
    await boxes.nth(0).click()
    await boxes.nth(39).click(modifiers=["Shift"])
    await page.locator(".bulk [data-act=later]").click()
    await expect(page.locator(".toast")).to_contain_text("40")
    assert await count_items(page, hundred, "later=true") == 40

    # The item beside the list, which follows the keys and becomes read.
    await page.keyboard.press("o")
    pane = page.locator(".pane")
    await expect(pane.locator("h1")).to_be_visible()
    shown = await pane.locator("h1").inner_text()
    await page.keyboard.press("j")
    await expect(pane.locator("h1")).not_to_have_text(shown)
    await expect(page.locator(".row.current")).not_to_have_class(re.compile("unread"))
    await page.keyboard.press("Escape")
    await expect(pane).to_be_hidden()
    await context.close()


async def test_the_script_of_the_screenshots_takes_those_that_have_to_find_their_way(
    chromium: Browser, address: str, tmp_path: Path
) -> None:
    person = await sit_down(chromium, "en", address, name="editor")
    shots = [shot for shot in SHOTS if shot.name in ("items", "evidence", "policy")]
    images = [(await take(shot, person, tmp_path)).read_bytes() for shot in shots]
    sizes = [(int.from_bytes(image[16:20]), int.from_bytes(image[20:24])) for image in images]
    assert sizes == [(shot.width, shot.height) for shot in shots]
    assert len(set(images)) == len(shots) == 3
