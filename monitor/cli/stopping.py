"""Ctrl-C in long work: the first asks it to stop where nothing is lost, the second stops it at once."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from monitor.cli.terminal import Terminal


@contextmanager
def stopping(terminal: Terminal, stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C, and cancel the task that this is called in at the second."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    is_asked = False

    def interrupted() -> None:
        nonlocal is_asked
        if is_asked and task is not None:
            task.cancel()
            return
        is_asked = True
        stop()
        terminal.note("Stopping after the step in hand; Ctrl-C again stops at once.")

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
