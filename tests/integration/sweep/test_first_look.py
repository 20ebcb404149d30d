"""The steps of a run: one where nothing is new, and one for each part of the work where something is."""

import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from monitor.vocabulary import RunStatus, SectionEnd

OLD = range(30, 34)
MAX_TRANSACTIONS = 12


class RecordedSteps:
    """Does each step at once and keeps their names; the one in `twice` is done again, as after a kill."""

    def __init__(self, *, twice: str = "") -> None:
        self.names: list[str] = []
        self._twice = twice

    async def run(self, name: str, result: type[Any], step: Callable[[], Awaitable[Any]]) -> Any:
        del result
        self.names.append(name.partition(":")[0] if name.startswith(("summarise", "revisit")) else name)
        if name == self._twice:
            await step()
        return await step()


async def sweep_with_steps(bureau: Any, **options: Any) -> tuple[Any, list[str]]:
    steps = bureau.sweeps.steps = RecordedSteps(**options)
    report = await bureau.sweep()
    return report, list(dict.fromkeys(steps.names))


@contextmanager
def counted_transactions() -> Iterator[Counter[str]]:
    counted: Counter[str] = Counter()

    def on_execute(_: object, __: object, statement: str, *rest: object) -> None:
        del rest
        counted["begun"] += statement.startswith("BEGIN")

    event.listen(Engine, "before_cursor_execute", on_execute)
    yield counted
    event.remove(Engine, "before_cursor_execute", on_execute)


async def test_a_first_run_has_a_step_for_each_part_of_its_work(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, *OLD))
    _, names = await sweep_with_steps(bureau)
    assert names == ["look", "crawl:0", "unsummarised", "summarise", "file", "rank", "due", "end"]


async def test_a_run_that_finds_nothing_new_is_one_step(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, *OLD))
    await bureau.sweep()
    second, names = await sweep_with_steps(bureau)
    assert names == ["look"]
    assert (second.status, second.sections[0].ended, second.coverage.known) == (
        RunStatus.SUCCEEDED,
        SectionEnd.KNOWN,
        2,
    )
    source = await bureau.store.sources.get(bureau.name)
    assert source.last_success_at == (await bureau.store.runs.get(second.run_id)).ended_at


async def test_a_run_that_finds_nothing_new_needs_few_transactions(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, *OLD))
    await bureau.sweep()
    with counted_transactions() as counted:
        await bureau.sweep()
    assert counted["begun"] <= MAX_TRANSACTIONS


async def test_what_the_first_look_finds_is_summarised_and_ranked_in_steps_of_their_own(bureau: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    bureau.show([*bureau.rows(0, first=200), *rows])
    second, names = await sweep_with_steps(bureau)
    assert names == ["look", "unsummarised", "summarise", "file", "rank", "due", "end"]
    assert second.coverage.saved == 1


async def test_the_sections_after_one_with_something_new_have_steps_of_their_own(bureau: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows, bureau.rows(3, *OLD, first=150))
    paths = {"通知公告": "/news/", "公告": "/news/index_1.html"}
    bureau.options["sections"] = [{"name": name, "url": bureau.site.url(path)} for name, path in paths.items()]
    await bureau.sweep()
    bureau.show([*bureau.rows(0, first=200), *rows], bureau.rows(3, *OLD, first=150))
    second, names = await sweep_with_steps(bureau)
    assert names == ["look", "crawl:1", "unsummarised", "summarise", "file", "rank", "due", "end"]
    assert second.coverage.saved == 1


async def test_a_first_look_that_is_done_again_after_a_kill_loses_nothing(bureau: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    bureau.show([*bureau.rows(0, first=200), *rows])
    second, names = await sweep_with_steps(bureau, twice="look")
    assert names == ["look", "unsummarised", "summarise", "file", "rank", "due", "end"]
    assert (second.coverage.saved, [item.rank for item in second.items]) == (1, [1])


@pytest.mark.parametrize("days", [1, 7])
async def test_a_run_with_nothing_new_still_visits_what_is_due(bureau: Any, days: int) -> None:
    bureau.settings.sweep.revisit_days = [days]
    bureau.show(bureau.rows(1, *OLD))
    await bureau.sweep()
    bureau.clock.today += dt.timedelta(days=days)
    _, names = await sweep_with_steps(bureau)
    assert names == ["look", "due", "revisit", "end"]
