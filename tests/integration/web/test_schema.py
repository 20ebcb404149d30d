"""The HTTP API against its own OpenAPI schema: schemathesis asks every route, with all of its checks."""

import asyncio
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web
from tests.integration.web.exchanges import open_example_service

# A date that is over, a cron that means nothing, a name that is taken: what a schema cannot say is told by 400, 404,
# 409 and 422, that a part of the service is missing by 503, and a page that cannot be read by 502.
CONFIGURATION = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 401, 403, 404, 409, 422, 502, 503]
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 502, 503]
"""


@pytest.fixture
async def served(tmp_path: Path, sqlite_url: str, free_port: int) -> AsyncIterator[tuple[App, str]]:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, web={"port": free_port})
    async with open_app(settings) as app, serve_web(app) as url:
        yield app, url


MAY_FAIL = {
    "/api/v1/fetch",
    "/api/v1/search",
    "/api/v1/sources/{source_id:int}/recipes",
    "/api/v1/sources/{source_id:int}/recipes/page",
    "/readyz",
}
"""What asks others, and says by a documented 502 or 503 that they did not answer; and whether the service is ready."""


@pytest.fixture
async def furnished(tmp_path: Path) -> AsyncIterator[tuple[App, str]]:
    """A service with one of everything that the examples of the document name, so that less is answered by 404."""
    async with open_example_service(tmp_path) as (app, _), serve_web(app) as url:
        yield app, url


async def examined(served: tuple[App, str], role: str, folder: Path, *options: str) -> int:
    """Have every route asked with a token of that role; answers how often, and fails where anything was wrong.

    What schemathesis said is in `schemathesis.log`, how often the service answered with what in `answers.json`.
    """
    app, url = served
    token = await app.tokens.create(f"{role}-program", role, by=COMMAND_LINE)
    async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
        await client.get(f"{url}api/openapi.json")  # schemathesis waits ten seconds for what is derived only once
    configuration = folder / "schemathesis.toml"
    configuration.write_text(CONFIGURATION)
    before = await count_answers(url, token)  # the figures are of the process, which may have had other tests
    log = folder / "schemathesis.log"
    with log.open("w") as output:
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
            "--request-timeout",
            "60",
            "--max-response-time",  # whether it is fast is measured by benchmarks, on a machine that does nothing else
            "60",
            "--continue-on-failure",
            "--no-color",
            *options,
            cwd=folder,
            env={**os.environ, "NO_PROXY": "*"},
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )
        await process.wait()
    answers = {
        route: dict(counts - before.get(route, Counter()))
        for route, counts in (await count_answers(url, token)).items()
        if counts - before.get(route, Counter())
    }
    (folder / "answers.json").write_text(json.dumps(answers, indent=1, sort_keys=True))
    said = log.read_text()
    assert process.returncode == 0, said
    failing = {route for route, counts in answers.items() if "5xx" in counts}
    assert failing <= MAY_FAIL, answers
    found = re.search(r"(\d+) generated", said)
    assert found, said
    return int(found[1])


async def count_answers(url: str, token: str) -> dict[str, Counter[str]]:
    """How often the service answered on each route with which class of status, by its own figures."""
    async with httpx.AsyncClient(trust_env=False, timeout=120) as client:
        figures = await client.get(f"{url}metrics", headers={"Authorization": f"Bearer {token}"})
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    for family in text_string_to_metric_families(figures.raise_for_status().text):
        for sample in family.samples:
            if sample.name == "monitor_http_request_seconds_count":
                answers[sample.labels["route"]][sample.labels["status"]] += int(sample.value)
    return answers


async def test_the_api_keeps_to_its_schema(served: tuple[App, str], tmp_path: Path) -> None:
    assert await examined(served, "admin", tmp_path, "--phases", "fuzzing", "-n", "3") > 300


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("role", ["admin", "editor", "reader"])
async def test_the_api_keeps_to_its_schema_in_thousands_of_cases(
    furnished: tuple[App, str], tmp_path: Path, role: str
) -> None:
    assert await examined(furnished, role, tmp_path, "--phases", "coverage,fuzzing,stateful", "-n", "10") >= 2000
