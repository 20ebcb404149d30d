"""Notices when the event loop of a process does not answer, and says what holds it up."""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from monitor.logs import get_logger
from monitor.metrics import LOOP_BLOCKED, LOOP_BLOCKED_SECONDS

BLOCKED_AFTER_S = 1.0
_PAUSE_S = 0.25
_MAX_LOGGED_FRAMES = 25


@dataclass
class LoopWatchdog:
    """Watches one event loop from a thread of its own.

    The stack is logged while the loop is blocked; where what blocks it holds the interpreter too, the log can only
    tell how long it took.
    """

    blocked_after_s: float = BLOCKED_AFTER_S

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Watch the running event loop, whose thread this is."""
        stop = threading.Event()
        given = (asyncio.get_running_loop(), threading.get_ident(), stop)
        thread = threading.Thread(target=self._run, args=given, name="loop-watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()  # it may be waiting for this very loop, so nobody waits for it

    def _run(self, loop: asyncio.AbstractEventLoop, thread_id: int, stop: threading.Event) -> None:
        while not stop.wait(_PAUSE_S):
            answered, asked_at_s = threading.Event(), time.monotonic()
            try:
                loop.call_soon_threadsafe(answered.set)
            except RuntimeError:  # the loop is closed
                return
            if not answered.wait(self.blocked_after_s):
                _log_stack(thread_id)
                while not answered.wait(_PAUSE_S):
                    if stop.is_set():
                        return
            blocked_s = time.monotonic() - asked_at_s
            if blocked_s > self.blocked_after_s:
                LOOP_BLOCKED.inc()
                LOOP_BLOCKED_SECONDS.inc(blocked_s)
                get_logger("jobs").warning("event loop answers again", blocked_s=round(blocked_s, 1))


def _log_stack(thread_id: int) -> None:
    frame = sys._current_frames().get(thread_id)  # noqa: SLF001 -- the documented way to another thread's stack
    stack = traceback.extract_stack(frame)[-_MAX_LOGGED_FRAMES:] if frame is not None else []
    where = [f"{entry.filename}:{entry.lineno} {entry.name}" for entry in stack]
    get_logger("jobs").error("event loop blocked", stack=where)
