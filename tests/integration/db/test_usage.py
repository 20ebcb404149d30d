"""The usage ledger adds up."""

from datetime import UTC, datetime, timedelta

from monitor.db.database import Store
from monitor.db.queries.usage import Day
from monitor.db.reading import RunUsage
from monitor.db.tables.collection import ModelCall, Run, Source
from monitor.vocabulary import Phase

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


def a_call(
    phase: Phase,
    *,
    tokens: tuple[int, int],
    context: int = 0,
    hours: int = 0,
    run_id: str = "run-1",
    cost: float | None = None,
) -> ModelCall:
    return ModelCall(
        run_id=run_id,
        phase=phase,
        model="gpt-5",
        prompt_tokens=tokens[0],
        completion_tokens=tokens[1],
        context_chars=context,
        at=NOON + timedelta(hours=hours),
        cost=cost,
    )


async def test_calls_are_summed_by_run_and_phase(store: Store) -> None:
    await store.usage.add(a_call(Phase.SUMMARISE, tokens=(10, 1), context=500))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(100, 20), context=9000))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(200, 30), context=12000, cost=0.5))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(999, 999), run_id="run-2"))
    usage = await store.usage.load_run_usage("run-1")
    assert usage.model_dump() == {
        "calls": 3,
        "prompt_tokens": 310,
        "completion_tokens": 51,
        "largest_context_chars": 12000,
        "cost": 0.5,
        "by_phase": {
            "crawl": {
                "calls": 2,
                "prompt_tokens": 300,
                "completion_tokens": 50,
                "largest_context_chars": 12000,
                "cost": 0.5,
            },
            "summarise": {
                "calls": 1,
                "prompt_tokens": 10,
                "completion_tokens": 1,
                "largest_context_chars": 500,
                "cost": None,
            },
        },
    }
    assert list(usage.by_phase) == ["crawl", "summarise"]
    assert await store.usage.load_run_usage("run-3") == RunUsage()


async def test_tokens_are_counted_from_an_instant_on(store: Store) -> None:
    assert await store.usage.count_tokens_since(NOON) == 0
    await store.usage.add(a_call(Phase.RANK, tokens=(1, 2), hours=-1))
    await store.usage.add(a_call(Phase.RANK, tokens=(10, 20)))
    await store.usage.add(a_call(Phase.RANK, tokens=(100, 200), hours=1))
    assert await store.usage.count_tokens_since(NOON) == 330


async def test_spendings_are_told_by_source_and_phase_with_what_had_no_price(store: Store, run: Run) -> None:
    await store.usage.add(a_call(Phase.CRAWL, tokens=(1000, 100), cost=0.25))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(1000, 100), cost=0.5))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(10, 1)))
    await store.usage.add(a_call(Phase.RANK, tokens=(5, 5)))
    await store.usage.add(a_call(Phase.RANK, tokens=(7, 7), run_id="of a run that was pruned"))
    await store.usage.add(a_call(Phase.REPORT, tokens=(8, 8), run_id="a research"))
    await store.usage.add(a_call(Phase.RANK, tokens=(9, 9), hours=-1))
    await store.usage.add(a_call(Phase.RANK, tokens=(9, 9), hours=24))
    reported = await store.usage.load_daily([Day(NOON.date(), NOON, NOON + timedelta(hours=24))])
    figures = {
        (spending.source, spending.phase): (
            spending.calls,
            spending.prompt_tokens,
            spending.cost,
            spending.unpriced_calls,
        )
        for spending in reported
    }
    assert figures == {
        (run.source, Phase.CRAWL): (3, 2010, 0.75, 1),
        (run.source, Phase.RANK): (1, 5, None, 1),
        (None, Phase.RANK): (1, 7, None, 1),
        ("(research)", Phase.REPORT): (1, 8, None, 1),
    }


async def test_spendings_of_many_days_come_from_one_query_each_day_with_its_own(store: Store, run: Run) -> None:
    store.sessions.timezone = "Etc/GMT+12"  # where days begin at noon of UTC
    days = [
        Day((NOON + timedelta(days=n)).date(), NOON + timedelta(days=n), NOON + timedelta(days=n + 1))
        for n in range(90)
    ]
    await store.usage.add(a_call(Phase.CRAWL, tokens=(1, 2), cost=0.5))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(10, 20), hours=23))
    await store.usage.add(a_call(Phase.RANK, tokens=(100, 200), hours=24))
    await store.usage.add(a_call(Phase.RANK, tokens=(5, 5), hours=24 * 90))
    reported = [
        (spending.day, spending.phase, spending.calls, spending.tokens)
        for spending in await store.usage.load_daily_by_phase(days[0].date, days[-1].date)
    ]
    assert reported == [(days[0].date, Phase.CRAWL, 2, 33), (days[1].date, Phase.RANK, 1, 300)]
    assert [(entry.day, entry.source, entry.tokens) for entry in await store.usage.load_daily(days)] == [
        (days[0].date, run.source, 33),
        (days[1].date, run.source, 300),
    ]


async def test_spendings_are_told_by_model_and_by_source_the_most_tokens_first(store: Store, run: Run) -> None:
    await store.usage.add(a_call(Phase.CRAWL, tokens=(1, 2), run_id="of a run that was pruned"))
    await store.usage.add(a_call(Phase.CRAWL, tokens=(10, 20), cost=0.5))
    await store.usage.add(a_call(Phase.RANK, tokens=(100, 0)).model_copy(update={"model": "small"}))
    await store.usage.add(a_call(Phase.SEARCH, tokens=(3, 4), run_id="a research").model_copy(update={"model": "big"}))
    today, tomorrow = NOON.date(), NOON.date() + timedelta(days=1)
    assert [(spending.name, spending.tokens) for spending in await store.usage.load_by_model(today, today)] == [
        ("small", 100),
        ("gpt-5", 33),
        ("big", 7),
    ]
    assert [
        (entry.name, entry.tokens, entry.unpriced_calls) for entry in await store.usage.load_by_source(today, today)
    ] == [(run.source, 130, 1), ("(research)", 7, 1), (None, 3, 1)]
    assert await store.usage.load_by_model(tomorrow, tomorrow) == []


async def test_what_a_source_spent_moves_with_its_name(store: Store, run: Run, source: Source) -> None:
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON))
    await store.runs.create(Run(id="run-2", source_id=other.id, source="other", planned_at=NOON))
    for run_id in ("run-1", "run-2"):
        await store.usage.add(a_call(Phase.CRAWL, tokens=(1, 2), cost=0.5, run_id=run_id))
    await store.sources.remove("other")
    await store.sources.update(source.name, name="other")
    (spent,) = await store.usage.load_by_source(NOON.date(), NOON.date())
    assert (spent.name, spent.calls, spent.tokens, spent.cost) == ("other", 2, 6, 1.0)


async def test_what_sources_spent_is_forgotten_in_time_and_what_all_did_is_not(store: Store, run: Run) -> None:
    await store.usage.add(a_call(Phase.CRAWL, tokens=(1, 2), cost=0.5))
    today, tomorrow = NOON.date(), NOON.date() + timedelta(days=1)
    await store.retention.prune(NOON + timedelta(days=1))
    await store.usage.delete_source_totals(today)
    assert len(await store.usage.load_by_source(today, today)) == 1
    await store.usage.delete_source_totals(tomorrow)
    assert await store.usage.load_by_source(today, today) == []
    (spent,) = await store.usage.load_by_model(today, today)
    assert (spent.calls, spent.cost) == (1, 0.5)
