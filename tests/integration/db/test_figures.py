"""Figures of the whole service: what researches cost, and how their reports scored."""

from datetime import UTC, datetime, timedelta

from monitor.db.database import Store
from monitor.db.queries.filters import ItemFilter
from monitor.db.queries.service import ResearchMetrics
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.db.tables.research import Research, ResearchStatus, Schedule
from monitor.i18n.message import Message
from monitor.vocabulary import Phase, RunStatus

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


async def test_of_researches_the_reports_are_counted_with_their_scores_and_what_they_cost(store: Store) -> None:
    assert (await store.metrics.load_service_metrics()).research == ResearchMetrics()
    score = {"quoteFidelity": 1.0, "refused": {"figures": 2}}
    for task_id, status, outputs in (
        ("a", ResearchStatus.SUCCEEDED, {"reporting": {"result": {}, "score": score}}),
        ("b", ResearchStatus.DEGRADED, {}),
        ("c", ResearchStatus.FAILED, {}),
    ):
        times = {"created_at": NOON, "started_at": NOON, "ended_at": NOON + timedelta(seconds=90)}
        await store.research.create(
            Research(id=task_id, query="?", language="zh", status=status, outputs=outputs, **times)
        )
    for run_id, tokens, cost in (("a", 100, 0.5), ("b", 10, None), ("a run", 1, 1.0)):
        call = ModelCall(run_id=run_id, phase=Phase.REPORT, model="m", prompt_tokens=tokens, at=NOON, cost=cost)
        await store.usage.add(call)
    found = (await store.metrics.load_service_metrics()).research
    assert found.by_status == {"succeeded": 1, "degraded": 1, "failed": 1}
    assert (found.tokens, found.cost) == (110, 0.5), "a run's calls are none of a research"
    reports = sorted(found.reports, key=lambda metrics: bool(metrics.score))
    assert [(report.seconds, report.score) for report in reports] == [(90.0, {}), (90.0, score)]


async def test_sentences_are_counted_by_verdict_over_all_items_and_over_some_days(store: Store, run: Run) -> None:
    names = ("supported_by_code", "supported_by_model", "unchecked", "contradicted", "unsupported")
    nothing = dict.fromkeys(names, 0)
    assert (await store.metrics.load_service_metrics()).statements == nothing
    for number, (days, counts) in enumerate(
        [(0, {"supported_by_code": 2, "unchecked": 1}), (3, {"supported_by_code": 1, "unsupported": 4}), (1, None)]
    ):
        url = f"https://gov.example/{number}"
        await store.items.save(
            Item(
                run_id=run.id,
                source=run.source,
                section="",
                url=url,
                url_key=url,
                title="t",
                first_seen=NOON - timedelta(days=days),
                statements=counts and nothing | counts,
            )
        )
    found = (await store.metrics.load_service_metrics()).statements
    assert found == nothing | {"supported_by_code": 3, "unchecked": 1, "unsupported": 4}
    today = NOON.date()
    assert await store.metrics.count_statements(today) == nothing | {"supported_by_code": 2, "unchecked": 1}
    (item,) = [item for item in await store.items.list(ItemFilter()) if item.first_seen == NOON]
    await store.items.update(item.id or 0, statements={"supported_by_model": 1})
    assert await store.metrics.count_statements(today) == nothing | {"supported_by_model": 1}, "judged anew"


async def test_what_was_pruned_still_counts(store: Store, source: Source) -> None:
    for number, status in enumerate((RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.SUCCEEDED)):
        run_id = f"run-{number}"
        await store.runs.create(Run(id=run_id, source_id=source.id, source=source.name, planned_at=NOON))
        await store.runs.end(run_id, source.id, status=status, at=NOON)
        await store.runs.end(run_id, source.id, status=status, at=NOON)
        await store.usage.add(ModelCall(run_id=run_id, phase=Phase.RANK, model="m", prompt_tokens=7, at=NOON))
    await store.runs.create(Run(id="waits", source_id=source.id, source=source.name, planned_at=NOON))
    before = await store.metrics.load_service_metrics()
    assert before.runs == {"succeeded": 2, "failed": 1, "queued": 1}, "an end that is told twice counts once"
    assert (before.model_calls, before.tokens) == ({"ok": 3}, 21)
    pruned = await store.retention.prune(NOON + timedelta(days=1))
    assert (pruned.runs, pruned.model_calls) == (3, 3)
    assert await store.metrics.load_service_metrics() == before


async def test_every_way_to_end_a_run_counts_it(store: Store, source: Source) -> None:
    for run_id in ("cancelled", "abandoned", "stopped"):
        await store.runs.create(Run(id=run_id, source_id=source.id, source=source.name, planned_at=NOON))
    await store.runs.request_cancel("cancelled", at=NOON)
    await store.runs.abandon("abandoned", reason=Message("cause.run_moved"), at=NOON, executor=None)
    await store.runs.update("stopped", status=RunStatus.CANCELLED, ended_at=NOON)
    schedule = Schedule(source_id=source.id or 0, cron="0 * * * *", timezone="UTC", dealt_until=NOON)
    await store.schedules.save([schedule])
    missed = Run(id="missed", source_id=source.id, source=source.name, planned_at=NOON, status=RunStatus.CANCELLED)
    assert await store.schedules.advance(source.id or 0, until=NOON + timedelta(hours=1), runs=[missed])
    assert (await store.metrics.load_service_metrics()).runs == {"cancelled": 3, "failed": 1}
