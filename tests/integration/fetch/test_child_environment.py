"""No secret of the program reaches the environment of the browser or of Playwright's driver."""

import contextlib
import os
from pathlib import Path

import pytest

from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.session import start_browser

SECRETS = {
    "OPENAI_API_KEY": "sk-of-the-house",
    "MONITOR_SECRET_KEY": "passphrase-of-the-house",
    "MONITOR_DATABASE_URL": "postgresql://monitor:of-the-house@db/monitor",
    "HTTPS_PROXY": "http://user:of-the-house@proxy:3128",
    "HOOK_SECRET": "of-the-house",
}


@pytest.fixture(autouse=True)
def _browser(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


def list_descendants(pid: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            children += map(int, (task / "children").read_text().split())
    return [*children, *(far for child in children for far in list_descendants(child))]


def read_environments() -> dict[str, bytes]:
    """The environment of each process below this one, under its program's name."""
    found = {}
    for pid in list_descendants(os.getpid()):
        with contextlib.suppress(OSError):
            found[f"{Path(f'/proc/{pid}/exe').readlink().name} {pid}"] = Path(f"/proc/{pid}/environ").read_bytes()
    return found


async def test_browser_and_driver_get_what_says_where_things_are_and_nothing_else() -> None:
    async with contextlib.AsyncExitStack() as stack:
        browser = await start_browser(BrowserSettings(), stack, flags=())
        page = await browser.new_page()
        assert await page.evaluate("1 + 1") == 2
        environments = read_environments()
    assert {name.split()[0] for name in environments} >= {"node"}
    assert len(environments) > 2, "the browser was not among them"
    for name, environment in environments.items():
        assert b"of-the-house" not in environment, name
    assert any(b"PATH=" in environment for environment in environments.values())
