"""Today and Health in a real browser: on every width, by light and by dark, and the star without a reload."""

import datetime as dt
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from monitor.config.model import BrowserSettings, Settings
from monitor.db.tables.collection import Item, ModelCall, Run, Source, SourceSection
from monitor.db.tables.delivery import AlarmFinding, AlarmKind
from monitor.db.tables.policies import Deadline, DeadlineMove
from monitor.fetch.browser.launch import find_browser
from monitor.i18n.message import Message
from monitor.page import PageError, PageErrorCode
from monitor.vocabulary import DeadlineKind, Phase, RunStatus
from monitor.web.app import serve_web
from tests.integration.web.conftest import PASSWORD, Desk

LONG = "关于印发《" + "数据要素市场化配置综合改革试点" * 8 + "》的通知" + "A" * 120
WINDOWS = [(360, "light"), (1280, "dark"), (1920, "light"), (360, "dark"), (1280, "light"), (1920, "dark")]
REFUSED = PageError(
    code=PageErrorCode.WEB_BLOCKED, detail_code="http_403", message=Message.of("page.refused", status=403)
).reason
PAGES = {"/": 6, "/health": 3, "/health/alarms": 3, "/health/blocks": 3, "/health/costs": 3, "/health/sources/1": 3}
"""The pages, each with in how many of the windows it is looked at."""


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.web.port = 0
        return settings

    return change


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(
            executable_path=find_browser(BrowserSettings()), args=["--no-sandbox"]
        )
        yield launched
        await launched.close()


async def filled(desk: Desk) -> None:
    """A day with long words in every place, alarms, blocks and costs."""
    store, now = desk.app.store, desk.app.clock.now()
    source = await store.sources.add(
        Source(name=LONG[:150], url="https://m.gov/", created_at=now, last_run_at=now, consecutive_failures=3)
    )
    run = Run(id="run-1", source_id=source.id, source=source.name, planned_at=now, status=RunStatus.DEGRADED)
    await store.runs.create(run)
    await store.runs.add_fallback("run-1", Phase.CRAWL, "https://m.gov/1", REFUSED, now)
    arrivals = [(now - n * dt.timedelta(days=1)).date().isoformat() for n in reversed(range(60))]
    async with store.sessions.begin_write() as session:
        session.add(
            SourceSection(source_id=source.id, name=LONG, url="https://m.gov/n", url_key="n", arrivals=arrivals)
        )
    for number in range(40):
        call = ModelCall(run_id="run-1", phase=list(Phase)[number % 4], model="m" * 60, prompt_tokens=9_000_000, at=now)
        await store.usage.add(call)
    items = [
        Item(
            source_id=source.id,
            source=source.name,
            section="s",
            run_id="run-1",
            url=f"https://m.gov/{n}",
            url_key=str(n),
            title=f"{LONG}{n}",
            summary=LONG,
            first_seen=now,
            tier=1 + n % 5,
            rank=n,
        )
        for n in range(6)
    ]
    await store.items.save_all(items)
    finding = AlarmFinding(kind=AlarmKind.GAP, message=Message.other(LONG), section=LONG, section_key="n")
    await store.alarms.reconcile(source.id or 0, run_id="run-1", findings=[finding], judged_kinds={}, at=now)


async def sign_in(page: Page, address: str) -> None:
    await page.goto(f"{address}sign-in")
    await page.locator("[name=name]").fill("reader")
    await page.locator("[name=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_url(address)


async def test_nothing_is_wider_than_the_window_and_nothing_breaks_our_own_policy(desk: Any, browser: Browser) -> None:
    await filled(desk)
    await desk.sign_in("reader")
    complaints: list[str] = []
    async with serve_web(desk.app) as address:
        context = await browser.new_context(locale="zh-CN")
        page = await context.new_page()
        page.on("console", lambda said: complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await sign_in(page, address)
        for path, (width, scheme) in ((path, window) for path, most in PAGES.items() for window in WINDOWS[:most]):
            await page.set_viewport_size({"width": width, "height": 900})
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            answer = await page.goto(f"{address}{path[1:]}")
            assert answer is not None
            assert answer.status == 200
            over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over <= 0, f"{path} is {over} pixels wider than a window of {width}"
        await context.close()
    assert complaints == []


@pytest.mark.parametrize("locale", ["zh-CN", "en-GB"])
async def test_the_first_headline_stands_above_the_fold_of_a_phone_below_what_moved_and_what_is_near(
    desk: Any, browser: Browser, locale: str
) -> None:
    await filled(desk)
    store, now = desk.app.store, desk.app.clock.now()
    days = [now.date() + dt.timedelta(days=n) for n in range(2, 8)]
    rows = [Deadline(item_id=1, kind=DeadlineKind.APPLY_BY, day=day, subject=str(day), seen_at=now) for day in days]
    move = DeadlineMove(deadline_id=0, before=now.date() + dt.timedelta(days=1), after=days[0], run_id="r", seen_at=now)
    await store.deadlines.save([(rows[0], move), *((row, None) for row in rows[1:])])
    await desk.sign_in("reader")
    async with serve_web(desk.app) as address:
        context = await browser.new_context(locale=locale, viewport={"width": 390, "height": 844})
        page = await context.new_page()
        await sign_in(page, address)
        moved, headline = page.locator(".moved li"), page.locator(".rows h3").first
        await expect(moved).to_have_count(1)
        places = [await each.bounding_box() for each in (moved, headline)]
        assert all(place is not None for place in places)
        tops = [place["y"] for place in places if place is not None]
        assert tops[0] < tops[1] < 844 - 24, tops


async def test_a_star_is_given_from_the_keyboard_and_the_page_stays(desk: Any, browser: Browser) -> None:
    await filled(desk)
    await desk.sign_in("reader")
    async with serve_web(desk.app) as address:
        context = await browser.new_context(locale="en-GB")
        page = await context.new_page()
        await sign_in(page, address)
        await page.evaluate("window.isTheSame = true")
        star = page.locator(".row").first.locator("[data-act=star], [data-act=unstar]")
        await star.focus()
        await page.keyboard.press("Enter")
        await expect(star).to_have_attribute("aria-pressed", "true")
        assert await page.evaluate("window.isTheSame")
        await page.reload()
        await expect(page.locator(".row [data-act=unstar][aria-pressed=true]")).to_have_count(1)
        await context.close()
