"""The service is killed with -9 in mid-sweep (issue 4, point 1): nothing lost or twice, no finished work again."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from monitor.demo.scripted_model import ScriptedModel
from monitor.store.address import DatabaseAddress

PINNED = ("政策法规", "数据发布", "人事任免")
PATIENCE_S = 60


@dataclass
class Process:
    """A part of the service, started as an administrator starts it."""

    folder: Path
    word: str
    running: Any = None

    async def start(self) -> None:
        self.running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "monitor", self.word, cwd=self.folder, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(PATIENCE_S):
            said = ""
            while "At work" not in said:
                said = (await self.running.stderr.readline()).decode()
                assert said, f"`monitor {self.word}` ended at once"
        self._drain = asyncio.create_task(self.running.stderr.read())

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        if self.running.returncode is None:
            os.kill(self.running.pid, number)
        await self.running.wait()
        await self._drain


@dataclass
class Trial:
    """A workplace with the sample ministry, three of its sections and a model, on one of the two databases."""

    ministry: Any
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

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        engine = create_engine(DatabaseAddress.parse(self.database_url).url)
        try:
            with engine.connect() as connection:
                return [tuple(row) for row in connection.execute(text(query))]
        finally:
            engine.dispose()

    async def asked(self, calls: int, waiting: "asyncio.Task[Any]") -> None:
        """Wait until the model was asked so often, or the sweep is over."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.model.requests) < calls and not waiting.done():  # noqa: ASYNC110 -- no event of ours
                await asyncio.sleep(0.005)

    def finished(self) -> set[tuple[str, str]]:
        """Phase and place of every step whose result is kept."""
        schema = "dbos." if self.database_url.startswith("postgresql") else ""
        steps = [name for (name,) in self.rows(f"SELECT function_name FROM {schema}operation_outputs")]  # noqa: S608
        sections = {f"crawl:{one}": name for one, name in self.rows("SELECT ordinal, name FROM run_section")}
        urls = {f"summarise:{one}": url for one, url in self.rows("SELECT id, url FROM item")}
        places = {name: ("crawl", sections[name]) for name in steps if name in sections}
        places |= {name: ("summarise", urls[name]) for name in steps if name in urls}
        return {*places.values(), *((name, "") for name in steps if name in ("navigate", "rank"))}

    def calls(self) -> Counter[tuple[str, str]]:
        rows = self.rows("SELECT phase, place FROM model_call WHERE outcome <> 'cancelled'")
        return Counter((phase, place if phase in ("crawl", "summarise") else "") for phase, place in rows)


@pytest.fixture(params=["sqlite", "postgresql"])
async def trial(request: pytest.FixtureRequest, ministry: Any) -> AsyncIterator[Trial]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    place = ministry.workplace
    database_url = url or f"sqlite:///{place.folder / 'monitor.db'}"
    sections = [one for one in ministry.site.sections(ministry.base_url) if one["name"] in PINNED]
    source = {**place.settings["sources"][0], "sections": sections}
    model = ScriptedModel(latency_s=0.05)
    async with model.serve() as base_url:
        place.configure(
            sources=[source], database_url=database_url, llm={"base_url": base_url, "timeout_s": 20},
            pages={"delay_s": 0, "render": "never"}, web={"port": request.getfixturevalue("free_port")},
        )  # fmt: skip
        trial = Trial(ministry, model, database_url)
        try:
            yield trial
        finally:
            for process in trial.started:
                await process.kill()


def told(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    return sorted((item["url"], item["title"], item["date"]) for item in run["items"])


async def expected(trial: Trial) -> tuple[list[tuple[str, str, str]], int]:
    """What an undisturbed sweep brings, and how many model calls it needs, in a database of its own."""
    place = trial.ministry.workplace
    place.configure(database_url=f"sqlite:///{place.folder / 'undisturbed.db'}")
    run = await place.sweep("ministry")
    place.configure(database_url=trial.database_url)
    calls = len(trial.model.requests)
    trial.model.requests.clear()
    return told(run), calls


async def swept_with_kills(trial: Trial, words: list[str], moments: list[int]) -> tuple[dict[str, Any], int]:
    """A sweep in whose course the first part of the service is killed when the model was asked so often."""
    processes = [await trial.start(word) for word in words]
    sweep = asyncio.create_task(trial.ministry.workplace.monitor("sweep", "ministry", "--json"))
    before = []
    for moment in moments:
        await trial.asked(moment, sweep)
        if sweep.done():
            break
        await processes[0].kill()
        before.append((moment, trial.finished(), trial.calls()))
        await processes[0].start()
    answer = await sweep
    assert answer.code == 0, answer.err
    (run,) = json.loads(answer.out)["runs"]
    assert run["status"] in ("succeeded", "degraded")
    after = trial.calls()
    for moment, finished, calls in before:
        again = {place for place in finished if after[place] != calls[place]}
        assert not again, f"killed after {moment} calls, finished work was done again: {again}"
    return run, len(before)


async def test_a_service_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice(trial: Trial) -> None:
    items, calls = await expected(trial)
    words = ["serve"] if trial.database_url.startswith("sqlite") else ["worker", "scheduler"]
    moments = [2, calls // 3, 2 * calls // 3]
    run, kills = await swept_with_kills(trial, words, moments)
    assert kills == len(moments)
    assert told(run) == items
    urls = [url for (url,) in trial.rows("SELECT url FROM item")]
    assert len(urls) == len(set(urls)) == len(items)
    assert [item["rank"] for item in run["items"]] == list(range(1, len(items) + 1))
    assert trial.calls()["rank", ""] == 1
