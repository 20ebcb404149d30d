"""The program as a person starts it: a process of its own, in a folder of its own."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from monitor.cli.main import main
from monitor.config.model import Settings
from monitor.demo.site import SampleSite

_TIMEOUT_S = 90
_REPOSITORY = Path(__file__).resolve().parents[3]


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr; more, or a traceback, fail the test."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("monitor: ")
        return lines[0].removeprefix("monitor: ")


class Program:
    """`python -m monitor` in one folder; nothing of this machine's environment reaches it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C",
            "PYTHONPATH": str(_REPOSITORY),
            "MONITOR_PAGES__DELAY_S": "0",
        }

    async def __call__(self, *words: str, stdin: bytes = b"", **environment: str) -> Said:
        process = await self.start(*words, **environment)
        async with asyncio.timeout(_TIMEOUT_S):
            out, err = await process.communicate(stdin)
        return Said(process.returncode or 0, out.decode(), err.decode())

    async def start(self, *words: str, **environment: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "monitor",
            *words,
            cwd=self.folder,
            env={**self.environment, **environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def interrupted(self, process: asyncio.subprocess.Process) -> Said:
        """What it says when a person presses Ctrl-C now."""
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(_TIMEOUT_S):
            out, err = await process.communicate()
        return Said(process.returncode or 0, out.decode(), err.decode())

    def allow(self, base_url: str) -> None:
        """Let the program ask a server of the test, under both names of loopback."""
        port = base_url.rsplit(":", 1)[1].split("/", maxsplit=1)[0]
        self.environment["MONITOR_NETWORK__ALLOWED_PRIVATE_HOSTS"] = json.dumps(
            [f"127.0.0.1:{port}", f"localhost:{port}"]
        )


@pytest.fixture
def monitor(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def today() -> Callable[[], Any]:
    import datetime as dt
    from zoneinfo import ZoneInfo

    return lambda: dt.datetime.now(ZoneInfo(Settings().timezone)).date()


@pytest.fixture
def typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[list[str]], Said]]:
    """The same program called in this process: quicker, for what needs no server of the test."""
    monkeypatch.chdir(tmp_path)
    root, ours = logging.getLogger(), logging.getLogger("monitor")
    handlers, level = list(root.handlers), ours.level

    def call(words: list[str]) -> Said:
        with pytest.raises(SystemExit) as left:
            main(words)
        out, err = capsys.readouterr()
        return Said(int(left.value.code or 0), out, err)

    yield call
    root.handlers[:] = handlers  # `--debug` begins a log, on a stream that ends with the test
    ours.setLevel(level)


@pytest.fixture
def here(typed: Callable[[list[str]], Said]) -> Callable[..., Awaitable[Said]]:
    """`typed` for a test that serves something meanwhile: its loop goes on while the command has one of its own."""

    async def call(*words: str) -> Said:
        return await asyncio.to_thread(typed, list(words))

    return call


@pytest.fixture
async def ministry(monitor: Program, today: Callable[[], Any]) -> AsyncIterator[tuple[SampleSite, str]]:
    site = SampleSite("ministry", today=today())
    async with site.serve() as base_url:
        monitor.allow(base_url)
        yield site, base_url
