"""Figures of the whole service: what researches cost, and how their reports scored."""

from datetime import UTC, datetime, timedelta

from monitor.db.database import Store
from monitor.db.queries.service import ResearchMetrics
from monitor.db.tables.collection import Item, ModelCall, Run
from monitor.db.tables.research import Research, ResearchStatus
from monitor.vocabulary import Phase

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
    assert await store.metrics.count_statements(NOON) == nothing | {"supported_by_code": 2, "unchecked": 1}
