"""How many requests a person or a token may send to the API and to the address of assistants.

It keeps a program that has run wild from taking the service away from all others. It is counted in each process, which
is what such a program loads (decision 0105).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.errors import MonitorError
from monitor.web.auth import load_principal
from monitor.web.middleware import API_PREFIX, Problem, get_app_path

WINDOW_S = 60
_MAX_REMEMBERED = 10_000
_POLICY = "default"


class Allowance(NamedTuple):
    """Whether a request may go on, how many more may follow at once, and when all of them may again."""

    is_granted: bool
    remaining: int
    reset_s: int
    retry_after_s: int


@dataclass
class RateLimiter:
    """So many requests a minute, all at once or spread; each is free again after its share of the minute (GCRA)."""

    get_time_s: Callable[[], float] = time.monotonic
    _free_at_s: dict[str, float] = field(default_factory=dict)

    def take(self, name: str, limit: int) -> Allowance:
        now_s, share_s = self.get_time_s(), WINDOW_S / limit
        busy_s = max(self._free_at_s.get(name, now_s) - now_s, 0.0)
        is_granted = busy_s + share_s <= WINDOW_S + 1e-6
        if is_granted:
            self._make_room(now_s)
            busy_s += share_s
            self._free_at_s[name] = now_s + busy_s
        remaining = math.floor((WINDOW_S - busy_s) / share_s + 1e-6)
        wait_s = 0.0 if is_granted else busy_s + share_s - WINDOW_S
        return Allowance(is_granted, max(remaining, 0), math.ceil(busy_s), max(math.ceil(wait_s), 1))

    def _make_room(self, now_s: float) -> None:
        if len(self._free_at_s) >= _MAX_REMEMBERED:
            self._free_at_s = {name: free_s for name, free_s in self._free_at_s.items() if free_s > now_s}


@dataclass
class RateLimitMiddleware:
    """Counts requests of the API and of assistants, and says in `RateLimit` how many are left; 429 beyond.

    Requests of nobody are not counted: they get no further than to be refused, and signing in has limits of its own.
    """

    app: ASGIApp
    refuse: Callable[[Request, Problem], Response]
    limiter: RateLimiter = field(default_factory=RateLimiter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = _find_limit(scope)
        name = None if limit is None else await _find_name(Request(scope))
        if limit is None or name is None:
            await self.app(scope, receive, send)
            return
        allowance = self.limiter.take(name, limit)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["RateLimit-Policy"] = f'"{_POLICY}";q={limit};w={WINDOW_S}'
                headers["RateLimit"] = f'"{_POLICY}";r={allowance.remaining};t={allowance.reset_s}'
            await send(message)

        if allowance.is_granted:
            await self.app(scope, receive, send_counted)
            return
        wait = {"Retry-After": str(allowance.retry_after_s)}
        problem = Problem(429, "request.too_many", headers=wait, limit=limit, count=allowance.retry_after_s)
        await self.refuse(Request(scope), problem)(scope, receive, send_counted)


def _find_limit(scope: Scope) -> int | None:
    """Return how many requests a minute are allowed; None where they are not counted."""
    if scope["type"] != "http":
        return None
    path = get_app_path(Request(scope))
    if not path.startswith(f"{API_PREFIX}/") and path != "/mcp":
        return None
    limit: int | None = scope["app"].state.monitor.settings.web.requests_per_minute
    return limit


async def _find_name(request: Request) -> str | None:
    try:
        principal = await load_principal(request)
    except (MonitorError, Problem):  # the route answers with it
        return None
    return None if principal is None else principal.name
