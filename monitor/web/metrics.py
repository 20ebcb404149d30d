"""What those ask who watch the service: is it alive, is it ready, how does it fare."""

from collections import Counter
from collections.abc import Mapping
from statistics import median

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, ProcessCollector, generate_latest

from monitor.bootstrap import App
from monitor.db.queries.service import ResearchMetrics, ServiceMetrics
from monitor.db.tables.delivery import AlarmKind, DeliveryStatus
from monitor.db.tables.research import ResearchStatus
from monitor.research.shapes import ReportScore
from monitor.services.health import ReadinessSchema
from monitor.vocabulary import RunStatus
from monitor.web.auth import Reader
from monitor.web.problems import build_problem_responses


def render_metrics(
    figures: ServiceMetrics, queue_wait_s: float, process_counts: Mapping[str, int]
) -> tuple[bytes, str]:
    """The text, and its content type.

    The figures are those of the database, so that every process of a service tells the same, and a restart loses none.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    _add_labelled_gauge(
        registry,
        "monitor_runs",
        "Runs by status",
        "status",
        {status: figures.runs.get(status, 0) for status in RunStatus},
    )
    _add_labelled_gauge(registry, "monitor_processes", "Processes at work by kind", "kind", process_counts)
    _add_labelled_gauge(registry, "monitor_model_calls", "Model calls by outcome", "outcome", figures.model_calls)
    sent = {str(status): figures.deliveries.get(status, 0) for status in DeliveryStatus}
    _add_labelled_gauge(registry, "monitor_deliveries", "Deliveries by status", "status", sent)
    raised = {str(kind): figures.alarms.get(kind, 0) for kind in AlarmKind}
    _add_labelled_gauge(registry, "monitor_alarms", "Open alarms by kind", "kind", raised)
    for name, text, value in (
        ("monitor_queue_wait_seconds", "How long the oldest queued run has been waiting", queue_wait_s),
        ("monitor_sources", "Sources that are enabled", figures.sources),
        ("monitor_sources_failing", "Of these, those whose last run failed", figures.failing_sources),
        ("monitor_items", "Items in the archive", figures.items),
        ("monitor_tokens", "Tokens of all model calls on record", figures.tokens),
    ):
        Gauge(name, text, registry=registry).set(value)
    _add_research_gauges(registry, figures.research)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _add_research_gauges(registry: CollectorRegistry, figures: ResearchMetrics) -> None:
    """What they cost, how long the latest 100 took, and the worst of their scores: both fidelities are to be 1."""
    researches = {str(status): figures.by_status.get(status, 0) for status in ResearchStatus}
    _add_labelled_gauge(registry, "monitor_researches", "Researches by status", "status", researches)
    Gauge("monitor_research_tokens", "Tokens of the model calls of researches", registry=registry).set(figures.tokens)
    Gauge("monitor_research_cost", "What these cost, where they had a price", registry=registry).set(figures.cost)
    scores = [ReportScore.model_validate(report.score) for report in figures.reports]
    refused = sum((Counter(score.refused) for score in scores), Counter[str]())
    _add_labelled_gauge(
        registry, "monitor_research_refused", "Left out of the latest 100 reports, by kind", "kind", refused
    )
    if not scores:
        return
    seconds = Gauge("monitor_research_seconds", "How long the latest 100 took", ["of"], registry=registry)
    seconds.labels("median").set(median(report.seconds for report in figures.reports))
    seconds.labels("longest").set(max(report.seconds for report in figures.reports))
    for name, text, shares in (
        ("quote_fidelity", "Quotes that stand in the kept page", [score.quote_fidelity for score in scores]),
        (
            "figure_fidelity",
            "Figures and dates that stand in a cited note",
            [score.figure_fidelity for score in scores],
        ),
        ("citation_coverage", "Sentences that cite", [score.citation_coverage for score in scores]),
    ):
        known = [share for share in shares if share is not None]
        if known:
            Gauge(f"monitor_research_{name}", f"{text}; the lowest of 100", registry=registry).set(min(known))


def _add_labelled_gauge(
    registry: CollectorRegistry, name: str, text: str, label: str, values: Mapping[str, int]
) -> None:
    gauge = Gauge(name, text, [label], registry=registry)
    for key, value in values.items():
        gauge.labels(str(key)).set(value)


def router(app: App) -> APIRouter:
    """`/healthz` and `/readyz`, open to all, and `/metrics`."""
    routes = APIRouter(tags=["service"])

    @routes.get("/healthz", summary="Is the process alive?")
    async def healthz() -> dict[str, str]:
        """Answers as long as the process does."""
        return {"status": "ok"}

    @routes.get("/readyz", summary="Can work be done?", responses={503: {"model": ReadinessSchema}})
    async def readyz(response: Response) -> ReadinessSchema:
        """Database, queue, browser; 503 where work cannot be done."""
        readiness = await app.readiness.check()
        response.status_code = 200 if readiness.is_ready else 503
        return readiness

    responses = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        **build_problem_responses(401, 403, 503),
    }

    @routes.get("/metrics", summary="Figures for Prometheus", response_class=Response, responses=responses)
    async def metrics(_: Reader) -> Response:
        """Figures in the form that Prometheus reads."""
        body, content_type = render_metrics(*await app.readiness.get_metrics())
        return Response(body, media_type=content_type)

    return routes
