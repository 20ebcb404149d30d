"""Settings that one process stores reach those that are at work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from monitor.bootstrap import App, open_app, open_service
from monitor.config.model import Settings
from monitor.services.audit import Actor
from monitor.vocabulary import Role


@pytest.fixture
async def apps(tmp_path: Path, sqlite_url: str) -> AsyncIterator[tuple[App, App]]:
    """A process of the service, and a command beside it."""
    settings = Settings(data_dir=tmp_path / "data", database_url=sqlite_url)
    async with AsyncExitStack() as stack:
        yield (
            await stack.enter_async_context(open_service(settings, worker=False, scheduler=False)),
            await stack.enter_async_context(open_app(settings)),
        )


async def test_a_process_at_work_takes_over_what_another_one_stored(apps: tuple[App, App]) -> None:
    service, command = apps
    await command.settings_service.update({"llm.base_url": "http://127.0.0.1:9/v1"}, by=Actor("admin", Role.ADMIN))
    async with asyncio.timeout(20):
        while service.settings.llm.base_url is None:  # noqa: ASYNC110 -- the service looks every two seconds
            await asyncio.sleep(0.05)
    assert service.models.get_client() is not None


async def test_runs_keep_their_way_out_and_it_is_closed_when_the_last_one_is_over(apps: tuple[App, App]) -> None:
    _, app = apps
    run, beside = app.loaders.for_run(), app.loaders.for_run()
    await app.settings_service.update({"network.user_agent": "Another/1"}, by=Actor("admin", Role.ADMIN))
    after = app.loaders.for_run()
    assert app.loaders.open_count == 2
    del beside
    await app.loaders.close_unused()
    assert app.loaders.open_count == 2
    del run
    await app.loaders.close_unused()
    assert app.loaders.open_count == 1
    del after
    await app.loaders.close_unused()
    assert app.loaders.open_count == 1
