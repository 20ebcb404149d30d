"""Starts a command in the image as Docker would with the compose files; its volume is the working folder.

    unshare --mount python container.py [--profile SECCOMP.json] IMAGE.json WORD…

IMAGE.json names the root of the image and has its configuration. The runtime is crun, the network that of the machine.
Variables that begin with MONITOR_ are handed on; a folder `secrets` becomes /run/secrets.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

USER = 10001
PROFILE = Path(__file__).parents[2] / "deploy" / "seccomp.json"
UNIFIED_GROUPS = Path("/sys/fs/cgroup/unified")
_CAPABILITY_SETS = ("bounding", "effective", "permitted", "inheritable", "ambient")
_TMPFS = ["nosuid", "nodev", "noexec", "mode=1777"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", type=Path, default=PROFILE)
    parser.add_argument("image", type=Path)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if UNIFIED_GROUPS.is_dir():  # crun knows both versions of control groups, and no mixture
        subprocess.run(["mount", "--bind", str(UNIFIED_GROUPS), str(UNIFIED_GROUPS.parent)], check=True)
    volume = Path.cwd()
    for path in (volume, *volume.rglob("*")):
        os.chown(path, USER, USER)
    bundle = Path(tempfile.mkdtemp(prefix="bundle-", dir=given.image.parent))
    spec = build_spec(json.loads(given.image.read_text()), volume, given.words, json.loads(given.profile.read_text()))
    (bundle / "config.json").write_text(json.dumps(spec))
    name = f"monitor-{os.getpid()}"
    os.execvp("crun", ["crun", "--cgroup-manager=disabled", "run", "--bundle", str(bundle), name])  # noqa: S606


def build_spec(image: dict[str, Any], volume: Path, words: list[str], profile: dict[str, Any]) -> dict[str, Any]:
    config = image["config"]
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": [*_TMPFS, "size=64m"]},  # noqa: S108
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": _TMPFS},  # noqa: S108
        {"destination": "/data", "type": "none", "source": str(volume), "options": ["rbind", "rw", "nosuid"]},
    ]
    mounts += [
        {"destination": file, "type": "none", "source": file, "options": ["rbind", "ro"]}
        for file in ("/etc/hosts", "/etc/resolv.conf")
    ]
    if (secrets := volume / "secrets").is_dir():
        mounts += [
            {"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            {"destination": "/run/secrets", "type": "none", "source": str(secrets), "options": ["rbind", "ro"]},
        ]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": USER, "gid": USER},
            "args": [*config["Entrypoint"], *words],
            "env": [*config["Env"], *(f"{k}={v}" for k, v in os.environ.items() if k.startswith("MONITOR_"))],
            "cwd": config["WorkingDir"],
            "capabilities": {name: [] for name in _CAPABILITY_SETS},
            "noNewPrivileges": True,
        },
        "root": {"path": image["root"], "readonly": True},
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount")],
            "seccomp": translate_profile(profile),
            "readonlyPaths": ["/proc/sys", "/proc/sysrq-trigger", "/proc/bus", "/proc/fs", "/proc/irq"],
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/acpi"],
        },
    }


def translate_profile(profile: dict[str, Any]) -> dict[str, Any]:
    """Docker's form of a profile as that of the runtime, which Docker makes of it."""
    calls = [
        {name: value for name, value in rule.items() if name in ("names", "action", "args", "errnoRet")}
        for rule in profile["syscalls"]
    ]
    return {"defaultAction": profile["defaultAction"], "architectures": ["SCMP_ARCH_X86_64"], "syscalls": calls}


if __name__ == "__main__":
    main()
