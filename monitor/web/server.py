"""The HTTP server: serves the web application for as long as the program runs."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn

from monitor.bootstrap import App
from monitor.errors import UsageError
from monitor.web.app import create_web_app

LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
_SHUTDOWN_TIMEOUT_S = 5


class _EmbeddedServer(uvicorn.Server):
    """uvicorn without signal handlers: its caller decides when it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_web(app: App) -> AsyncIterator[str]:
    """Serve HTTP while the block runs, and give the address.

    Raises `UsageError` where the port is taken, or where it would listen beyond loopback before an administrator has
    chosen a password.
    """
    web = app.settings.web
    if web.host not in LOOPBACK_HOSTS and not await app.people.has_secured_admin():
        raise UsageError("web.password_required", host=web.host)
    pages = create_web_app(app)
    await app.sample.resume()
    config = uvicorn.Config(
        pages,
        host=web.host,
        port=web.port,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )
    server = _EmbeddedServer(config)
    listening = _create_listening_socket(web.host, web.port)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        port = listening.getsockname()[1]
        yield f"http://{web.host}:{port}/"
    finally:
        app.run_events.close()
        app.research_events.close()
        server.should_exit = True
        await running


def _create_listening_socket(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError("web.address_unusable", host=host, port=port, reason=reason) from None
    # Connections inherit this. asyncio does not set it on this socket, and without it the end of each answer waits
    # 40 ms for the browser's acknowledgement of its beginning.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
