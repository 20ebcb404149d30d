"""A finished report as a person reads it, in a real browser: cards on its citations, questions about it and answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.server import MODEL_NAME, ScriptedModel
from monitor.bootstrap import App, open_app
from monitor.config.model import BrowserSettings, Settings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.steps import InProcessSteps
from monitor.vocabulary import Role
from monitor.web.app import serve_web

PASSWORD = "a long and quiet word"  # noqa: S105 -- of somebody who lives for one test
QUESTION = "2026年新型储能的发展现状与政策走向如何？"
EDITOR = Actor("editor", Role.EDITOR)


@dataclass
class Desk:
    """A service with one report, and whoever is signed in to it at a browser."""

    app: App
    address: str
    task_id: str
    browser: Browser

    @asynccontextmanager
    async def sign_in(self, **context: object) -> AsyncIterator[Page]:
        made = await self.browser.new_context(locale="zh-CN", **context)  # type: ignore[arg-type]
        page = await made.new_page()
        await page.goto(f"{self.address}research/{self.task_id}")
        await page.locator("[name=name]").fill("editor")
        await page.locator("[name=password]").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.wait_for_url(f"{self.address}research/{self.task_id}")
        yield page
        await made.close()

    async def work(self) -> None:
        """Answer the next question that is asked, as a worker does."""
        while not (waiting := await self.app.store.research.list_unqueued()):  # noqa: ASYNC110 -- no event of ours
            await asyncio.sleep(0.02)
        await self.app.store.research.mark_enqueued(waiting[0].id, at=self.app.clock.now())
        await self.app.research.execute(waiting[0].id, executor="one", steps=InProcessSteps())


@pytest.fixture
async def desk(tmp_path: Path, sqlite_url: str, free_port: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    monkeypatch.setenv("OPENAI_API_KEY", "another-key-for-the-test")
    try:
        path = find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel("good").serve())
        values = await stack.enter_async_context(ResearchWorld().serve())
        settings = Settings(
            data_dir=tmp_path,
            database_url=sqlite_url,
            llm={"base_url": model, "model": MODEL_NAME, "max_retries": 0},
            web={"port": free_port},
            research={"max_paragraphs": 2, "max_reflections": 0},
            **values,
        )
        app = await stack.enter_async_context(open_app(settings))
        await app.people.add("editor", "editor", by=COMMAND_LINE)
        await app.people.set_password("editor", PASSWORD, by=COMMAND_LINE)
        task_id = await app.research.run_in_process(
            QUESTION, config=SearchConfig(), options=ResearchOptions(), by=EDITOR
        )
        await stack.enter_async_context(app.presence.register("worker"))
        address = await stack.enter_async_context(serve_web(app))
        play = await stack.enter_async_context(async_playwright())
        browser = await play.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        stack.push_async_callback(browser.close)
        yield Desk(app, address, task_id, browser)


async def test_a_citation_has_a_card_for_pointer_and_keyboard(desk: Desk) -> None:
    async with desk.sign_in() as page:
        citation = page.locator(".report a.cite").first
        card = page.locator(f"[id='{await citation.get_attribute('data-card')}']")
        await citation.hover()
        await expect(card).to_be_visible()
        view = await desk.app.research.get(desk.task_id, by=EDITOR)
        assert view.report is not None
        statement = view.report.metadata.statements[0]
        note = view.notes[view.report.sources[statement.sources[0] - 1].note_index]
        shown = await card.inner_text()
        assert view.report.sources[statement.sources[0] - 1].title in shown
        assert any(evidence.quote in shown for evidence in note.evidence)
        assert "有依据" in shown
        await card.hover()  # it stays while the pointer is on it
        await expect(card).to_be_visible()
        await page.locator("h1").hover()
        await expect(card).to_be_hidden()
        await page.locator(".report a.cite[data-card]").nth(1).focus()
        await page.keyboard.press("Shift+Tab")
        focused = page.locator("a.cite:focus")
        await expect(page.locator(".citation-card:not([hidden])")).to_have_count(1)
        assert await focused.get_attribute("aria-describedby") == await focused.get_attribute("data-card")
        await page.keyboard.press("Escape")
        await expect(page.locator(".citation-card:not([hidden])")).to_have_count(0)


async def test_the_first_touch_shows_the_card_and_the_second_follows_the_link(desk: Desk) -> None:
    async with desk.sign_in(has_touch=True, viewport={"width": 390, "height": 844}) as page:
        citation = page.locator(".report a.cite").first
        await citation.tap()
        card = page.locator(".citation-card:not([hidden])")
        await expect(card).to_be_in_viewport(ratio=1)
        await citation.tap()
        await page.wait_for_url("**/notes/*")


async def test_a_question_is_answered_on_the_page_of_the_report(desk: Desk) -> None:
    async with desk.sign_in() as page:
        note = (await desk.app.research.get(desk.task_id, by=EDITOR)).notes[0]
        await page.locator("#f-question").fill(note.evidence[0].quote)
        await page.get_by_role("button", name="提问", exact=True).click()
        entry = page.locator(".exchanges > li")
        await expect(entry).to_have_attribute("data-events", "/api/v1/research/" + await _find_id(entry) + "/events")
        await desk.work()
        await expect(entry.locator(".answer a.cite[data-card]").first).to_be_visible()
        await expect(entry).to_contain_text("根据报告读过的网页回答")
        await entry.locator(".answer a.cite").first.click()
        await expect(page.locator("mark#passage")).to_be_visible()


async def test_without_scripts_a_question_is_asked_and_its_answer_read_too(desk: Desk) -> None:
    async with desk.sign_in(java_script_enabled=False) as page:
        await page.locator("#f-question").fill("海王星的卫星有几颗？")
        await page.get_by_role("button", name="提问", exact=True).click()
        await expect(page.locator(".exchanges > li")).to_contain_text("正在查找答案")
        await desk.work()
        await page.goto(f"{desk.address}research/{desk.task_id}")
        await expect(page.locator(".exchanges > li")).to_contain_text("没有网页能回答这个问题")
        await page.locator(".report a.cite").first.click()
        await page.wait_for_url("**/notes/*")


async def _find_id(entry: object) -> str:
    return str(await entry.get_attribute("id")).removeprefix("question-")  # type: ignore[attr-defined]
