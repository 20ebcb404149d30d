"""Adding a source by its address, and a newcomer's first three clicks, in Chromium as a person does them."""

import asyncio
import datetime as dt
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from monitor.bootstrap import App, open_app, open_service
from monitor.config.model import Settings
from monitor.demo.site import SampleSite
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web

PASSWORD = "a long and quiet word"  # noqa: S105 -- of a person who lives for one test
TIMEOUT_MS = 60_000
WORDS = {
    "zh-CN": {"add": "添加来源", "try": "试采", "save": "保存"},
    "en-US": {"add": "Add a source", "try": "Try it", "save": "Save"},
}


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@asynccontextmanager
async def signed_in(app: App, browser: Browser, locale: str) -> AsyncIterator[Page]:
    """A page of an administrator who has just signed in; whatever the browser complains of fails the test."""
    await app.people.add("anna", "admin", by=COMMAND_LINE)
    await app.people.set_password("anna", PASSWORD, by=COMMAND_LINE)
    complaints: list[str] = []
    async with serve_web(app) as address:
        context = await browser.new_context(locale=locale, base_url=address)
        page = await context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        await page.goto("/sign-in")
        await page.fill("input[name=name]", "anna")
        await page.fill("input[name=password]", PASSWORD)
        await page.press("input[name=password]", "Enter")
        await page.wait_for_selector("nav.main")
        yield page
        await context.close()
    assert complaints == []


def settings_in(folder: Path, url: str, port: int, **more: Any) -> Settings:
    return Settings(data_dir=folder, database_url=url, web={"port": port}, **more)


@pytest.mark.parametrize("locale", WORDS)
async def test_a_source_is_added_by_its_address(
    locale: str, browser: Browser, tmp_path: Path, sqlite_url: str, free_port: int
) -> None:
    words, site = WORDS[locale], SampleSite(today=dt.datetime.now(dt.UTC).date())
    report = site.holds["/rsrm/"] = asyncio.Event()
    async with AsyncExitStack() as stack:
        base_url = await stack.enter_async_context(site.serve())
        settings = settings_in(
            tmp_path,
            sqlite_url,
            free_port,
            network={"allowed_private_hosts": [urlsplit(base_url).netloc]},
            pages={"delay_s": 0, "render": "never", "timeout_s": 2 * TIMEOUT_MS / 1000},
        )
        app = await stack.enter_async_context(open_app(settings))
        page = await stack.enter_async_context(signed_in(app, browser, locale))
        await page.goto("/sources")
        await page.get_by_role("link", name=words["add"]).first.click()
        await expect(page.locator("input[name=url]")).to_be_focused()
        await page.keyboard.type(f"{base_url}/")
        await page.get_by_role("button", name=words["try"], exact=True).click()
        await page.wait_for_selector("[data-trial] li")  # told while it goes: a section is still waiting to be read
        report.set()
        pin = page.locator(".section.card").filter(has=page.locator("strong", has_text="政策法规")).first
        await pin.wait_for()
        assert await app.sources.list_sources() == []
        expected = [item for item in site.list_expected_items(base_url) if item.section == "政策法规"]
        row = pin.locator("tr").filter(has_text=expected[0].title)
        assert expected[0].date.isoformat() in await row.inner_text()
        await pin.locator("input[name=pin]").check()
        assert await page.input_value("input[name=name]") == site.title
        await page.fill("textarea[name=tags]", "能源")
        await page.get_by_role("button", name=words["save"], exact=True).click()
        await page.wait_for_url("**/runs/*")
        (source,) = await app.sources.list_sources()
        assert [section["name"] for section in source.sections] == ["政策法规"]
        assert (source.name, source.tags) == (site.title, ["能源"])


async def test_three_clicks_bring_a_newcomer_to_the_sample_briefing(
    browser: Browser, tmp_path: Path, sqlite_url: str, free_port: int
) -> None:
    settings = settings_in(tmp_path, sqlite_url, free_port, pages={"render": "never"})
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_service(settings, worker=True, scheduler=False))
        page = await stack.enter_async_context(signed_in(app, browser, "zh-CN"))
        await page.goto("/")
        await page.locator("form[action$='/sources/sample'] button").click()  # one
        await page.wait_for_url("**/runs/*")
        read = page.locator("form[action$='/briefings/open'] button:visible")
        await read.wait_for()  # the page says by itself that the run has ended
        await read.click()  # two
        await page.wait_for_selector(".reading")  # the page follows the composing by itself
        title = SampleSite(today=dt.datetime.now(dt.UTC).date()).title
        text = await page.locator("main").inner_text()
        assert title in text
        run = (await app.store.runs.list())[0]
        items = await app.store.items.list_for_run(run.id)
        assert items
        assert sum(item.title in text for item in items) >= 5


async def test_six_clicks_and_one_reading_bring_a_real_source_to_its_first_briefing(
    browser: Browser, tmp_path: Path, sqlite_url: str, free_port: int
) -> None:
    """From an empty database: the site is asked for each of its pages once, by trial and first run together."""
    site = SampleSite("bureau", today=dt.datetime.now(dt.UTC).date())
    clicks = 0
    async with AsyncExitStack() as stack:
        base_url = await stack.enter_async_context(site.serve())
        settings = settings_in(
            tmp_path,
            sqlite_url,
            free_port,
            network={"allowed_private_hosts": [urlsplit(base_url).netloc]},
            pages={"delay_s": 0, "render": "never"},
        )
        app = await stack.enter_async_context(open_service(settings, worker=True, scheduler=False))
        page = await stack.enter_async_context(signed_in(app, browser, "en-US"))

        async def click(name: str) -> None:
            nonlocal clicks
            clicks += 1
            await page.locator(f"main :is(a, button):visible:text-is('{name}')").first.click()

        await page.goto("/sources")
        await click("Add a source")
        await expect(page.locator("[name=url]")).to_be_focused()
        await page.keyboard.type(f"{base_url}/")
        await click("Try it")
        await page.locator(".card.keep").wait_for(timeout=3 * TIMEOUT_MS)
        tried = await page.locator("p.notice").inner_text()  # "12 items would be saved now."
        await click("Save")
        await page.wait_for_url("**/runs/*")
        read = page.locator("form[action$='/briefings/open'] button:visible")
        await read.wait_for()
        clicks += 1
        await read.click()
        await page.wait_for_selector(".reading")
        assert clicks <= 6
        (source,) = await app.sources.list_sources()
        (run,) = await app.store.runs.list()
        assert (run.source_id, run.status, run.is_baseline) == (source.id, "succeeded", True)
        assert source.schedule == "30 6 * * *"
        items = await app.store.items.list_for_run(run.id)
        assert len(items) == int(tried.split()[0]) > 5
        for item in items:
            assert await app.store.evidence.list_claims(item.id or 0), item.title
        report = await app.runs.get_full_report(run.id)
        assert report.coverage.saved == len(items)
        repeated = {path: count for path, count in Counter(site.requests).items() if count > 1}
        assert repeated == {}
