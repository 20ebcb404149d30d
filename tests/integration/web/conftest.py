"""The web part over a real application, asked without a port; people of every role who have signed in."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from fastapi import FastAPI

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.tables.people import Person
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import Role
from monitor.web.app import create_web_app
from monitor.web.auth import SESSION_COOKIE

PASSWORD = "a long and quiet word"  # noqa: S105 -- of people who live for one test


@cache
def kept_password(password: str = PASSWORD) -> str:
    """What is kept of a password, made with less work than usual."""
    argon2 = Argon2id(salt=bytes(16), length=32, iterations=1, lanes=1, memory_cost=8)
    return argon2.derive_phc_encoded(password.encode())


@dataclass
class Browser:
    """A client with the cookies of somebody who signed in, and the word that forms carry."""

    client: httpx.AsyncClient
    csrf: str

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.client.get(path, **more)

    async def post(self, path: str, data: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        return await self.client.post(path, data={"csrf": self.csrf, **(data or {})}, **more)

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A request of a script, with JSON."""
        return await self.client.request(method, path, headers={"X-CSRF-Token": self.csrf}, **more)


class Desk:
    """The pages and the API of an application."""

    def __init__(self, app: App, web: FastAPI, stack: AsyncExitStack) -> None:
        self.app = app
        self.web = web
        self._stack = stack

    async def client(self, **more: Any) -> httpx.AsyncClient:
        """Somebody who has not signed in."""
        transport = httpx.ASGITransport(app=self.web, raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url="http://monitor.test", **more)
        return await self._stack.enter_async_context(client)

    async def sign_in(self, role: str, *, language: str = "zh") -> Browser:
        """Somebody of that role who has signed in; the role is the name too."""
        person = Person(name=role, password_hash=kept_password(), role=Role(role), created_at=self.app.clock.now())
        await self.app.store.people.add(person)  # who is there already stays
        return await self.sign_in_as(role, language=language)

    async def sign_in_as(self, name: str, *, language: str = "zh") -> Browser:
        """Somebody who is there already and has signed in."""
        client = await self.client(headers={"Accept-Language": language})
        answer = await client.post("/sign-in", data={"name": name, "password": PASSWORD})
        assert answer.status_code == 303, answer.text
        return Browser(client, self.app.people.compute_csrf_token(client.cookies[SESSION_COOKIE]))

    async def program(self, role: str, *, scopes: list[str] | None = None) -> httpx.AsyncClient:
        """A program with a token of that role."""
        token = await self.app.tokens.create(f"{role}-program", role, scopes=scopes or [], by=COMMAND_LINE)
        return await self.client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    """What a test module wants to be set otherwise: override this fixture."""
    return lambda settings: settings


@pytest.fixture
async def desk(tmp_path: Path, sqlite_url: str, desk_settings: Callable[[Settings], Settings]) -> AsyncIterator[Desk]:
    settings = desk_settings(Settings(data_dir=tmp_path, database_url=sqlite_url))
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(settings))
        yield Desk(app, create_web_app(app), stack)
