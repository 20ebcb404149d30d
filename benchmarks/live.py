"""`make bench NAME=live`: how long after a run reports an event a person who watches it sees it."""

import asyncio
import secrets
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import yaml
from playwright.async_api import Page, async_playwright
from pydantic import BaseModel
from sqlalchemy import Engine, event

from benchmarks.service import start_service_process
from monitor.bootstrap import App, open_app
from monitor.clock import SystemClock
from monitor.config.loading import load_settings
from monitor.db.migrate import upgrade
from monitor.db.tables.collection import Run
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from monitor.services.events import RunEventLog
from monitor.sweep.progress import Progress, ProgressCallback
from monitor.vocabulary import EventKind, Phase, RunStatus

_RUN_ID = "bench"

_USER_NAME = "watcher"

_TIMEOUT_MS = 30_000

# Notes when each line is shown, and the longest time in which the page showed nothing new although it could.
_OBSERVER_SCRIPT = """() => {
  window.shown = {}; window.longest = 0;
  new MutationObserver((changes) => {
    for (const change of changes) for (const line of change.addedNodes) if (line.dataset && line.dataset.id)
      window.shown[line.dataset.id] = Date.now() - Date.parse(line.querySelector("time").dateTime);
  }).observe(document.getElementById("activity"), { childList: true });
  let before = performance.now();
  const frame = (now) => {
    window.longest = Math.max(window.longest, now - before);
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


class LiveBenchmarkResult(BaseModel):
    """A page that was watched. Delays are from the telling of an event to its line on the page.

    `transactions` are those with which the events were kept, `longest_frame_ms` the longest that the page stood still.
    """

    sent: int
    kept: int
    seen: int
    delay_p50_ms: float
    delay_p95_ms: float
    delay_max_ms: float
    longest_frame_ms: float
    transactions: int
    seconds: float


async def measure(*, events_per_s: int, seconds: int, on_step: Callable[[str], None]) -> LiveBenchmarkResult:
    """Tell so many events a second, as a worker does, while a browser shows the run's page from another process."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-bench-")))
        values = {"llm": {"enabled": False}, "web": {"port": _find_free_port()}}
        (folder / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        settings = load_settings(folder / "config.yaml")
        upgrade(settings.database_url)
        app = await stack.enter_async_context(open_app(settings))
        password = await _set_up(app)
        on_step("starting the web part and the browser")
        await stack.enter_async_context(start_service_process(folder, "web"))
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(executable_path=str(find_browser(settings.pages.browser)))
        stack.push_async_callback(browser.close)
        page = await browser.new_page()
        await _open_run_page(page, f"http://127.0.0.1:{settings.web.port}", password)
        on_step(f"telling {events_per_s} events a second for {seconds} seconds")
        return await _measure_delays(app, page, events_per_s=events_per_s, seconds=seconds)


async def _set_up(app: App) -> str:
    password = secrets.token_urlsafe(16)
    await app.people.add(_USER_NAME, "reader", by=COMMAND_LINE)
    await app.people.set_password(_USER_NAME, password, by=COMMAND_LINE)
    now = app.clock.now()
    await app.store.runs.create(
        Run(id=_RUN_ID, source="bench", planned_at=now, status=RunStatus.RUNNING, started_at=now)
    )
    return password


async def _open_run_page(page: Page, address: str, password: str) -> None:
    """Sign in and open the run's page, as a person does."""
    await page.goto(f"{address}/sign-in?next=/runs/{_RUN_ID}")
    await page.fill("[name=name]", _USER_NAME)
    await page.fill("[name=password]", password)
    await page.press("[name=password]", "Enter")
    await page.wait_for_selector("#activity", timeout=_TIMEOUT_MS)
    await page.evaluate(_OBSERVER_SCRIPT)


async def _measure_delays(app: App, page: Page, *, events_per_s: int, seconds: int) -> LiveBenchmarkResult:
    log = RunEventLog(store=app.store, clock=SystemClock())
    transactions = 0

    def count_it(_: object) -> None:
        nonlocal transactions
        transactions += 1

    event.listen(Engine, "commit", count_it)
    loop = asyncio.get_running_loop()
    began, count = loop.time(), events_per_s * seconds
    for number in range(count):
        _send_event(log.get_progress_callback(_RUN_ID), number)
        await asyncio.sleep(began + (number + 1) / events_per_s - loop.time())
    took = loop.time() - began
    await log.close()
    event.remove(Engine, "commit", count_it)
    await app.store.runs.end(_RUN_ID, None, status=RunStatus.SUCCEEDED, at=app.clock.now())
    await page.wait_for_selector('#run[data-is-over="yes"]', state="attached", timeout=_TIMEOUT_MS)
    delays = sorted(await page.evaluate("() => Object.values(window.shown)"))
    longest = await page.evaluate("() => window.longest")
    return LiveBenchmarkResult(
        sent=count,
        kept=await app.store.run_events.count(_RUN_ID),
        seen=len(delays),
        delay_p50_ms=_compute_percentile(delays, 0.5),
        delay_p95_ms=_compute_percentile(delays, 0.95),
        delay_max_ms=_compute_percentile(delays, 1.0),
        longest_frame_ms=round(longest, 1),
        transactions=transactions,
        seconds=round(took, 1),
    )


def _send_event(report_progress: ProgressCallback, number: int) -> None:
    """Pages mostly, an item now and then, and how far the phase came: what the page does with each differs."""
    if number % 25 == 0:
        report_progress(Progress(phase=Phase.SUMMARISE, kind=EventKind.PHASE, done=number, total=100_000))
    elif number % 5 == 0:
        report_progress(
            Progress(phase=Phase.CRAWL, kind=EventKind.SAVED, title=f"关于第 {number} 号文件的通知", item_id=number)
        )
    else:
        url = f"https://ministry.example/list/{number}.html"
        report_progress(Progress(phase=Phase.CRAWL, kind=EventKind.PAGE, place="通知公告", url=url, candidates=20))


def _compute_percentile(values: Sequence[float], share: float) -> float:
    return round(values[min(int(len(values) * share), len(values) - 1)], 1) if values else -1.0


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
