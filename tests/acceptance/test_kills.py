"""The service is killed in mid-sweep (issue 4, points 1 and 5): nothing lost or twice, no finished work again."""

import asyncio
import json
import signal
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import pytest


def item_rows(run: dict[str, Any]) -> list[tuple[str, str, str]]:
    return sorted((item["url"], item["title"], item["date"]) for item in run["items"])


async def expected(trial: Any) -> tuple[list[tuple[str, str, str]], int]:
    """What an undisturbed sweep brings, and how many model calls it needs, in a database of its own."""
    place = trial.ministry.workplace
    place.configure(database_url=f"sqlite:///{place.folder / 'undisturbed.db'}")
    run = await place.sweep_here("ministry")
    place.configure(database_url=trial.database_url)
    calls = len(trial.model.requests)
    trial.model.requests.clear()
    return item_rows(run), calls


async def swept_with_kills(
    trial: Any,
    words: list[str],
    moments: list[int],
    number: signal.Signals = signal.SIGKILL,
    victims: Sequence[str] = ("serve", "worker"),
    later_s: float = 0.0,
) -> tuple[dict[str, Any], int]:
    """A sweep in whose course these parts of the service are killed so long after the model was asked so often."""
    processes = [await trial.start(word) for word in words]
    dying = [process for process in processes if process.word in victims]
    sweep = asyncio.create_task(trial.ministry.workplace.monitor("sweep", "ministry", "--json"))
    before = []
    for moment in moments:
        await trial.asked(moment, sweep)
        await asyncio.wait([sweep], timeout=later_s)
        if sweep.done():
            break
        codes = [await process.end(number) for process in dying]
        assert set(codes) == {0 if number is signal.SIGTERM else -signal.SIGKILL}
        before.append((moment, trial.finished(), trial.calls()))
        for process in dying:
            await process.start()
    answer = await sweep
    assert answer.code == 0, answer.err
    (run,) = json.loads(answer.out)["runs"]
    assert run["status"] in ("succeeded", "degraded")
    after = trial.calls()
    ranked_in_vain = max(
        (calls["rank", ""] for _, finished, calls in before if ("rank", "") not in finished), default=0
    )
    assert after["rank", ""] == 1 + ranked_in_vain
    for moment, finished, calls in before:
        again = {place for place in finished if after[place] != calls[place]}
        assert not again, f"killed after {moment} calls, finished work was done again: {again}"
    return run, len(before)


def assert_whole(trial: Any, run: dict[str, Any], items: list[tuple[str, str, str]]) -> None:
    assert item_rows(run) == items
    urls = [url for (url,) in trial.rows("SELECT url FROM item")]
    assert len(urls) == len(set(urls)) == len(items)
    assert [item["rank"] for item in run["items"]] == list(range(1, len(items) + 1))


def parts_of(trial: Any) -> list[str]:
    return ["serve"] if trial.database_url.startswith("sqlite") else ["worker", "scheduler"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_a_service_that_is_killed_again_and_again_loses_nothing_and_does_nothing_twice(trial: Any) -> None:
    items, calls = await expected(trial)
    moments = [2, calls // 3, 2 * calls // 3]
    run, kills = await swept_with_kills(trial, parts_of(trial), moments)
    assert kills == len(moments)
    assert_whole(trial, run, items)


@pytest.mark.soak
@pytest.mark.timeout(300)
async def test_a_service_that_is_asked_to_stop_in_each_phase_goes_on_after_the_start(trial: Any) -> None:
    items, calls = await expected(trial)
    moments = [1, calls // 2, calls]  # a section, the summaries, the ranking
    run, _ = await swept_with_kills(trial, parts_of(trial), moments, signal.SIGTERM)
    assert_whole(trial, run, items)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_a_hundred_kills_at_moments_spread_over_the_sweep(trial: Any) -> None:
    items, calls = await expected(trial)
    tables = ["item", "known_url", "section", "site_memory", "over_limit", "run", "model_call"]
    words = parts_of(trial)
    everybody = [("serve",)] if words == ["serve"] else [("worker",), ("scheduler",), ("worker", "scheduler")]
    for number, victims in zip(range(100), cycle(everybody), strict=False):
        # Four moments to a call: while it is under way, and 40, 80 and 120 ms later, between pages and the store.
        moment, later_s = [1 + number * calls // 100], number % 4 * 0.04
        run, _ = await swept_with_kills(trial, words, moment, victims=victims, later_s=later_s)
        assert_whole(trial, run, items)
        for process in trial.started:
            await process.end(signal.SIGKILL)
        trial.started.clear()
        trial.model.requests.clear()
        trial.forget(tables)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_run_goes_on_when_the_database_was_restarted_in_the_middle_of_it(trial: Any, postgres: Any) -> None:
    items, calls = await expected(trial)
    await trial.start("worker")
    sweep = asyncio.create_task(trial.ministry.workplace.monitor("sweep", "ministry", "--json"))
    await trial.asked(calls // 3, sweep)
    await asyncio.to_thread(postgres.stop)
    await asyncio.to_thread(postgres.start)
    answer = await sweep
    assert answer.code == 0, answer.err
    (run,) = json.loads(answer.out)["runs"]
    assert_whole(trial, run, items)
