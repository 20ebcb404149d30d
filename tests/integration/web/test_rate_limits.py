"""Requests a minute to the API and to assistants: the headers that say so, and the refusal beyond."""

from collections.abc import Callable

import pytest

from monitor.config.model import Settings
from tests.integration.web.conftest import Desk


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    return lambda settings: settings.model_copy(
        update={"web": settings.web.model_copy(update={"requests_per_minute": 3})}
    )


async def test_a_program_is_told_how_many_requests_are_left_and_when_to_go_on(desk: Desk) -> None:
    client = await desk.program("reader")
    first = await client.get("/api/v1/me")
    assert first.headers["ratelimit-policy"] == '"default";q=3;w=60'
    assert first.headers["ratelimit"] == '"default";r=2;t=20'
    assert (await client.get("/api/me")).headers["ratelimit"].startswith('"default";r=1;')
    await client.get("/mcp")
    beyond = await client.get("/api/v1/me")
    assert (beyond.status_code, beyond.json()["code"]) == (429, "request.too_many")
    assert 1 <= int(beyond.headers["retry-after"]) <= 20
    assert beyond.headers["ratelimit"].startswith('"default";r=0;')
    assert beyond.headers["x-content-type-options"] == "nosniff"


async def test_a_limit_is_that_of_one_caller_and_of_programs_alone(desk: Desk) -> None:
    reader, editor = await desk.program("reader"), await desk.program("editor")
    for _ in range(4):
        last = await reader.get("/api/v1/me")
    assert last.status_code == 429
    assert (await editor.get("/api/v1/me")).status_code == 200
    nobody = await desk.client()
    assert {(await nobody.get("/api/v1/me")).status_code for _ in range(5)} == {401}
    person = await desk.sign_in("admin")
    assert {(await person.get("/health")).status_code for _ in range(5)} == {200}, "pages are not counted"
