"""Teaching a section on the pages and through the API: chosen from data, seen, kept, forgotten."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.reading import SectionPlan, SectionReading
from monitor.db.tables.collection import Run
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import RunStatus, SectionEnd

HOSTILE = "<img src=x onerror=alert(1)>下载"
TITLES = [f"关于第{number}批绿色能源项目清单的通知" for number in range(1, 7)]


@pytest.fixture
def desk_settings(site: Any) -> Callable[[Settings], Settings]:
    def change(settings: Settings) -> Settings:
        return settings.model_copy(
            update={
                "network": settings.network.model_copy(update={"allowed_private_hosts": [site.host]}),
                "pages": settings.pages.model_copy(update={"delay_s": 0.0, "render": "never"}),
            }
        )

    return change


@pytest.fixture
async def source_id(desk: Any, site: Any) -> int:
    notices = "".join(
        f'<li><a href="/n/{place}.html">{title}</a><span>2026-02-0{place + 1}</span></li>'
        for place, title in enumerate(TITLES)
    )
    escaped = HOSTILE.replace("<", "&lt;")
    files = "".join(f'<dd><a href="/files/{number}.html">{escaped}{number}</a></dd>' for number in range(4))
    site.on("/news/", f"<html><body><ul>{notices}</ul><dl>{files}</dl><script>alert(2)</script></body></html>")
    section = {"name": "通知", "url": site.url("/news/")}
    values = {"name": "bureau", "url": site.url("/"), "sections": [section]}
    source = await desk.app.sources.add(values, by=COMMAND_LINE)
    return source.id


def forms_of(page: str) -> list[list[str]]:
    """The examples of the cards of a page, as its buttons send them."""
    found = [re.findall(r'name="example" value="([^"]+)"', form) for form in page.split("<form")[1:]]
    return [
        urls
        for form, urls in zip(page.split("<form")[1:], found, strict=True)
        if urls and 'type="checkbox"' not in form
    ]


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_list_is_chosen_from_cards_seen_and_kept(desk: Any, site: Any, source_id: int, language: str) -> None:
    editor = await desk.sign_in("editor", language=language)
    shown = (await editor.get(f"/sources/{source_id}")).text
    assert f"/sources/{source_id}/teach?url=" in shown
    path = f"/sources/{source_id}/teach"
    page = (await editor.get(path, params={"url": site.url("/news/")})).text
    assert all(title in page for title in TITLES[:5])
    assert "<img src=x" not in page
    assert "alert(2)" not in page
    first, second = forms_of(page)[:2]
    assert first == [site.url("/n/0.html"), site.url("/n/1.html")]
    assert all("/files/" in url for url in second)

    seen = await editor.post(path, {"url": site.url("/news/"), "example": second})
    assert seen.status_code == 200, seen.text
    assert "/files/3.html" in seen.text
    assert "/n/0.html" not in seen.text
    assert (await desk.app.sources.get_by_id(source_id)).recipes == []

    kept = await editor.post(path, {"url": site.url("/news/"), "example": second, "save": "true"})
    assert kept.status_code == 303, kept.text
    (recipe,) = (await desk.app.sources.get_by_id(source_id)).recipes
    assert recipe["examples"] == second

    forgotten = await editor.post(f"{path}/forget", {"url": site.url("/news/")})
    assert forgotten.status_code == 303
    assert (await desk.app.sources.get_by_id(source_id)).recipes == []


async def test_links_of_two_lists_are_refused_with_the_ticks_kept(desk: Any, site: Any, source_id: int) -> None:
    editor = await desk.sign_in("editor", language="en")
    examples = [site.url("/n/0.html"), site.url("/files/0.html")]
    answer = await editor.post(f"/sources/{source_id}/teach", {"url": site.url("/news/"), "example": examples})
    assert answer.status_code == 400
    assert "stand in different lists" in answer.text
    assert all(re.search(rf'value="{url}" checked', answer.text) for url in examples)


async def test_a_page_that_cannot_be_seen_says_why(desk: Any, site: Any, source_id: int) -> None:
    editor = await desk.sign_in("editor", language="en")
    answer = await editor.get(f"/sources/{source_id}/teach", params={"url": site.url("/gone/")})
    assert (answer.status_code, "could not be loaded" in answer.text) == (200, True)
    answer = await editor.get(f"/api/v1/sources/{source_id}/recipes/page", params={"url": site.url("/gone/")})
    assert (answer.status_code, answer.json()["code"]) == (502, "teaching.page_unseen")


async def test_the_api_looks_teaches_lists_and_forgets(desk: Any, site: Any, source_id: int) -> None:
    editor = await desk.sign_in("editor", language="en")
    path, url = f"/api/v1/sources/{source_id}/recipes", site.url("/news/")
    look = (await editor.get(f"{path}/page", params={"url": url})).json()
    assert [found["is_current"] for found in look["lists"]][:2] == [True, False]
    asked = {"url": url, "examples": [site.url("/files/2.html")]}
    dry = (await editor.send("POST", path, json={**asked, "dry_run": True})).json()
    assert (len(dry["rows"]), dry["is_saved"]) == (4, False)
    assert (await editor.get(path)).json()["recipes"] == []
    assert (await editor.send("POST", path, json=asked)).json()["is_saved"]
    (recipe,) = (await editor.get(path)).json()["recipes"]
    assert recipe["taught_by"] == "person"
    wrong = await editor.send("POST", path, json={"url": url, "examples": [site.url("/other.html")]})
    assert (wrong.status_code, wrong.json()["code"]) == (400, "teaching.no_such_link")
    assert (await editor.send("DELETE", path, params={"url": url})).status_code == 204
    assert (await editor.send("DELETE", path, params={"url": url})).status_code == 404


async def test_a_section_that_drifted_is_told_with_the_way_to_mend_it(desk: Any, site: Any, source_id: int) -> None:
    app, url = desk.app, site.url("/news/")
    await app.teaching.teach(source_id, url, [site.url("/n/1.html")], by=COMMAND_LINE, save=True)
    now = app.clock.now()
    run = Run(id="r", source_id=source_id, source="bureau", planned_at=now, status=RunStatus.SUCCEEDED)
    await app.store.runs.create(run)
    plan = SectionPlan(ordinal=0, name="通知", url=url)
    await app.store.runs.save_plan("r", [plan])
    reading = SectionReading(plan=plan, ended=SectionEnd.END, pages=1, listed=6, listed_dated=6, is_drifted=True)
    await app.store.runs.save_reading("r", source_id, reading, on=now.date(), at=now)
    await app.alarms.judge_run("r")
    editor = await desk.sign_in("editor", language="en")
    for path in (f"/sources/{source_id}", f"/health/sources/{source_id}"):
        page = (await editor.get(path)).text
        assert "Show the list again" in page
        assert f"/sources/{source_id}/teach?url=" in page
    listed = (await editor.get("/api/v1/alarms")).json()
    assert [alarm["kind"] for alarm in listed["alarms"]] == ["drift"]
    assert "drifted_on" in (await editor.get("/api/v1/health")).text
    await app.teaching.teach(source_id, url, [site.url("/n/1.html")], by=COMMAND_LINE, save=True)
    assert all(alarm["cleared_at"] for alarm in (await editor.get("/api/v1/alarms")).json()["alarms"])
