"""Figures of the whole service: what researches cost, and how their reports scored."""

from datetime import UTC, datetime, timedelta

from monitor.db.database import Store
from monitor.db.queries.service import ResearchMetrics
from monitor.db.tables.collection import ModelCall
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
