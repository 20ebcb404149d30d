"""Researches on a schedule: each planned time begins one edition by the same plan, which says what is new."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from monitor.bootstrap import App, open_app
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.tables.research import ResearchStatus
from monitor.errors import Conflict, Forbidden, UsageError
from monitor.jobs.scheduler import EditionPlanner
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.steps import InProcessSteps
from monitor.vocabulary import Role, Visibility

QUESTION = "2026年新型储能的发展现状与政策走向如何？"
ANNA, BERTA = Actor("anna", Role.EDITOR), Actor("berta", Role.EDITOR)


class Ahead:
    """A clock that is so much ahead of the one of the service."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self.by = clock, dt.timedelta()

    def now(self) -> dt.datetime:
        return self._clock.now() + self.by


@pytest.fixture
async def app(tmp_path: Path, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    async with ResearchWorld().serve() as values:
        settings = Settings(
            data_dir=tmp_path,
            database_url=sqlite_url,
            llm={"enabled": False},
            research={"max_paragraphs": 2, "max_reflections": 0},
            **values,
        )
        async with open_app(settings) as app:
            yield app


async def begun(app: App, clock: Ahead) -> list[str]:
    """What two schedulers begin that look at once, and one after them."""
    planners = [EditionPlanner(store=app.store, clock=clock) for _ in range(2)]
    for planner in planners:
        await planner.refresh()
    await asyncio.gather(*(planner.begin_due() for planner in planners))
    late = EditionPlanner(store=app.store, clock=clock)
    await late.refresh()
    await late.begin_due()
    return [row.id for row in await app.store.research.list_unqueued()]


async def test_each_planned_time_begins_one_edition_by_the_same_plan(app: App) -> None:
    first = await app.research.run_in_process(QUESTION, config=SearchConfig(), options=ResearchOptions(), by=ANNA)
    clock = Ahead(app.clock)
    await app.research.schedule(first, "monday 08:00", by=ANNA)
    assert await begun(app, clock) == []
    clock.by = dt.timedelta(days=15)
    (edition,) = await begun(app, clock)  # two Mondays went by while nobody was there
    clock.by = dt.timedelta(days=22)
    assert await begun(app, clock) == [edition], "the next one waits until this one has ended"
    await app.store.research.mark_enqueued(edition, at=app.clock.now())
    assert await app.research.execute(edition, executor="one", steps=InProcessSteps()) is ResearchStatus.SUCCEEDED

    view, before = await app.research.get(edition, by=ANNA), await app.research.get(first, by=ANNA)
    assert (view.plan, view.query, view.visibility) == (before.plan, QUESTION, Visibility.PRIVATE)
    assert view.report is not None
    series = await app.research.list_editions(edition, by=ANNA)
    assert {entry.task_id for entry in series.editions} == {first, edition}
    assert (series.first, series.schedule) == (first, "0 8 * * 1")
    assert series.news is not None
    assert (series.news.task_id, series.news.statements, series.news.sources) == (first, [], []), "the web is the same"
    assert (await app.research.list_editions(first, by=ANNA)).news is None

    await app.people.add("anna", "reader", by=COMMAND_LINE)
    assert await begun(app, clock) == [], "she may not ask any more"
    await app.people.set_role("anna", "editor", by=COMMAND_LINE)
    clock.by = dt.timedelta(days=29)
    (later,) = await begun(app, clock)
    await app.research.schedule(edition, "off", by=ANNA)
    clock.by = dt.timedelta(days=40)
    assert await begun(app, clock) == [later]
    await app.research.delete(first, by=ANNA)
    assert (await app.research.list_editions(edition, by=ANNA)).first == edition, "an edition outlives the first one"


async def test_a_schedule_is_its_owner_s_and_needs_a_plan_and_a_time(app: App) -> None:
    task_id = await app.research.run_in_process(QUESTION, config=SearchConfig(), options=ResearchOptions(), by=ANNA)
    await app.research.share(task_id, Visibility.OPEN, by=ANNA)
    with pytest.raises(Forbidden):
        await app.research.schedule(task_id, "monday 08:00", by=BERTA)
    with pytest.raises(UsageError):
        await app.research.schedule(task_id, "every blue moon", by=ANNA)
    async with app.presence.register("worker"):
        waiting = await app.research.enqueue(QUESTION, config=SearchConfig(), options=ResearchOptions(), by=ANNA)
    with pytest.raises(Conflict):
        await app.research.schedule(waiting, "monday 08:00", by=ANNA)
    assert (await app.research.list_editions(task_id, by=BERTA)).schedule is None
