"""The events of a run as they come: `text/event-stream`."""

import json
from collections.abc import Iterator

from fastapi import APIRouter

from monitor.app.live import News
from monitor.bootstrap import App
from monitor.domain.live import RunEvent
from monitor.domain.words import EventKind, RunStatus
from monitor.web.api.runs import RunId
from monitor.web.gate import Reader
from monitor.web.problems import problem_responses
from monitor.web.streaming import After, EventStream, LastEventId, sse, watched

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


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/runs", tags=["runs"], responses=problem_responses(401, 403, 404, 422, 503))

    @routes.get(
        "/{run_id}/events",
        summary="Watch a run",
        status_code=200,
        response_class=EventStream,
        responses={200: _STREAM},
    )
    async def events(
        visitor: Reader,
        run_id: RunId,
        after: After = 0,
        last_event_id: LastEventId = None,
    ) -> EventStream:
        """What a run tells of itself, from its beginning or after an event, until it ends.

        A client that comes back with the header `Last-Event-ID`, which goes before `after`, misses none and gets none
        twice.
        """
        del visitor
        known = after if last_event_id is None else last_event_id
        await app.runs.get(run_id)
        return EventStream(watched(app.live, run_id, after=known, written=_Telling(known).written))

    return routes


class _Telling:
    """Writes what a run tells; `last` is the number of the last event that was written, or known before."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._status: RunStatus | None = None

    def written(self, told: News[RunEvent, RunStatus]) -> Iterator[bytes]:
        """The status where it changed, the events, the end."""
        if told.status is not self._status:
            self._status = told.status
            yield self._of_status("status")
        for event in told.events:
            self._last = event.id or 0
            data = {"at": event.at.isoformat(), **event.data}
            yield sse(json.dumps(data, ensure_ascii=False), self._last, event.kind)
        if told.is_over:
            yield self._of_status("end")

    def _of_status(self, kind: str) -> bytes:
        return sse(json.dumps({"status": self._status}), self._last, kind)
