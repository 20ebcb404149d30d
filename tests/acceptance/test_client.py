"""The typed client of the API at work, as a program of somebody else uses it: `make client` writes it."""

import asyncio
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from monitor.bootstrap import open_service
from monitor.clock import SystemClock
from monitor.config.model import Settings
from monitor.demo.site import SampleSite, build_sample_settings
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web

CLIENT = Path(__file__).parents[2] / "out" / "client"
pytestmark = pytest.mark.skipif(not (CLIENT / "monitor_client").is_dir(), reason="make client has not been run")


@pytest.fixture
def client_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give the module of an operation by tag and name, and the models under `models`."""
    monkeypatch.syspath_prepend(str(CLIENT))
    yield lambda path: importlib.import_module(f"monitor_client.{path}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "monitor_client"]:
        del sys.modules[name]


async def test_a_source_is_added_run_and_briefed_with_the_client(
    tmp_path: Path, sqlite_url: str, client_api: Any
) -> None:
    site = SampleSite("ministry", today=SystemClock().now().date())
    async with site.serve() as address:
        settings = build_sample_settings(Settings(), address, folder=tmp_path)
        settings.database_url, settings.web.port = sqlite_url, 0
        async with open_service(settings, worker=True, scheduler=False) as app, serve_web(app) as url:
            token = await app.tokens.create("crm", "admin", by=COMMAND_LINE)
            client = client_api("client").AuthenticatedClient(
                base_url=url, token=token, raise_on_unexpected_status=True
            )
            models = client_api("models")

            wanted = models.SourceForm(name="绿色能源总署", url=f"{address}/", focus_areas=["政策", "通知"])
            source = await client_api("api.sources.create_source").asyncio(client=client, body=wanted)
            started = await client_api("api.sources.start_run").asyncio(source.id, client=client)
            async with asyncio.timeout(120):
                get_run = client_api("api.runs.get_run").asyncio
                while (await get_run(started.run_id, client=client)).ended_at is None:  # noqa: ASYNC110 -- over HTTP
                    await asyncio.sleep(0.2)
            items = await client_api("api.items.list_items").asyncio(client=client, limit=5)
            assert len(items.items) == 5
            assert {item.source for item in items.items} == {source.name}
            wish = models.ComposeRequest(days=30, top=3)
            saved = await client_api("api.briefings.create_briefing").asyncio(client=client, body=wish)
            assert len(saved.briefing.items) == 3
            known = {item.id for item in (await client_api("api.items.list_items").asyncio(client=client)).items}
            assert {item.id for item in saved.briefing.items} <= known

            missing = await client_api("api.items.get_item").asyncio(2**31 - 1, client=client)
            assert (missing.status, missing.code) == (404, "item.not_found")
            await client.get_async_httpx_client().aclose()
