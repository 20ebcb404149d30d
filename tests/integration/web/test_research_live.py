"""A research from its question to its report over HTTP; the model is scripted, search and pages are on loopback."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.modes import ScriptedMode
from benchmarks.scripted_model.server import MODEL_NAME, ScriptedModel
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web
from tests.integration.web.test_research_stream import conforms, read, report_in

QUERY = "2026年新型储能的发展现状与政策走向如何？"
TIMEOUT_S = 100.0


@dataclass
class House:
    """A service, a program that asks it, and the model behind it."""

    app: App
    client: httpx.AsyncClient
    model: ScriptedModel

    async def begin(self) -> tuple[str, asyncio.Task[str]]:
        """Have the question answered in this process; the id is known with the first message."""
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(
            self.app.research.run_in_process(
                QUERY,
                config=SearchConfig(engines=["tavily", "nowhere"], max_results=5),
                options=ResearchOptions(),
                by=COMMAND_LINE,
                on_event=lambda event: None if begun.done() else begun.set_result(event.task_id),
            )
        )
        return await asyncio.wait_for(begun, TIMEOUT_S), running


@pytest.fixture
async def house(
    tmp_path: Path, sqlite_url: str, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    monkeypatch.setenv("OPENAI_API_KEY", "another-key-for-the-test")
    model = ScriptedModel("good")
    async with AsyncExitStack() as stack:
        llm = {"base_url": await stack.enter_async_context(model.serve()), "model": MODEL_NAME, "max_retries": 0}
        values = await stack.enter_async_context(ResearchWorld().serve())
        settings = Settings(
            data_dir=tmp_path,
            database_url=sqlite_url,
            llm=llm,
            web={"port": free_port},
            research={"max_paragraphs": 2, "max_reflections": 1},
            **values,
        )
        app = await stack.enter_async_context(open_app(settings))
        token = await app.tokens.create("program", "editor", by=COMMAND_LINE)
        address = await stack.enter_async_context(serve_web(app))
        headers = {"Authorization": f"Bearer {token}"}
        client = await stack.enter_async_context(
            httpx.AsyncClient(base_url=address, headers=headers, timeout=TIMEOUT_S, trust_env=False)
        )
        yield House(app, client, model)


@pytest.mark.parametrize(
    "mode", [ScriptedMode.GOOD, ScriptedMode.TRUNCATED, ScriptedMode.HALLUCINATING, ScriptedMode.HTTP_500]
)
async def test_what_is_streamed_is_the_report_and_conforms_whatever_the_model_does(
    house: House, mode: ScriptedMode
) -> None:
    house.model.mode = mode
    task_id, running = await house.begin()

    async def comes_back() -> list[Any]:
        messages: list[Any] = []
        while not messages or json.loads(messages[-1].data)["progress"] < 1.0:
            messages += await read(house.client, task_id, last=messages[-1].id if messages else "", at_most=9)
        return messages

    async with asyncio.timeout(TIMEOUT_S):
        whole, in_parts = await asyncio.gather(read(house.client, task_id), comes_back())
        await running
    assert whole == in_parts
    documents = conforms(whole)
    last = documents[-1]
    assert (last["stepType"], last["status"], last["progress"]) == ("reporting", "complete", 1.0)
    assert report_in(documents) == last["payload"]["result"]["markdown"]
    steps = [document["stepType"] for document in documents if document["status"] == "complete"]
    assert steps == ["plan", "deep_search", "modeling", "reporting"]
    view = (await house.client.get(f"/api/v1/research/{task_id}")).json()
    assert view["status"] == ("degraded" if mode in (ScriptedMode.HTTP_500, ScriptedMode.TRUNCATED) else "succeeded")
    assert view["report"] == last["payload"]["result"]
    (found,) = (
        document["payload"]["result"]
        for document in documents
        if (document["stepType"], document["status"]) == ("deep_search", "complete")
    )
    assert any("nowhere" in warning for warning in found["metadata"]["warnings"]), "an engine that is not there is told"
    assert found["strategy"]["engines"] == ["tavily"]
    notes = found["notes"]
    assert view["notes"] == notes
    assert all(0 <= source["noteIndex"] < len(notes) for source in view["report"]["sources"])
    page = (await house.client.get(f"/api/v1/research/{task_id}/notes/0")).json()
    assert page["text"][page["start"] : page["end"]].split() == notes[0]["evidence"][0]["quote"].split()
    saved = await house.client.get(f"/api/v1/research/{task_id}/report.html")
    assert saved.status_code == 200


async def test_a_research_under_way_is_cancelled_and_its_stream_ends_with_that(house: House) -> None:
    house.model.latency_s = 0.2
    task_id, running = await house.begin()
    watching = asyncio.create_task(read(house.client, task_id))
    answer = await house.client.delete(f"/api/v1/research/{task_id}")
    assert (answer.status_code, answer.json()) == (202, {"taskId": task_id, "status": "running"})
    async with asyncio.timeout(TIMEOUT_S):
        documents = conforms(await watching)
        await running
    last = documents[-1]
    assert (last["status"], last["payload"]["result"]) == ("error", None)
    assert last["payload"]["error"]["code"] == "cancelled"
    assert last["progress"] < 1.0
    assert (await house.client.get(f"/api/v1/research/{task_id}")).json()["status"] == "cancelled"
