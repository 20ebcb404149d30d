"""Researches as they are asked for, looked at, changed and ended; with real parts, by rule, on a small web."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.tables.research import Research, ResearchStatus
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.catalogue import render
from monitor.research.shapes import PlanParagraph, ResearchOptions, SamplingOptions, SearchConfig, render_messages
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.steps import InProcessSteps
from monitor.vocabulary import Role

QUESTION = "2026年新型储能的发展现状与政策走向如何？"
WEB = {"config": SearchConfig(), "by": Actor("anna", Role.EDITOR)}


@pytest.fixture
def world() -> ResearchWorld:
    return ResearchWorld()


@pytest.fixture
async def app(
    world: ResearchWorld, tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[App]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    async with world.serve() as values:
        research = {"max_paragraphs": 2, "max_reflections": 0}
        settings = Settings(
            data_dir=tmp_path, database_url=sqlite_url, llm={"enabled": False}, research=research, **values
        )
        async with open_app(settings) as app:
            yield app


@dataclass
class Model:
    scripted: ScriptedModel
    url: str


OpenModel = Callable[[], AbstractAsyncContextManager[Model]]


@pytest.fixture
def open_model() -> OpenModel:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Model]:
        scripted = ScriptedModel()
        async with scripted.serve() as url:
            yield Model(scripted, url)

    return opened


async def asked(app: App, *, review: bool = False, carry_out: bool = True) -> str:
    """A research in the queue, or taken out of it."""
    async with app.presence.register("worker"):
        task_id = await app.research.enqueue(QUESTION, options=ResearchOptions(review_plan=review), **WEB)
    await app.store.research.mark_enqueued(task_id, at=app.clock.now())
    if carry_out:
        await carried_out(app, task_id)
    return task_id


async def carried_out(app: App, task_id: str) -> ResearchStatus:
    return await app.research.execute(task_id, executor="one", steps=InProcessSteps())


async def list_events(app: App, task_id: str) -> list[dict[str, Any]]:
    return [event.data for event in await app.store.research_events.after(task_id, 0)]


async def test_a_research_is_carried_out_here_and_looked_at_from_all_sides(app: App, world: ResearchWorld) -> None:
    events: list[dict[str, Any]] = []
    task_id = await app.research.run_in_process(
        QUESTION, options=ResearchOptions(), on_event=lambda event: events.append(event.data), **WEB
    )
    view = await app.research.get(task_id, by=COMMAND_LINE)
    assert (view.status, view.language, view.asked_by, view.progress) == (ResearchStatus.SUCCEEDED, "zh", "anna", 1.0)
    assert view.report is not None
    assert view.score is not None
    assert view.score.quote_fidelity == 1.0
    assert len(view.notes) == len(view.bases) > 0
    assert events == await list_events(app, task_id)
    service = view.to_json()
    assert {"taskId", "status", "plan", "notes", "blueprint", "report", "score", "usage"} <= service.keys()
    assert (service["usage"]["calls"], service["usage"]["byPhase"], service["status"]) == (0, {}, "succeeded")
    (row,) = await app.research.list(by=COMMAND_LINE)
    assert (row.task_id, row.progress, row.score) == (task_id, 1.0, view.score)
    assert await app.research.list(by=COMMAND_LINE, text="没有的字") == []

    note = view.notes[0]
    page = await app.research.get_note_snapshot(task_id, 0, by=COMMAND_LINE)
    assert page.text[page.start : page.end] == note.evidence[0].quote
    assert (page.url, page.claim, page.problem) == (note.source_url, note.summary, None)
    document = await app.research.build_document(
        task_id, by=COMMAND_LINE, citation_url=lambda at: f"/research/{task_id}/notes/{at}"
    )
    written = (await app.exports.export({"document": lambda: document}, "html")).decode()
    assert note.evidence[0].quote[:10] in written
    with pytest.raises(NotFound):
        await app.research.get_note_snapshot(task_id, len(view.notes), by=COMMAND_LINE)
    with pytest.raises(NotFound):
        await app.research.get_note_snapshot(task_id, 0, len(note.evidence), by=COMMAND_LINE)

    records = [await app.store.evidence.get_record(basis.record or "") for basis in view.bases]
    assert {record.research_id for record in records if record} == {task_id}
    assert all(records), "every page that is cited is on record"


async def test_of_a_page_whose_record_is_gone_what_was_read_is_shown(app: App, tmp_path: Path) -> None:
    task_id = await app.research.run_in_process(QUESTION, options=ResearchOptions(), **WEB)
    quote = (await app.research.get(task_id, by=COMMAND_LINE)).notes[0].evidence[0].quote
    for file in (tmp_path / "evidence").rglob("*.warc.gz"):
        file.unlink()
    page = await app.research.get_note_snapshot(task_id, 0, by=COMMAND_LINE)
    assert (page.record, page.is_cut, page.problem) == ("", True, None)
    assert page.text[page.start : page.end] == quote


async def test_without_a_worker_nothing_is_queued(app: App) -> None:
    with pytest.raises(UsageError, match="No worker is running"):
        await app.research.enqueue(QUESTION, options=ResearchOptions(), **WEB)
    assert await app.research.list(by=COMMAND_LINE) == []


@pytest.mark.parametrize("query", ["", "  ", "问" * 2001], ids=["empty", "blank", "too-long"])
async def test_a_question_has_a_length(app: App, query: str) -> None:
    with pytest.raises(UsageError, match="1 to 2000"):
        await app.research.run_in_process(query, options=ResearchOptions(), **WEB)


async def test_unknown_engines_are_told_and_left_out(app: App, world: ResearchWorld) -> None:
    config = SearchConfig(engines=["bing", "tavily"])
    task_id = await app.research.run_in_process(
        QUESTION, config=config, options=ResearchOptions(), by=Actor("anna", Role.ADMIN)
    )
    view = await app.research.get(task_id, by=COMMAND_LINE)
    assert any("'bing'" in render(warning, "en") for warning in view.warnings)
    assert world.search_requests
    assert {note.engine for note in view.notes} == {"tavily"}


async def test_a_plan_waits_for_a_person_and_goes_on_as_it_was_changed(app: App) -> None:
    task_id = await asked(app, review=True)
    waiting = await app.research.get(task_id, by=COMMAND_LINE)
    assert waiting.status is ResearchStatus.AWAITING_PLAN
    assert waiting.plan is not None
    assert (await list_events(app, task_id))[-1]["payload"]["metadata"]["awaitsApproval"] is True
    assert await carried_out(app, task_id) is ResearchStatus.AWAITING_PLAN, "nobody has looked at it yet"

    for bad in ([], [PlanParagraph(title=" ", content="x")], [PlanParagraph(title="一", content="")] * 3):
        with pytest.raises(UsageError, match="1 to 2 paragraphs"):
            await app.research.approve(task_id, "", bad, by=Actor("anna", Role.EDITOR))
    changed = [PlanParagraph(title="新型储能装机规模", content="装机规模和增长")]
    await app.research.approve(task_id, "储能", changed, by=Actor("anna", Role.EDITOR))
    with pytest.raises(Conflict):
        await app.research.approve(task_id, "储能", changed, by=Actor("anna", Role.EDITOR))
    assert (await list_events(app, task_id))[-1]["payload"]["result"]["metadata"]["paragraphs"] == [
        {"title": "新型储能装机规模", "content": "装机规模和增长"}
    ]
    assert await carried_out(app, task_id) is ResearchStatus.SUCCEEDED
    done = await app.research.get(task_id, by=COMMAND_LINE)
    assert done.plan is not None
    assert [paragraph.title for paragraph in done.plan.metadata.paragraphs] == ["新型储能装机规模"]
    assert {note.topic for note in done.notes} == {"新型储能装机规模"}
    progress = [entry["progress"] for entry in await list_events(app, task_id)]
    assert progress == sorted(progress)


@pytest.mark.parametrize("review", [False, True], ids=["queued", "awaiting-its-plan"])
async def test_one_that_nobody_carries_out_is_cancelled_at_once(app: App, review: bool) -> None:
    task_id = await asked(app, review=review, carry_out=review)
    assert await app.research.cancel(task_id, by=COMMAND_LINE) is ResearchStatus.CANCELLED
    last = (await list_events(app, task_id))[-1]
    assert (last["status"], last["payload"]["error"]["code"], last["payload"]["result"]) == ("error", "cancelled", None)
    with pytest.raises(Conflict):
        await app.research.cancel(task_id, by=COMMAND_LINE)
    assert await carried_out(app, task_id) is ResearchStatus.CANCELLED
    with pytest.raises(Conflict):
        await app.research.build_document(task_id, by=COMMAND_LINE)


async def test_a_running_one_is_cancelled_and_can_be_gone_on_with(app: App, world: ResearchWorld) -> None:
    world.latency_s = 0.3
    task_id = await asked(app, carry_out=False)
    work = asyncio.create_task(carried_out(app, task_id))
    async with asyncio.timeout(30):
        while not world.search_requests:  # noqa: ASYNC110 -- no event of ours
            await asyncio.sleep(0.01)
    await app.research.add_remark(task_id, "多看地方政策", by=Actor("anna", Role.EDITOR))
    assert await app.research.cancel(task_id, by=COMMAND_LINE) is ResearchStatus.RUNNING
    assert await work is ResearchStatus.CANCELLED
    last = (await list_events(app, task_id))[-1]
    assert render_messages(last["payload"], "zh") == {
        "error": {"code": "cancelled", "message": "研究已取消。"},
        "result": None,
    }
    with pytest.raises(Conflict):
        await app.research.add_remark(task_id, "太晚", by=Actor("anna", Role.EDITOR))
    assert [remark.text for remark in await app.research.list_remarks(task_id, by=COMMAND_LINE)] == ["多看地方政策"]

    world.latency_s = 0
    await app.research.resume_in_process(task_id, by=COMMAND_LINE)
    done = await app.research.get(task_id, by=COMMAND_LINE)
    assert (done.status, done.is_cancel_requested) == (ResearchStatus.SUCCEEDED, False)
    with pytest.raises(Conflict, match="succeeded"):
        await app.research.resume_in_process(task_id, by=COMMAND_LINE)


async def test_one_whose_process_died_is_failed_and_names_the_way_to_go_on(app: App) -> None:
    now = dt.datetime.now(dt.UTC)
    lost = Research(id="r-lost", query="?", language="en", status=ResearchStatus.RUNNING, executor="x", created_at=now)
    await app.store.research.create(lost)
    view = await app.research.get("r-lost", by=COMMAND_LINE)
    assert view.status is ResearchStatus.FAILED
    assert "monitor research --resume r-lost" in (render(view.error, "en") if view.error else "")
    assert (await list_events(app, "r-lost"))[-1]["status"] == "error"


async def test_what_ends_in_an_unexpected_error_does_not_stay_running(app: App, tmp_path: Path) -> None:
    task_id = await asked(app, carry_out=False)
    (tmp_path / "bundles").write_text("a file where a folder is needed")
    status = await carried_out(app, task_id)
    view = await app.research.get(task_id, by=COMMAND_LINE)
    assert status is view.status
    assert view.status in (ResearchStatus.FAILED, ResearchStatus.DEGRADED)
    assert view.ended_at is not None


async def test_models_sampling_and_budget_of_a_research_are_its_own(
    app: App, world: ResearchWorld, open_model: OpenModel
) -> None:
    async with open_model() as model:
        app.settings.llm.base_url, app.settings.llm.enabled = model.url, True
        app.settings.network = app.settings.network.with_service_hosts([urlsplit(model.url).netloc])
        options = ResearchOptions(models={"search": "small", "report": " "}, sampling=SamplingOptions(temperature=0.9))
        await app.research.run_in_process(QUESTION, options=options, **WEB)
        asked = {(request["model"], request["temperature"], request["top_p"]) for request in model.scripted.requests}
        assert asked == {(app.settings.llm.model, 0.9, 0.85), ("small", 0.9, 0.85)}

        model.scripted.requests.clear()
        await app.research.run_in_process(QUESTION, options=ResearchOptions(enabled=False), **WEB)
        assert model.scripted.requests == []

        app.settings.research.token_budget = 1500
        task_id = await app.research.run_in_process(QUESTION, options=ResearchOptions(), **WEB)
        view = await app.research.get(task_id, by=COMMAND_LINE)
        assert view.status is ResearchStatus.DEGRADED
        assert view.usage.prompt_tokens + view.usage.completion_tokens > 0
        assert view.report is not None
        assert "research.token_budget" in f"{view.report.metadata.reason} {view.warnings}"


async def test_a_research_that_is_not_there_is_not_found(app: App) -> None:
    for call in (
        app.research.get,
        app.research.load_readable,
        app.research.load_state,
        app.research.cancel,
        app.research.build_document,
        app.research.delete,
    ):
        with pytest.raises(NotFound):
            await call("r-nobody\x00", by=COMMAND_LINE)
