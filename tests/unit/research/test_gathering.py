"""What happens in a thread when the research that waits for it is interrupted."""

import asyncio
import threading

import pytest

from monitor.research.gathering import run_to_end


async def test_who_is_cancelled_waits_for_the_thread_that_holds_a_lock() -> None:
    begun, may_end, lock = threading.Event(), threading.Event(), threading.Lock()

    def hold() -> None:
        with lock:
            begun.set()
            may_end.wait()

    work = asyncio.create_task(run_to_end(hold))
    await asyncio.to_thread(begun.wait)
    work.cancel()
    await asyncio.sleep(0)
    assert lock.locked()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not lock.locked()
