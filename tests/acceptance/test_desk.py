"""The desk as people use it, in a real browser and in both languages: from the first start to a briefing that was sent.

What is clicked is found by what it is called on the page; the Chinese comes from the catalogue, as it does there.
"""

import asyncio
import datetime as dt
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from docx import Document
from playwright.async_api import expect

from benchmarks.scripted_model.server import ScriptedModel
from monitor.demo.site import SampleSite
from monitor.i18n.catalogue import get_word
from tests.acceptance.people import PASSWORD, TIMEOUT_MS, Person, Service


@pytest.mark.soak  # in the suite the same clicks are made in web/test_sources_in_the_browser.py
@pytest.mark.timeout(300)
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_newcomer_reads_the_sample_briefing_three_clicks_after_signing_in(
    workplace: Any, serve: Callable[[], Awaitable[Service]], sit_down: Any, language: str, free_port: int
) -> None:
    workplace.configure(web={"port": free_port})
    service = await serve()
    person: Person = await sit_down(service, language)
    await person.sign_in("admin", service.one_time)
    await person.choose_password(PASSWORD)
    await person.page.goto(service.address)
    await person.sees("Nothing is watched yet.") if language == "en" else await person.sees("Welcome to Monitor")
    await person.button("Try the sample ministry").click()
    await expect(person.button("Read the briefing")).to_be_visible(timeout=TIMEOUT_MS)
    await person.button("Read the briefing").click()
    shown = person.page.locator("article, .reading")
    await expect(shown.get_by_text("指导意见").first).to_be_visible(timeout=TIMEOUT_MS)
    assert await person.page.locator(".reading li").count() > 10


@dataclass
class Office:
    """All that the walk needs outside of the program."""

    service: Service
    site: SampleSite
    site_url: str
    mailbox: Any
    model_url: str
    folder: Path


@pytest.fixture
async def office(
    workplace: Any, serve: Callable[[], Awaitable[Service]], open_mailbox: Any, free_port: int
) -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        site = SampleSite(today=dt.datetime.now(ZoneInfo("Asia/Shanghai")).date())
        url = await stack.enter_async_context(site.serve())
        model_url = await stack.enter_async_context(ScriptedModel().serve())
        mailbox = await open_mailbox()
        hosts = [f"127.0.0.1:{urlsplit(address).port}" for address in (url, model_url)]
        hosts += [f"localhost:{urlsplit(url).port}", f"127.0.0.1:{mailbox.port}"]
        target = {
            "name": "office",
            "url": f"smtp://127.0.0.1:{mailbox.port}",
            "sender": "monitor@example.org",
            "to": ["analysts@example.org"],
            "formats": ["docx"],
        }
        workplace.configure(
            web={"port": free_port}, network={"allowed_private_hosts": hosts}, deliver={"targets": [target]}
        )
        yield Office(await serve(), site, url, mailbox, model_url, workplace.folder)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", ["zh", pytest.param("en", marks=pytest.mark.soak)])
async def test_a_day_at_the_desk(office: Office, sit_down: Any, language: str) -> None:
    person: Person = await sit_down(office.service, language)
    await person.sign_in("admin", office.service.one_time)
    await person.choose_password(PASSWORD)
    await adds_a_source_from_its_trial(person, office)
    await watches_its_first_run_to_the_end(person)
    await finds_an_item_by_a_word_and_follows_its_evidence(person)
    await stars_one_and_hides_one(person)
    order = await puts_a_briefing_in_order(person)
    await sends_and_exports_it(person, office, order)
    await makes_a_reader_who_may_not_change_anything(person, office, sit_down)
    await points_to_another_model_and_tests_it(person, office)
    await ends_another_session(person, office, sit_down)


async def adds_a_source_from_its_trial(person: Person, office: Office) -> None:
    await person.main("Sources").click()
    await person.link("Add a source").first.click()
    await person.field("Address").fill(office.site_url)
    await person.button("Try it").click()
    await expect(person.button("Save")).to_be_visible(timeout=TIMEOUT_MS)
    saved = person.page.get_by_text(person.words("would be saved"), exact=True)
    assert await saved.count() > 10
    await person.field("Name").fill("绿能总署")
    await person.button("Save").click()
    await expect(person.page.get_by_role("heading", level=1)).to_contain_text("绿能总署")


async def watches_its_first_run_to_the_end(person: Person) -> None:
    await expect(person.page.locator("#run")).to_be_visible()
    await expect(person.button("Read the briefing")).to_be_visible(timeout=TIMEOUT_MS)
    assert int(await person.page.locator("[data-count=saved]").inner_text()) > 10
    await expect(person.page.locator("#run-fallbacks, #fallbacks").first).to_be_visible()


async def finds_an_item_by_a_word_and_follows_its_evidence(person: Person) -> None:
    await person.page.get_by_role("combobox", name=person.words("Search everything")).fill("竞价上限")
    await person.page.keyboard.press("Enter")
    await expect(person.page.locator("section.found h3 a")).to_have_count(1)
    await person.page.goto(f"{person.address}items?q=竞价上限")
    found = person.page.locator(".rows > .row h3 a")
    await expect(found).to_have_count(1)
    await expect(person.page.locator(".row mark").first).to_have_text("竞价上限")
    await found.click()
    await person.page.get_by_role("link", name=re.compile(person.words("See it on the saved page"))).first.click()
    passage = person.page.locator("mark#passage")
    await expect(passage).to_be_in_viewport()
    assert len(await passage.inner_text()) > 4


async def stars_one_and_hides_one(person: Person) -> None:
    await person.main("Items").click()
    rows = person.page.locator(".rows > .row")
    await expect(rows.first).to_be_visible()
    await person.page.wait_for_load_state()  # all of them, and the script
    titles = await rows.locator("h3 a").all_inner_texts()
    star = rows.first.locator("[data-act=star], [data-act=unstar]")
    await star.click()
    await expect(star).to_have_attribute("aria-pressed", "true")
    await rows.nth(1).locator("[data-act=hide]").click()
    await expect(person.page.get_by_role("link", name=titles[1], exact=True)).to_have_count(0)
    await expect(person.page.locator("#triage")).to_have_attribute("aria-busy", "false")  # all is stored
    await person.main("Items").click()
    await expect(person.page.get_by_role("link", name=titles[0], exact=True)).to_be_visible()
    await expect(person.page.get_by_role("link", name=titles[1], exact=True)).to_have_count(0)
    await expect(rows.first.locator("[data-act=unstar]")).to_have_attribute("aria-pressed", "true")


async def puts_a_briefing_in_order(person: Person) -> list[str]:
    await person.main("Briefings").click()
    await person.link("Compose").first.click()
    await person.field("Parts").select_option("none")
    await person.button("Show").click()
    await person.button("Save").click()
    await person.link("Edit").click()
    await expect(person.page.locator("ol.entries").first).to_be_visible()
    await person.page.wait_for_load_state()
    before = await person.page.locator("ol.entries").first.locator("h3").all_inner_texts()
    up = person.page.get_by_role("button", name=re.compile(f"^{person.words('Up')}:")).nth(1)
    await up.focus()
    await person.page.keyboard.press("Enter")
    moved = person.page.locator("ol.entries").first.locator("h3").first
    await expect(moved).to_contain_text(title_in(before[1]))
    await person.page.locator("textarea[name^=note-]").first.fill("请法务先看这一条。")
    await person.button("Save").click()
    await expect(person.page.locator(".reading")).to_contain_text("请法务先看这一条。")
    return [title_in(before[1]), title_in(before[0])]


def title_in(heading: str) -> str:
    return re.sub(r"^\d+\s*", "", heading).strip()


async def sends_and_exports_it(person: Person, office: Office, order: list[str]) -> None:
    async with person.page.expect_download() as coming:
        await person.page.get_by_role("link", name="docx", exact=True).click()
    file = Path(await (await coming.value).path())
    assert in_order(docx_text(await asyncio.to_thread(file.read_bytes)), order)
    await person.page.get_by_role("link", name=person.words("Send to %(target)s", target="office"), exact=True).click()
    await person.button("Send now").click()
    await expect(person.page.locator("aside .badge.good")).to_have_text(
        get_word(person.language, "delivery", "sent"), timeout=TIMEOUT_MS
    )
    (letter,) = office.mailbox.messages()
    body = letter.get_body(("plain",)).get_content()
    assert in_order(body, order)
    assert "请法务先看这一条。" in body
    (enclosed,) = letter.iter_attachments()
    assert in_order(docx_text(enclosed.get_content()), order)


def docx_text(content: bytes) -> str:
    return "\n".join(paragraph.text for paragraph in Document(io.BytesIO(content)).paragraphs)


def in_order(whole: str, titles: list[str]) -> bool:
    places = [whole.find(title) for title in titles]
    return -1 not in places and places == sorted(places)


async def makes_a_reader_who_may_not_change_anything(person: Person, office: Office, sit_down: Any) -> None:
    await person.main("Settings").click()
    await person.link("People").first.click()
    await person.field("User name").fill("小王")
    await person.button("Add person").click()
    one_time = await person.page.locator("code.secret").inner_text()
    reader: Person = await sit_down(office.service, person.language)
    await reader.sign_in("小王", one_time)
    await reader.choose_password("a river with seven bends")
    await reader.main("Sources").click()
    await expect(reader.link("Add a source")).to_have_count(0)
    await expect(reader.main("Settings")).to_have_count(0)
    for path in ("settings", "settings/people", "audit", "sources/new"):
        answer = await reader.page.goto(f"{office.service.address}{path}")
        assert answer is not None
        assert answer.status == 403
        await reader.sees("Not allowed")
    await reader.main("Items").click()
    await reader.page.locator(".rows > .row h3 a").first.click()
    await expect(reader.page.locator("[data-act=hide]")).to_have_count(0)
    await reader.field("A note").fill("已读")
    await reader.button("Add the note").click()
    await expect(reader.page.locator(".note")).to_contain_text("已读")


async def points_to_another_model_and_tests_it(person: Person, office: Office) -> None:
    await person.main("Settings").click()
    await person.link("Model").first.click()
    await person.page.locator("[name='llm.base_url']").fill(office.model_url)
    await person.page.locator("[name='llm.model']").fill("model-of-tomorrow")
    await person.button("Save and test").click()
    await expect(person.page.locator("main")).to_contain_text("model-of-tomorrow")
    tried = person.page.locator("div.notice, div.trouble").filter(has_text="model-of-tomorrow")
    await expect(tried.locator("li").first).to_be_visible()
    await person.page.locator("[name='llm.base_url']").fill("http://127.0.0.1:9/v1")
    await person.button("Save and test").click()
    await expect(tried.and_(person.page.locator(".trouble"))).to_be_visible(timeout=TIMEOUT_MS)
    await expect(tried.locator("li")).to_have_count(0)


async def ends_another_session(person: Person, office: Office, sit_down: Any) -> None:
    other: Person = await sit_down(office.service, person.language)
    await other.sign_in("admin", PASSWORD)
    await other.main("Items").click()
    await person.page.goto(f"{office.service.address}account")
    await person.page.get_by_role("button", name=re.compile(f"^{person.words('End')} Chrome")).click()
    await other.main("Today").click()
    await expect(other.button("Sign in")).to_be_visible()
    await person.main("Today").click()
    await expect(person.button("Sign in")).to_have_count(0)
