"""A run as a person watches it in Chromium: live to its end without a reload, then any candidate by keyboard."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Page, async_playwright, expect

from monitor.bootstrap import App, open_service
from monitor.config.model import BrowserSettings, Settings
from monitor.db.queries.history import LedgerRow
from monitor.db.tables.collection import Source
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web
from monitor.web.ui.runs import ROWS_PER_PAGE

PASSWORD = "a long and quiet word"  # noqa: S105 -- of somebody who lives for one test
TIMEOUT_MS = 60_000
SECTIONS = ("政策法规", "人事任免")


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A window; whatever the browser complains of fails the test."""
    try:
        path = find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    complaints: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        page = await (await browser.new_context(locale="zh-CN")).new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        yield page
        await browser.close()
    assert complaints == []


@pytest.fixture
async def service(
    tmp_path: Path, sqlite_url: str, free_port: int
) -> AsyncIterator[tuple[App, str, Source, SampleSite]]:
    """A service with a worker, its address, and two sections of the sample ministry."""
    site = SampleSite(today=dt.datetime.now(ZoneInfo(TIMEZONE)).date())
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(site.serve())
        settings = build_sample_settings(Settings(), url, folder=tmp_path)
        settings.database_url, settings.web.port, settings.pages.render = sqlite_url, free_port, "never"
        settings.pages.timeout_s = 2 * TIMEOUT_MS / 1000
        app = await stack.enter_async_context(open_service(settings, worker=True, scheduler=False))
        await app.people.add("anna", "editor", by=COMMAND_LINE)
        await app.people.set_password("anna", PASSWORD, by=COMMAND_LINE)
        pinned = [section for section in site.list_sections(url) if section["name"] in SECTIONS]
        source = await app.sources.add({"name": site.title, "url": f"{url}/", "sections": pinned}, by=COMMAND_LINE)
        yield app, await stack.enter_async_context(serve_web(app)), source, site


async def sign_in(page: Page, address: str) -> None:
    await page.goto(f"{address}sign-in")
    await page.fill("[name=name]", "anna")
    await page.fill("[name=password]", PASSWORD)
    await page.press("[name=password]", "Enter")
    await page.wait_for_selector("nav.main")


async def focused(page: Page) -> str:
    return str(await page.evaluate("document.activeElement.id"))


async def test_a_run_is_watched_to_its_end_and_a_candidate_found_by_keyboard(
    page: Page, service: tuple[App, str, Source, SampleSite]
) -> None:
    app, address, source, site = service
    seen = site.holds["/rsrm/"] = asyncio.Event()
    await sign_in(page, address)
    run_id = await app.sweeps.enqueue(source, by=COMMAND_LINE)
    await page.goto(f"{address}runs/{run_id}")
    await page.evaluate("window.isTheSame = true")
    history = await page.context.new_page()
    await history.goto(f"{address}runs")
    await expect(history.locator("#runs-rows .badge")).not_to_have_text("正常")
    await page.wait_for_selector(".activity .event-page")
    seen.set()
    await page.wait_for_selector('#run[data-is-over="yes"]', state="attached")

    assert await page.evaluate("window.isTheSame"), "nobody had to load the page again"
    await expect(page.get_by_role("button", name="阅读简报")).to_be_in_viewport()
    await expect(page.locator(".phase.done")).to_have_count(5)
    await expect(history.locator("#runs-rows .badge")).to_have_text("正常", timeout=TIMEOUT_MS)
    await history.close()
    rows = await app.store.runs.load_ledger(run_id)
    assert len({row.section for row in rows}) == len(SECTIONS)
    await expect(page.locator(".cells a.cell")).to_have_count(len(rows))
    kinds = {event.kind for event in await app.store.run_events.after(run_id, 0)}
    assert kinds == {"phase", "section", "page", "saved"}
    await find_by_keyboard(page, rows)
    await filter_and_walk(page, rows)


async def find_by_keyboard(page: Page, rows: list[LedgerRow]) -> None:
    """Type the title of the last candidate, go to its square, and from there to its row."""
    wanted = rows[-1]
    search = page.get_by_role("searchbox", name="标题或网址包含")
    await search.focus()
    await page.keyboard.type(wanted.title)
    await expect(page.locator(".cells a.cell:not(.dim)")).to_have_count(sum(wanted.title in row.title for row in rows))
    await expect(search).to_be_focused()
    for _ in range(12):
        await page.keyboard.press("Tab")
        if (await focused(page)).startswith("s"):
            break
    await page.keyboard.press("End")
    assert await focused(page) == f"s{wanted.id}"
    await expect(page.locator(f"#s{wanted.id} .tip")).to_contain_text(wanted.title)
    await page.keyboard.press("Enter")
    await expect(page.locator(f"#c{wanted.id}")).to_be_focused()
    await expect(page.locator(f"#c{wanted.id}")).to_be_in_viewport()

    await search.fill("")
    await expect(page.locator(".cells a.cell.dim")).to_have_count(0)


async def filter_and_walk(page: Page, rows: list[LedgerRow]) -> None:
    """Choose in the legend, take it back, and go from square to square with the arrows."""
    cells = page.locator(".cells a.cell")
    saved = [row for row in rows if row.disposition == "saved"]
    await page.locator(".legend a", has_text="已收录").press("Enter")
    await expect(page.locator(".cells a.cell.dim")).to_have_count(len(rows) - len(saved))
    await expect(page.locator("#ledger-rows tbody tr")).to_have_count(min(len(saved), ROWS_PER_PAGE))
    await page.locator(".legend a", has_text="全部").press("Enter")
    await expect(page.locator(".cells a.cell.dim")).to_have_count(0)
    await cells.first.focus()
    await page.keyboard.press("ArrowRight")
    assert await focused(page) == f"s{rows[1].id}"
    await page.keyboard.press("ArrowDown")
    assert (await focused(page)).startswith("s")
    assert await focused(page) != f"s{rows[1].id}"
