"""The messages of a research as they come: `text/event-stream`, to the letter of the protocol."""

import json
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Path, Response

from monitor.app.live import News
from monitor.bootstrap import App
from monitor.domain.research import ResearchEvent, ResearchStatus
from monitor.research.events import STEP_IDS, StepEvent, StepType
from monitor.web.gate import Reader
from monitor.web.problems import problem_responses
from monitor.web.streaming import After, EventStream, LastEventId, sse, watched

TASK = "r-20260203T010000Z-5f3a9c1e"
TaskId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,64}$", examples=[TASK])]

_STEP = StepType.REPORTING
_EXAMPLE = StepEvent(
    step_id=STEP_IDS[_STEP],
    step_type=_STEP,
    status="progress",
    progress=0.82,
    label="撰写报告",
    payload={"chunk": "出口许可自2月4日起施行[1]。"},
).wire()
_MESSAGE = {
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
_STREAM = {
    "description": "The messages, each with its `id`, until the last: `complete` of `reporting` at progress 1.0, or "
    "`error`. While it waits for its plan to be looked at the stream goes on.",
    "content": {"text/event-stream": {"schema": _MESSAGE}},
}
_NOTHING = {"description": "The research has ended, and the last message is known: do not come back."}


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/research", tags=["research"], responses=problem_responses(401, 403, 404, 422, 503))

    @routes.get(
        "/{task_id}/events",
        summary="Watch a research",
        status_code=200,
        response_class=EventStream,
        responses={200: _STREAM, 204: _NOTHING},
    )
    async def events(visitor: Reader, task_id: TaskId, after: After = 0, last_event_id: LastEventId = None) -> Response:
        """What a research tells, from its beginning or after a message, until it ends.

        A client that comes back with the header `Last-Event-ID`, which goes before `after`, misses none and gets none
        twice. Messages bear no `event`: in a browser they are `EventSource.onmessage`.
        """
        del visitor
        known = after if last_event_id is None else last_event_id
        if not await app.research_live.has_news(task_id, after=known):
            return Response(status_code=204)
        return EventStream(watched(app.research_live, task_id, after=known, written=_written))

    return routes


def _written(told: News[ResearchEvent, ResearchStatus]) -> Iterator[bytes]:
    return (sse(json.dumps(event.data, ensure_ascii=False), event.id or 0) for event in told.events)
