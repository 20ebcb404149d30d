"""The events of a run as they come: `text/event-stream`."""

import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.types import Send

from monitor.app.live import LiveDesk
from monitor.bootstrap import App
from monitor.domain.words import EventKind
from monitor.web.api.runs import RunId
from monitor.web.gate import Reader
from monitor.web.problems import problem_responses

_HEARTBEAT_S = 15.0
_LONGEST_S = 600.0
"""After so long a stream ends and the client comes back, which has to be signed in still."""

_COMES_BACK_MS = 1000
_MOST = 2**31 - 1
_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": [*(one for one in EventKind if one is not EventKind.STEP), "status", "end"]},
        "id": {"type": "string", "description": "Rises within a run."},
        "data": {"type": "string", "description": "A JSON object: what belongs to an event of this kind."},
    },
    "required": ["event", "id", "data"],
    "examples": [{"event": "status", "id": "0", "data": '{"status": "running"}'}],
}
_STREAM = {
    "description": "The events, each with its `id`: `phase`, `section`, `page`, `asked`, `answered`, `saved` and "
    "`fallback` as the run tells them, `status` when it changes, `end` when the run has ended and all was told.",
    "content": {"text/event-stream": {"schema": _EVENT}},
}


class EventStream(StreamingResponse):
    """A stream of events that lets go of what it reads from, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, headers={"X-Accel-Buffering": "no"})
        self._events = events

    async def stream_response(self, send: Send) -> None:
        """Send what comes, until it ends or the client has gone."""
        async with aclosing(self._events):
            await super().stream_response(send)


def router(app: App) -> APIRouter:
    """`/api/runs/{run_id}/events`."""
    routes = APIRouter(prefix="/api/runs", tags=["runs"], responses=problem_responses(401, 403, 404, 422, 503))

    @routes.get(
        "/{run_id}/events", summary="Watch a run", status_code=200, response_class=EventStream,
        responses={200: _STREAM},
    )  # fmt: skip
    async def events(
        visitor: Reader,
        run_id: RunId,
        after: Annotated[int, Query(ge=0, le=_MOST, description="The `id` of the last event that is known.")] = 0,
        last_event_id: Annotated[int | None, Header(ge=0, le=_MOST, include_in_schema=False)] = None,
    ) -> EventStream:
        """What a run tells of itself, from its beginning or after an event, until it ends.

        A client that comes back with the header `Last-Event-ID`, which goes before `after`, misses none and gets none
        twice.
        """
        del visitor
        known = after if last_event_id is None else last_event_id
        await app.runs.get(run_id)
        return EventStream(_told(app.live, run_id, known))

    return routes


async def _told(live: LiveDesk, run_id: str, last: int) -> AsyncGenerator[bytes]:
    ends_at = time.monotonic() + _LONGEST_S
    async with live.watching(run_id, after=last, patience_s=_HEARTBEAT_S) as news:
        yield f"retry: {_COMES_BACK_MS}\n\n".encode()
        status = None
        async for told in news:
            if told.status is not status:
                status = told.status
                yield _event("status", last, {"status": status})
            for one in told.events:
                last = one.id or 0
                yield _event(one.kind, last, {"at": one.at.isoformat(), **one.data})
            if told.is_over:
                yield _event("end", last, {"status": status})
            elif not told.events:
                yield KEEPALIVE_COMMENT
            if time.monotonic() > ends_at:
                return


def _event(kind: str, number: int, data: dict[str, Any]) -> bytes:
    return format_sse_event(event=kind, id=str(number), data_str=json.dumps(data, ensure_ascii=False))
