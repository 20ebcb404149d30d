"""Figures in the form that Prometheus reads."""

from collections import Counter
from collections.abc import Mapping
from statistics import median

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, ProcessCollector, generate_latest

from monitor.domain.alarms import AlarmKind
from monitor.domain.deliveries import DeliveryStatus
from monitor.domain.research import ResearchStatus
from monitor.domain.words import RunStatus
from monitor.research.shapes import Score
from monitor.store.figures import ResearchFigures, ServiceFigures


def exposition(figures: ServiceFigures, waits_s: float, at_work: Mapping[str, int]) -> tuple[bytes, str]:
    """The text, and its content type.

    The figures are those of the database, so that every process of a service tells the same, and a restart loses none.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    _by(registry, "monitor_runs", "Runs by status", "status", {one: figures.runs.get(one, 0) for one in RunStatus})
    _by(registry, "monitor_processes", "Processes at work by kind", "kind", at_work)
    _by(registry, "monitor_model_calls", "Model calls by outcome", "outcome", figures.model_calls)
    sent = {str(one): figures.deliveries.get(one, 0) for one in DeliveryStatus}
    _by(registry, "monitor_deliveries", "Deliveries by status", "status", sent)
    raised = {str(one): figures.alarms.get(one, 0) for one in AlarmKind}
    _by(registry, "monitor_alarms", "Open alarms by kind", "kind", raised)
    for name, text, value in (
        ("monitor_queue_wait_seconds", "How long the oldest queued run has been waiting", waits_s),
        ("monitor_sources", "Sources that are enabled", figures.sources),
        ("monitor_sources_failing", "Of these, those whose last run failed", figures.failing_sources),
        ("monitor_items", "Items in the archive", figures.items),
        ("monitor_tokens", "Tokens of all model calls on record", figures.tokens),
    ):
        Gauge(name, text, registry=registry).set(value)
    _add_researches(registry, figures.research)
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _add_researches(registry: CollectorRegistry, figures: ResearchFigures) -> None:
    """What they cost, how long the latest 100 took, and the worst of their scores: both fidelities are to be 1."""
    standing = {str(one): figures.by_status.get(one, 0) for one in ResearchStatus}
    _by(registry, "monitor_researches", "Researches by status", "status", standing)
    Gauge("monitor_research_tokens", "Tokens of the model calls of researches", registry=registry).set(figures.tokens)
    Gauge("monitor_research_cost", "What these cost, where they had a price", registry=registry).set(figures.cost)
    scores = [Score.model_validate(report.score) for report in figures.reports]
    refused = sum((Counter(score.refused) for score in scores), Counter[str]())
    _by(registry, "monitor_research_refused", "Left out of the latest 100 reports, by kind", "kind", refused)
    if not scores:
        return
    seconds = Gauge("monitor_research_seconds", "How long the latest 100 took", ["of"], registry=registry)
    seconds.labels("median").set(median(one.seconds for one in figures.reports))
    seconds.labels("longest").set(max(one.seconds for one in figures.reports))
    for name, text, shares in (
        ("quote_fidelity", "Quotes that stand in the kept page", [one.quote_fidelity for one in scores]),
        ("figure_fidelity", "Figures and dates that stand in a cited note", [one.figure_fidelity for one in scores]),
        ("citation_coverage", "Sentences that cite", [one.citation_coverage for one in scores]),
    ):
        known = [share for share in shares if share is not None]
        if known:
            Gauge(f"monitor_research_{name}", f"{text}; the lowest of 100", registry=registry).set(min(known))


def _by(registry: CollectorRegistry, name: str, text: str, label: str, values: Mapping[str, int]) -> None:
    gauge = Gauge(name, text, [label], registry=registry)
    for key, value in values.items():
        gauge.labels(str(key)).set(value)
