"""What one sweep costs beside the crawlers of others on the same site, and again while the site stands still.

All read the same 145 pages from another process and have title, date and text of 126 articles at the end. Monitor does
it by rule with the command that people type, and keeps evidence, ledger, items, passages and extracts in SQLite; the
others keep nothing.
"""

import datetime as dt
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from benchmarks.pages import measure_tree_memory
from benchmarks.sweep_site import LIST_PAGES, PAGES, ROWS, SECTIONS, start_sweep_site
from monitor.errors import UsageError, WorkFailed

_PEERS = {
    "bare httpx + lexbor": "bare",
    "Scrapy": "with_scrapy",
    "crawlee": "with_crawlee",
    "Crawl4AI": "with_crawl4ai",
}
_PEER_PACKAGES = "httpx selectolax scrapy 'crawlee[parsel]' crawl4ai"
_ARTICLES = len(SECTIONS) * LIST_PAGES * ROWS
_ROOT = Path(__file__).parents[1]
_SAMPLE_INTERVAL_S = 0.05
_CONFIG = """
database_url: sqlite:///{folder}/monitor.db
data_dir: {folder}
pages: {{delay_s: 0}}
network: {{allowed_private_hosts: ["{host}"]}}
"""


class SweepCost(BaseModel):
    """The medians of several rounds; what a program does not have is None. `ratio` is to Scrapy's processor time."""

    program: str
    cpu_s: float
    ratio: float
    memory_mb: float
    requests: int
    written_mb: float | None = None
    files: int | None = None
    transactions: int | None = None
    statements: int | None = None


@dataclass
class _Spent:
    cpu_s: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def find_peers_python(given: Path | None) -> Path:
    """Return the interpreter that has the peers' libraries; `UsageError` with the commands that make it."""
    python = given or _ROOT / ".venv-peers/bin/python"
    if not python.is_file():
        raise UsageError(
            f"There is no interpreter at {python}. Make it: python3 -m venv .venv-peers && "
            f".venv-peers/bin/pip install {_PEER_PACKAGES}; or name one with --peers PYTHON."
        )
    return python


def measure(today: dt.date, *, peers: Path | None, rounds: int = 3, on_step: Callable[[str], None]) -> list[SweepCost]:
    """Run all programs in turn, so that a busy machine slows them alike; without `peers` Monitor alone."""
    programs = {} if peers is None else _PEERS
    spent = {name: _Spent() for name in (*programs, "Monitor, first sweep", "Monitor, nothing new")}
    with start_sweep_site(today) as (base, _):
        for number in range(rounds):
            for name, script in programs.items():
                on_step(f"{name}, round {number + 1} of {rounds}")
                _measure_peer([str(peers), str(_ROOT / f"benchmarks/peers/{script}.py"), f"{base}/"], base, spent[name])
            on_step(f"Monitor, round {number + 1} of {rounds}")
            with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
                _measure_monitor(Path(folder), base, spent["Monitor, first sweep"], spent["Monitor, nothing new"])
    beside = statistics.median(spent["Scrapy"].cpu_s) if peers is not None else 0.0
    return [_build_cost(name, figures, beside) for name, figures in spent.items()]


def _build_cost(name: str, spent: _Spent, beside_s: float) -> SweepCost:
    cpu_s = statistics.median(spent.cpu_s)
    return SweepCost(
        program=name,
        cpu_s=round(cpu_s, 2),
        ratio=round(cpu_s / beside_s, 2) if beside_s else 0.0,
        memory_mb=round(statistics.median(spent.memory_mb), 1),
        **spent.facts,
    )


def _measure_peer(command: list[str], base: str, spent: _Spent) -> None:
    before = _count_requests(base)
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:  # some keep files where they run
        said = _run(command, Path(folder), spent)
    if said.split() != [str(PAGES), str(_ARTICLES)]:
        raise WorkFailed(f"{command[1]} read {said.strip()} pages and articles in place of {PAGES} and {_ARTICLES}.")
    spent.facts = {"requests": _count_requests(base) - before}


def _measure_monitor(folder: Path, base: str, first: _Spent, again: _Spent) -> None:
    config = _CONFIG.format(folder=folder, host=base.removeprefix("http://"))
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    monitor = [sys.executable, "-m", "monitor", "--config", str(folder / "config.yaml")]
    added = ["sources", "add", f"{base}/", "--name", "site", "--window-days", "30", "--max-items", "50"]
    for words in (["init"], added):
        _run([*monitor, *words], folder, _Spent())
    counts = folder / "counts.json"
    sweep = [sys.executable, "-m", "benchmarks.counted_command", str(counts), "--config", str(folder / "config.yaml")]
    for spent, expected in ((first, _ARTICLES), (again, 0)):
        counts.unlink(missing_ok=True)
        before, (size, files) = _count_requests(base), _measure_folder(folder)
        run = json.loads(_run([*sweep, "sweep", "site", "--json"], folder, spent))["runs"][0]
        if len(run["items"]) != expected or run["status"] != "succeeded":
            raise WorkFailed(f"Monitor {run['status']}, {len(run['items'])} items: {run['fallbacks'][:3]}")
        size_now, files_now = _measure_folder(folder)
        spent.facts = {
            "requests": _count_requests(base) - before,
            "written_mb": round((size_now - size) / 2**20, 2),
            "files": files_now - files,
            **json.loads(counts.read_text(encoding="utf-8")),
        }


def _measure_folder(folder: Path) -> tuple[int, int]:
    """Return how many bytes and files there are, those of the database aside from its file not counted."""
    files = [file for file in folder.rglob("*") if file.is_file() and not file.name.endswith(("-wal", "-shm", ".json"))]
    return sum(file.stat().st_size for file in files), len(files)


def _count_requests(base: str) -> int:
    with urllib.request.urlopen(f"{base}/~requests") as answer:  # noqa: S310  our own site
        return int(answer.read().split()[0])


def _run(command: Sequence[str], folder: Path, spent: _Spent) -> str:
    """Return what a program printed; its processor time and highest memory, its children's included, are noted."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONPATH": str(_ROOT)}
    highest = 0
    ended = threading.Event()
    with subprocess.Popen(  # noqa: S603  the program that is measured
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:

        def watch() -> None:
            nonlocal highest
            while not ended.wait(_SAMPLE_INTERVAL_S):
                with suppress(OSError):
                    highest = max(highest, measure_tree_memory(process.pid) or 0)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            output, errors = process.communicate()
        finally:
            ended.set()
            watcher.join()
    if process.returncode:
        raise WorkFailed(f"{' '.join(command[-4:])} ended with {process.returncode}: {errors[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent.cpu_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    spent.memory_mb.append(highest / 2**20)
    return output
