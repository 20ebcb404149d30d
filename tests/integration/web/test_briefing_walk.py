"""A briefing as a person makes it, in a real browser: composed, put in order by keyboard, noted, sent, exported."""

from collections.abc import AsyncIterator, Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from playwright.async_api import Page, async_playwright, expect

from monitor.briefing.deliver import create_delivery
from monitor.config.model import BrowserSettings, Settings
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryKind
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.briefings import BriefingQuery
from monitor.steps import InProcessSteps
from monitor.vocabulary import Role
from monitor.web.app import serve_web
from tests.conftest import Mailbox, OpenMailbox
from tests.integration.web.conftest import PASSWORD, Desk
from tests.integration.web.test_briefings import TITLES, filled


@pytest.fixture
async def mailbox(open_mailbox: OpenMailbox) -> Mailbox:
    return await open_mailbox()


@pytest.fixture
def desk_settings(mailbox: Mailbox) -> Callable[[Settings], Settings]:
    """A target that goes to the mail server on loopback."""
    url = f"smtp://127.0.0.1:{mailbox.port}"
    target = TargetSettings(name="weekly", url=url, sender="m@example.org", to=["boss@example.org"])

    def change(settings: Settings) -> Settings:
        settings.deliver.targets = [target]
        settings.network.allowed_private_hosts = [f"127.0.0.1:{mailbox.port}"]
        settings.web.port = 0
        return settings

    return change


@pytest.fixture
async def page(desk: Desk) -> AsyncIterator[Page]:
    """A window of an editor who has just signed in, at the list of briefings."""
    await desk.app.people.add("王敏", "editor", by=COMMAND_LINE)
    await desk.app.people.set_password("王敏", PASSWORD, by=COMMAND_LINE)
    async with serve_web(desk.app) as address, async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find_browser(BrowserSettings()), args=["--no-sandbox"]
        )
        window = await browser.new_page(base_url=address, locale="zh-CN")
        await window.goto("/sign-in?next=/briefings")
        await window.locator("[name=name]").fill("王敏")
        await window.locator("[name=password]").fill(PASSWORD)
        await window.keyboard.press("Enter")
        await window.wait_for_url(f"{address}briefings")
        yield window
        await browser.close()


async def test_a_briefing_is_composed_put_in_order_by_keyboard_noted_sent_and_exported(
    desk: Desk, page: Page, mailbox: Mailbox, tmp_path: Path
) -> None:
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    await filled(desk.app)
    await page.get_by_role("link", name="编写简报").first.click()
    await page.get_by_role("button", name="显示").click()
    await expect(page.get_by_text("生成于").first).to_be_visible(
        timeout=60_000
    )  # the page follows the composing by itself
    await page.get_by_role("button", name="保存").click()
    await expect(page.locator(".notice")).to_contain_text("简报已保存")

    await page.get_by_role("link", name="编辑", exact=True).click()
    await page.get_by_label("分组").select_option("none")
    await page.get_by_role("button", name="应用").click()
    await expect(page.get_by_text("尚未保存")).to_be_visible()
    await page.wait_for_load_state()  # with its script: without it moving is a plain form, which loses the focus
    note = page.get_by_label(f"批注: {TITLES[2]}")
    await note.fill("与我方项目有关\n请法务看")
    up = page.get_by_role("button", name=f"上移: {TITLES[2]}")
    await up.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".arrange li h3").nth(1)).to_contain_text(TITLES[2])
    await expect(up).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(".arrange li h3").nth(0)).to_contain_text(TITLES[2])
    await expect(note).to_have_value("与我方项目有关\n请法务看")
    await page.get_by_label("编者按").fill("本周请看第一条")
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".notice")).to_contain_text("改动已保存")

    await page.get_by_role("link", name="发送到 weekly").click()
    await page.get_by_label("我的邮箱").fill("me@example.org")
    await page.get_by_role("button", name="给我发一封测试").click()
    await expect(page.locator(".notice")).to_contain_text("已发送")
    (test,) = mailbox.messages()
    assert (test["To"], test["Subject"].startswith("[测试] ")) == ("me@example.org", True)

    await page.get_by_role("link", name="发送到 weekly").click()
    await page.get_by_role("button", name="立即发送").click()
    await expect(page.locator(".notice")).to_contain_text("已发送")
    mail = mailbox.messages()[-1]
    assert mail["To"] != test["To"]
    _check(_text_of(mail))

    async with page.expect_download() as downloading:
        await page.get_by_role("link", name="docx").click()
    file = tmp_path / "briefing.docx"
    await (await downloading.value).save_as(file)
    _check("\n".join(paragraph.text for paragraph in Document(str(file)).paragraphs))
    assert not errors


async def test_without_scripts_the_same_is_done_by_plain_forms(desk: Desk, page: Page) -> None:
    await filled(desk.app)
    await page.route("**/*.js*", lambda route: route.abort())
    await page.goto("/briefings/now?group=none")
    await page.get_by_role("button", name="现在生成").click()
    await desk.app.kept_briefings.wait()
    await page.reload()
    await page.get_by_role("button", name="保存").click()
    await page.get_by_role("link", name="编辑", exact=True).click()
    await page.get_by_label(f"批注: {TITLES[1]}").fill("备查")
    await page.get_by_role("button", name=f"上移: {TITLES[1]}").click()
    await expect(page.locator(".arrange li h3").first).to_contain_text(TITLES[1])
    await expect(page.get_by_role("button", name=f"下移: {TITLES[1]}")).to_be_visible()
    await page.get_by_role("button", name="保存", exact=True).click()
    await expect(page.locator(".reading li h3").first).to_contain_text(TITLES[1])
    await expect(page.get_by_text("备查")).to_be_visible()


async def test_a_page_follows_a_delivery_that_a_service_makes_until_it_has_arrived(
    desk: Desk, page: Page, mailbox: Mailbox
) -> None:
    await filled(desk.app)
    draft = await desk.app.drafts.save(BriefingQuery(), by=Actor("王敏", Role.EDITOR))
    now = desk.app.clock.now()
    delivery = create_delivery(
        desk.app.target_editing.get("weekly"), DeliveryKind.TYPED, name="1", planned_at=now, now=now, team_id=None
    )
    delivery.saved_id = draft.row.id
    await desk.app.store.deliveries.create(delivery)  # as `send` leaves it to a worker
    await page.goto(f"/briefings/{draft.row.id}")
    sent = page.locator("aside .badge")
    await expect(sent).to_have_text("待发送")
    await desk.app.dispatch.attempt_delivery(delivery.id, 0, InProcessSteps())  # as the worker does
    await expect(sent).to_have_text("已发送")
    assert len(mailbox.messages()) == 1


def _text_of(mail: EmailMessage) -> str:
    body: Any = mail.get_body(("plain",))
    return str(body.get_content())


def _check(text: str) -> None:
    """The order by hand, the notes and their author."""
    places = [text.rindex(title) for title in (TITLES[2], TITLES[0], TITLES[1])]
    assert places == sorted(places)
    for words in ("与我方项目有关", "请法务看", "本周请看第一条 —— 王敏", "批注（王敏）", "本简报经王敏编辑"):
        assert words in text
