"""Research as a person does it, in a real browser: asked, its plan changed, watched, left and found again (issue 8).

The service, its model and its web are real processes and servers; what the page was told is held against the stream
that the API gives a program.
"""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.server import ScriptedModel
from tests.acceptance.people import PASSWORD, TIMEOUT_MS, Person, Service

QUESTIONS = {
    "zh": "2026年新型储能的发展现状与政策走向如何？",
    "en": "How is energy storage developing in 2026, and where is policy heading?",
}
MY_TITLE = {"zh": "安全事故与新标准", "en": "Safety incidents and new standards"}
SEEN = "window.steadyResearchEvents"
CONFIG = "window.steadyResearchConfig.deepAgent"


@dataclass
class Office:
    """The service, and what it works with."""

    service: Service
    model: ScriptedModel


@pytest.fixture
async def office(
    workplace: Any, serve: Callable[[], Awaitable[Service]], free_port: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Office]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    model = ScriptedModel()
    async with AsyncExitStack() as stack:
        values = await stack.enter_async_context(ResearchWorld().serve())
        base_url = await stack.enter_async_context(model.serve())
        workplace.configure(
            **values,
            web={"port": free_port},
            llm={"base_url": base_url, "model": "usual"},
            research={"max_paragraphs": 4, "max_reflections": 1},
        )
        yield Office(await serve(), model)


async def begin(person: Person, office: Office) -> None:
    """Sign in for the first time, and go where questions are asked."""
    await person.sign_in("admin", office.service.one_time)
    await person.choose_password(PASSWORD)
    await person.page.goto(person.address)
    await person.main("Research").click()
    await expect(person.button("Begin the research")).to_be_visible()


async def ask(person: Person, *, is_plan_looked_at: bool) -> None:
    await person.field("Your question").fill(QUESTIONS[person.language])
    box = person.field("Let me look at the plan before the search begins")
    await box.set_checked(is_plan_looked_at)
    await person.button("Begin the research").click()
    await expect(root(person.page)).to_have_attribute("data-status", re.compile("."))


def root(page: Page) -> Locator:
    return page.locator("#research")


async def changes_the_plan(person: Person) -> list[str]:
    """Rename a paragraph, move it up by keyboard, drop the last: the titles that the report is to have."""
    titles = person.page.locator("input[name=paragraph_title]")
    await expect(titles).to_have_count(4, timeout=TIMEOUT_MS)
    before = [await title.input_value() for title in await titles.all()]
    await titles.nth(1).fill(MY_TITLE[person.language])
    await person.page.locator("#up-1").focus()
    await person.page.keyboard.press("Enter")
    await expect(titles.nth(0)).to_have_value(MY_TITLE[person.language])
    await expect(person.page.locator("#down-0")).to_be_focused()
    await person.page.locator("#remove-3").click()
    await expect(titles).to_have_count(3)
    await person.button("Begin the search").first.click()
    await expect(person.page.locator("#plan-form")).to_have_count(0)
    return [MY_TITLE[person.language], before[0], before[2]]


async def numbers_of(page: Page) -> list[int]:
    return [int(entry) for entry in await page.evaluate(SEEN)]


async def read_over_the_api(person: Person, task_id: str) -> list[tuple[int, dict[str, Any]]]:
    """The whole stream as a program gets it, after the research has ended."""
    answer = await person.page.request.get(f"{person.address}api/research/{task_id}/events")
    text = await answer.text()
    numbers = re.findall(r"^id: ?(\d+)$", text, re.MULTILINE)
    documents = re.findall(r"^data: ?(.+)$", text, re.MULTILINE)
    return [(int(number), json.loads(document)) for number, document in zip(numbers, documents, strict=True)]


@pytest.mark.timeout(300)
async def test_a_research_is_asked_changed_watched_left_and_found_again(office: Office, sit_down: Any) -> None:
    person: Person = await sit_down(office.service, "zh")
    await begin(person, office)
    await ask(person, is_plan_looked_at=True)
    task_id = person.page.url.rpartition("/")[2]
    titles = await changes_the_plan(person)
    await expect(person.page.locator("[data-paragraph] .paragraph-head strong")).to_have_text(titles)

    office.model.pause_s = 0.05
    first = person.page
    await expect(first.locator('[data-step="reporting"].now')).to_be_visible(timeout=TIMEOUT_MS)
    await expect(first.locator("#stream p").first).to_be_visible(timeout=TIMEOUT_MS)
    early = await numbers_of(first)
    second = person.page = await first.context.new_page()
    await first.close()
    second.set_default_timeout(TIMEOUT_MS)
    await second.goto(f"{person.address}research/{task_id}")
    await expect(root(second)).to_have_attribute("data-is-over", "no")
    await expect(second.locator("#stream p").first).to_be_visible()
    await expect(root(second)).to_have_attribute("data-is-over", "yes", timeout=TIMEOUT_MS)
    late = await numbers_of(second)

    stream = await read_over_the_api(person, task_id)
    numbers = [number for number, _ in stream]
    assert late == numbers, "after coming back every message was there, and none twice"
    assert early == numbers[: len(early)]
    assert len(early) < len(numbers), "the tab was closed in mid-stream"
    assert stream[-1][1]["progress"] == 1.0
    await reads_it(person, titles)


def is_of_the_report(request: dict[str, Any]) -> bool:
    """Whether the model was asked to write the report, or to mend a sentence of it."""
    prompt = "".join(str(entry["content"]) for entry in request["messages"])
    return "<<<OUTLINE" in prompt or "<<<SENTENCES" in prompt


async def reads_it(person: Person, titles: list[str]) -> None:
    """The report stands there with its plan's titles, and a citation leads to the passage in the page."""
    report = person.page.locator("article.report")
    for title in titles:
        await expect(report.get_by_role("heading", name=title, exact=True)).to_be_visible()
    assert await person.page.locator("ul.sources > li").count() > 1
    await expect(person.page.locator(".score dd").first).to_contain_text("100 %")
    await expect(person.page.locator("figure.graph svg")).to_be_visible()
    await report.locator("a.cite").first.click()
    passage = person.page.locator("mark#passage")
    await expect(passage).to_be_visible()
    assert len(await passage.inner_text()) > 8


@pytest.mark.timeout(300)
async def test_a_model_that_is_chosen_in_the_panel_is_asked_by_the_next_research(office: Office, sit_down: Any) -> None:
    person: Person = await sit_down(office.service, "en")
    await begin(person, office)
    page = person.page
    await expect(page.locator("#research-panel")).to_be_visible()
    usual = await page.evaluate(CONFIG)
    assert usual == {
        "enabled": True,
        "models": dict.fromkeys(("search", "modeling", "report"), "usual"),
        "sampling": {"temperature": 0.3, "topP": 0.85},
    }
    await page.evaluate(
        "window.heard = []; addEventListener('deepAgent:configChanged', (event) => heard.push(event.detail))"
    )
    await page.locator("#research-panel > summary").click()
    await person.field("Model for the report").fill("large")
    await expect(page.locator("#offered-models option[value=scripted]")).to_have_count(1, timeout=TIMEOUT_MS)
    await person.field("Temperature").fill("9")
    await person.button("Save the settings").click()
    await person.sees("Write a number from 0 to 2.")
    assert await page.evaluate("heard") == [], "what is wrong is not announced"
    await person.field("Temperature").fill("0.9")
    await person.button("Save the settings").click()
    await person.sees("Saved in this browser: the next research uses it.")
    changed = {
        **usual,
        "models": {**usual["models"], "report": "large"},
        "sampling": {"temperature": 0.9, "topP": 0.85},
    }
    assert await page.evaluate("heard") == [changed]
    assert await page.evaluate(CONFIG) == changed
    await page.reload()
    await expect(page.locator("#research-panel")).to_be_visible()
    assert await page.evaluate(CONFIG) == changed, "it is kept in the browser"

    await ask(person, is_plan_looked_at=False)
    await expect(root(page)).to_have_attribute("data-is-over", "yes", timeout=TIMEOUT_MS)
    asked = [(request["model"], request["temperature"], is_of_the_report(request)) for request in office.model.requests]
    assert {model for model, _, is_late in asked if is_late} == {"large"}
    assert {model for model, _, is_late in asked if not is_late} == {"usual"}
    assert {temperature for _, temperature, _ in asked} == {0.9}


@pytest.mark.timeout(300)
async def test_in_english_too_a_plan_is_changed_a_remark_made_and_the_research_cancelled(
    office: Office, sit_down: Any
) -> None:
    person: Person = await sit_down(office.service, "en")
    await begin(person, office)
    await ask(person, is_plan_looked_at=True)
    office.model.pause_s = 0.2
    await changes_the_plan(person)
    await person.field("Add a remark").fill("Only what is new since July.")
    await person.button("Send the remark").click()
    await expect(person.page.locator("#research-remarks")).to_contain_text("Only what is new since July.")
    await expect(person.field("Add a remark")).to_have_value("")
    await person.button("Cancel the research").click()
    await expect(root(person.page)).to_have_attribute("data-is-over", "yes", timeout=TIMEOUT_MS)
    await person.sees("The research was cancelled. What it had found until then stands below.")
    numbers = await numbers_of(person.page)
    stream = await read_over_the_api(person, person.page.url.rpartition("/")[2])
    assert stream[-1][1]["payload"]["error"]["code"] == "cancelled"
    assert numbers == sorted(set(numbers))
    assert set(numbers) <= {number for number, _ in stream}
