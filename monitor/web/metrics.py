"""Figures in the form that Prometheus reads."""

from collections.abc import Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, ProcessCollector, generate_latest

from monitor.domain.alarms import AlarmKind
from monitor.domain.deliveries import DeliveryStatus
from monitor.domain.words import RunStatus
from monitor.store.figures import ServiceFigures


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
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _by(registry: CollectorRegistry, name: str, text: str, label: str, values: Mapping[str, int]) -> None:
    gauge = Gauge(name, text, [label], registry=registry)
    for key, value in values.items():
        gauge.labels(str(key)).set(value)
