"""The catalogue over HTTP and on the desk: searched, added from, and what did not work is named."""

import asyncio
import datetime as dt
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import async_playwright, expect

from monitor.bootstrap import App, open_app
from monitor.catalogue.bodies import CatalogueFile, load_catalogue_file
from monitor.config.model import Settings
from monitor.demo.site import SampleSite
from monitor.services.audit import COMMAND_LINE
from monitor.services.sources.catalogue import CatalogueService
from monitor.web.app import create_web_app, serve_web
from tests.integration.web.conftest import PASSWORD, Desk

TODAY = dt.date(2026, 11, 21)


@pytest.fixture
async def app(tmp_path: Path, sqlite_url: str, free_port: int) -> AsyncIterator[App]:
    """A program with two more bodies in its catalogue: a copy of the sample ministry, and one that refuses."""
    whole, shut = SampleSite(today=TODAY), SampleSite(today=TODAY)
    shut.faults["/"] = 403
    async with whole.serve() as whole_url, shut.serve() as shut_url:
        hosts = [urlsplit(url).netloc for url in (whole_url, shut_url)]
        settings = Settings(
            data_dir=tmp_path,
            database_url=sqlite_url,
            pages={"delay_s": 0, "render": "never"},
            network={"allowed_private_hosts": hosts},
            web={"port": free_port},
        )
        shipped = load_catalogue_file()
        copies = [
            describe_body("xx-whole", "样本能源署", whole_url, "/zcfg/", "/gone/"),
            describe_body("xx-shut", "拒绝访问署", shut_url, "/zcfg/"),
        ]
        catalogue = CatalogueFile.model_validate(
            {**shipped.model_dump(), "bodies": [*shipped.model_dump()["bodies"], *copies]}
        )
        async with open_app(settings) as opened:
            opened.__dict__["catalogue"] = CatalogueService(
                sources=opened.sources, clock=opened.clock, loaders=opened.loaders, catalogue=catalogue
            )
            opened.push_close(opened.catalogue.close)
            yield opened


@pytest.fixture
async def desk(app: App) -> AsyncIterator[Desk]:
    async with AsyncExitStack() as stack:
        yield Desk(app, create_web_app(app), stack)


def describe_body(body_id: str, name: str, base_url: str, *paths: str) -> dict[str, Any]:
    return {
        "id": body_id,
        "name": name,
        "country": "CN",
        "level": "central",
        "url": f"{base_url}/",
        "language": "zh-Hans",
        "topics": ["energy"],
        "sections": [{"name": path.strip("/"), "url": base_url + path} for path in paths],
        "seen_in": ["owner/repo"],
        "confidence": "high",
    }


async def test_a_program_searches_adds_and_reads_what_did_not_work(desk: Desk) -> None:
    program = await desk.program("editor", scopes=["read", "write", "run"])
    found = (await program.get("/api/v1/catalogue", params={"q": "证监会", "limit": 1})).json()
    assert [body["id"] for body in found["bodies"]] == ["cn-csrc"]
    following = (
        await program.get("/api/v1/catalogue", params={"q": "证监会", "limit": 1, "cursor": found["next"]})
    ).json()
    assert following["bodies"][0]["id"] not in ("cn-csrc", None)
    assert (await program.get("/api/v1/catalogue", params={"country": "Atlantis"})).status_code == 400
    body = (await program.get("/api/v1/catalogue/xx-whole")).json()
    assert (body["source_id"], [section["name"] for section in body["sections"]]) == (None, ["zcfg", "gone"])

    begun = await program.post("/api/v1/catalogue/add", json={"ids": ["xx-whole", "xx-shut"]})
    assert begun.status_code == 202, begun.text
    await desk.app.catalogue.wait(begun.json()["id"], 60)
    report = (await program.get(f"/api/v1/catalogue/additions/{begun.json()['id']}")).json()
    whole, shut = report["bodies"]
    assert (report["state"], whole["state"], shut["state"]) == ("done", "added", "failed")
    works, gone = whole["sections"]
    assert works["entries"] > 5
    assert gone["reason_code"] == "cause.page_error"
    assert "404" in gone["reason"]
    assert shut["error_code"] == "cause.page_blocked"
    assert (await program.get("/api/v1/catalogue/xx-whole")).json()["source_id"] == whole["source_id"]
    source = (await program.get(f"/api/v1/sources/{whole['source_id']}")).json()
    assert [section["name"] for section in source["sections"]] == ["zcfg"]
    stopped = await program.delete(f"/api/v1/catalogue/additions/{begun.json()['id']}")
    assert stopped.json()["state"] == "done"


async def test_the_page_keeps_what_was_asked_and_says_what_is_wrong(desk: Desk) -> None:
    anna, reader = await desk.sign_in("editor", language="en"), await desk.sign_in("reader", language="zh")
    page = await anna.get("/sources/catalogue?q=SEC&country=US")
    assert "Securities and Exchange Commission" in page.text
    assert "https://www.sec.gov/news/pressreleases.rss" in page.text
    assert 'value="US" selected' in page.text
    seen = await reader.get("/sources/catalogue?q=zzzzzz")
    assert "没有符合条件的机构" in seen.text
    assert 'name="ids"' not in (await reader.get("/sources/catalogue")).text
    refused = await anna.post("/sources/catalogue/add", {"ids": ["us-sec"], "schedule": "daily", "q": "SEC"})
    assert refused.status_code == 400
    assert 'value="daily"' in refused.text
    assert 'value="us-sec" checked' in refused.text
    assert (await anna.post("/sources/catalogue/add", {"q": "SEC"})).status_code == 400
    second = await anna.get("/sources/catalogue?country=CN")
    assert 'rel="next"' in second.text


async def test_a_person_chooses_bodies_and_sees_how_adding_them_ends(app: App) -> None:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH")
    await app.people.add("anna", "editor", by=COMMAND_LINE)
    await app.people.set_password("anna", PASSWORD, by=COMMAND_LINE)
    complaints: list[str] = []
    async with async_playwright() as playwright, serve_web(app) as address, asyncio.timeout(120):
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = await (await browser.new_context(locale="zh-CN", base_url=address)).new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        await page.goto("/sign-in")
        await page.fill("input[name=name]", "anna")
        await page.fill("input[name=password]", PASSWORD)
        await page.press("input[name=password]", "Enter")
        await page.wait_for_selector("nav.main")
        await page.goto("/sources")
        await page.locator(".head").get_by_role("link", name="机构库", exact=True).click()
        await page.fill("main input[name=q]", "拒绝访问署")
        await page.locator("main").get_by_role("button", name="查找", exact=True).click()
        await page.locator("input[name=ids]").check()
        await page.fill("main input[name=q]", "样本能源署")
        await page.locator("main").get_by_role("button", name="查找", exact=True).click()
        await page.locator("input[data-ticks=ids]").check()
        await expect(page.locator("[data-picked]")).to_have_text("已选 2 个")
        await page.get_by_role("button", name="添加所选机构").click()
        await page.wait_for_selector("ol.trial-steps")
        await expect(page.locator(".trial-steps > li .badge.good")).to_have_text("已添加", timeout=60_000)
        await expect(page.locator(".trial-steps > li .badge.bad")).to_have_text("未添加", timeout=60_000)
        await expect(page.locator("progress")).to_have_count(0, timeout=60_000)
        await expect(page.locator(".trial-steps > li li")).to_have_count(2)
        await page.get_by_role("link", name="样本能源署").click()
        await expect(page.locator("h1")).to_have_text("样本能源署")
        await browser.close()
    assert complaints == []
