"""Figures for Prometheus: what the database counts, and what this process measures of itself."""

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import median

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from monitor.db.queries.service import ResearchMetrics, ServiceMetrics
from monitor.db.tables.delivery import AlarmKind, DeliveryStatus
from monitor.db.tables.research import ResearchStatus
from monitor.metrics import process_registry
from monitor.research.shapes import ReportScore
from monitor.vocabulary import RunStatus
from monitor.web.auth import AppDep, Reader
from monitor.web.problems import build_problem_responses

router = APIRouter(tags=["service"])


@router.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **build_problem_responses(401, 403, 503),
    },
)
async def get_metrics(app: AppDep, _: Reader) -> Response:
    """Figures in the form that Prometheus reads.

    Those of the database are the same whichever process answers, and a restart loses none. Those of the event loop, of
    the process and all histograms are of the process that answers.
    """
    registry = CollectorRegistry()
    registry.register(_DatabaseFigures(*await app.readiness.get_metrics()))
    return Response(generate_latest(registry) + generate_latest(process_registry), media_type=CONTENT_TYPE_LATEST)


class _DatabaseFigures(Collector):
    def __init__(self, figures: ServiceMetrics, queue_wait_s: float, process_counts: Mapping[str, int]) -> None:
        self._figures = figures
        self._queue_wait_s = queue_wait_s
        self._process_counts = process_counts

    def collect(self) -> Iterator[Metric]:
        figures = self._figures
        ended, open_ = _split(RunStatus, figures.runs)
        yield _counter("monitor_runs", "Runs that ended, by status", ended, "status")
        yield _gauge("monitor_runs_open", "Runs that wait or are under way, by status", open_, "status")
        ended, open_ = _split(DeliveryStatus, figures.deliveries)
        yield _counter("monitor_deliveries", "Deliveries that ended, by status", ended, "status")
        yield _gauge("monitor_deliveries_open", "Deliveries to come, by status", open_, "status")
        yield _counter("monitor_model_calls", "Model calls, by outcome", figures.model_calls, "outcome")
        yield _counter("monitor_tokens", "Tokens of all model calls", figures.tokens)
        yield _counter("monitor_items", "Items that were found", figures.items)
        statements = CounterMetricFamily("monitor_statements", "Sentences of summaries", labels=["verdict", "by"])
        for name, count in figures.statements.items():
            verdict, _, judged_by = name.partition("_by_")
            statements.add_metric([verdict, judged_by], count)
        yield statements
        alarms = {str(kind): figures.alarms.get(kind, 0) for kind in AlarmKind}
        yield _gauge("monitor_alarms", "Open alarms, by kind", alarms, "kind")
        yield _gauge("monitor_processes", "Processes at work, by kind", self._process_counts, "kind")
        yield _gauge("monitor_queue_wait_seconds", "How long the oldest queued run waits", self._queue_wait_s)
        yield _gauge("monitor_sources", "Sources that are enabled", figures.sources)
        yield _gauge("monitor_sources_failing", "Of these, those whose last run failed", figures.failing_sources)
        successes = {name: at.timestamp() for name, at in figures.last_successes.items()}
        text = "The last run of an enabled source that succeeded, of the thousand that wait longest for the next"
        yield _gauge("monitor_source_last_success_timestamp_seconds", text, successes, "source")
        yield from _collect_research(figures.research)


def _collect_research(research: ResearchMetrics) -> Iterator[Metric]:
    scores = [ReportScore.model_validate(report.score) for report in research.reports]
    refused = sum((Counter(score.refused) for score in scores), Counter[str]())
    seconds = [report.seconds for report in research.reports]
    durations = {"median": median(seconds), "longest": max(seconds)} if seconds else {}
    by_status = {str(status): research.by_status.get(status, 0) for status in ResearchStatus}
    yield _gauge("monitor_researches", "Researches on record, by status", by_status, "status")
    yield _gauge("monitor_research_refused", "Left out of the latest 100 reports, by kind", refused, "kind")
    yield _gauge("monitor_research_seconds", "How long the latest 100 took", durations, "of")
    yield _counter("monitor_research_tokens", "Tokens of the model calls of researches", research.tokens)
    yield _counter("monitor_research_cost", "What these cost, where they had a price", research.cost)
    for name, text in (
        ("quote_fidelity", "Quotes that stand in the kept page"),
        ("figure_fidelity", "Figures and dates that stand in a cited note"),
        ("citation_coverage", "Sentences that cite"),
    ):
        shares = [share for score in scores if (share := getattr(score, name)) is not None]
        # The fidelities are to be 1; without a report there is no figure.
        yield _gauge(f"monitor_research_{name}", f"{text}; the lowest of 100", min(shares) if shares else {})


def _split(
    statuses: type[RunStatus] | type[DeliveryStatus], counts: Mapping[str, int]
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the counts of what ended and of what did not, a zero for each status that has none."""
    ended = {str(status): counts.get(status, 0) for status in statuses if status.is_final}
    return ended, {str(status): counts.get(status, 0) for status in statuses if not status.is_final}


def _gauge(name: str, text: str, values: Mapping[str, float] | float, label: str | None = None) -> Metric:
    return _fill(GaugeMetricFamily(name, text, labels=[label] if label else []), values)


def _counter(name: str, text: str, values: Mapping[str, float] | float, label: str | None = None) -> Metric:
    return _fill(CounterMetricFamily(name, text, labels=[label] if label else []), values)


def _fill(
    family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, float] | float
) -> GaugeMetricFamily | CounterMetricFamily:
    if isinstance(values, Mapping):
        for key, value in values.items():
            family.add_metric([key], value)
    else:
        family.add_metric([], values)
    return family
