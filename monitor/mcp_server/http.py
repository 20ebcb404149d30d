"""The MCP server over streamable HTTP, inside the web service, which says whose each request is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from monitor.bootstrap import App
from monitor.extras import needs_extra
from monitor.services.audit import Actor

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


class HttpAssistants:
    """Answers the requests of assistants; the server is opened by the first of them, which costs a second.

    No session outlives a request: nothing of one token's can reach another, and any process can answer any request.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._opening = asyncio.Lock()
        self._closed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._answer: Any = None

    async def serve(self, actor: Actor, scope: "Scope", receive: "Receive", send: "Send") -> None:
        with needs_extra("mcp"):
            from monitor.mcp_server.toolset import put_actor

        async with self._opening:
            if self._answer is None:
                await self._open()
        await self._answer(put_actor(scope, actor), receive, send)

    async def close(self) -> None:
        self._closed.set()
        if self._task is not None:
            await self._task

    async def _open(self) -> None:
        """Keep the server open in a task of its own: the SDK's task group has to end where it began."""
        is_open = asyncio.Event()

        async def run() -> None:
            from mcp.server.transport_security import TransportSecuritySettings

            from monitor.mcp_server.server import open_server

            async with open_server(self._app) as server:
                checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # by the web service
                server.streamable_http_app(stateless_http=True, transport_security=checked)
                async with server.session_manager.run():
                    self._answer = server.session_manager.handle_request
                    is_open.set()
                    await self._closed.wait()

        self._task = asyncio.create_task(run())
        await asyncio.wait({self._task, asyncio.create_task(is_open.wait())}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            self._task.result()


@asynccontextmanager
async def open_assistants(app: App) -> AsyncIterator[HttpAssistants]:
    assistants = HttpAssistants(app)
    try:
        yield assistants
    finally:
        await assistants.close()
