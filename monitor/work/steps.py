"""Steps of a run that lives in this process alone."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


class DirectSteps:
    """Does each step once, here and now (`ports.Steps`): what a step keeps is in the store when it ends."""

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        del name, result
        return await step()
