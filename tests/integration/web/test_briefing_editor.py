"""The editor of a briefing in a real browser: words, order by key and by dragging, additions, previews, links."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable

import pytest
from playwright.async_api import Browser, Locator, Page, async_playwright, expect
from sqlalchemy import update
from sqlmodel import col

from monitor.config.model import BrowserSettings, Settings
from monitor.db.tables.people import BriefingShare
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.briefings import BriefingQuery
from monitor.vocabulary import MarkAction, Role
from monitor.web.app import serve_web
from tests.integration.web.conftest import PASSWORD, Desk
from tests.integration.web.test_briefings import TITLES, filled

WRITER = Actor("王敏", Role.EDITOR)


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        settings.web.port = 0
        return settings

    return change


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    try:
        path = find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture
async def address(desk: Desk) -> AsyncIterator[str]:
    await desk.app.people.add(WRITER.name, "editor", by=COMMAND_LINE)
    await desk.app.people.set_password(WRITER.name, PASSWORD, by=COMMAND_LINE)
    async with serve_web(desk.app) as address:
        yield address


@pytest.fixture
async def page(browser: Browser, address: str) -> Page:
    """A wide window of an editor who has signed in."""
    window = await browser.new_page(base_url=address, locale="zh-CN", viewport={"width": 1280, "height": 900})
    await window.goto("/sign-in?next=/briefings")
    await window.locator("[name=name]").fill(WRITER.name)
    await window.locator("[name=password]").fill(PASSWORD)
    await window.keyboard.press("Enter")
    await window.wait_for_url(f"{address}briefings")
    return window


async def save_briefing(desk: Desk) -> int:
    await filled(desk.app)
    return (await desk.app.drafts.save(BriefingQuery(group="none"), by=WRITER)).row.id


async def list_titles(page: Page, standing: str) -> list[str]:
    return await page.locator(f"[data-standing={standing}] .title-text").all_text_contents()


async def test_words_change_in_place_are_marked_in_the_preview_and_can_be_restored(desk: Desk, page: Page) -> None:
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    number = await save_briefing(desk)
    await page.goto(f"/briefings/{number}/edit")
    first = page.locator("[data-standing=top] > li").first
    verified = await first.locator(".title-text").inner_text()
    await first.get_by_text("标题和摘要").click()
    await first.locator("[name^=title-]").fill("新的说法")
    summary = first.locator("[name^=summary-]")
    await summary.fill(f"{await summary.input_value()}编辑补充的一句。")
    preview = page.frame_locator(".preview iframe")
    await expect(preview.locator("h3").first).to_contain_text("新的说法‡")
    await expect(preview.get_by_text("编辑补充的一句。‡")).to_be_visible()
    await expect(preview.get_by_text(f"{verified}的摘要。‡")).to_have_count(0)
    for kind in ("邮件", "手机", "Word"):
        await page.get_by_label(kind, exact=True).check()
        await expect(preview.get_by_text("新的说法‡").first).to_be_visible()
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".reading")).to_contain_text("编辑补充的一句。‡")

    await page.goto(f"/briefings/{number}/edit")
    await page.get_by_role("button", name="恢复已核实的原文").click()
    await expect(page.locator("[data-standing=top] .title-text").first).to_have_text(verified)
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".reading h3").first).to_contain_text(verified)
    assert not (await desk.app.drafts.get(number)).briefing.has_editor_text
    assert not errors


async def test_items_are_moved_by_key_below_the_line_and_back(desk: Desk, page: Page) -> None:
    number = await save_briefing(desk)
    await page.goto(f"/briefings/{number}/edit")
    before = await list_titles(page, "top")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("Alt+ArrowUp")
    swapped = [before[1], before[0], before[2]]
    await expect(page.locator("[data-standing=top] .title-text")).to_have_text(swapped)
    await expect(page.locator("li.current .title-text")).to_have_text(before[1])
    await page.keyboard.press("x")
    await expect(page.locator("[data-standing=out] .title-text")).to_have_text([before[1]])
    await page.keyboard.press("c")  # the next one is current now: what follows it is cut off
    await expect(page.locator("[data-standing=top] .title-text")).to_have_text([before[0]])
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".notice")).to_contain_text("改动已保存")
    draft = await desk.app.drafts.get(number)
    assert [item.title for item in draft.briefing.items] == [before[0]]
    assert draft.briefing.left_out == 2

    await page.goto(f"/briefings/{number}/edit")
    await page.locator("[data-standing=out] > li").first.get_by_role("button", name="移到正文条目").click()
    await expect(page.locator("[data-standing=top] > li")).to_have_count(2)


async def test_an_item_is_dragged_before_another_and_below_the_line(desk: Desk, page: Page) -> None:
    number = await save_briefing(desk)
    await page.goto(f"/briefings/{number}/edit")
    before = await list_titles(page, "top")
    await expect(page.locator(".grip").first).to_be_visible()
    await page.set_viewport_size({"width": 1280, "height": 2400})
    grips = page.locator("[data-standing=top] .grip")
    await drag(page, grips.nth(2), page.locator("[data-standing=top] > li").first)
    await expect(page.locator("[data-standing=top] .title-text")).to_have_text([before[2], before[0], before[1]])
    await drag(page, grips.first, page.locator("[data-standing=out]"))
    await expect(page.locator("[data-standing=out] .title-text")).to_have_text([before[2]])
    await expect(page.get_by_text("尚未保存")).to_be_visible()


async def drag(page: Page, grip: Locator, target: Locator) -> None:
    """Drag with the mouse to the upper edge of something, in several moves as a hand does."""
    async with asyncio.timeout(10):
        while (box := await target.bounding_box()) is None:  # noqa: ASYNC110 -- the list is being written anew
            await asyncio.sleep(0.05)
    await grip.hover()
    await page.mouse.down()
    await page.mouse.move(box["x"] + 60, box["y"] + 6, steps=4)
    await page.mouse.up()


async def test_items_are_added_from_the_archive_and_from_stars_and_stay_after_later_edits(
    desk: Desk, page: Page
) -> None:
    ids = await filled(desk.app)
    number = (await desk.app.drafts.start(language="zh", by=WRITER)).row.id
    await desk.app.marks.mark(MarkAction.STAR, ids[:1], by=WRITER)
    await page.goto(f"/briefings/{number}/edit")
    await page.get_by_label("编者按").fill("先写的导语")
    await page.keyboard.press("Tab")
    await page.get_by_text("添加条目").first.click()
    await page.get_by_label("范围").select_option("stars")
    await page.get_by_role("button", name="检索", exact=True).click()
    await expect(page.locator(".pickable li")).to_have_count(1)
    await page.get_by_label(TITLES[0]).check()
    await page.get_by_role("button", name="添加勾选的条目并保存").click()
    await expect(page.locator("[data-standing=top] .title-text")).to_have_text([TITLES[0]])
    await page.get_by_label("范围").select_option("")
    await page.locator("[name=find_text]").fill("能源生产")
    await page.keyboard.press("Enter")
    await page.get_by_label(TITLES[2]).check()
    await page.get_by_role("button", name="添加勾选的条目并保存").click()
    await expect(page.locator("[data-standing=top] > li")).to_have_count(2)
    await page.get_by_label("简报标题").fill("本周")
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".reading h1")).to_have_text("本周")
    briefing = (await desk.app.drafts.get(number)).briefing
    assert {item.title for item in briefing.items} == {TITLES[0], TITLES[2]}
    assert briefing.note is not None
    assert (briefing.note.text, briefing.note.by) == ("先写的导语", WRITER.name)


async def test_without_scripts_words_are_changed_and_previewed_by_plain_forms(desk: Desk, page: Page) -> None:
    number = await save_briefing(desk)
    await page.route("**/*.js*", lambda route: route.abort())
    await page.goto(f"/briefings/{number}/edit")
    first = page.locator("[data-standing=top] > li").first
    await first.get_by_text("标题和摘要").click()
    await first.locator("[name^=title-]").fill("无脚本的标题")
    await page.get_by_label("邮件").check()
    await page.locator("#show-preview").click()
    await expect(page.frame_locator(".preview iframe").get_by_text("无脚本的标题‡").first).to_be_visible()
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".reading h3").first).to_contain_text("无脚本的标题‡")


async def test_a_link_is_read_without_an_account_until_it_is_revoked(
    desk: Desk, page: Page, browser: Browser, address: str
) -> None:
    number = await save_briefing(desk)
    await page.goto(f"/briefings/{number}")
    await page.locator("#shares").get_by_label("对象").fill("客户甲")
    await page.get_by_role("button", name="生成链接").click()
    url = await page.locator("#share-url").input_value()
    stranger = await (await browser.new_context(locale="zh-CN", viewport={"width": 390, "height": 844})).new_page()
    answer = await stranger.goto(url)
    assert answer is not None
    headers = await answer.all_headers()
    assert (answer.status, headers["x-robots-tag"].split(",")[0], headers["referrer-policy"]) == (
        200,
        "noindex",
        "no-referrer",
    )
    await expect(stranger.locator("h1")).to_be_visible()
    await expect(stranger.get_by_text("此链接有效期至")).to_be_visible()
    text = await stranger.content()
    assert all(title in text for title in TITLES)
    assert "未能看到的内容" not in text
    assert address not in text

    await page.goto(f"/briefings/{number}")
    await expect(page.locator("#share-url")).to_have_count(0)
    await page.get_by_role("button", name="撤销: 客户甲").click()
    await expect(page.locator("#shares")).to_contain_text("已撤销")
    answer = await stranger.reload()
    assert answer is not None
    assert answer.status == 410
    await expect(stranger.locator("h1")).to_have_text("此链接已撤销")


async def test_an_expired_link_says_so(desk: Desk, browser: Browser, address: str) -> None:
    number = await save_briefing(desk)
    share, token = await desk.app.shares.create(number, days=1, by=WRITER)
    async with desk.app.store.sessions.begin_write() as session:
        ended = {"expires_at": desk.app.clock.now() - dt.timedelta(minutes=1)}
        await session.execute(update(BriefingShare).where(col(BriefingShare.id) == share.id).values(ended))
    stranger = await (await browser.new_context(locale="en-GB")).new_page()
    answer = await stranger.goto(f"{address}shared/{token}")
    assert answer is not None
    assert answer.status == 410
    await expect(stranger.locator("h1")).to_have_text("This link has ended")
    await expect(stranger.locator("main")).to_contain_text("It expired on")
