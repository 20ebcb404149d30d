"""Asking again: what may pass, a few times, within the time of the whole."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from monitor.domain.page import PageErrorCode
from monitor.net.failure import FetchFailed, failed

T = TypeVar("T")

_MAX_TRIES = 3
_MAX_RETRY_AFTER_S = 10.0


async def patiently(
    ask: Callable[[], Awaitable[T]], *, budget_s: float, may_repeat: bool, sleep: Callable[[float], Awaitable[None]]
) -> T:
    """What `ask` gives, within `budget_s` for all tries together; asked again where its `FetchFailed` may pass."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + budget_s

    def may_try_again(error: BaseException) -> bool:
        return (
            may_repeat
            and isinstance(error, FetchFailed)
            and error.may_retry
            and _patience(error, _MAX_TRIES - 1) < deadline - loop.time()
        )

    tries = AsyncRetrying(
        stop=stop_after_attempt(_MAX_TRIES),
        wait=_wait,
        retry=retry_if_exception(may_try_again),
        sleep=sleep,
        reraise=True,
    )
    try:
        async with asyncio.timeout(budget_s):
            return await tries(ask)
    except TimeoutError:
        raise failed(PageErrorCode.TIMEOUT, f"The site did not answer in full within {budget_s:g} s.") from None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; its other form, a date, is longer than we wait in practice and counts as too long."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    return float(value) if value.isascii() and value.isdigit() else float("inf")


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return _patience(error, state.attempt_number)


def _patience(error: BaseException | None, attempt: int) -> float:
    """Seconds to wait before asking again; endless where the site wants more than we give."""
    asked = error.retry_after_s if isinstance(error, FetchFailed) else None
    if asked is not None:
        return asked if asked <= _MAX_RETRY_AFTER_S else float("inf")
    return 0.5 * 2.0 ** (attempt - 1)
