"""What a research takes, what of it is our own doing, and what it brings to work at several paragraphs at once.

Model, search and pages are simulated by another process, so that what keeps this one busy is our own code with the
libraries and the database beneath it. The model takes a second for each answer, as a quick real one does.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.research_world import ResearchWorld
from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.db.migrate import upgrade
from monitor.db.tables.research import ResearchEvent
from monitor.errors import WorkFailed
from monitor.research.shapes import ResearchOptions, SearchConfig, StepType
from monitor.services.audit import COMMAND_LINE

QUESTION = "2026年新型储能的发展现状与政策走向如何？"

PARAGRAPHS = 5

CONCURRENCY = 3

_START_TIMEOUT_S = 30.0

_ANSWER_TIMEOUT_S = 10.0

_KEY_VARIABLE = "PATH"  # any variable that is set: nobody there looks at the key


class ResearchMeasurement(BaseModel):
    """One research: how many paragraphs at once, what it took in all and for its deep search, what it asked for.

    `own_s` is the time in which neither the model nor search and pages were at work: our code alone held it up.
    `processor_s` is how long it kept a processor busy here, beside the model's work too. Calls and tokens are the
    model's, those of plan, model and report shared out among the paragraphs too.
    """

    at_once: int
    wall_s: float
    deep_search_s: float
    own_s: float
    processor_s: float
    calls: int
    tokens: int
    paragraphs: int
    seconds_per_paragraph: float
    calls_per_paragraph: float
    tokens_per_paragraph: int


class ResearchBenchmarkResult(BaseModel):
    """Two researches with a model that takes so long: with as many paragraphs at once as is usual, and with one.

    `overhead` is the part of our own in the first, `speedup` how much sooner its deep search was done.
    """

    latency_s: float
    runs: list[ResearchMeasurement]
    overhead: float
    speedup: float


@dataclass(frozen=True)
class _ServerProcess:
    """The process that plays model, search and pages: the settings that lead there, and what it counts."""

    values: dict[str, Any]
    process: asyncio.subprocess.Process

    async def get_busy_s(self) -> float:
        """For how long its model was at work so far."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError("the process that serves cannot be spoken to")
        self.process.stdin.write(b"busy?\n")
        await self.process.stdin.drain()
        return float(await asyncio.wait_for(self.process.stdout.readline(), _ANSWER_TIMEOUT_S))


async def measure(*, latency_s: float, on_step: Callable[[str], None]) -> ResearchBenchmarkResult:
    """All figures. A first research that is not measured loads what is loaded once."""
    async with _start_server_process(0.0) as servers:
        on_step("warming up")
        await _measure_research(servers, at_once=CONCURRENCY)
    runs = []
    async with _start_server_process(latency_s) as servers:
        for at_once in (CONCURRENCY, 1):
            on_step(f"{at_once} at once")
            runs.append(await _measure_research(servers, at_once=at_once))
    usual, one_by_one = runs
    return ResearchBenchmarkResult(
        latency_s=latency_s,
        runs=runs,
        overhead=round(usual.own_s / usual.wall_s, 4),
        speedup=round(one_by_one.deep_search_s / usual.deep_search_s, 2),
    )


async def _measure_research(servers: _ServerProcess, *, at_once: int) -> ResearchMeasurement:
    at: dict[str, float] = {}

    def heard(event: ResearchEvent) -> None:
        at.setdefault(f"{event.data['stepType']} {event.data['status']}", event.at.timestamp())

    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        settings = Settings(
            data_dir=folder,
            database_url=f"sqlite:///{Path(folder) / 'monitor.db'}",
            research={"max_paragraphs": PARAGRAPHS, "concurrency": at_once},
            **servers.values,
        )
        upgrade(settings.database_url)
        async with open_app(settings) as app:
            waited_s, began, busy = await servers.get_busy_s(), time.monotonic(), time.process_time()
            task_id = await app.research.run_in_process(
                QUESTION, config=SearchConfig(), options=ResearchOptions(), by=COMMAND_LINE, on_event=heard
            )
            wall_s, processor_s = time.monotonic() - began, time.process_time() - busy
            own_s = wall_s - (await servers.get_busy_s() - waited_s)
            view = await app.research.get(task_id, by=COMMAND_LINE)
    if view.report is None or view.plan is None:
        raise WorkFailed(f"The research ended {view.status}: {view.error}.")
    paragraphs = len(view.plan.metadata.paragraphs)
    tokens = view.usage.prompt_tokens + view.usage.completion_tokens
    return ResearchMeasurement(
        at_once=at_once,
        wall_s=round(wall_s, 2),
        own_s=round(own_s, 2),
        processor_s=round(processor_s, 2),
        deep_search_s=round(at[f"{StepType.DEEP_SEARCH} complete"] - at[f"{StepType.DEEP_SEARCH} start"], 2),
        calls=view.usage.calls,
        tokens=tokens,
        paragraphs=paragraphs,
        seconds_per_paragraph=round(wall_s / paragraphs, 2),
        tokens_per_paragraph=tokens // paragraphs,
        calls_per_paragraph=round(view.usage.calls / paragraphs, 1),
    )


@asynccontextmanager
async def _start_server_process(latency_s: float) -> AsyncIterator[_ServerProcess]:
    """Model, search and pages in a process of their own until the block ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.research",
        str(latency_s),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the process that serves has no output")
        values = json.loads(await asyncio.wait_for(process.stdout.readline(), _START_TIMEOUT_S))
        yield _ServerProcess(values, process)
    finally:
        process.terminate()
        await process.wait()


async def _serve(latency_s: float) -> None:
    model = ScriptedModel(latency_s=latency_s)
    async with ResearchWorld().serve(busy=model.busy) as values, model.serve() as base_url:
        values["search"]["backends"]["tavily"]["api_key_env"] = _KEY_VARIABLE
        _write_line(json.dumps({**values, "llm": {"base_url": base_url}}))
        while await asyncio.to_thread(sys.stdin.readline):
            _write_line(f"{model.busy.elapsed_s}")


def _write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(float(sys.argv[1])))
