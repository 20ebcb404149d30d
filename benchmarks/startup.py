"""What a command costs before it works: its processor time beside that of the libraries that any command needs."""

import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel

_REPEATS = 7

_BASE = "import typer, rich, sqlmodel"


class StartupCost(BaseModel):
    """The median of user and system time; `ratio` is to the bare import, which `limit` bounds."""

    command: str
    cpu_s: float
    ratio: float
    limit: float | None


def measure(*, repeats: int = _REPEATS, on_step: Callable[[str], None]) -> list[StartupCost]:
    """Run each command in turn, so that a busy machine slows all of them alike."""
    commands = {
        f'python -c "{_BASE}"': ([sys.executable, "-c", _BASE], None),
        "monitor --help": ([sys.executable, "-m", "monitor", "--help"], 1.3),
        "monitor sources list": ([sys.executable, "-m", "monitor", "sources", "list"], 2.5),
    }
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        _run([sys.executable, "-m", "monitor", "init"], Path(folder))
        times: dict[str, list[float]] = {name: [] for name in commands}
        for number in range(repeats):
            on_step(f"round {number + 1} of {repeats}")
            for name, (words, _) in commands.items():
                times[name].append(_run(words, Path(folder)))
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    base_s = next(iter(medians.values()))
    return [
        StartupCost(command=name, cpu_s=round(medians[name], 3), ratio=round(medians[name] / base_s, 2), limit=limit)
        for name, (_, limit) in commands.items()
    ]


def _run(words: list[str], folder: Path) -> float:
    """Return the processor time of a process, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
