"""What the acceptance tests share: the program started as a user starts it, beside the sample ministry."""

import asyncio
import datetime as dt
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
import yaml
from playwright.async_api import Browser, async_playwright
from sqlalchemy import create_engine, text

from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import open_app
from monitor.config.loading import load_settings
from monitor.config.model import BrowserSettings
from monitor.db.engines import DatabaseAddress
from monitor.demo.site import SampleSite
from monitor.fetch.browser.launch import find_browser
from monitor.services.audit import COMMAND_LINE
from tests.acceptance.people import TIMEOUT_MS, Person, Service

PINNED = ("政策法规", "数据发布", "人事任免")
TIMEOUT_S = 60
CHECKER = Path(__file__).with_name("check_run.py")


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def _python(*arguments: str, cwd: Path, stdin: str = "") -> Answer:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        cwd=cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(stdin.encode())
    return Answer(process.returncode or 0, out.decode(), err.decode())


@dataclass
class Workplace:
    """A folder with a config.yaml, where commands are typed."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    program: tuple[str, ...] = ("-m", "monitor")

    def configure(self, **settings: Any) -> None:
        self.settings |= settings
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.settings, allow_unicode=True), encoding="utf-8")

    async def monitor(self, *arguments: str, stdin: str = "") -> Answer:
        return await _python(*self.program, *arguments, cwd=self.folder, stdin=stdin)

    async def sweep(self, *arguments: str) -> dict[str, Any]:
        """One source's run, as `sweep --json` tells it."""
        answer = await self.monitor("sweep", *arguments, "--json")
        assert answer.code == 0, answer.err
        (run,) = answer.json["runs"]
        return run

    async def sweep_here(self, source: str, **dates: dt.date) -> dict[str, Any]:
        """The same in this process, for the tests to which the start of another one is nothing new."""
        async with open_app(load_settings(self.folder / "config.yaml")) as app:
            run = await app.sweeps.sweep(await app.sources.get(source), **dates, by=COMMAND_LINE)
        return run.model_dump(mode="json")


@dataclass
class Ministry:
    site: SampleSite
    base_url: str
    workplace: Workplace

    @property
    def since(self) -> dt.date:
        return self.site.today - dt.timedelta(days=6)

    def expected(self) -> dict[str, dt.date]:
        return {item.url: item.date for item in self.site.list_expected_items(self.base_url) if item.date >= self.since}

    async def problems(self, run: dict[str, Any]) -> list[str]:
        """What the independent checker says."""
        report = json.dumps({"runs": [run]})
        answer = await _python(str(CHECKER), self.base_url, cwd=self.workplace.folder, stdin=report)
        assert answer.code == 0, answer.err
        return answer.json


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.configure(pages={"delay_s": 0})
    return place


@pytest.fixture
def open_site(workplace: Workplace) -> Callable[[SampleSite], Any]:
    """Add a served site as the one source of the workplace."""

    def add(site: SampleSite, base_url: str) -> Ministry:
        port = urlsplit(base_url).port
        source = {"name": "ministry", "url": base_url, "focus_areas": [entry["name"] for entry in site.focus_areas]}
        workplace.configure(
            network={"allowed_private_hosts": [f"127.0.0.1:{port}", f"localhost:{port}"]}, sources=[source]
        )
        return Ministry(site, base_url, workplace)

    return add


@pytest.fixture
async def ministry(open_site: Callable[..., Ministry]) -> AsyncIterator[Ministry]:
    site = SampleSite(today=dt.datetime.now(ZoneInfo("Asia/Shanghai")).date())
    async with site.serve() as base_url:
        yield open_site(site, base_url)


@dataclass
class Process:
    """A part of the service, started as an administrator starts it."""

    folder: Path
    word: str
    program: tuple[str, ...] = ("-m", "monitor")
    running: Any = None

    async def start(self) -> None:
        self.running = await asyncio.create_subprocess_exec(
            sys.executable,
            *self.program,
            self.word,
            cwd=self.folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(TIMEOUT_S):
            said = [""]
            while "At work" not in said[-1]:
                said.append((await self.running.stderr.readline()).decode())
                assert said[-1], f"`monitor {self.word}` ended at once: {''.join(said)}"
        self._drain = asyncio.create_task(self.running.stderr.read())

    async def end(self, number: signal.Signals) -> int:
        if self.running.returncode is None:
            os.kill(self.running.pid, number)
        code = await self.running.wait()
        await self._drain
        return int(code)


@pytest.fixture
def new_process(workplace: Workplace) -> Callable[..., Process]:
    """A part of the service that is not started yet."""
    return partial(Process, workplace.folder)


@dataclass
class Trial:
    """A workplace with the sample ministry, three of its sections and a model, on one of the two databases."""

    ministry: Ministry
    model: ScriptedModel
    database_url: str
    started: list[Process] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.ministry.workplace.folder

    async def start(self, word: str) -> Process:
        process = Process(self.folder, word)
        self.started.append(process)
        await process.start()
        return process

    async def start_command(self, *words: str) -> asyncio.subprocess.Process:
        """A command that is left to itself."""
        nowhere = asyncio.subprocess.DEVNULL
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "monitor", *words, cwd=self.folder, stdout=nowhere, stderr=nowhere
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        engine = create_engine(DatabaseAddress.parse(self.database_url).url)
        try:
            with engine.connect() as connection:
                return [tuple(row) for row in connection.execute(text(query))]
        finally:
            engine.dispose()

    def forget(self, tables: list[str]) -> None:
        """Empty these tables, and the queue, for the next sweep to be the first one again."""
        schema = "dbos." if self.database_url.startswith("postgresql") else ""
        engine = create_engine(DatabaseAddress.parse(self.database_url).url)
        try:
            with engine.begin() as connection:
                for table in [*tables, f"{schema}operation_outputs", f"{schema}workflow_status"]:
                    connection.execute(text(f"DELETE FROM {table}"))  # noqa: S608 -- names of ours
        finally:
            engine.dispose()

    async def asked(self, calls: int, waiting: "asyncio.Task[Any]") -> None:
        """Wait until the model was asked so often, or the sweep is over."""
        async with asyncio.timeout(TIMEOUT_S):
            while len(self.model.requests) < calls and not waiting.done():  # noqa: ASYNC110 -- no event of ours
                await asyncio.sleep(0.005)

    def finished(self) -> set[tuple[str, str]]:
        """Phase and place of every step whose result is kept."""
        schema = "dbos." if self.database_url.startswith("postgresql") else ""
        steps = [name for (name,) in self.rows(f"SELECT function_name FROM {schema}operation_outputs")]  # noqa: S608
        sections = {f"crawl:{entry}": name for entry, name in self.rows("SELECT ordinal, name FROM run_section")}
        urls = {f"summarise:{entry}": url for entry, url in self.rows("SELECT id, url FROM item")}
        places = {name: ("crawl", sections[name]) for name in steps if name in sections}
        places |= {name: ("summarise", urls[name]) for name in steps if name in urls}
        phases = {"look": "navigate", "rank": "rank"}  # a first run's first step navigates
        return {*places.values(), *((phases[name], "") for name in steps if name in phases)}

    def calls(self) -> Counter[tuple[str, str]]:
        rows = self.rows("SELECT phase, place FROM model_call WHERE outcome <> 'cancelled'")
        return Counter((phase, place if phase in ("crawl", "summarise") else "") for phase, place in rows)


@pytest.fixture
def database(request: pytest.FixtureRequest, workplace: Workplace) -> str:
    """The database of a trial: SQLite unless the test is told otherwise."""
    if getattr(request, "param", "sqlite") == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{workplace.folder / 'monitor.db'}"


@pytest.fixture
async def trial(ministry: Ministry, database: str, free_port: int) -> AsyncIterator[Trial]:
    """The ministry with three of its sections and a model; nothing is started yet."""
    place = ministry.workplace
    sections = [section for section in ministry.site.list_sections(ministry.base_url) if section["name"] in PINNED]
    source = {**place.settings["sources"][0], "sections": sections}
    model = ScriptedModel(latency_s=0.05)
    async with model.serve() as base_url:
        place.configure(
            sources=[source],
            database_url=database,
            llm={"base_url": base_url, "timeout_s": 60},
            pages={"delay_s": 0, "render": "never"},
            web={"port": free_port},
        )
        trial = Trial(ministry, model, database)
        try:
            yield trial
        finally:
            for process in trial.started:
                await process.end(signal.SIGKILL)


@pytest.fixture
async def serve(workplace: Any) -> AsyncIterator[Callable[[], Awaitable[Service]]]:
    started: list[asyncio.subprocess.Process] = []

    async def start() -> Service:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "monitor",
            "serve",
            cwd=workplace.folder,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        started.append(process)
        assert process.stderr is not None
        said = ""
        async with asyncio.timeout(60):
            while "At work" not in said:
                line = (await process.stderr.readline()).decode()
                assert line, said
                said += line
        drains.append(asyncio.create_task(process.stderr.read()))
        address = re.search(r"http://127\.0\.0\.1:\d+/", said)
        password = re.search(r"\b[a-z2-9]{5}(?:-[a-z2-9]{5}){3}\b", said)
        assert address, said
        return Service(address[0], password[0] if password else "", process)

    drains: list[asyncio.Task[bytes]] = []
    yield start
    for process in started:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 60) == 0
    await asyncio.gather(*drains)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        path = find_browser(BrowserSettings())
        browser = await playwright.chromium.launch(executable_path=str(path), args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture
async def sit_down(browser: Browser) -> AsyncIterator[Callable[[Service, str], Awaitable[Person]]]:
    """Another person at a browser of their own; what the page complains about fails the test."""
    complaints: list[str] = []

    async def open_one(service: Service, language: str) -> Person:
        context = await browser.new_context(locale="zh-CN" if language == "zh" else "en-GB", accept_downloads=True)
        page = await context.new_page()
        page.set_default_timeout(TIMEOUT_MS / 3)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        return Person(page, language, service.address)

    yield open_one
    assert complaints == []
