"""Steps whose results are kept, so that a crash does not undo them."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, TypeVar, cast

from dbos import DBOS
from pydantic import TypeAdapter

T = TypeVar("T")


@cache
def _adapter(result: Any) -> TypeAdapter[Any]:
    return TypeAdapter(result)


class StepGate:
    """Says whether new steps may begin, and counts those under way.

    Closed, it holds back every step that would begin: the run stays as it is and goes on after the next start.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def enter(self) -> None:
        """Begin a step, or wait for ever."""
        await self._open.wait()
        self._under_way += 1
        self._idle.clear()

    def leave(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()

    async def close(self, *, patience_s: float) -> bool:
        """Let no further step begin and wait for those under way; False where some did not end in time."""
        self._open.clear()
        try:
            async with asyncio.timeout(patience_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True


class DurableSteps:
    """Keeps each step's result (`ports.Steps`): a run that goes on after a crash finds what was done."""

    def __init__(self, gate: StepGate) -> None:
        self._gate = gate

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        """The step's result, from now or from before the crash."""
        adapter = _adapter(cast("Any", result))

        async def kept() -> object:
            return adapter.dump_python(await step(), mode="json")

        await self._gate.enter()
        try:
            answer: T = adapter.validate_python(await DBOS.run_step_async({"name": name}, kept))
            return answer
        finally:
            self._gate.leave()
