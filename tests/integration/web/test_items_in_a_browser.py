"""Items as a person uses them, in a real browser: from a Chinese word in a text to the words of the saved page."""

from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.model import BrowserSettings, Settings
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web

PASSWORD = "a long and quiet word"  # noqa: S105 -- of somebody who lives for one test


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
    found = page.locator(".items > li")
    await expect(found).to_have_count(1)
    await expect(found.locator("mark").first).to_have_text("建档立卡")
    star = found.get_by_role("button", name="加星")
    await star.press("Enter")
    await expect(star).to_have_attribute("aria-pressed", "true")
    assert "q=" in page.url  # nothing was loaded anew

    title = await found.locator("h2").inner_text()
    await found.get_by_role("link", name=title).click()
    await expect(page.locator("h1")).to_have_text(title)
    await expect(page.locator(".star button")).to_have_attribute("aria-pressed", "true")
    claim = page.locator(".claims > li", has_text="1460个").last
    await claim.get_by_role("link").click()
    passage = page.locator("mark#passage")
    await expect(passage).to_contain_text("已有1460个项目完成建档立卡")
    await expect(passage).to_be_in_viewport()

    await page.get_by_role("link", name=f"← {title}").click()
    await page.get_by_label("理由").fill("与业务无关")
    await page.get_by_role("button", name="隐藏此条").click()
    await expect(page.locator(".notice")).to_have_text("此条已隐藏。")
    await page.goto(f"{address}items?q=建档立卡")
    await expect(found).to_have_count(0)
    await page.goto(f"{address}items?hidden=only")
    await expect(found).to_have_count(1)
    assert complaints == []
    await context.close()
