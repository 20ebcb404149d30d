"""Every notebook keeps a research so that it goes on where it stopped: in a folder, and in each kind of database."""

import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.db.database import Store
from monitor.db.tables.research import Research, ResearchRemark
from monitor.research.dependencies import Notebook
from monitor.research.shapes import PlanParagraph, StepType
from monitor.research.state import SearchEntry, SearchRound, State
from monitor.services.research.dependencies import StoreNotebook
from tests.folder_notebook import FolderNotebook

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
TASK = "r-1"


@pytest.fixture(params=["file", "sqlite", "postgresql"])
async def notebook(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Notebook]:
    if request.param == "file":
        yield FolderNotebook(tmp_path / "notebook")
        return
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    async with Store.open(url) as store:
        await store.research.create(Research(id=TASK, query="补贴?", language="zh", created_at=NOON))
        yield StoreNotebook(store, TASK)


def planned() -> State:
    state = State.create("补贴?", at=NOON)
    state.apply_plan(
        "工业机器人", [PlanParagraph(title="背景", content="由来"), PlanParagraph(title="现状", content="数字")]
    )
    return state


async def test_a_new_one_is_empty(notebook: Notebook) -> None:
    assert await notebook.load_state() is None
    assert await notebook.load_output(StepType.PLAN) is None
    assert await notebook.load_latest_remark() == ""


async def test_a_state_comes_back_as_it_was(notebook: Notebook) -> None:
    state = planned()
    await notebook.save_plan(state)
    paragraph = state.paragraphs[1]
    entry = SearchEntry(
        query="机器人 补贴",
        url="https://o.gov/1",
        title="通知",
        content="补贴 12.5%。",
        score=0.7,
        timestamp=NOON,
        published_on=dt.date(2026, 1, 5),
        record="abc",
    )
    asked = SearchRound(
        number=0, query_id="p1-q1", search_query="机器人 补贴", search_tool="basic_search_news", is_searched=True
    )
    paragraph.research.search_history.append(entry)
    paragraph.research.rounds.append(asked)
    await notebook.save_paragraph(paragraph)
    kept = await notebook.load_state()
    assert kept == state
    paragraph.research.latest_summary, paragraph.research.is_completed = "补贴为 12.5%[1]。", True
    await notebook.save_paragraph(paragraph)
    kept = await notebook.load_state()
    assert kept == state
    assert kept.progress == 0.5


async def test_a_new_plan_takes_the_place_of_the_old_one(notebook: Notebook) -> None:
    await notebook.save_plan(planned())
    state = planned()
    state.apply_plan("新", [PlanParagraph(title="影响", content="谁")])
    await notebook.save_plan(state)
    assert await notebook.load_state() == state


async def test_what_steps_gave_stands_beside_each_other(notebook: Notebook) -> None:
    await notebook.save_output(StepType.PLAN, {"result": {"content": "甲"}})
    await notebook.save_output(StepType.MODELING, {"result": {"content": "乙"}})
    assert await notebook.load_output(StepType.PLAN) == {"result": {"content": "甲"}}
    assert await notebook.load_output(StepType.MODELING) == {"result": {"content": "乙"}}
    assert await notebook.load_output(StepType.REPORTING) is None


async def test_the_latest_remark_is_read(either_store: Store) -> None:
    await either_store.research.create(Research(id=TASK, query="补贴?", language="zh", created_at=NOON))
    notebook = StoreNotebook(either_store, TASK)
    for text in ("看地方", "看中央"):
        await either_store.research.add_remark(ResearchRemark(task_id=TASK, text=text, at=NOON))
    assert await notebook.load_latest_remark() == "看中央"
