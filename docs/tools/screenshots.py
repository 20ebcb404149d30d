# ruff: noqa: INP001 -- a script beside the documents, not a package
"""Take the screenshots of docs/images from the sample sites, in English and Chinese, with the real browser.

`make screenshots` calls it. It sweeps the ministry and the bureau in a temporary folder, starts `monitor serve` there,
signs in, and writes docs/images/{en,zh}/*.png at fixed sizes.
"""

import asyncio
import datetime as dt
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import yaml
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from monitor.config.model import BrowserSettings
from monitor.demo.site import TIMEZONE, SampleSite
from monitor.fetch.browser.launch import find_browser
from tests.acceptance.people import PASSWORD, Person

ANALYST = "analyst"
QUESTION = "绿色电力直连项目有哪些要求，何时申报？"
IMAGES = Path(__file__).parents[1] / "images"
LOCALES = {"en": "en-GB", "zh": "zh-CN"}
MAX_BYTES = 200_000
START_TIMEOUT_S = 120
PAGE_TIMEOUT_MS = 60_000


@dataclass
class Shot:
    name: str
    width: int
    height: int
    open: Callable[[Person], Awaitable[None]]


async def open_today(person: Person) -> None:
    await person.page.goto(person.address)


async def open_reader(person: Person) -> None:
    """Open the first item beside the list, with the keys that a reader would press."""
    await person.page.goto(f"{person.address}items")
    await person.page.keyboard.press("j")
    await person.page.keyboard.press("o")
    await expect(person.page.locator(".pane h1")).to_be_visible()


async def open_evidence(person: Person) -> None:
    """Follow the first item to the passage on the saved page that bears what is said of it."""
    await person.page.goto(f"{person.address}items")
    await person.page.goto(await find_address(person.page.locator("#triage .row h3 a").first))
    passage = await find_address(person.page.locator(".claims a").first)
    await person.page.goto(passage.partition("#")[0])


async def find_address(link: Locator) -> str:
    """Return where a link leads; the script of the list would open it beside the list instead."""
    return str(await link.evaluate("link => link.href"))


async def open_briefing(person: Person) -> None:
    await person.page.goto(f"{person.address}briefings/now")
    if await person.button("Compose it now").count():
        await person.button("Compose it now").click()
    await expect(person.page.locator(".reading").first).to_be_visible()


async def open_calendar(person: Person) -> None:
    """Open the month in which most of the sample's deadlines fall."""
    month = dt.datetime.now(ZoneInfo(TIMEZONE)) + dt.timedelta(days=14)
    await person.page.goto(f"{person.address}calendar?month={month:%Y-%m}")


async def open_policy(person: Person) -> None:
    """Open the policy with the most documents."""
    await person.page.goto(f"{person.address}policies")
    rows = [
        (int(await row.locator("td.number").inner_text()), await find_address(row.locator("th a")))
        for row in await person.page.locator("table.list tbody tr").all()
    ]
    await person.page.goto(max(rows)[1])


async def open_research(person: Person) -> None:
    """Open the report of the latest research."""
    await person.page.goto(f"{person.address}research")
    await person.page.goto(await find_address(person.page.locator("table.list th a").first))
    await expect(person.page.locator("h1")).to_be_visible()


SHOTS = [
    Shot("today", 1280, 860, open_today),
    Shot("items", 1400, 720, open_reader),
    Shot("evidence", 1280, 860, open_evidence),
    Shot("briefing-phone", 390, 844, open_briefing),
    Shot("calendar", 1280, 860, open_calendar),
    Shot("policy", 1280, 860, open_policy),
    Shot("research", 1280, 780, open_research),
]


async def start_monitor(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "monitor", *arguments),
        cwd=folder,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )


async def run_monitor(folder: Path, *arguments: str, stdin: str = "") -> None:
    process = await start_monitor(folder, *arguments)
    _, complaint = await process.communicate(stdin.encode())
    if process.returncode:
        raise SystemExit(f"monitor {' '.join(arguments)}: {complaint.decode()}")


@asynccontextmanager
async def serve_desk(folder: Path) -> AsyncIterator[None]:
    process = await start_monitor(folder, "serve")
    if process.stderr is None:
        raise RuntimeError("standard error is no pipe")
    async with asyncio.timeout(START_TIMEOUT_S):
        while line := await process.stderr.readline():
            if b"At work" in line:
                break
        else:
            raise SystemExit("monitor serve did not start")
    drain = asyncio.create_task(process.stderr.read())
    try:
        yield
    finally:
        process.terminate()
        await process.wait()
        await drain


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def sit_down(browser: Browser, language: str, address: str, *, name: str = ANALYST) -> Person:
    context = await browser.new_context(locale=LOCALES[language], timezone_id=TIMEZONE, reduced_motion="reduce")
    context.set_default_timeout(PAGE_TIMEOUT_MS)
    person = Person(await context.new_page(), language, address)
    await person.sign_in(name, PASSWORD)
    await expect(person.page.get_by_role("navigation").first).to_be_visible()
    return person


async def take(shot: Shot, person: Person, folder: Path) -> Path:
    await person.page.set_viewport_size({"width": shot.width, "height": shot.height})
    await shot.open(person)
    await settle(person.page)
    path = folder / f"{shot.name}.png"
    await person.page.screenshot(path=path, animations="disabled", caret="hide")
    if path.stat().st_size > MAX_BYTES:
        sys.stderr.write(f"{path} has {path.stat().st_size} bytes, more than {MAX_BYTES}\n")
    return path


async def settle(page: Page) -> None:
    await page.wait_for_load_state("networkidle")
    await page.evaluate("document.fonts.ready")


async def take_all(address: str) -> None:
    async with async_playwright() as playwright:
        path = find_browser(BrowserSettings())
        browser = await playwright.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        for language in LOCALES:
            person = await sit_down(browser, language, address)
            for shot in SHOTS:
                await take(shot, person, IMAGES / language)
        await browser.close()


async def main() -> None:
    today = dt.datetime.now(ZoneInfo(TIMEZONE)).date()
    sites = [SampleSite(name, today=today) for name in ("ministry", "bureau")]
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-screenshots-")))
        urls = [await stack.enter_async_context(site.serve()) for site in sites]
        port = find_free_port()
        settings = {
            "timezone": TIMEZONE,
            "pages": {"delay_s": 0},
            "web": {"port": port},
            "network": {"allowed_private_hosts": [urlsplit(url).netloc for url in urls]},
            "sources": [
                {"name": site.title, "url": url, "focus_areas": [area["name"] for area in site.focus_areas]}
                for site, url in zip(sites, urls, strict=True)
            ],
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(settings, allow_unicode=True), encoding="utf-8")
        await run_monitor(folder, "init")
        await run_monitor(folder, "users", "add", ANALYST, "--role", "admin")
        await run_monitor(folder, "users", "passwd", ANALYST, "--password-stdin", stdin=f"{PASSWORD}\n")
        await run_monitor(folder, "sweep", "--all")
        await run_monitor(folder, "research", QUESTION)
        await stack.enter_async_context(serve_desk(folder))
        await take_all(f"http://127.0.0.1:{port}/")


if __name__ == "__main__":
    asyncio.run(main())
