"""Durable steps: the seam through which a run or a research keeps what it finished, so that a crash costs one step."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class InProcessSteps:
    """Does each step once, here and now : what a step keeps is in the store when it ends."""

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        del name, result
        return await step()


class StepRunner(Protocol):
    """Durability: a step that was finished before a crash is not done again after it."""

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        """The step's result; `name` is unique within the run, the result a pydantic value or a plain JSON one."""
        ...
