"""What a run does, as OpenTelemetry's collector gets it."""

from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from monitor.tracing import send_traces

SECRET = "不得外传的标题"  # noqa: S105 -- of a page


def collect(site: Any, reply: Any) -> list[Span]:
    """The spans that the site's collector has been sent by the end of the test."""
    spans: list[Span] = []

    def take(asked: Any) -> Any:
        for resource in ExportTraceServiceRequest.FromString(asked.body).resource_spans:
            spans.extend(span for scope in resource.scope_spans for span in scope.spans)
        return reply("", headers={"content-type": "application/x-protobuf"})

    site.on("/v1/traces", take)
    return spans


def read_attributes(span: Span) -> dict[str, Any]:
    return {entry.key: getattr(entry.value, str(entry.value.WhichOneof("value"))) for entry in span.attributes}


async def test_a_run_is_one_trace_from_its_phases_down_to_the_calls(
    bureau: Any, model: Any, site: Any, reply: Any
) -> None:
    spans = collect(site, reply)
    model.otherwise = {"role": "assistant", "content": "ready"}
    bureau.show(bureau.rows(0, 1, 400, 410, 420, 430))
    async with send_traces(site.url("/v1/traces"), instance="here"):
        run = await bureau.sweep()
    by_id, (root,) = {span.span_id: span for span in spans}, [span for span in spans if not span.parent_span_id]
    assert (root.name, read_attributes(root)["monitor.run_id"]) == ("run", run.run_id)
    assert {span.trace_id for span in spans} == {root.trace_id}
    names = {(by_id[span.parent_span_id].name, span.name) for span in spans if span.parent_span_id}
    assert {("run", "look"), ("run", "rank"), ("crawl", "fetch"), ("summarise", "chat")} <= names
    (page, *_) = [span for span in spans if span.name == "fetch"]
    assert read_attributes(page)["server.address"] == "127.0.0.1"
    (asked, *_) = [span for span in spans if span.name == "chat"]
    assert read_attributes(asked).items() >= {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}.items()
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)


async def test_no_text_of_a_page_or_an_error_goes_into_a_trace(bureau: Any, site: Any, reply: Any) -> None:
    spans = collect(site, reply)
    rows = bureau.rows(0, 1, 400, 410, 420, 430)
    rows[0].title = f"关于{SECRET}的通知"
    bureau.show(rows)
    site.on(rows[1].path, lambda _: reply(SECRET, status=500))
    async with send_traces(site.url("/v1/traces"), instance="here"):
        await bureau.sweep()
    assert spans
    assert SECRET.encode() not in b"".join(span.SerializeToString() for span in spans)
    failed = [span for span in spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert all(read_attributes(span)["error.type"] for span in failed)


async def test_a_collector_that_is_down_costs_no_run(bureau: Any, free_port: int) -> None:
    bureau.show(bureau.rows(0, 1, 400, 410, 420, 430))
    async with send_traces(f"http://127.0.0.1:{free_port}/v1/traces", instance="here"):
        assert len((await bureau.sweep()).items) == 2
