"""The authorisation matrix: every route, asked as nobody, as each role, by programs, and by a forged request."""

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.services.tokens import TokenScope
from monitor.vocabulary import Role
from monitor.web.app import create_web_app
from monitor.web.auth import SESSION_COOKIE
from tests.integration.web.conftest import Desk
from tests.integration.web.matrix import ADMIN, MATRIX, Entry

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROLES = (Role.READER, Role.EDITOR, Role.ADMIN)
NOWHERE = "999999"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> AsyncIterator[Desk]:
    """One desk for all: what is asked here changes nothing that matters to another test."""
    folder = tmp_path_factory.mktemp("matrix")
    settings = Settings(data_dir=folder, database_url=f"sqlite:///{shutil.copy(sqlite_template, folder)}")
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(settings))
        yield Desk(app, create_web_app(app), stack)


def routes_of(web: FastAPI) -> Iterator[str]:
    """Every method of every route; our own files are all that is mounted."""
    for route in iter_route_contexts(web.routes):
        if route.methods is None:
            assert route.path == "/static"
        else:
            yield from (f"{method} {route.path_format}" for method in route.methods - {"HEAD", "OPTIONS"})


async def ask(client: httpx.AsyncClient, route: str, **headers: str) -> httpx.Response:
    method, _, path = route.partition(" ")
    address = re.sub(r"\{[^}]+\}", NOWHERE, path)
    sent = MATRIX[route].sent
    return await client.request(method, address, json=sent, headers=headers)


def refusal(answer: httpx.Response, *, is_nobody: bool) -> bool:
    """Whether the gate said no: a page sends nobody to the sign-in page, everything else has its status."""
    if is_nobody and answer.status_code == 303:
        return answer.request.method == "GET" and answer.headers["location"].startswith("/sign-in")
    return answer.status_code == (401 if is_nobody else 403)


def needed(route: str, entry: Entry) -> frozenset[str]:
    usual = "admin" if entry.role is ADMIN else "read" if route.startswith("GET ") else "write"
    return frozenset({usual, *entry.scopes})


async def test_every_route_has_an_entry_and_every_entry_a_route(desk: Desk) -> None:
    routes = set(routes_of(desk.web))
    assert not routes - MATRIX.keys(), "routes of which tests/integration/web/matrix.py does not say who may"
    assert not MATRIX.keys() - routes, "entries of routes that are not there"


async def test_nobody_passes_the_gate_who_has_not_signed_in(desk: Desk) -> None:
    client = await desk.client()
    wrong = []
    for route, entry in MATRIX.items():
        answer = await ask(client, route)
        is_right = answer.status_code == entry.status if entry.role is None else refusal(answer, is_nobody=True)
        if not is_right:
            wrong.append((route, answer.status_code))
    assert not wrong


@pytest.mark.parametrize("route", ["GET /", "GET /api/v1/me", "POST /api/v1/people", "GET /feeds/items.atom"])
async def test_what_was_made_up_opens_nothing(desk: Desk, route: str) -> None:
    cookie = await desk.client(cookies={SESSION_COOKIE: "made-up"})
    bearer = await desk.client(headers={"Authorization": "Bearer made-up"})
    basic = await desk.client(auth=("anybody", "made-up"))
    for client in (cookie, bearer, basic):
        assert refusal(await ask(client, route), is_nobody=True)


@pytest.mark.parametrize("role", ROLES)
async def test_each_role_passes_where_it_may_and_nowhere_else(desk: Desk, role: Role) -> None:
    wrong = []
    browser = await desk.sign_in(role)
    for route, entry in MATRIX.items():
        if entry.role is None or route == "POST /sign-out":
            continue
        answer = await ask(browser.client, route, **{"X-CSRF-Token": browser.csrf})
        is_allowed = ROLES.index(role) >= ROLES.index(entry.role)
        is_right = answer.status_code == entry.status if is_allowed else refusal(answer, is_nobody=False)
        if not is_right:
            wrong.append((route, answer.status_code, answer.text[:200]))
    assert not wrong
    await browser.client.get("/account")
    answer = await browser.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


async def test_a_forged_request_of_a_browser_changes_nothing_anywhere(desk: Desk) -> None:
    browser = await desk.sign_in("admin")
    wrong = []
    for route, entry in MATRIX.items():
        if entry.role is None or route.startswith("GET "):
            continue
        answer = await ask(browser.client, route)
        if answer.status_code != 403:
            wrong.append((route, answer.status_code))
    assert not wrong


async def test_a_program_needs_every_scope_of_a_route_and_no_other(desk: Desk) -> None:
    programs: dict[frozenset[str], httpx.AsyncClient] = {}

    async def with_scopes(scopes: frozenset[str]) -> httpx.AsyncClient:
        if scopes not in programs:
            token = await desk.app.tokens.create(
                "+".join(("only", *sorted(scopes))), "admin", scopes=sorted(scopes), by=COMMAND_LINE
            )
            programs[scopes] = await desk.client(headers={"Authorization": f"Bearer {token}"})
        return programs[scopes]

    wrong = []
    for route, entry in MATRIX.items():
        if entry.role is None:
            continue
        scopes = needed(route, entry)
        answer = await ask(await with_scopes(scopes), route)
        if answer.status_code != (entry.program or entry.status):
            wrong.append((route, sorted(scopes), answer.status_code))
        for scope in scopes:
            others = frozenset(map(str, TokenScope)) - {scope}
            answer = await ask(await with_scopes(others), route)
            if answer.status_code != 403:
                wrong.append((route, sorted(others), answer.status_code))
    assert not wrong
