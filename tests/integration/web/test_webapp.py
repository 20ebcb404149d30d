"""Pages that come from elsewhere: the bookmark, the installed app and what is shared with it."""

import json
import shutil
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import html
from playwright.async_api import async_playwright

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web

PASSWORD = "a long and quiet word"  # noqa: S105 -- of a person who lives for one test


async def test_the_manifest_is_for_everybody_in_the_language_of_the_browser(desk: Any) -> None:
    for language, words in (("en", "Watches official sites"), ("zh", "监测官方网站")):
        client = await desk.client(headers={"Accept-Language": language})
        answer = await client.get("/manifest.webmanifest")
        assert answer.headers["content-type"] == "application/manifest+json"
        manifest = answer.json()
        assert words in manifest["description"]
        assert manifest["share_target"]["method"] == "GET"
        for icon in manifest["icons"]:
            image = (await client.get(icon["src"])).content
            assert "{}x{}".format(*struct.unpack(">II", image[16:24])) == icon["sizes"]


async def test_what_is_shared_fills_in_the_form_and_adds_nothing(desk: Any) -> None:
    editor = await desk.sign_in("editor")
    for shared in (
        {"url": "https://a.example/n/", "title": "Notices\n of A"},
        {"text": "Look: https://a.example/n/", "title": "Notices of A"},
    ):
        form = html.fromstring((await editor.get("/sources/new", params=shared)).text).forms[-1]
        assert (form.fields["url"], form.fields["name"]) == ("https://a.example/n/", "Notices of A")
        assert (form.method, form.fields["csrf"]) == ("POST", editor.csrf)
    assert await desk.app.sources.list_sources() == []
    stranger = await desk.client()
    sent_on = await stranger.get("/sources/new", params={"url": "https://a.example/n/"})
    assert unquote(unquote(sent_on.headers["location"])) == "/sign-in?next=/sources/new?url=https://a.example/n/"


async def test_the_bookmark_opens_the_form_for_the_page_it_is_clicked_on_and_the_app_can_be_installed(
    tmp_path: Path, sqlite_url: str, site: Any
) -> None:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH")
    page_elsewhere = site.on("/news/", "<html><head><title>通知 &amp; News</title></head><body>x</body></html>")
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url)
    settings = settings.model_copy(update={"web": settings.web.model_copy(update={"port": 0})})
    async with open_app(settings) as app, serve_web(app) as address, async_playwright() as playwright:
        await app.people.add("editor", "editor", by=COMMAND_LINE)
        await app.people.set_password("editor", PASSWORD, by=COMMAND_LINE)
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = await browser.new_page(locale="en-US")
        await page.goto(f"{address}sources/new")
        await page.fill("input[name=name]", "editor")
        await page.fill("input[name=password]", PASSWORD)
        await page.click("main button")
        bookmark = await page.get_by_text("Watch this page").get_attribute("href")
        devtools = await page.context.new_cdp_session(page)
        manifest = await devtools.send("Page.getAppManifest")
        assert (manifest["errors"], json.loads(manifest["data"])["name"]) == ([], "Monitor")
        await page.goto(page_elsewhere)
        async with page.expect_navigation():
            await page.evaluate(f"location.assign({json.dumps(bookmark)})")
        assert await page.input_value("input[name=url]") == page_elsewhere
        assert await page.input_value("main input[name=name]") == "通知 & News"
        await browser.close()
