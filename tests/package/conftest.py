"""What the rows of `make package-test` share: the distributions, built once, and venvs outside the checkout."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP_TIMEOUT_S = 900
OLDEST_PIP = "23.0.1"
"""That of Debian 12, the oldest system that has the oldest Python."""

_PYTHONS = ("python3.15", "python3.14", "python3.13", "python3.12", "python3.11")


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it; MONITOR_DIST names one that is there already."""
    if ready := os.environ.get("MONITOR_DIST"):
        return Path(ready).resolve()
    folder = tmp_path_factory.mktemp("dist")
    run_tool("-m", "build", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    (path,) = distributions.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(distributions: Path) -> Path:
    (path,) = distributions.glob("*.tar.gz")
    return path


MakeVenv = Callable[..., Path]


@pytest.fixture
def make_venv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeVenv]:
    """Makes a venv with a version of pip, installs requirements into it, and gives its folder."""
    made: list[Path] = []

    def make(*requirements: str | Path, python: str = sys.executable, pip: str | None = None) -> Path:
        folder = tmp_path_factory.mktemp("venv")
        made.append(folder)
        run(python, "-m", "venv", folder)
        own = folder / "bin" / "python"
        if pip is not None:
            run(own, "-m", "pip", "install", "-q", f"pip=={pip}")
        run(own, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements)
        return folder

    yield make
    for folder in made:
        shutil.rmtree(folder)


@pytest.fixture
def trial_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "trial"
    folder.mkdir()
    return folder


def find_newest_python() -> str:
    """The newest supported Python on the PATH that starts."""
    for name in _PYTHONS:
        if shutil.which(name) and subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0:
            return name
    return sys.executable


def run_tool(*words: str | Path) -> None:
    run(sys.executable, *words)


def run(*words: str | Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        words, cwd="/", env=environment, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
