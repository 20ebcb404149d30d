"""Follow-up questions about a finished report: from its pages first, then from a search, never from nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from benchmarks.scripted_model.server import ScriptedModel
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, Forbidden, NotFound, UsageError
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
    print(entry.answer, entry.status, entry.error)
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


async def test_what_no_page_says_is_said_to_be_unanswered(app: App, world: ResearchWorld) -> None:
    task_id = await researched(app)
    before = len(world.search_requests)
    entry = await answered(app, task_id, "海王星的卫星有几颗？")
    print(entry.answer)
    assert entry.status is ResearchStatus.SUCCEEDED
    assert not entry.is_answered
    assert entry.answer is not None
    assert len(world.search_requests) > before, "it was searched for"
    assert entry.queries
    assert entry.answer.sources == []
    assert entry.answer.metadata.statements == []
    assert CITATION.search(entry.answer.markdown) is None
    assert "没有网页能回答这个问题" in entry.answer.markdown
