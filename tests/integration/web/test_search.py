"""web.search over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.search.contract import ToolResult
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import create_web_app


@pytest.fixture
async def client(tmp_path: Path, site: Any) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(
        data_dir=tmp_path,
        database_url=f"sqlite:///{tmp_path / 'monitor.db'}",
        network={"allowed_private_hosts": [site.host]},
        search={"backend": "searxng", "backends": {"searxng": {"base_url": site.url("")}}},
    )
    async with open_app(settings) as app:
        token = await app.tokens.create("reader", "reader", by=COMMAND_LINE)
        transport = httpx.ASGITransport(app=create_web_app(app))
        async with httpx.AsyncClient(transport=transport, base_url="http://monitor") as client:
            client.headers["authorization"] = f"Bearer {token}"
            yield client


async def test_a_search_asks_for_a_token(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/search", params={"query": "x"}, headers={"authorization": "Bearer no"})
    assert answer.status_code == 401


async def test_a_search_is_answered_in_the_one_shape(client: httpx.AsyncClient, site: Any, reply: Any) -> None:
    body = '{"results": [{"title": "光伏", "url": "https://a.example/", "content": "S", "engine": "bing"}]}'
    site.on("/search", reply(body, 200, {"content-type": "application/json"}))
    asked = {"query": "光伏", "max_results": 3, "lang": "zh", "start": "2026-11-21", "trace_id": "t", "budget_ms": 9000}
    answer = await client.get("/api/v1/search", params=asked)
    assert answer.status_code == 200
    found = ToolResult.model_validate(answer.json())
    assert [(item.title, item.provider, item.rank) for item in found.items] == [("光伏", "bing", 1)]
    assert found.provider_meta.request_id == "t"
    assert "language=zh" in site.asked[0].path
    assert (await client.get("/api/openapi.json")).json()["paths"]["/api/v1/search"]["get"]["parameters"]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"query": ""},
        {"query": "x", "max_results": "11"},
        {"query": "x", "max_results": "many"},
        {"query": "x", "time_range": "decade"},
        {"query": "x", "start": "yesterday"},
        {"query": "x", "backend": "google"},
        {"query": "x", "backend": "stub,google"},
        {"query": "x", "need_summary": "perhaps"},
        {"query": "x", "lang": "zh", "locale": "en"},
    ],
)
async def test_a_question_that_breaks_the_contract_is_refused(
    client: httpx.AsyncClient, site: Any, asked: dict[str, str]
) -> None:
    answer = await client.get("/api/v1/search", params=asked)
    assert answer.status_code == 400
    assert [error["type"] for error in answer.json()["errors"]] == ["InvalidInput"]
    assert answer.json()["items"] == []
    assert site.asked == []


async def test_a_search_that_failed_says_so_in_its_status_too(client: httpx.AsyncClient, site: Any, reply: Any) -> None:
    site.on("/search", reply("", 500))
    answer = await client.get("/api/v1/search", params={"query": "x"})
    assert answer.status_code == 502
    assert [error["type"] for error in answer.json()["errors"]] == ["BadGateway"]
    named = await client.get("/api/v1/search", params={"query": "x", "backend": "stub"})
    assert (named.status_code, len(named.json()["items"])) == (200, 3)
