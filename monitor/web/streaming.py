"""A stream of events over HTTP, as `text/event-stream` wants it, for all that is watched."""

import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Annotated

from fastapi import Header, Query
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.types import Send

from monitor.app.live import E, LiveDesk, News, S

_HEARTBEAT_S = 15.0
_LONGEST_S = 600.0
"""After so long a stream ends and the client comes back, which has to be signed in still."""

_COMES_BACK_MS = 1000
_MOST = 2**31 - 1

After = Annotated[int, Query(ge=0, le=_MOST, description="The `id` of the last event that is known.")]
LastEventId = Annotated[int | None, Header(ge=0, le=_MOST, include_in_schema=False)]


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


async def watched(
    live: LiveDesk[E, S], work_id: str, *, after: int, written: Callable[[News[E, S]], Iterable[bytes]]
) -> AsyncGenerator[bytes]:
    """What is told of a piece of work, as `written` puts it, with a sign of life where nothing comes for a while."""
    ends_at = time.monotonic() + _LONGEST_S
    async with live.watching(work_id, after=after, patience_s=_HEARTBEAT_S) as news:
        yield f"retry: {_COMES_BACK_MS}\n\n".encode()
        async for told in news:
            for event in written(told):
                yield event
            if not told.events and not told.is_over:
                yield KEEPALIVE_COMMENT
            if time.monotonic() > ends_at:
                return


def sse(data: str, number: int, kind: str | None = None) -> bytes:
    """One event with its `id`; without a kind it is a message."""
    return format_sse_event(event=kind, id=str(number), data_str=data)
