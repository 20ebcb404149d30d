"""The events of runs and researches as they come: `text/event-stream`."""

import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.types import Send

from monitor.db.tables.research import ResearchEvent, ResearchStatus, RunEvent
from monitor.i18n.model import reader_language
from monitor.research.shapes import STEP_IDS, StepEvent, StepType, render_messages
from monitor.services.audit import AuditAction
from monitor.services.events import E, EventBatch, EventStreamService, S
from monitor.vocabulary import EventKind, RunStatus
from monitor.web.api.runs import RunId
from monitor.web.auth import AppDep, Reader, record_token_read
from monitor.web.problems import build_problem_responses

_HEARTBEAT_S = 15.0
_MAX_STREAM_S = 600.0
"""After so long a stream ends and the client comes back, which has to be signed in still."""

_RECONNECT_MS = 1000
_MAX_EVENT_ID = 2**31 - 1
After = Annotated[int, Query(ge=0, le=_MAX_EVENT_ID, description="The `id` of the last event that is known.")]
LastEventId = Annotated[int | None, Header(ge=0, le=_MAX_EVENT_ID, include_in_schema=False)]
EXAMPLE_TASK_ID = "r-20260203T010000Z-5f3a9c1e"
TaskId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,64}$", examples=[EXAMPLE_TASK_ID])]

_PROBLEMS = build_problem_responses(401, 403, 404, 422, 503)
router = APIRouter(prefix="/api/v1/runs", tags=["runs"], responses=_PROBLEMS)
research_router = APIRouter(prefix="/api/v1/research", tags=["research"], responses=_PROBLEMS)


class EventStreamResponse(StreamingResponse):
    """A stream of events that lets go of what it reads from, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, headers={"X-Accel-Buffering": "no"})
        self._events = events

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._events):
            await super().stream_response(send)


async def stream_events(
    live: EventStreamService[E, S],
    work_id: str,
    after: int,
    format_events: Callable[[EventBatch[E, S]], Iterable[bytes]],
) -> AsyncGenerator[bytes]:
    """Yield the events of a piece of work, with a sign of life where nothing comes for a while."""
    ends_at = time.monotonic() + _MAX_STREAM_S
    async with live.subscribe(work_id, after=after, heartbeat_s=_HEARTBEAT_S) as news:
        yield f"retry: {_RECONNECT_MS}\n\n".encode()
        async for batch in news:
            for event in format_events(batch):
                yield event
            if not batch.events and not batch.is_last:
                yield KEEPALIVE_COMMENT
            if time.monotonic() > ends_at:
                return


_EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"enum": [*(kind for kind in EventKind if kind is not EventKind.STEP), "status", "end"]},
        "id": {"type": "string", "description": "Rises within a run."},
        "data": {"type": "string", "description": "A JSON object: what belongs to an event of this kind."},
    },
    "required": ["event", "id", "data"],
    "examples": [{"event": "status", "id": "0", "data": '{"status": "running"}'}],
}

_STREAM_RESPONSE = {
    "description": "The events, each with its `id`: `phase`, `section`, `page`, `asked`, `answered`, `saved` and "
    "`fallback` as the run tells them, `status` when it changes, `end` when the run has ended and all was batch.",
    "content": {"text/event-stream": {"schema": _EVENT_SCHEMA}},
}


@router.get(
    "/{run_id}/events",
    summary="Watch a run",
    status_code=200,
    response_class=EventStreamResponse,
    responses={200: _STREAM_RESPONSE},
)
async def stream_run_events(
    app: AppDep, _: Reader, run_id: RunId, after: After = 0, last_event_id: LastEventId = None
) -> EventStreamResponse:
    """What a run tells of itself, from its beginning or after an event, until it ends.

    A client that comes back with the header `Last-Event-ID`, which goes before `after`, misses none and gets none
    twice.
    """
    known = after if last_event_id is None else last_event_id
    await app.runs.get(run_id)
    format_events = _RunEventFormatter(known).format_events
    return EventStreamResponse(stream_events(app.run_events, run_id, known, format_events))


@dataclass
class _RunEventFormatter:
    """Writes the events of a run; `last` is the number of the last one that was written, or known before."""

    last: int
    status: RunStatus | None = None

    def format_events(self, batch: EventBatch[RunEvent, RunStatus]) -> Iterator[bytes]:
        if batch.status is not self.status:
            self.status = batch.status
            yield self._format_status("status")
        for event in batch.events:
            self.last = event.id or 0
            data = {"at": event.at.isoformat(), **event.data}
            yield format_sse_event(event=event.kind, id=str(self.last), data_str=json.dumps(data, ensure_ascii=False))
        if batch.is_last:
            yield self._format_status("end")

    def _format_status(self, kind: str) -> bytes:
        return format_sse_event(event=kind, id=str(self.last), data_str=json.dumps({"status": self.status}))


_EXAMPLE = StepEvent(
    step_id=STEP_IDS[StepType.REPORTING],
    step_type=StepType.REPORTING,
    status="progress",
    progress=0.82,
    label="撰写报告",
    payload={"chunk": "出口许可自2月4日起施行[1]。"},
).to_json()

_MESSAGE_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "Rises within a research."},
        "data": {
            "type": "string",
            "description": "The protocol's object as JSON; docs/schemas/research-event.json is its schema.",
        },
    },
    "required": ["id", "data"],
    "examples": [{"id": "41", "data": json.dumps(_EXAMPLE, ensure_ascii=False)}],
}

_RESEARCH_STREAM_RESPONSE = {
    "description": "The messages, each with its `id`, until the last: `complete` of `reporting` at progress 1.0, or "
    "`error`. While it waits for its plan to be looked at the stream goes on.",
    "content": {"text/event-stream": {"schema": _MESSAGE_SCHEMA}},
}

_NO_CONTENT_RESPONSE = {"description": "The research has ended, and the last message is known: do not come back."}


@research_router.get(
    "/{task_id}/events",
    summary="Watch a research",
    status_code=200,
    response_class=EventStreamResponse,
    responses={200: _RESEARCH_STREAM_RESPONSE, 204: _NO_CONTENT_RESPONSE},
)
async def stream_research_events(
    app: AppDep, principal: Reader, task_id: TaskId, after: After = 0, last_event_id: LastEventId = None
) -> Response:
    """What a research tells, from its beginning or after a message, until it ends.

    A client that comes back with the header `Last-Event-ID`, which goes before `after`, misses none and gets none
    twice. Messages bear no `event`: in a browser they are `EventSource.onmessage`.
    """
    known = after if last_event_id is None else last_event_id
    await app.research.load_readable(task_id, by=principal)
    if not await app.research_events.has_more(task_id, after=known):
        return Response(status_code=204)
    await record_token_read(app, principal, AuditAction.RESEARCH_READ, task_id)
    format_events = partial(_format_research_events, language=reader_language.get())
    return EventStreamResponse(stream_events(app.research_events, task_id, known, format_events))


def _format_research_events(batch: EventBatch[ResearchEvent, ResearchStatus], *, language: str) -> Iterator[bytes]:
    for event in batch.events:
        data = json.dumps(render_messages(event.data, language), ensure_ascii=False)
        yield format_sse_event(id=str(event.id or 0), data_str=data)
