"""Durable steps: the seam through which a run or a research keeps finished work, so that a crash costs one step."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class StepRunner(Protocol):
    """A step that was finished before a crash is not done again after it."""

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        """Return the step's result: `name` is unique within the run, the result a pydantic or plain JSON value."""
        ...


class InProcessSteps:
    """Runs each step at once and keeps nothing; what a step achieved is in the database when it ends."""

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        del name, result
        return await step()
