"""The session of a run that is logged in: a client and a browser that hold its cookies and serve nobody else."""

import html
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from http.cookiejar import Cookie
from typing import TYPE_CHECKING
from urllib.parse import quote

from monitor.config.model import NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing
from monitor.extras import needs_extra
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.log_in import LogIn
from monitor.fetch.result import Recorder, Response
from monitor.fetch.transport import LazyRenderer, SiteTransport

if TYPE_CHECKING:
    from playwright.async_api import StorageState

# Shorter values are words and numbers that pages have of their own.
_MIN_COOKIE_CHARS = 16
_MIN_PASSWORD_CHARS = 6
_MASK = b"***"
_COOKIE_HEADERS = ("set-cookie", "set-cookie2")


@dataclass(kw_only=True, eq=False)
class LogInSession:
    """Client and browser of one run, which share the cookies of its log-in with no other run. Close it in the end."""

    log_in: LogIn
    pages: PagesSettings
    network: NetworkSettings
    guard: Guard
    _passwords: frozenset[str] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        self.client = HttpClient(network=self.network, guard=self.guard, max_bytes=self.pages.max_bytes)
        self.renderer = LazyRenderer(pages=self.pages, network=self.network, guard=self.guard)

    def build_transport(self, sites: SiteTransport, recorder: Recorder | None) -> SiteTransport:
        """Return a transport to the same sites, at the same pace, with the session."""
        return replace(sites, recorder=recorder, client=self.client, renderer=self.renderer, scrub=self.scrub)

    async def open(self) -> None:
        """Log in; `LogInFailed` says why that did not work, `BrowserMissing` that there is no browser for it."""
        with needs_extra("browser", BrowserMissing):
            from monitor.fetch.browser.log_in import perform_log_in

        state, self._passwords = await perform_log_in(
            self.log_in, pages=self.pages, network=self.network, guard=self.guard
        )
        self.client.set_cookies(_build_cookies(state))
        self.renderer.state = state

    async def close(self) -> None:
        """End the session here; the site is not told."""
        await self.renderer.close()
        await self.client.close()

    def scrub(self, response: Response) -> Response:
        """Return the response without cookies, and with asterisks where its body repeats one or a password."""
        cookies = (value for value in self.client.list_cookie_values() if len(value) >= _MIN_COOKIE_CHARS)
        passwords = (password for password in self._passwords if len(password) >= _MIN_PASSWORD_CHARS)
        body = response.body
        for text in _list_spellings([*cookies, *passwords]):
            body = body.replace(text, _MASK)
        headers = {name: value for name, value in response.headers.items() if name not in _COOKIE_HEADERS}
        return replace(response, headers=headers, body=body)


@asynccontextmanager
async def open_session(session: LogInSession | None) -> AsyncIterator[None]:
    """Log in, where there is something to log in to, and end the session with the block; raises as `open` does."""
    if session is None:
        yield
        return
    try:
        await session.open()
        yield
    finally:
        await session.close()


def _list_spellings(values: Iterable[str]) -> list[bytes]:
    """Return how pages write the values, the longest first: as they are, in HTML, and in urls."""
    spellings = {text for value in values for text in (value, html.escape(value), quote(value, safe=""))}
    return sorted((text.encode() for text in spellings), key=len, reverse=True)


def _build_cookies(state: "StorageState") -> list[Cookie]:
    return [
        Cookie(
            version=0,
            name=cookie["name"],
            value=cookie["value"],
            port=None,
            port_specified=False,
            # The standard library gives a name without a dot this ending.
            domain=cookie["domain"] if "." in cookie["domain"] else f"{cookie['domain']}.local",
            domain_specified=cookie["domain"].startswith("."),
            domain_initial_dot=cookie["domain"].startswith("."),
            path=cookie["path"],
            path_specified=True,
            secure=cookie["secure"],
            expires=None,  # it is kept for one run
            discard=True,
            comment=None,
            comment_url=None,
            rest={},
        )
        for cookie in state["cookies"]
    ]
