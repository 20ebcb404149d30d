"""The distributions in fresh environments outside the checkout: pip, uvx, the sdist, PostgreSQL with two workers."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.package.conftest import OLDEST_PIP, MakeVenv, find_newest_python, run
from tests.package.installation import Installation, ServedSample, exercise, get_status, serve_sample

pytestmark = pytest.mark.package

SCRIPTED_SECTION = "行业标准"
MAX_BASE_MB, MAX_BASE_PACKAGES, MAX_ALL_MB = 220, 70, 480


def test_the_wheel_holds_the_program_and_nothing_of_its_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"monitor", "monitor_briefings"}
    assert not [name for name in names if "/tests/" in name or "secret.key" in name or name.endswith(".db")]
    assert "monitor/db/migrations/env.py" in names
    assert "monitor/demo/sites/ministry/site.yaml" in names


def test_the_wheel_works_with_the_oldest_pip(wheel: Path, make_venv: MakeVenv, tmp_path: Path, free_port: int) -> None:
    venv = make_venv(f"{wheel}[all]", python="python3.11", pip=OLDEST_PIP)
    assert measure_mb(venv) <= MAX_ALL_MB
    run(venv / "bin" / "monitor", "demo", "--out", tmp_path / "demo")
    exercise([venv / "bin" / "monitor"], tmp_path, port=free_port)


def test_the_sdist_works_with_the_newest_python(
    sdist: Path, make_venv: MakeVenv, tmp_path: Path, free_port: int
) -> None:
    venv = make_venv(f"{sdist}[all]", python=find_newest_python())
    exercise([venv / "bin" / "monitor"], tmp_path, port=free_port)


def test_the_base_is_small_and_sweeps_by_rule_without_any_extra(
    wheel: Path, make_venv: MakeVenv, tmp_path: Path, free_port: int
) -> None:
    venv = make_venv(wheel)
    assert measure_mb(venv) <= MAX_BASE_MB
    assert count_packages(venv) <= MAX_BASE_PACKAGES
    installation = Installation([venv / "bin" / "monitor"], tmp_path / "base")
    with serve_sample() as sample:
        configure(installation, sample, web={"port": free_port})
        installation.run("init")
        with installation.serve("serve"):
            assert get_status(f"http://127.0.0.1:{free_port}/sign-in") == HTTPStatus.OK
        (swept,) = installation.run_json("sweep", "--all")["runs"]
        missing = sample.list_recent_urls() - {item["url"] for item in swept["items"]}
        drawn = {
            item.url for item in sample.site.list_expected_items(sample.base_url) if item.section == SCRIPTED_SECTION
        }
        assert missing == missing & drawn, missing
        named = {entry["reason_code"] for entry in swept["fallbacks"] if "[browser]" in entry["reason"]}
        assert named, swept["fallbacks"]
        installation.run("brief", "--format", "html", "--out", "briefing.html")
        for extra, words in {
            "browser": ["brief", "--format", "pdf", "--out", "briefing.pdf"],
            "documents": ["brief", "--format", "docx", "--out", "briefing.docx"],
            "mcp": ["mcp"],
        }.items():
            done = installation.ask(*words)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
            assert f'pip install "monitor-briefings[{extra}]"' in done.stderr


def test_uvx_runs_the_wheel(wheel: Path, tmp_path: Path, free_port: int) -> None:
    uvx = shutil.which("uvx")
    if uvx is None:
        pytest.skip("uvx is not on the PATH")
    command = [uvx, "--quiet", "--python", sys.executable, "--from", f"monitor-briefings[all] @ {wheel.as_uri()}"]
    exercise([*command, "monitor"], tmp_path, port=free_port)


def test_two_workers_share_a_postgresql(
    wheel: Path, make_venv: MakeVenv, tmp_path: Path, free_port: int, create_database: Callable[[], str]
) -> None:
    venv = make_venv(f"{wheel}[all]")
    exercise(
        [venv / "bin" / "monitor"],
        tmp_path,
        port=free_port,
        parts=("web", "scheduler", "worker", "worker"),
        create_database=create_database,
    )


@pytest.fixture
def create_database(postgres: Any) -> Iterator[Callable[[], str]]:
    """Creates an empty PostgreSQL database and returns its URL."""
    names: list[str] = []

    def create() -> str:
        names.append(postgres.create(template="template0"))
        return str(postgres.url(names[-1]))

    yield create
    for name in names:
        postgres.drop(name)


def configure(installation: Installation, sample: ServedSample, **settings: Any) -> None:
    installation.configure(
        **settings,
        network={"allowed_private_hosts": sample.hosts},
        pages={"delay_s": 0},
        llm={"enabled": False},
        sources=[{"name": "ministry", "url": sample.base_url, "sections": sample.list_sections()}],
    )


def measure_mb(venv: Path) -> float:
    """The disk space of what was installed, with its bytecode, without what every venv has."""
    (site,) = venv.glob("lib/python3*/site-packages")
    own = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "pip-", "setuptools-")
    blocks = [
        os.lstat(Path(folder) / name).st_blocks
        for entry in site.iterdir()
        if not entry.name.startswith(own)
        for folder, _, names in (os.walk(entry) if entry.is_dir() else [(str(site), [], [entry.name])])
        for name in names
    ]
    return sum(blocks) * 512 / 2**20


def count_packages(venv: Path) -> int:
    words = [venv / "bin" / "python", "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/").stdout.splitlines()
    return len([line for line in listed if not line.startswith(("pip==", "setuptools=="))])
