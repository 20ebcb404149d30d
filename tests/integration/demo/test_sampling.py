"""The sample ministry inside the service: opened to runs while it is served, and served again after a restart."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.services.audit import COMMAND_LINE


@asynccontextmanager
async def at_work(folder: Path, url: str) -> Any:
    """The application of a process that is a worker."""
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(Settings(data_dir=folder, database_url=url)))
        await stack.enter_async_context(app.presence.register("worker"))
        yield app


async def seen(app: App, url: str) -> str:
    page = await app.loaders.for_run().load(url)
    return page.error.code if page.error is not None else page.site


async def test_a_restarted_service_serves_the_site_where_it_was(tmp_path: Path, sqlite_url: str) -> None:
    async with at_work(tmp_path, sqlite_url) as app:
        source, run_id = await app.sample.start(by=COMMAND_LINE)
        assert source.name in await seen(app, source.url)
        assert (await app.store.runs.get(run_id)).source_id == source.id
    async with at_work(tmp_path, sqlite_url) as app:
        assert await seen(app, source.url) == "Forbidden"
        await app.sample.resume()
        assert source.name in await seen(app, source.url)
        assert (await app.sources.get_by_id(source.id)).url == source.url
    async with at_work(tmp_path, sqlite_url) as app:
        await app.sources.edit(source.id, {"enabled": False}, by=COMMAND_LINE)
        await app.sample.resume()
        assert await seen(app, source.url) == "Forbidden"


async def test_a_port_that_somebody_else_holds_is_not_opened(tmp_path: Path, sqlite_url: str, site: Any) -> None:
    secret = site.on("/", "the neighbour's page")
    async with at_work(tmp_path, sqlite_url) as app:
        source = await app.sources.add({"name": "sly", "url": secret, "tags": ["sample"]}, by=COMMAND_LINE)
        await app.sample.resume()
        moved = await app.sources.get_by_id(source.id)
        assert urlsplit(moved.url).port != urlsplit(secret).port
        assert await seen(app, secret) == "Forbidden"
    assert site.paths() == []


async def test_without_a_worker_in_this_process_nothing_is_served(tmp_path: Path, sqlite_url: str) -> None:
    async with at_work(tmp_path, sqlite_url) as app:
        source, _ = await app.sample.start(by=COMMAND_LINE)
    async with open_app(Settings(data_dir=tmp_path, database_url=sqlite_url)) as app:
        await app.sample.resume()
        assert await seen(app, source.url) == "Forbidden"
    assert asyncio.all_tasks() == {asyncio.current_task()}
