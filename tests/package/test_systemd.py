"""The unit: what systemd thinks of it, and the program under it, with a systemd that is booted for each command."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.package.conftest import MakeVenv
from tests.package.installation import exercise
from tests.package.test_image import find_free_port

pytestmark = [pytest.mark.package, pytest.mark.timeout(3600)]

UNIT = Path(__file__).parents[2] / "deploy" / "monitor@.service"
MAX_EXPOSURE = 3.0
SYSTEM_PYTHON = "/usr/bin/python3"
"""The unit hides the homes, in which another Python may be."""


@pytest.fixture
def command(make_venv: MakeVenv, wheel: Path) -> list[str]:
    if os.geteuid() != 0 or shutil.which("systemd-nspawn") is None:
        pytest.skip("a system is booted by root with systemd-nspawn: apt-get install systemd systemd-container")
    if subprocess.run([SYSTEM_PYTHON, "-c", "import ensurepip"], capture_output=True, check=False).returncode:
        pytest.skip("the unit runs the system's Python: apt-get install python3-venv")
    venv = make_venv(f"{wheel}[all]", python=SYSTEM_PYTHON)
    venv.chmod(0o755)  # a folder of pytest is closed to the user of the unit
    for script in (venv / "bin").iterdir():  # the venv appears as /opt/monitor, as the documentation has it
        if not script.is_symlink() and script.read_bytes().startswith(b"#!"):
            script.write_text(script.read_text().replace(str(venv), "/opt/monitor"))
    return ["unshare", "--mount", sys.executable, str(Path(__file__).with_name("booted.py")), str(venv)]


def test_the_unit_leaves_little_to_whoever_takes_the_service_over(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    instance = shutil.copy(UNIT, tmp_path / "monitor@serve.service")
    analyze = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(instance)]
    done = subprocess.run(analyze, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= MAX_EXPOSURE
    assert "ignoring" not in done.stderr, done.stderr  # a line that systemd does not know


def test_under_the_unit_the_program_does_all_that_an_installation_must(command: list[str], tmp_path: Path) -> None:
    state = "/var/lib/monitor/data"
    environment = {"MONITOR_DATA_DIR": state, "MONITOR_DATABASE_URL": f"sqlite:///{state}/monitor.db"}
    exercise(command, tmp_path, port=find_free_port(), environment=environment)
