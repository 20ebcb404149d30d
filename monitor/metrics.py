"""How long the work of this process takes, as histograms for Prometheus.

Every label has a closed set of values: nothing that a site, a model or a client names becomes one.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)

from monitor import __version__

_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_MINUTES = (1, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)

disable_created_metrics()  # type: ignore[no-untyped-call] # a second series beside each, which nobody asks for
process_registry = CollectorRegistry()
"""What each process measures of itself; a restart begins anew, as Prometheus expects."""

ProcessCollector(registry=process_registry)
Gauge("monitor_build_info", "Always 1; which version runs", ["version"], registry=process_registry).labels(
    __version__
).set(1)


def _build(name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS) -> Histogram:
    return Histogram(name, text, labels, buckets=buckets, registry=process_registry)


FETCH_SECONDS = _build("monitor_fetch_seconds", "Fetching one address, without waiting for its host", "mode", "outcome")
WORK_SECONDS = _build("monitor_isolated_work_seconds", "Work in a process of its own: parsing, judging", "function")
MODEL_CALL_SECONDS = _build("monitor_model_call_seconds", "One call of a model, with retries", "phase", "outcome")
REQUEST_SECONDS = _build("monitor_http_request_seconds", "Answering one request", "method", "route", "status")
LOOP_BLOCKED = Counter(
    "monitor_loop_blocked", "How often the event loop was blocked for a second", registry=process_registry
)
LOOP_BLOCKED_SECONDS = Counter(
    "monitor_loop_blocked_seconds", "For how long it was blocked in all", registry=process_registry
)
RUN_SECONDS = _build("monitor_run_seconds", "A run from its start to its end", "status", buckets=_MINUTES)
RUN_WAIT_SECONDS = _build("monitor_run_wait_seconds", "A run from its planned time to its start", buckets=_MINUTES)


@contextmanager
def serve_process_metrics(host: str, port: int) -> Iterator[None]:
    """Answer on a port of its own what this process measures, to anybody who can reach it."""
    server, _ = start_http_server(port, host, registry=process_registry)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
