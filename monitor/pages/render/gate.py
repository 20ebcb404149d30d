"""What a request of the browser must pass before it is made: a first net, in front of the guarded proxy."""

import contextlib
from collections.abc import Awaitable, Callable

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route, WebSocketRoute

from monitor.domain.page import PageErrorCode
from monitor.net.failure import FetchFailed
from monitor.net.guard import Guard

_NEVER_LOADED = frozenset({"image", "media", "font"})


def gate(guard: Guard, *, may_be_unresolved: bool) -> Callable[[Route], Awaitable[None]]:
    """A handler that stops pictures, fonts and media, and what the guard refuses.

    Hops of a redirect, preconnects and sockets do not come by here; those meet the guard in the proxy.
    """

    async def pass_or_stop(route: Route) -> None:
        with contextlib.suppress(PlaywrightError):  # the page may have gone meanwhile
            if route.request.resource_type in _NEVER_LOADED:
                await route.abort("blockedbyclient")
                return
            try:
                await guard.check(route.request.url, may_be_unresolved=may_be_unresolved)
            except FetchFailed as refusal:
                is_refused = refusal.error.code is not PageErrorCode.NETWORK
                await route.abort("blockedbyclient" if is_refused else "namenotresolved")
                return
            await route.continue_()

    return pass_or_stop


async def refuse_socket(socket: WebSocketRoute) -> None:
    """No page needs a WebSocket to be read."""
    await socket.close()
