"""The web part as a server: where it refuses to listen."""

from pathlib import Path

from monitor.bootstrap import open_app
from monitor.errors import UsageError
from monitor.settings import Settings
from monitor.web.server import serving

GOOD = "a long and quiet word"


async def test_others_reach_it_only_when_an_administrator_has_a_password(tmp_path: Path, sqlite_url: str) -> None:
    settings = Settings(data_dir=tmp_path, database_url=sqlite_url)
    web = settings.web.model_copy(update={"host": "0.0.0.0", "port": 0})
    async with open_app(settings.model_copy(update={"web": web})) as app:

        async def is_refused() -> bool:
            try:
                async with serving(app):
                    return False
            except UsageError as error:
                return "monitor users passwd" in str(error)

        assert await is_refused()
        await app.people.begin()
        assert await is_refused(), "a one-time password was enough"
        await app.people.add("editor", "editor")
        await app.people.set_password("editor", GOOD)
        await app.tokens.make("robot", "admin")
        assert await is_refused(), "somebody else's password was enough"
        await app.people.set_password("admin", GOOD)
        assert not await is_refused()
        await app.people.reset("admin")
        assert await is_refused()
