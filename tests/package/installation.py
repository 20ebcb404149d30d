"""An installation of the program, tried as an administrator tries it: by commands alone, in a folder of its own."""

import asyncio
import datetime as dt
import json
import os
import re
import signal
import subprocess
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pypdfium2
import yaml
from sqlalchemy import MetaData, create_engine, delete, insert, select

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_migration_engine
from monitor.demo.serving import LoopbackRequest, LoopbackResponse, serve_loopback
from monitor.demo.site import TIMEZONE, SampleSite

RELEASES = Path(__file__).parents[2] / "fixtures" / "releases"
COMMAND_TIMEOUT_S = 240
START_TIMEOUT_S = 240
DRAWN_TEXT = "这一段文字是脚本写出来的，没有浏览器就读不到。"
_DRAWN_PAGE = f"""<html><head><meta charset="utf-8"><title>通知</title></head><body><div id="app"></div><script>
const paragraphs = Array.from({{length: 20}}, (_, number) => `<p>第${{number + 1}}段：{DRAWN_TEXT}</p>`);
document.getElementById("app").innerHTML = "<h1>通知</h1>" + paragraphs.join("");
</script></body></html>"""


@dataclass
class ServedSample:
    """The sample ministry on loopback, and a page that a script writes."""

    site: SampleSite
    base_url: str

    @property
    def hosts(self) -> list[str]:
        """Its own, and the one on which it has its reposts."""
        port = self.base_url.rpartition(":")[2]
        return [f"127.0.0.1:{port}", f"localhost:{port}"]

    @property
    def drawn_url(self) -> str:
        return f"{self.base_url}/drawn.html"

    def list_sections(self) -> list[dict[str, str]]:
        return self.site.list_sections(self.base_url)

    def list_recent_urls(self) -> set[str]:
        """What a faultless sweep of the last seven days saves out of the sections."""
        since = self.site.today - dt.timedelta(days=6)
        sections = {section["name"] for section in self.list_sections()}
        items = self.site.list_expected_items(self.base_url)
        return {item.url for item in items if item.date >= since and not sections.isdisjoint(item.sections)}


@contextmanager
def serve_sample() -> Iterator[ServedSample]:
    """Serve the sample from a thread, for programs in other processes."""
    site = SampleSite(today=dt.datetime.now(ZoneInfo(TIMEZONE)).date())
    loop, stop, ports = asyncio.new_event_loop(), asyncio.Event(), list[int]()
    is_open = threading.Event()

    def respond(request: LoopbackRequest) -> LoopbackResponse:
        if request.target == "/drawn.html":
            return LoopbackResponse(200, "text/html", _DRAWN_PAGE.encode())
        return site.respond(request)

    async def serve() -> None:
        async with serve_loopback(respond) as port:
            ports.append(port)
            is_open.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert is_open.wait(START_TIMEOUT_S)
        yield ServedSample(site, f"http://127.0.0.1:{ports[0]}")
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@dataclass
class Installation:
    """A way to run the program, and the folder in which it runs.

    `command` is what stands before the words of a command: `["/venv/bin/monitor"]`, or a container's start up to the
    program. Every path that it gets is relative to `folder`, which is its working directory. `settings` are written to
    config.yaml over those that every trial has.
    """

    command: Sequence[str | Path]
    folder: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def configure(self, **settings: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        values = {**settings, **self.settings}
        (self.folder / "config.yaml").write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")

    def ask(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command, however it ends."""
        return subprocess.run(
            [*map(str, self.command), *words],
            cwd=self.folder,
            env=self._build_environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )

    def run(self, *words: str, stdin: str = "") -> str:
        """Run a command that must succeed; return what it prints."""
        done = self.ask(*words, stdin=stdin)
        assert done.returncode == 0, f"monitor {' '.join(words)}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def run_json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))

    @contextmanager
    def serve(self, *parts: str) -> Iterator[None]:
        """Start parts of the service (`serve`, or `web`, `worker` …) and end each by SIGTERM, which must go well."""
        started = [self._start(part) for part in parts]
        try:
            for process, log in started:
                _wait_until_at_work(process, log)
            yield
        finally:
            for process, _ in started:
                process.send_signal(signal.SIGTERM)
            codes = [process.wait(START_TIMEOUT_S) for process, _ in started]
        assert codes == [0] * len(codes), [log.read_text()[-2000:] for _, log in started]

    def _start(self, part: str) -> tuple[subprocess.Popen[bytes], Path]:
        logs = [self.folder / f"{part}-{number}.log" for number in range(100)]
        log = next(path for path in logs if not path.exists())
        with log.open("wb") as output:
            words = [*map(str, self.command), part]
            environment = self._build_environment()
            return subprocess.Popen(words, cwd=self.folder, env=environment, stdout=output, stderr=output), log

    def _build_environment(self) -> dict[str, str]:
        """The environment without what leads into this checkout."""
        own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        return {**own, "LC_ALL": "C.UTF-8", **self.environment}


def _wait_until_at_work(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while "At work" not in log.read_text():
        assert process.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


def get_status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=COMMAND_TIMEOUT_S) as response:  # noqa: S310 -- loopback
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def exercise(
    command: Sequence[str | Path],
    folder: Path,
    *,
    port: int,
    environment: Mapping[str, str] | None = None,
    parts: Sequence[str] = ("serve",),
    create_database: Callable[[], str] | None = None,
) -> None:
    """Try a way to run the program: all of what `make package-test` has to show of it.

    Doctor is green with a drawn page, the sample is swept, its briefing is a PDF, the service is started twice and
    answers on `port` of loopback, and data of every released version is upgraded. Where the service has several
    `parts`, they do the sweep. `create_database` returns the URL of an empty PostgreSQL database; without it each
    installation has its SQLite file.
    """

    def install(name: str) -> Installation:
        settings = {} if create_database is None else {"database_url": create_database()}
        return Installation(command, folder / name, settings, environment or {})

    installation = install("own")
    with serve_sample() as sample:
        installation.configure(
            network={"allowed_private_hosts": sample.hosts},
            pages={"delay_s": 0},
            llm={"enabled": False},
            web={"port": port},
            sources=[{"name": "ministry", "url": sample.base_url, "sections": sample.list_sections()}],
        )
        installation.run("init")
        check_health(installation, sample)
        with installation.serve(*parts) if len(parts) > 1 else nullcontext():
            check_sweep(installation, sample)
        check_pdf(installation)
        check_restart(installation, port, parts)
    for release in list_releases():
        check_upgrade(install(release), release)


def check_health(installation: Installation, sample: ServedSample) -> None:
    findings = installation.run_json("doctor")["checks"]
    levels = {finding["check"]: finding["level"] for finding in findings}
    assert "fail" not in levels.values(), findings
    assert {levels[name] for name in ("configuration", "database", "browser", "storage")} == {"ok"}, findings
    drawn = installation.run_json("page", sample.drawn_url)
    assert drawn["rendered"], drawn
    assert DRAWN_TEXT in drawn["text"]


def check_sweep(installation: Installation, sample: ServedSample) -> None:
    (run,) = installation.run_json("sweep", "--all")["runs"]
    assert run["status"] in ("succeeded", "degraded"), run["fallbacks"]
    missing = sample.list_recent_urls() - {item["url"] for item in run["items"]}
    assert not missing, (missing, run["fallbacks"])


def check_pdf(installation: Installation) -> None:
    installation.run("brief", "--format", "pdf", "--out", "briefing.pdf")
    document = pypdfium2.PdfDocument(installation.folder / "briefing.pdf")
    try:
        text = "".join(page.get_textpage().get_text_range() for page in document)
    finally:
        document.close()
    (first, *_) = json.loads(installation.run("brief", "--format", "json"))["items"]
    assert _squeeze(first["title"]) in _squeeze(text)


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


def check_restart(installation: Installation, port: int, parts: Sequence[str]) -> None:
    """Start the service twice: what the first one had is there, and it is ready each time."""
    before = installation.run_json("items", "list", "--limit", "1000")["items"]
    for _ in range(2):
        with installation.serve(*parts):
            assert get_status(f"http://127.0.0.1:{port}/healthz") == 200
            assert get_status(f"http://127.0.0.1:{port}/readyz") == 200
    assert installation.run_json("items", "list", "--limit", "1000")["items"] == before


def list_releases() -> list[str]:
    """The versions whose data is kept, made by that version itself (docs/developers/fixtures.md)."""
    return sorted(path.name.removesuffix(".tar.xz") for path in RELEASES.glob("*.tar.xz"))


def unpack_release(release: str, folder: Path) -> None:
    with tarfile.open(RELEASES / f"{release}.tar.xz") as archive:
        archive.extractall(folder, filter="data")


def move_release(file: Path, url: str) -> None:
    """Put the data of a release from its SQLite file into an empty PostgreSQL, with the tables that the release had."""
    migrate.upgrade(url, migrate.get_current_revision(f"sqlite:///{file}") or "")
    source, target = MetaData(), MetaData()
    with (
        create_engine(f"sqlite:///{file}").connect() as out_of,
        open_migration_engine(DatabaseAddress.parse(url)).begin() as into,
    ):
        source.reflect(out_of)
        target.reflect(into, only=lambda name, _: name in source.tables and name != "alembic_version")
        for table in target.sorted_tables:
            columns = [source.tables[table.name].c[column.name] for column in table.columns]
            rows = [dict(row) for row in out_of.execute(select(*columns)).mappings()]
            into.execute(delete(table))
            if rows:
                into.execute(insert(table), rows)
    file.unlink()


def check_upgrade(installation: Installation, release: str) -> None:
    """Upgrade the data of a release: a backup is made first, every item is still listed, and the evidence is whole."""
    installation.folder.mkdir(parents=True, exist_ok=True)
    unpack_release(release, installation.folder)
    if "database_url" in installation.settings:
        move_release(installation.folder / "data" / "monitor.db", installation.settings["database_url"])
    installation.configure(**yaml.safe_load((installation.folder / "config.yaml").read_text(encoding="utf-8")))
    expected = json.loads((RELEASES / f"{release}.json").read_text(encoding="utf-8"))
    upgraded = installation.run("db", "upgrade")
    (backup,) = (installation.folder / "data" / "backups").glob("*.db")
    assert backup.name in upgraded
    items = installation.run_json("items", "list", "--limit", "1000")["items"]
    assert {item["url"]: item["title"] for item in items} == expected
    installation.run("evidence", "verify")
