"""Alarms after real sweeps: each raised once when it begins, told once, and cleared when it is over."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.delivery import AlarmKind
from monitor.i18n.catalogue import render
from monitor.vocabulary import Disposition, RunStatus, SectionEnd

OLD = (400, 410, 420, 430, 440, 450)
EMPTY = "<html><body><h1>通知公告</h1><p>网站升级改版中。</p></body></html>"


def tomorrow(bureau: Any, days: int = 1) -> None:
    bureau.clock.today += dt.timedelta(days=days)


async def kinds(bureau: Any) -> list[AlarmKind]:
    return [alarm.kind for alarm in (await bureau.health.get_report()).alarms]


def reported(bureau: Any) -> list[AlarmKind]:
    return [alarm.kind for alarm in bureau.notices.received]


async def test_a_list_that_is_gone_is_told_once_and_is_over_when_it_is_back(bureau: Any) -> None:
    rows = bureau.rows(1, 2, 3, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    assert await kinds(bureau) == []
    bureau.site.on("/news/", EMPTY)
    for _ in range(3):
        tomorrow(bureau)
        run = await bureau.sweep()
        assert run.status is RunStatus.FAILED
    assert await kinds(bureau) == [AlarmKind.FAILING, AlarmKind.STRUCTURE]
    bureau.show(rows)
    tomorrow(bureau)
    await bureau.sweep()
    assert await kinds(bureau) == []
    assert reported(bureau) == [AlarmKind.STRUCTURE, AlarmKind.FAILING]
    past = (await bureau.health.get_report(include_cleared=True)).alarms
    assert all(alarm.cleared_at == bureau.clock.now() for alarm in past)


async def test_dates_that_vanish_from_the_list_are_an_alarm_although_they_are_remembered(bureau: Any) -> None:
    rows = bureau.rows(1, 2, 3, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    for row in rows:
        row.shown = False
    bureau.show(rows)
    tomorrow(bureau)
    run = await bureau.sweep()
    assert (run.status, await kinds(bureau)) == (RunStatus.SUCCEEDED, [AlarmKind.DATES_LOST])


async def test_a_gap_is_raised_and_the_pages_between_are_read_to_what_is_known(bureau: Any) -> None:
    before = bureau.rows(1, 2, 3, *OLD)
    bureau.options = {"max_items": 6}
    bureau.show(before)
    await bureau.sweep()
    tomorrow(bureau, 3)
    new = bureau.rows(*[0] * 15, first=500)
    bureau.show(*[new[start : start + 3] for start in range(0, 15, 3)], before)
    run = await bureau.sweep()
    (section,) = run.sections
    assert (section.pages, section.ended) == (6, SectionEnd.MAX_ITEMS)
    ledger = await bureau.ledger(run)
    became = [ledger[row.number].disposition for row in new]
    assert became == [Disposition.SAVED] * 6 + [Disposition.OVER_LIMIT] * 9
    assert ledger[before[0].number].disposition is Disposition.KNOWN
    assert await kinds(bureau) == [AlarmKind.GAP]
    later = [await bureau.sweep(), await bureau.sweep()]
    assert [len(run.items) for run in later] == [6, 3]
    assert await kinds(bureau) == []


async def test_what_scrolled_off_a_list_of_one_page_is_a_possible_gap_until_the_list_joins_again(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, 3, *OLD))
    await bureau.sweep()
    tomorrow(bureau, 5)
    bureau.show(bureau.rows(0, 0, 1, 1, 2, 2, 3, 3, first=500))
    run = await bureau.sweep()
    assert (len(run.items), await kinds(bureau)) == (8, [AlarmKind.GAP])
    assert "possible gap" in render(bureau.notices.received[-1].message, "en")
    tomorrow(bureau)
    await bureau.sweep()
    assert await kinds(bureau) == []


async def test_a_row_that_is_pinned_to_the_top_does_not_hide_a_gap(bureau: Any) -> None:
    pinned = bureau.rows(300, first=50)
    bureau.show([*pinned, *bureau.rows(1, 2, 3, 4, 5, 6, first=100)])
    await bureau.sweep()
    tomorrow(bureau, 5)
    bureau.show([*pinned, *bureau.rows(0, 0, 1, 1, 2, first=500)])
    await bureau.sweep()
    assert await kinds(bureau) == [AlarmKind.GAP]


async def test_an_item_that_the_publisher_took_back_is_no_gap(bureau: Any) -> None:
    rows = bureau.rows(1, 2, 3, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    tomorrow(bureau)
    bureau.show([*bureau.rows(0, first=500), *rows[1:]])
    await bureau.sweep()
    assert await kinds(bureau) == []


async def test_dates_that_a_person_gave_are_read_no_further_and_raise_no_gap(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, 3, *OLD))
    await bureau.sweep()
    pages = [bureau.rows(*[0] * 5, first=500 + 5 * number) for number in range(7)]
    bureau.show(*pages)
    run = await bureau.sweep(since=bureau.clock.today)
    assert run.sections[0].pages <= 5
    assert await kinds(bureau) == []


@pytest.mark.parametrize("status", [403, 429])
async def test_a_site_that_begins_to_keep_us_out_is_an_alarm(bureau: Any, reply: Any, status: int) -> None:
    rows = bureau.rows(1, 2, 3, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    bureau.site.on("/news/", reply("go away", status))
    tomorrow(bureau)
    await bureau.sweep()
    (alarm,) = (await bureau.health.get_report()).alarms
    assert (alarm.kind, alarm.section, f"http_{status}" in render(alarm.message, "en")) == (AlarmKind.BLOCKED, "", True)
    bureau.show(rows)
    tomorrow(bureau)
    await bureau.sweep()
    assert await kinds(bureau) == []


async def test_a_source_that_keeps_failing_rests_and_comes_back_by_itself(bureau: Any, reply: Any) -> None:
    bureau.site.on("/news/", reply("broken", 500))
    for failures, due in enumerate(([], [], [AlarmKind.FAILING], [AlarmKind.FAILING]), start=1):
        await bureau.sweep()
        (health,) = (await bureau.health.get_report()).sources
        assert (health.consecutive_failures, await kinds(bureau)) == (failures, due)
        assert (health.resting_until is not None) == (failures >= 2)
    bureau.show(bureau.rows(1, 2, *OLD))
    run = await bureau.sweep()
    (health,) = (await bureau.health.get_report()).sources
    assert (run.status, health.consecutive_failures, health.resting_until) == (RunStatus.SUCCEEDED, 0, None)
    assert await kinds(bureau) == []
    assert reported(bureau) == [AlarmKind.FAILING]


async def test_silence_is_learned_from_the_dates_of_the_list_and_ends_with_the_next_item(bureau: Any) -> None:
    rows = bureau.rows(*range(1, 15))
    bureau.show(rows)
    await bureau.sweep()
    (section,) = (await bureau.health.get_report()).sources[0].sections
    assert (section.usual_days, section.silent_after_days) == (1, 10)
    tomorrow(bureau, 9)
    await bureau.sweep()
    assert await kinds(bureau) == []
    tomorrow(bureau, 1)
    await bureau.sweep()
    assert await kinds(bureau) == [AlarmKind.SILENCE]
    bureau.show([*bureau.rows(0, first=500), *rows])
    await bureau.sweep()
    assert await kinds(bureau) == []


async def test_an_alarm_that_did_not_arrive_is_handed_on_again(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, 3, *OLD))
    await bureau.sweep()
    bureau.site.on("/news/", EMPTY)
    bureau.notices.is_down = True
    tomorrow(bureau)
    run = await bureau.sweep()
    assert (await kinds(bureau), reported(bureau)) == ([AlarmKind.STRUCTURE], [])
    bureau.notices.is_down = False
    for _ in range(2):
        await bureau.health.update_alarms(run.run_id)
    assert reported(bureau) == [AlarmKind.STRUCTURE]
    assert await kinds(bureau) == [AlarmKind.STRUCTURE]


async def test_a_trial_raises_nothing(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, 3, *OLD))
    await bureau.sweep()
    bureau.site.on("/news/", EMPTY)
    source = await bureau.store.sources.get(bureau.name)
    await bureau.sweeps.run_trial(source)
    assert (await kinds(bureau), reported(bureau)) == ([], [])
