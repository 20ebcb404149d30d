"""The search box: its page without scripts, its API, and the combobox in a real browser."""

import datetime as dt
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect
from selectolax.lexbor import LexborHTMLParser

from monitor.bootstrap import open_app
from monitor.config.model import BrowserSettings, Settings, WebSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.policies import Topic
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import RunStatus
from monitor.web.app import serve_web
from tests.integration.web.conftest import PASSWORD, Desk

NOW = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)


async def fill(store: Store) -> None:
    """Seven items, a topic and a source that have 储能 in their names."""
    source = await store.sources.add(Source(name="储能协会", url="https://cnesa.example/", created_at=NOW))
    await store.runs.create(
        Run(id="r", source_id=source.id, source=source.name, status=RunStatus.SUCCEEDED, planned_at=NOW)
    )
    rows = [
        Item(
            source_id=source.id,
            source=source.name,
            run_id="r",
            url=f"https://cnesa.example/{number}",
            url_key=str(number),
            title=f"储能通知第{number}号",
            date=NOW.date() - dt.timedelta(days=number),
            first_seen=NOW,
            section="通知",
        )
        for number in range(7)
    ]
    await store.items.save_all(rows)
    await store.topics.add(Topic(name="储能", sentence="新型储能的价格", created_at=NOW))


async def test_the_page_answers_by_type_with_counts_and_links_to_all_of_a_type(desk: Desk) -> None:
    await fill(desk.app.store)
    reader = await desk.sign_in("reader", language="en")
    page = LexborHTMLParser((await reader.get("/search?q=储能")).text)
    heads = [" ".join(head.text().split()) for head in page.css("section.found h2")]
    assert heads == ["Items 7", "Topics 1", "Sources 1"]
    sections = page.css("section.found")
    assert len(sections[0].css("li")) == 5
    assert [link.attributes["href"] for link in sections[0].css("p > a")] == ["/items?q=%E5%82%A8%E8%83%BD"]
    assert sections[1].css_first("p > a") is None
    assert sections[0].css_first("mark").text() == "储能"
    only = LexborHTMLParser((await reader.get("/search?q=储能&type=items")).text)
    assert len(only.css("section.found li")) == 7
    assert [link.attributes["href"] for link in only.css("section.found p > a")] == []
    listed = LexborHTMLParser((await reader.get("/items?q=储能")).text)
    assert len(listed.css(".rows > .row")) == 7


async def test_recent_queries_are_listed_and_removed_by_plain_forms_and_a_query_is_saved_as_a_view(desk: Desk) -> None:
    await fill(desk.app.store)
    reader = await desk.sign_in("reader", language="en")
    other = await desk.sign_in("editor", language="en")
    for query in ("储能", "电价"):
        await reader.get("/search", params={"q": query})
    assert LexborHTMLParser((await other.get("/search")).text).css(".plain-list a") == []
    page = LexborHTMLParser((await reader.get("/search")).text)
    assert [link.text() for link in page.css(".plain-list a")] == ["电价", "储能"]
    await reader.post("/search/recent/remove", {"query": "电价"})
    assert [query["text"] for query in (await reader.get("/api/v1/find/recent")).json()["queries"]] == ["储能"]
    found = LexborHTMLParser((await reader.get("/search?q=储能")).text)
    form = found.css_first("form[action='/items/views']")
    fields = {field.attributes["name"]: field.attributes["value"] for field in form.css("input[type=hidden]")}
    saved = await reader.post("/items/views", {name: fields[name] or "" for name in ("name", "filters")})
    assert saved.headers["location"] == "/items?q=%E5%82%A8%E8%83%BD"
    assert "/items/views" not in (await reader.get("/search?q=储能")).text
    await reader.post("/search/recent/remove")
    start = LexborHTMLParser((await reader.get("/search")).text)
    assert [link.attributes["href"] for link in start.css(".plain-list a")] == ["/items?q=%E5%82%A8%E8%83%BD"]


async def test_programs_find_and_get_suggestions_and_leave_no_recent_query(desk: Desk) -> None:
    await fill(desk.app.store)
    program = await desk.program("reader")
    found = (await program.get("/api/v1/find", params={"q": "储能", "type": ["items", "sources"], "limit": 2})).json()
    assert [(group["type"], group["total"], len(group["entries"])) for group in found["groups"]] == [
        ("items", 7, 2),
        ("sources", 1, 1),
    ]
    suggested = (await program.get("/api/v1/find/suggestions", params={"q": "储能"})).json()
    assert [(group["type"], group["total"], len(group["entries"])) for group in suggested["groups"]] == [
        ("items", None, 3),
        ("topics", None, 1),
        ("sources", None, 1),
    ]
    await program.get("/search?q=储能")
    assert (await program.get("/api/v1/find/recent")).json()["queries"] == []
    assert (await program.get("/api/v1/find", params={"q": "，"})).status_code == 400


@pytest_asyncio.fixture
async def address(sqlite_url: str, tmp_path: object, free_port: int) -> AsyncIterator[str]:
    settings = Settings(database_url=sqlite_url, data_dir=tmp_path, web=WebSettings(port=free_port))
    async with open_app(settings) as app:
        await fill(app.store)
        await app.people.add("reader", "reader", by=COMMAND_LINE)
        await app.people.set_password("reader", PASSWORD, by=COMMAND_LINE)
        async with serve_web(app) as served:
            yield served


@pytest_asyncio.fixture
async def chromium() -> AsyncIterator[Browser]:
    try:
        path = find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        yield browser
        await browser.close()


async def sign_in(page: Page, address: str) -> None:
    await page.goto(f"{address}runs")
    await page.locator("[name=name]").fill("reader")
    await page.locator("[name=password]").fill(PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"{address}runs")


async def test_keys_alone_find_go_to_and_leave_suggestions(chromium: Browser, address: str) -> None:
    page = await (await chromium.new_context(locale="en-GB")).new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    await sign_in(page, address)
    box = page.get_by_role("combobox", name="Search everything")
    await page.keyboard.press("/")
    await expect(box).to_be_focused()
    await expect(box).to_have_value("")
    await expect(box).to_have_attribute("aria-expanded", "false")
    await page.keyboard.type("储能")
    options = page.get_by_role("listbox", name="Search everything").get_by_role("option")
    await expect(options).to_have_count(5)
    await expect(box).to_have_attribute("aria-expanded", "true")
    await expect(page.get_by_role("group", name="Topics").get_by_role("option")).to_have_count(1)
    await page.keyboard.press("ArrowDown")
    await expect(options.first).to_have_attribute("aria-selected", "true")
    await expect(box).to_have_attribute("aria-activedescendant", await options.first.get_attribute("id") or "")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Escape")
    await expect(options).to_have_count(0)
    await expect(box).to_have_value("储能")
    await page.keyboard.press("ArrowDown")
    await expect(options).to_have_count(5)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile(r"/items/\d+$"))

    await page.keyboard.press("/")
    await page.keyboard.type("储能")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/search?q=*")
    await expect(page.locator("section.found")).to_have_count(3)
    await page.goto(f"{address}runs")
    await page.keyboard.press("/")
    recent = page.get_by_role("group", name="Recent queries").get_by_role("option")
    await expect(recent).to_have_text(["储能"])
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/search?q=*")
    assert complaints == []


async def test_on_a_phone_the_box_opens_from_a_button_of_the_first_line(chromium: Browser, address: str) -> None:
    context = await chromium.new_context(locale="zh-CN", viewport={"width": 390, "height": 844}, has_touch=True)
    page = await context.new_page()
    await sign_in(page, address)
    box = page.get_by_role("combobox", name="检索全部内容")
    await expect(box).to_be_hidden()
    opener = page.get_by_role("button", name="打开检索")
    brand = await page.locator(".brand").bounding_box()
    place = await opener.bounding_box()
    assert brand is not None
    assert place is not None
    assert place["y"] < brand["y"] + brand["height"]
    assert min(place["width"], place["height"]) >= 44
    await opener.tap()
    await expect(box).to_be_focused()
    await expect(opener).to_have_attribute("aria-expanded", "true")
    await page.keyboard.type("储能")
    await expect(page.locator("#find-list [role=option]")).to_have_count(5)
    assert await page.evaluate("document.scrollingElement.scrollWidth") <= 390
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Escape")
    await expect(box).to_be_hidden()
    await expect(opener).to_be_focused()


async def test_without_scripts_the_button_of_a_phone_leads_to_the_page_of_the_search(
    chromium: Browser, address: str
) -> None:
    context = await chromium.new_context(
        locale="en-GB", viewport={"width": 390, "height": 844}, java_script_enabled=False
    )
    page = await context.new_page()
    await sign_in(page, address)
    await page.get_by_role("link", name="Open the search").click()
    await page.get_by_label("Words that all occur").fill("储能")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/search?q=*")
    await expect(page.get_by_role("heading", name="Items")).to_be_visible()
