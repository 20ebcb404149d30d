"""How many of our files run code for one sweep, one fetch and one change over the API: how far a reader has to look."""

import asyncio
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from zoneinfo import ZoneInfo

import httpx
from pydantic import BaseModel

import monitor
from monitor.bootstrap import App, open_app
from monitor.clock import SystemClock
from monitor.config.model import PagesSettings, Settings
from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
from monitor.fetch.guard import Guard
from monitor.fetch.transport import SiteTransport
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import FetchMode, Role
from monitor.web.app import create_web_app

_ROOT = Path(monitor.__file__).parent

_SITE = _ROOT / "demo"  # serves the pages in this process, and is no part of the work

_TOOL_ID = 3


class FileCount(BaseModel):
    """The files whose functions ran; `limit` is what the count must not exceed."""

    work: str
    limit: int
    files: list[str]


async def measure(*, on_step: Callable[[str], None]) -> list[FileCount]:
    """Do each work twice and count the second time, so that imports and what is built once are not counted."""
    counts = []
    async with AsyncExitStack() as stack:
        site = SampleSite(today=SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date())
        base_url = await stack.enter_async_context(site.serve())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-bench-")))
        settings = build_sample_settings(Settings(), base_url, folder=folder)
        settings.llm.enabled = False
        on_step("sweeping the sample ministry")
        counts.append(FileCount(work="a rule sweep", limit=120, files=await _count_sweep(site, base_url, settings)))
        url = site.list_sections(base_url)[0]["url"]
        on_step("fetching a static page")
        counts.append(FileCount(work="a fetch", limit=5, files=await _count_fetch(base_url, url, settings)))
        on_step("changing a source over the API")
        app = await stack.enter_async_context(open_app(settings))
        counts.append(FileCount(work="PATCH /api/v1/sources/1", limit=14, files=await _count_patch(app)))
    return counts


async def _count_sweep(site: SampleSite, base_url: str, settings: Settings) -> list[str]:
    async def sweep(folder: Path) -> list[str]:
        own = settings.model_copy(update={"data_dir": folder, "database_url": f"sqlite:///{folder}/monitor.db"})
        async with open_app(own) as app:
            areas = [area["name"] for area in site.focus_areas]
            source = await app.sources.add(
                {"name": site.title, "url": f"{base_url}/", "focus_areas": areas}, by=COMMAND_LINE
            )
            app.build_all()
            return await _count_files(lambda: app.sweeps.sweep(source, by=COMMAND_LINE))

    await sweep(settings.data_dir / "first")
    return await sweep(settings.data_dir / "second")


async def _count_fetch(base_url: str, url: str, settings: Settings) -> list[str]:
    transport = SiteTransport.from_settings(
        pages=PagesSettings(delay_s=0.0),
        network=settings.network,
        clock=SystemClock(),
        guard=Guard.from_settings(settings.network),
        cache_folder=settings.data_dir / "cache",
    )
    try:
        await transport.fetch(f"{base_url}/", FetchMode.HTTP)
        run = transport.for_run(None)
        return await _count_files(lambda: run.fetch(url, FetchMode.HTTP))
    finally:
        await transport.close()


async def _count_patch(app: App) -> list[str]:
    await app.sources.add({"name": "bench", "url": "https://bench.example/"}, by=COMMAND_LINE)
    headers = {"Authorization": f"Bearer {await app.tokens.create('bench', Role.EDITOR, by=COMMAND_LINE)}"}
    transport = httpx.ASGITransport(app=create_web_app(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://bench", headers=headers) as client:

        async def patch(days: int) -> None:
            (await client.patch("/api/v1/sources/1", json={"window_days": days})).raise_for_status()

        await patch(3)
        return await _count_files(lambda: patch(4))


async def _count_files(work: Callable[[], Awaitable[Any]]) -> list[str]:
    codes: set[CodeType] = set()
    # New threads, for those that exist already are not profiled before Python 3.12.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
    with _record_codes(codes):
        await work()
    files = {Path(code.co_filename) for code in codes if code.co_flags & CO_OPTIMIZED}  # functions, no module or class
    return sorted(
        str(file.relative_to(_ROOT)) for file in files if file.is_relative_to(_ROOT) and not file.is_relative_to(_SITE)
    )


@contextmanager
def _record_codes(codes: set[CodeType]) -> Iterator[None]:
    """Collect the code objects that begin to run in any thread; one that began before is not seen."""
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring

        def begin(code: CodeType, _: int) -> object:
            codes.add(code)
            return monitoring.DISABLE

        monitoring.use_tool_id(_TOOL_ID, "files")
        monitoring.register_callback(_TOOL_ID, monitoring.events.PY_START, begin)
        monitoring.set_events(_TOOL_ID, monitoring.events.PY_START)
        try:
            yield
        finally:
            monitoring.set_events(_TOOL_ID, 0)
            monitoring.free_tool_id(_TOOL_ID)
            monitoring.restart_events()
        return

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
