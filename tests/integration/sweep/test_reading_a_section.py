"""How a section is read from run to run: range, pages, limits, the ledger (contracts, section 4)."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from monitor.i18n.catalogue import render
from monitor.sweep.crawl import NO_LIST_REASON
from monitor.vocabulary import DateSource, Disposition, RunStatus, SectionEnd

OLD = (400, 410, 420, 430, 440, 450)


def numbers(ledger: dict[int, Any], disposition: Disposition) -> set[int]:
    return {number for number, row in ledger.items() if row.disposition is disposition}


async def test_what_is_in_the_window_is_saved_and_the_sums_add_up(bureau: Any) -> None:
    bureau.show(bureau.rows(0, 1, 6, 7, 8, *OLD))
    run = await bureau.sweep()
    ledger = await bureau.ledger(run)
    assert numbers(ledger, Disposition.SAVED) == {100, 101, 102}
    assert len(numbers(ledger, Disposition.OUT_OF_RANGE)) == 8
    assert (run.coverage.saved, run.coverage.out_of_range, run.sections[0].candidates) == (3, 8, 11)
    assert (run.status, run.sections[0].ended, run.is_baseline) == (RunStatus.SUCCEEDED, SectionEnd.END, True)


async def test_a_second_run_reads_one_page_and_ends_known(bureau: Any) -> None:
    rows = bureau.rows(*range(7), *OLD)
    bureau.show(rows[:6], rows[6:])
    await bureau.sweep()
    asked = len(bureau.site.asked)
    second = await bureau.sweep()
    assert (second.sections[0].ended, second.sections[0].pages, second.coverage.saved) == (SectionEnd.KNOWN, 1, 0)
    assert second.coverage.known == 6
    assert bureau.site.paths()[asked:] == ["/news/"]


async def test_the_next_run_brings_only_what_is_new(bureau: Any) -> None:
    rows = bureau.rows(1, 2, 3, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    bureau.show([*bureau.rows(0, first=200), *rows])
    second = await bureau.sweep()
    assert [item.url.rpartition("/")[2] for item in second.items] == ["200.html"]
    assert second.items[0].late is False


async def test_reading_stops_after_two_pages_without_anything_new_in_range(bureau: Any) -> None:
    pages = [bureau.rows(*[n * 40 + k for k in range(6)], first=100 + n * 10) for n in range(5)]
    bureau.show(*pages)
    run = await bureau.sweep()
    assert (run.sections[0].ended, run.sections[0].pages, run.coverage.saved) == (SectionEnd.EARLY, 3, 6)
    assert run.status is RunStatus.SUCCEEDED


async def test_more_than_the_limit_comes_first_in_the_next_run_even_if_it_left_the_page(bureau: Any) -> None:
    bureau.options = {"max_items": 4}
    rows = bureau.rows(0, 0, 1, 1, 2, 2, *OLD)
    bureau.show(rows)
    first = await bureau.sweep()
    assert (first.coverage.saved, first.coverage.over_limit) == (4, 2)
    bureau.show([*bureau.rows(0, 0, 0, first=200), *rows[:4]])
    second = await bureau.sweep()
    saved = [item.url.rpartition("/")[2] for item in sorted(second.items, key=lambda item: item.id)]
    assert saved[:2] == ["104.html", "105.html"]
    assert len(saved) == 4
    third = await bureau.sweep()
    assert [item.url.rpartition("/")[2] for item in third.items] == ["202.html"]


async def test_a_section_cut_short_is_read_on_in_later_runs_until_nothing_is_missing(bureau: Any) -> None:
    bureau.options = {"max_items": 6}
    pages = [bureau.rows(*[n] * 6, first=100 + n * 10) for n in range(4)] + [bureau.rows(*OLD, first=500)]
    bureau.show(*pages)
    seen: set[str] = set()
    for expected in (SectionEnd.MAX_ITEMS, SectionEnd.MAX_ITEMS, SectionEnd.MAX_ITEMS, SectionEnd.MAX_ITEMS):
        run = await bureau.sweep()
        assert run.sections[0].ended is expected
        assert [render(place.reason, "en") for place in run.coverage.unseen] == ["max_items"]
        seen |= {item.url for item in run.items}
    assert len(seen) == 24
    final = await bureau.sweep()
    assert (final.sections[0].ended, final.coverage.saved) == (SectionEnd.END, 0)
    assert (await bureau.sweep()).sections[0].ended is SectionEnd.KNOWN


async def test_after_an_outage_the_window_reaches_back_to_the_last_complete_run(bureau: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    bureau.clock.today += dt.timedelta(days=20)
    bureau.show([*bureau.rows(1, 10, 18, first=200), *rows])
    run = await bureau.sweep()
    assert len(run.items) == 3
    assert not any(item.late for item in run.items)


async def test_a_document_posted_late_under_an_old_date_is_saved_and_marked(bureau: Any) -> None:
    rows = bureau.rows(1, 2, 30, 50, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    late = bureau.rows(40, first=300)
    bureau.show([*rows[:3], *late, *rows[3:]])
    run = await bureau.sweep()
    assert [(item.url.rpartition("/")[2], item.late) for item in run.items] == [("300.html", True)]


async def test_a_date_that_only_the_article_has_is_fetched_once(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 3, 30, 40, 50, 60, shown=False))
    run = await bureau.sweep()
    assert {item.date_source for item in run.items} == {DateSource.PAGE}
    assert (run.coverage.saved, run.coverage.out_of_range) == (2, 4)
    asked = len(bureau.site.asked)
    second = await bureau.sweep()
    assert (second.coverage.known, second.coverage.out_of_range, second.coverage.left) == (2, 4, 0)
    assert bureau.site.paths()[asked:] == ["/news/"]


async def test_without_any_date_the_baseline_leaves_it_and_later_news_is_saved_as_unknown(bureau: Any) -> None:
    rows = bureau.rows(*[None] * 6)
    bureau.show(rows)
    first = await bureau.sweep()
    assert (first.coverage.saved, first.coverage.left) == (0, 6)
    bureau.show([*bureau.rows(None, first=200), *rows])
    second = await bureau.sweep()
    (item,) = second.items
    assert (item.url.rpartition("/")[2], item.date, item.date_source) == ("200.html", None, DateSource.UNKNOWN)
    assert second.coverage.left == 6


async def test_at_most_twenty_articles_are_opened_for_their_dates(bureau: Any) -> None:
    bureau.show(bureau.rows(*[1] * 30, shown=False))
    run = await bureau.sweep()
    ledger = await bureau.ledger(run)
    assert run.coverage.saved == 20
    assert {row.reason.code for row in ledger.values() if row.disposition is Disposition.LEFT} == {
        "candidate.undated_not_opened"
    }
    opened = {path for path in bureau.site.paths() if path.startswith("/news/detail/")}
    assert len(opened) == 20


async def test_a_section_that_is_down_does_not_stop_the_others(bureau: Any) -> None:
    down = {"name": "down", "url": bureau.site.url("/down/")}
    bureau.options = {"sections": [down, {"name": "通知公告", "url": bureau.site.url("/news/")}]}
    bureau.show(bureau.rows(1, 2, 3, *OLD))
    run = await bureau.sweep()
    assert [(section.name, section.ended) for section in run.sections] == [("down", "error"), ("通知公告", "end")]
    assert (run.status, run.coverage.saved) == (RunStatus.DEGRADED, 3)
    assert [(place.section, render(place.reason, "en").split(":")[0]) for place in run.coverage.unseen] == [
        ("down", "NotFound")
    ]


async def test_a_page_without_a_list_is_no_quiet_section(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, 3, *OLD))
    await bureau.sweep()
    bureau.site.on("/news/", "<html><body><h1>系统维护</h1><p>网站正在维护，请稍后访问。</p></body></html>")
    run = await bureau.sweep()
    assert (run.status, run.sections[0].ended) == (RunStatus.FAILED, SectionEnd.ERROR)
    assert NO_LIST_REASON in run.error.walk()
    bureau.show([*bureau.rows(0, first=200), *bureau.rows(1, 2, 3, *OLD)])
    assert len((await bureau.sweep()).items) == 1


async def test_a_failing_next_page_is_unseen_and_read_in_the_next_run(bureau: Any, reply: Any) -> None:
    pages = [bureau.rows(*[0] * 6), bureau.rows(*[1] * 6, first=200)]
    bureau.show(*pages)
    bureau.site.on("/news/index_1.html", reply("out of order", 500))
    first = await bureau.sweep()
    assert (first.sections[0].ended, first.coverage.saved, first.status) == ("error", 6, RunStatus.DEGRADED)
    assert first.coverage.unseen[0].url.endswith("index_1.html")
    bureau.show(*pages)
    second = await bureau.sweep()
    assert (second.coverage.saved, second.sections[0].ended) == (6, SectionEnd.END)


async def test_what_stands_on_the_page_before_which_a_run_was_killed_is_read_by_the_next_one(
    bureau: Any, reply: Any
) -> None:
    pages = [bureau.rows(*[0] * 6), bureau.rows(*[1] * 6, first=200), bureau.rows(*[2] * 6, first=300)]
    bureau.show(*pages)

    def killed(asked: Any) -> Any:
        sweep.cancel()
        return reply("never read")

    bureau.site.on("/news/index_2.html", killed)
    sweep = asyncio.create_task(bureau.sweep())
    with pytest.raises(asyncio.CancelledError):
        await sweep
    bureau.show(*pages)
    after = await bureau.sweep()
    assert (after.coverage.saved, after.coverage.known, after.sections[0].ended) == (6, 12, SectionEnd.END)
    assert (await bureau.sweep()).sections[0].pages == 1


async def test_a_fixed_range_is_taken_as_it_is_given(bureau: Any) -> None:
    bureau.show(bureau.rows(1, 2, 3, 20, 30, *OLD))
    today = bureau.clock.today
    run = await bureau.sweep(since=today - dt.timedelta(30), until=today - dt.timedelta(3))
    assert {row for row, entry in (await bureau.ledger(run)).items() if entry.disposition == "saved"} == {102, 103, 104}


async def test_health_follows_the_runs(bureau: Any, reply: Any) -> None:
    bureau.site.on("/news/", reply("out of order", 500))
    await bureau.sweep()
    await bureau.sweep()
    failed = await bureau.store.sources.get("bureau")
    assert (failed.consecutive_failures, failed.last_success_at) == (2, None)
    assert "BadGateway" in render(failed.last_error, "en")
    bureau.show(bureau.rows(1, *OLD))
    await bureau.sweep()
    healthy = await bureau.store.sources.get("bureau")
    assert (healthy.consecutive_failures, healthy.last_error) == (0, None)
    assert healthy.last_new_item_at == bureau.clock.now()


async def test_a_trial_writes_nothing_and_knows_what_is_known(bureau: Any) -> None:
    rows = bureau.rows(1, 2, *OLD)
    bureau.show(rows)
    await bureau.sweep()
    bureau.show([*bureau.rows(0, first=200), *rows])
    source = await bureau.store.sources.get("bureau")
    trial = await bureau.sweeps.run_trial(source)
    assert trial.would_save == 1
    reported = {
        candidate.candidate.url.rpartition("/")[2]: candidate.disposition for candidate in trial.sections[0].candidates
    }
    assert (reported["200.html"], reported["100.html"]) == (Disposition.SAVED, Disposition.KNOWN)
    assert len(await bureau.store.runs.list()) == 1
    assert len((await bureau.sweep()).items) == 1
