"""Traces by OpenTelemetry: what a run or a research did, one within the other, and for how long.

Names and attributes are kinds of work, numbers, outcomes and hosts: no text of a page, a model or a person.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from monitor import __version__
from monitor.extras import needs_extra
from monitor.steps import StepRunner

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

T = TypeVar("T")
Attributes = Mapping[str, str | int | float | bool]

_tracer: "Tracer | None" = None


@asynccontextmanager
async def send_traces(url: str, *, instance: str | None) -> AsyncIterator[None]:
    """Send what this process does to `url` by OTLP over HTTP; what is left is sent when the block ends.

    OpenTelemetry's own variables count, as OTEL_EXPORTER_OTLP_HEADERS. `ExtraMissing` without the extra `traces`.
    """
    global _tracer  # noqa: PLW0603 -- as in OpenTelemetry itself, one a process
    with needs_extra("traces"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    instance = instance or f"{socket.gethostname()}-{os.getpid()}"
    named = {"service.name": "monitor", "service.version": __version__, "service.instance.id": instance}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    _tracer = provider.get_tracer("monitor", __version__)
    try:
        yield
    finally:
        _tracer = None
        await asyncio.to_thread(provider.shutdown)


@contextmanager
def trace(name: str, **attributes: str | int | float | bool) -> Iterator[Callable[[Attributes], None]]:
    """Measure the block as a part of what encloses it; gives a function that adds attributes, as the outcome.

    An exception marks the span as failed by its class alone: its text may come from a page.
    """
    if _tracer is None:
        yield _ignore
        return
    with _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
        span.set_attributes(_qualify(attributes))
        try:
            yield lambda further: span.set_attributes(_qualify(further))
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            _mark_failed(span)
            raise


@dataclass(frozen=True)
class TracedSteps:
    """Steps, each with a span of its own: `crawl:3` is the span `crawl` of ordinal 3."""

    steps: StepRunner

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        kind, _, part = name.partition(":")
        with trace(kind, part=part):
            return await self.steps.run(name, result, step)


def _qualify(attributes: Attributes) -> Attributes:
    """Name our own attributes as OpenTelemetry wants it; those with a dot are its own."""
    return {name if "." in name else f"monitor.{name}": value for name, value in attributes.items() if value != ""}


def _mark_failed(span: Any) -> None:
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)


def _ignore(attributes: Attributes) -> None:
    """Take attributes of a block that nobody traces."""
