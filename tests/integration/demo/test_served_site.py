"""The sample ministry on a real socket, asked by a real client and drawn by a real browser."""

import asyncio
import datetime as dt
import shutil
import sys
import time
from collections.abc import AsyncIterator

import httpx
import pytest
from playwright.async_api import Browser, async_playwright

from monitor.demo.site import SampleSite

TODAY = dt.date(2026, 11, 21)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on the PATH")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        await browser.close()


async def test_every_expected_url_answers_and_every_request_is_logged() -> None:
    site = SampleSite(today=TODAY)
    async with site.serve() as base_url, httpx.AsyncClient() as client:
        items = site.list_expected_items(base_url)
        for item in items:
            assert (await client.head(item.url)).status_code == 200, item.url
    assert len(site.requests) == len(items)
    assert all(request.startswith("HEAD /") for request in site.requests)


async def test_head_sends_the_length_and_no_body() -> None:
    async with SampleSite(today=TODAY).serve() as base_url, httpx.AsyncClient() as client:
        full, head = await client.get(f"{base_url}/zcfg/"), await client.head(f"{base_url}/zcfg/")
    assert int(head.headers["content-length"]) == len(full.content)
    assert head.content == b""


async def test_the_old_pages_declare_gb2312_in_their_markup_alone() -> None:
    async with SampleSite(today=TODAY).serve() as base_url, httpx.AsyncClient() as client:
        answer = await client.get(f"{base_url}/rsrm/")
    assert answer.headers["content-type"] == "text/html"
    assert "charset=gb2312" in answer.text
    assert "沈若谷任国家绿色能源总署总工程师" in answer.content.decode("gb2312")


async def test_wrong_requests_get_their_status_and_the_server_goes_on() -> None:
    async with SampleSite(today=TODAY).serve() as base_url, httpx.AsyncClient() as client:
        assert (await client.get(f"{base_url}/nothing.html")).status_code == 404
        assert (await client.post(f"{base_url}/zcfg/")).status_code == 405
        host, port = base_url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"nonsense\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
        await writer.wait_closed()
        assert (await client.get(f"{base_url}/")).status_code == 200


async def test_a_delay_holds_every_answer_back() -> None:
    site = SampleSite(today=TODAY, delay_s=0.2)
    async with site.serve() as base_url, httpx.AsyncClient() as client:
        begun = time.perf_counter()
        await client.get(f"{base_url}/robots.txt")
    assert time.perf_counter() - begun >= 0.2


async def test_a_connection_left_open_does_not_keep_the_server_from_stopping() -> None:
    async with SampleSite(today=TODAY).serve() as base_url:
        host, port = base_url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
    writer.close()
    await writer.wait_closed()


async def test_the_browser_draws_the_list_and_the_pager_that_the_markup_does_not_hold(browser: Browser) -> None:
    site = SampleSite(today=TODAY)
    async with site.serve() as base_url:
        page = await browser.new_page()
        await page.goto(f"{base_url}/hybz/index.html")
        await page.wait_for_selector(".std-row")
        drawn = await page.locator(".std-name").all_inner_texts()
        await page.goto(f"{base_url}/zcfg/")
        hrefs = await page.locator("#page_div a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert drawn == [item.title for item in site.list_expected_items(base_url) if item.section == "行业标准"]
    assert hrefs == ["index_1.html", "index_2.html", "index_1.html", "index_2.html"]


async def test_the_guard_answers_412_in_the_browser_too_and_comes_to_rest(browser: Browser) -> None:
    site = SampleSite(today=TODAY)
    async with site.serve() as base_url:
        page = await browser.new_page()
        async with page.expect_event("load"), page.expect_event("load"):
            answer = await page.goto(f"{base_url}/dfdt/", wait_until="commit")
        await page.wait_for_load_state("networkidle")
        assert answer is not None
        assert answer.status == 412
        assert not await page.inner_text("body")
    assert 1 <= site.requests.count("GET /dfdt/") <= 2


async def test_the_module_serves_by_hand_and_says_where() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "monitor.demo.site", "ministry", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        base_url = (await process.stdout.readline()).decode().split(": ", 1)[1].strip()
        async with httpx.AsyncClient() as client:
            assert "国家绿色能源总署" in (await client.get(base_url)).text
    finally:
        process.terminate()
        await process.communicate()


async def test_an_unknown_site_is_one_sentence_and_exit_code_2() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "monitor.demo.site", "nowhere", stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert said.decode().startswith("There is no sample site named 'nowhere'")
    assert len(said.decode().splitlines()) == 1
