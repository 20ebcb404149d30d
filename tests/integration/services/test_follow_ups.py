"""Follow-up questions about a finished report: from its pages first, then from a search, never from nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.modes import ScriptedMode
from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, Forbidden, NotFound, UsageError
from monitor.exports.registry import render_document
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import Actor
from monitor.services.research.service import MAX_FOLLOW_UPS
from monitor.services.research.views import FollowUpView
from monitor.steps import InProcessSteps
from monitor.verify.citations import CITATION
from monitor.vocabulary import Role, Verdict, Visibility

QUESTION = "2026年新型储能的发展现状与政策走向如何？"
ANNA, BERTA = Actor("anna", Role.EDITOR), Actor("berta", Role.EDITOR)


@pytest.fixture
def world() -> ResearchWorld:
    return ResearchWorld()


@asynccontextmanager
async def opened(world: ResearchWorld, folder: Path, url: str, *, model: str | None = None) -> AsyncIterator[App]:
    async with world.serve() as values:
        llm: dict[str, Any] = {"enabled": False}
        if model is not None:
            llm = {"enabled": True, "base_url": model, "max_retries": 0}
        research = {"max_paragraphs": 2, "max_reflections": 0}
        settings = Settings(data_dir=folder, database_url=url, llm=llm, research=research, **values)
        async with open_app(settings) as app:
            yield app


@pytest.fixture(params=["by rule", "with a model"])
async def app(
    request: pytest.FixtureRequest,
    world: ResearchWorld,
    tmp_path: Path,
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[App]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    if request.param == "by rule":
        async with opened(world, tmp_path, sqlite_url) as app:
            yield app
        return
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-the-test")
    async with ScriptedModel("good").serve() as url, opened(world, tmp_path, sqlite_url, model=url) as app:
        yield app


async def researched(app: App) -> str:
    return await app.research.run_in_process(QUESTION, config=SearchConfig(), options=ResearchOptions(), by=ANNA)


async def answered(app: App, task_id: str, question: str) -> FollowUpView:
    asked = await app.research.ask_in_process(task_id, question, by=ANNA)
    return next(entry for entry in await app.research.list_follow_ups(task_id, by=ANNA) if entry.task_id == asked)


async def test_a_question_is_answered_from_the_pages_of_the_report(app: App, world: ResearchWorld) -> None:
    task_id = await researched(app)
    before = len(world.search_requests)
    view = await app.research.get(task_id, by=ANNA)
    fact = view.notes[0].evidence[0].quote
    entry = await answered(app, task_id, f"{fact.rstrip('。')}吗？"[:200])
    assert entry.status is ResearchStatus.SUCCEEDED
    assert entry.is_answered
    assert entry.answer is not None
    assert entry.queries == []
    assert len(world.search_requests) == before, "nothing was searched for"
    assert entry.answer.sources
    assert {statement.verdict for statement in entry.answer.metadata.statements} <= {
        Verdict.SUPPORTED,
        Verdict.UNCHECKED,
    }
    for index, note in enumerate(entry.notes):
        page = await app.research.get_note_snapshot(entry.task_id, index, by=ANNA)
        assert "".join((page.text or "")[page.start : page.end].split()) == "".join(note.evidence[0].quote.split())
    document = await app.research.build_document(task_id, by=ANNA, citation_url=lambda _: None)
    exported = render_document(document, "md").decode()
    assert view.report is not None
    assert f"\\[{len(view.report.sources) + 1}\\]" in exported.partition("## 对报告的追问")[2]


async def test_what_no_page_says_is_said_to_be_unanswered(app: App, world: ResearchWorld) -> None:
    task_id = await researched(app)
    before = len(world.search_requests)
    entry = await answered(app, task_id, "海王星的卫星有几颗？")
    assert entry.status is ResearchStatus.SUCCEEDED
    assert not entry.is_answered
    assert entry.answer is not None
    assert len(world.search_requests) > before, "it was searched for"
    assert entry.queries
    assert entry.answer.sources == []
    assert entry.answer.metadata.statements == []
    assert CITATION.search(entry.answer.markdown) is None
    assert "没有网页能回答这个问题" in entry.answer.markdown


async def test_what_the_report_did_not_read_is_searched_for(app: App, world: ResearchWorld) -> None:
    narrow = SearchConfig(max_results=1)
    task_id = await app.research.run_in_process(QUESTION, config=narrow, options=ResearchOptions(), by=ANNA)
    state = await app.research.load_state(task_id, by=ANNA)
    assert state is not None
    read = {entry.url for entry in state.list_results()}
    assert len(read) < len(world.urls)
    entry = await answered(app, task_id, "储能电站安全标准何时实施？")
    assert entry.queries
    assert entry.status is ResearchStatus.SUCCEEDED
    if entry.is_answered:
        assert entry.answer is not None
        assert not {source.url for source in entry.answer.sources} & read


async def test_questions_follow_the_report_in_what_is_shown_and_deleted(app: App) -> None:
    task_id = await researched(app)
    with pytest.raises(NotFound):
        await app.research.ask_in_process(task_id, "何时施行？", by=BERTA)
    await app.research.share(task_id, Visibility.OPEN, by=ANNA)
    asked = await app.research.ask_in_process(task_id, "何时施行？", by=BERTA)
    await app.research.share(task_id, Visibility.PRIVATE, by=ANNA)
    with pytest.raises(NotFound):
        await app.research.get(asked, by=BERTA)
    assert (await app.research.get(asked, by=ANNA)).parent_id == task_id
    assert [row.task_id for row in await app.research.list(by=ANNA)] == [task_id], "it is no research of the history"
    with pytest.raises(Conflict):
        await app.research.ask_in_process(asked, "为什么？", by=ANNA)
    with pytest.raises(UsageError):
        await app.research.ask_in_process(task_id, "  ", by=ANNA)
    with pytest.raises(Forbidden):
        await app.research.ask_in_process(task_id, "何时施行？", by=Actor("rita", Role.READER))
    await app.research.delete(task_id, by=ANNA)
    with pytest.raises(NotFound):
        await app.research.get(asked, by=ANNA)
    assert not (app.settings.data_dir / "bundles" / asked).exists()


async def test_a_question_needs_a_report_and_a_worker(app: App) -> None:
    task_id = await researched(app)
    with pytest.raises(UsageError):
        await app.research.ask(task_id, "何时施行？", by=ANNA)
    async with app.presence.register("worker"):
        waiting = await app.research.enqueue(QUESTION, config=SearchConfig(), options=ResearchOptions(), by=ANNA)
        with pytest.raises(Conflict):
            await app.research.ask(waiting, "何时施行？", by=ANNA)
        asked = await app.research.ask(task_id, "何时施行？", by=ANNA)
        assert asked in {row.id for row in await app.store.research.list_unqueued()}
        await app.research.cancel(asked, by=ANNA)
    (entry,) = await app.research.list_follow_ups(task_id, by=ANNA)
    assert (entry.status, entry.answer) == (ResearchStatus.CANCELLED, None)


async def test_a_report_takes_so_many_questions(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    task_id = await researched(app)
    async with app.presence.register("worker"):
        for _ in range(MAX_FOLLOW_UPS):
            await app.research.ask(task_id, "何时施行？", by=ANNA)
        with pytest.raises(UsageError) as refused:
            await app.research.ask(task_id, "何时施行？", by=ANNA)
    assert refused.value.message.code == "research.too_many_follow_ups"


@pytest.mark.parametrize("mode", ["hallucinating", "obedient", "http_500"])
async def test_whatever_a_model_says_no_answer_is_invented(
    world: ResearchWorld, tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-the-test")
    model = ScriptedModel("good")
    async with model.serve() as url, opened(world, tmp_path, sqlite_url, model=url) as app:
        task_id = await researched(app)
        model.mode = ScriptedMode(mode)
        for question in ("2026年前三季度新型储能装机规模是多少？", "海王星的卫星有几颗？"):
            entry = await answered(app, task_id, question)
            assert entry.answer is not None
            assert "2031" not in entry.answer.markdown
            assert "invented.example" not in entry.answer.markdown
            for statement in entry.answer.metadata.statements:
                assert statement.sources
                assert statement.verdict in (Verdict.SUPPORTED, Verdict.UNCHECKED)
            for index, note in enumerate(entry.notes):
                page = await app.research.get_note_snapshot(entry.task_id, index, by=ANNA)
                shown = "".join((page.text or "")[page.start : page.end].split())
                assert shown == "".join(note.evidence[0].quote.split())


async def test_a_killed_answer_goes_on_with_the_step_in_hand(
    world: ResearchWorld, tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-the-test")
    model = ScriptedModel("good")
    async with model.serve() as url, opened(world, tmp_path, sqlite_url, model=url) as app:
        task_id = await researched(app)
        async with app.presence.register("worker"):
            asked = await app.research.ask(task_id, "海王星的卫星有几颗？", by=ANNA)
        await app.store.research.mark_enqueued(asked, at=app.clock.now())
        before = len(model.requests)

        searched = searches(world)

        def die_at_the_second_answer(event: Any) -> None:
            node = (event.data["payload"].get("metadata") or {}).get("node")
            if node == "follow_up" and searches(world) > searched:
                work.cancel()

        work = asyncio.create_task(
            app.research.execute(asked, executor="one", steps=InProcessSteps(), on_event=die_at_the_second_answer)
        )
        with pytest.raises(asyncio.CancelledError):
            await work
        assert searches(world) > searched
        held = len(model.requests) - before
        status = await app.research.execute(asked, executor="two", steps=InProcessSteps())
        assert status is ResearchStatus.SUCCEEDED
        again = len(model.requests) - before - held
        assert again <= 3, "what was asked before is not asked again, but for the step in hand"


def searches(world: ResearchWorld) -> int:
    return len(world.search_requests)
