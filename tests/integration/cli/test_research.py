"""`monitor research` as it is typed, on a small web; how a service takes it over is shown by the acceptance tests."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from monitor.db.database import Store
from monitor.research.shapes import StepEvent

QUESTION = "2026年新型储能的发展现状与政策走向如何？"

KEY = {KEY_VARIABLE: "a-key-for-the-test"}


@pytest.fixture
async def world(tmp_path: Path, sqlite_url: str) -> AsyncIterator[ResearchWorld]:
    world = ResearchWorld()
    async with world.serve() as values:
        research = {"max_paragraphs": 2, "max_reflections": 0}
        settings = {"database_url": sqlite_url, "llm": {"enabled": False}, "research": research, **values}
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings))
        yield world


async def test_the_report_is_printed_or_written_as_its_file_is_called(
    monitor: Any, world: ResearchWorld, tmp_path: Path
) -> None:
    said = await monitor("research", QUESTION, **KEY)
    assert said.code == 0, said.err
    assert said.out.startswith("# 2026年新型储能")
    assert "研究计划 …" in said.err.splitlines()

    said = await monitor("research", QUESTION, "--out", "reports/storage.html", "--json", **KEY)
    assert said.code == 0, said.err
    output = said.document
    assert {"taskId", "status", "plan", "notes", "blueprint", "report", "score", "usage"} <= output.keys()
    assert output["score"]["quoteFidelity"] == 1.0
    assert output["notes"][0]["evidence"][0]["quote"][:12] in (tmp_path / "reports/storage.html").read_text()


async def test_what_it_tells_on_the_way_is_printed_line_by_line(
    monitor: Any, world: ResearchWorld, tmp_path: Path
) -> None:
    said = await monitor("research", QUESTION, "--events", "--out", "report.json", **KEY)
    assert said.code == 0, said.err
    events = [StepEvent.model_validate(json.loads(line)) for line in said.out.splitlines()]
    assert (events[0].step_id, events[0].status) == ("plan", "start")
    assert (events[-1].step_id, events[-1].status, events[-1].progress) == ("report", "complete", 1.0)
    kept = json.loads((tmp_path / "report.json").read_text())
    assert kept["report"] == events[-1].payload["result"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Give a question"),
        (["什么?", "--resume", "r-1"], "one of the two"),
        (["什么?", "--json", "--events"], "not both"),
        (["--resume", "r-1", "--about", "r-1"], "not both"),
        (["什么?", "--about", "r-nobody"], "no research 'r-nobody'"),
        (["什么?", "--out", "report.txt"], "use .md"),
        (["--resume", "r-nobody"], "no research 'r-nobody'"),
        (["--repeat", "r-nobody", "--schedule", "daily 06:30"], "no research 'r-nobody'"),
        (["--repeat", "r-1"], "go together"),
        (["  "], "1 to 2000 characters"),
    ],
    ids=[
        "nothing",
        "two-things",
        "two-forms",
        "two-ways",
        "unknown-report",
        "unknown-format",
        "unknown-id",
        "nothing-to-repeat",
        "no-schedule",
        "blank",
    ],
)
def test_wrong_usage_is_told_in_one_line(
    typed: Any, tmp_path: Path, sqlite_url: str, words: list[str], complaint: str
) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"database_url": sqlite_url}))
    said = typed(["research", *words])
    assert said.code == 2
    assert complaint in said.complaint


async def test_ctrl_c_cancels_it_and_its_id_goes_on_with_it(
    monitor: Any, world: ResearchWorld, sqlite_url: str
) -> None:
    world.latency_s = 0.5
    process = await monitor.start("research", QUESTION, "--json", **KEY)
    async with asyncio.timeout(60):
        while not world.search_requests:  # noqa: ASYNC110 -- no event of ours
            await asyncio.sleep(0.02)
    said = await monitor.interrupted(process)
    assert said.code == 130, said.err
    assert said.document["status"] == "cancelled"

    world.latency_s = 0
    task_id = said.document["taskId"]
    said = await monitor("research", "--resume", task_id, "--json", **KEY)
    assert said.code == 0, said.err
    assert (said.document["taskId"], said.document["status"]) == (task_id, "succeeded")
    async with Store.open(sqlite_url) as store:
        output = [event.data for event in await store.research_events.after(task_id, 0)]
    assert [entry["status"] for entry in output].count("error") == 1
    assert output[-1]["progress"] == 1.0


async def test_a_question_about_a_report_is_answered_from_its_pages(monitor: Any, world: ResearchWorld) -> None:
    said = await monitor("research", QUESTION, "--json", **KEY)
    assert said.code == 0, said.err
    fact, searches = said.document["notes"][0]["evidence"][0]["quote"], len(world.search_requests)
    asked = await monitor("research", fact, "--about", said.document["taskId"], "--json", **KEY)
    assert asked.code == 0, asked.err
    assert asked.document["parentId"] == said.document["taskId"]
    assert asked.document["report"]["sources"]
    assert len(world.search_requests) == searches
