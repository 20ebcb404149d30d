"""The HTTP API against its own OpenAPI schema: schemathesis asks every route, with all of its checks."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web

# A date that is over, a cron that means nothing, a name that is taken: what a schema cannot say is told by 400, 404,
# 409 and 422, and that a part of the service is missing by 503.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 401, 403, 404, 409, 422, 503]
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]
"""


@pytest.fixture
async def served(tmp_path: Path, sqlite_url: str, free_port: int) -> AsyncIterator[tuple[App, str]]:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, web={"port": free_port})
    async with open_app(settings) as app, serve_web(app) as url:
        yield app, url


async def examined(served: tuple[App, str], role: str, folder: Path, *options: str) -> int:
    """Have every route asked with a token of that role; answers how often, and fails where anything was wrong."""
    app, url = served
    token = await app.tokens.create(f"{role}-program", role, by=COMMAND_LINE)
    configuration = folder / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("schemathesis"),
        "--config-file",
        configuration,
        "run",
        f"{url}api/openapi.json",
        "-H",
        f"Authorization: Bearer {token}",
        "--checks",
        "all",
        "--seed",
        "7",
        "--no-shrink",
        "--continue-on-failure",
        "--no-color",
        *options,
        cwd=folder,
        env={**os.environ, "NO_PROXY": "*"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said
    found = re.search(r"(\d+) generated", said)
    assert found, said
    return int(found[1])


async def test_the_api_keeps_to_its_schema(served: tuple[App, str], tmp_path: Path) -> None:
    assert await examined(served, "admin", tmp_path, "--phases", "fuzzing", "-n", "3") > 300


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("role", ["admin", "reader"])
async def test_the_api_keeps_to_its_schema_in_thousands_of_cases(
    served: tuple[App, str], tmp_path: Path, role: str
) -> None:
    assert await examined(served, role, tmp_path, "--phases", "coverage,fuzzing,stateful", "-n", "20") >= 2000
