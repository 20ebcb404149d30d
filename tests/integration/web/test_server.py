"""The web part as a server: where it refuses to listen, and that an answer is sent in one go."""

import time
from pathlib import Path

import httpx

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.errors import UsageError
from monitor.services.audit import COMMAND_LINE
from monitor.web.app import serve_web

GOOD = "a long and quiet word"


async def test_others_reach_it_only_when_an_administrator_has_a_password(tmp_path: Path, sqlite_url: str) -> None:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url)
    web = settings.web.model_copy(update={"host": "0.0.0.0", "port": 0})
    async with open_app(settings.model_copy(update={"web": web})) as app:

        async def is_refused() -> bool:
            try:
                async with serve_web(app):
                    return False
            except UsageError as error:
                return "monitor users passwd" in str(error)

        assert await is_refused()
        await app.people.create_first_admin()
        assert await is_refused(), "a one-time password was enough"
        await app.people.add("editor", "editor", by=COMMAND_LINE)
        await app.people.set_password("editor", GOOD, by=COMMAND_LINE)
        await app.tokens.create("robot", "admin", by=COMMAND_LINE)
        assert await is_refused(), "somebody else's password was enough"
        await app.people.set_password("admin", GOOD, by=COMMAND_LINE)
        assert not await is_refused()
        await app.people.reset_password("admin", by=COMMAND_LINE)
        assert await is_refused()


async def test_the_end_of_an_answer_does_not_wait_for_the_browser_to_confirm_its_beginning(
    tmp_path: Path, sqlite_url: str, free_port: int
) -> None:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url, web={"port": free_port})
    times = []
    async with (
        open_app(settings) as app,
        serve_web(app) as address,
        httpx.AsyncClient(base_url=address, timeout=60) as client,
    ):
        for _ in range(20):
            began = time.perf_counter()
            (await client.get("healthz")).raise_for_status()
            times.append(time.perf_counter() - began)
    # A system confirms the first few at once; of the others, each would have waited for 40 ms at least.
    assert min(times[10:]) < 0.035
