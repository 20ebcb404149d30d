"""What the acceptance tests share: the program started as a user starts it, beside the sample ministry."""

import asyncio
import datetime as dt
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
import yaml

from monitor.demo.site import SampleSite

CHECKER = Path(__file__).with_name("check_run.py")


@dataclass
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def _python(*arguments: str, cwd: Path, stdin: str = "") -> Answer:
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=cwd, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate(stdin.encode())
    return Answer(process.returncode or 0, out.decode(), err.decode())


@dataclass
class Workplace:
    """A folder with a config.yaml, where commands are typed."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def configure(self, **settings: Any) -> None:
        self.settings |= settings
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.settings, allow_unicode=True), encoding="utf-8")

    async def monitor(self, *arguments: str, stdin: str = "") -> Answer:
        return await _python("-m", "monitor", *arguments, cwd=self.folder, stdin=stdin)

    async def sweep(self, *arguments: str) -> dict[str, Any]:
        """One source's run, as `sweep --json` tells it."""
        answer = await self.monitor("sweep", *arguments, "--json")
        assert answer.code == 0, answer.err
        (run,) = answer.json["runs"]
        return run


@dataclass
class Ministry:
    site: SampleSite
    base_url: str
    workplace: Workplace

    @property
    def since(self) -> dt.date:
        return self.site.today - dt.timedelta(days=6)

    def expected(self) -> dict[str, dt.date]:
        return {one.url: one.date for one in self.site.expected(self.base_url) if one.date >= self.since}

    async def problems(self, run: dict[str, Any]) -> list[str]:
        """What the independent checker says."""
        told = json.dumps({"runs": [run]})
        answer = await _python(str(CHECKER), self.base_url, cwd=self.workplace.folder, stdin=told)
        assert answer.code == 0, answer.err
        return answer.json


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    place = Workplace(tmp_path)
    place.configure(pages={"delay_s": 0})
    return place


@pytest.fixture
def open_site(workplace: Workplace) -> Callable[[SampleSite], Any]:
    """Add a served site as the one source of the workplace."""

    def add(site: SampleSite, base_url: str) -> Ministry:
        port = urlsplit(base_url).port
        source = {"name": "ministry", "url": base_url, "focus_areas": [one["name"] for one in site.focus_areas]}
        workplace.configure(
            network={"allowed_private_hosts": [f"127.0.0.1:{port}", f"localhost:{port}"]}, sources=[source]
        )
        return Ministry(site, base_url, workplace)

    return add


@pytest.fixture
async def ministry(open_site: Callable[..., Ministry]) -> AsyncIterator[Ministry]:
    site = SampleSite(today=dt.datetime.now(ZoneInfo("Asia/Shanghai")).date())
    async with site.serve() as base_url:
        yield open_site(site, base_url)


Modes = Callable[[str], Awaitable[dict[str, Any]]]
