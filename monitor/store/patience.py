"""Waiting for a database that is gone for a while: restarted, its disk full, or locked for long.

What a store does is one short transaction that may be begun again, so a run that is at work when the database goes
away waits and goes on where it was, instead of losing the section in hand.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from monitor.errors import DatabaseGone
from monitor.logs import logger_of

PATIENCE_S = 300.0
"""So long is waited for; a run that outlives it ends with that reason."""

_PAUSES_S = (0.1, 0.5, 1.0, 2.0, 5.0)


class _Sessions(Protocol):
    @property
    def patience_s(self) -> float: ...


class _Subject(Protocol):
    _sessions: Any


S = TypeVar("S", bound=type[Any])
Method = Callable[..., Awaitable[Any]]


def patient(subject: S) -> S:
    """Every public method of the class waits for a database that is gone, and is then done again from its beginning."""
    for name, method in list(vars(subject).items()):
        if inspect.iscoroutinefunction(method) and not name.startswith("_"):
            setattr(subject, name, _patiently(method))
    return subject


def _patiently(method: Method) -> Method:
    @wraps(method)
    async def done(self: _Subject, *args: Any, **kwargs: Any) -> Any:
        sessions: _Sessions = self._sessions
        waited_s, tries = 0.0, 0
        while True:
            try:
                answer = await method(self, *args, **kwargs)
            except DatabaseGone as error:
                pause_s = _PAUSES_S[min(tries, len(_PAUSES_S) - 1)]
                if waited_s + pause_s > sessions.patience_s:
                    raise
                if tries == 0:
                    logger_of("store").warning("database gone", reason=str(error))
                await asyncio.sleep(pause_s)
                waited_s, tries = waited_s + pause_s, tries + 1
            else:
                if tries:
                    logger_of("store").warning("database back", waited_s=round(waited_s, 1))
                return answer

    return done
