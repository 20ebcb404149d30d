"""Runs a command as deploy/monitor@.service does, under a systemd that is booted for it:

    unshare --mount python booted.py VENV WORD…

The system is this machine's, under an overlay that is thrown away, in systemd-nspawn with the network of the machine.
The working folder is the state folder, its config.yaml the configuration; VENV becomes /opt/monitor; variables that
begin with MONITOR_ arrive as credentials. A part of the service (`serve`) is started by the unit as it is; for other
words the unit's ExecStart is replaced, and every restriction holds for them too.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

DEPLOY = Path(__file__).parents[2] / "deploy"
PARTS = ("serve", "web", "worker", "scheduler")
_EXIT_WITHOUT_STATUS = 255
_DROP_IN = """\
[Service]
Restart=no
StandardOutput=append:/out/stdout
StandardError=append:/out/stderr
ExecStopPost=+/bin/sh -c 'echo "$$EXIT_STATUS" > /out/ended; mv /out/ended /out/status'
"""


def main() -> int:
    venv, *words = sys.argv[1:]
    scratch = Path(tempfile.mkdtemp(prefix="booted-"))
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(scratch)], check=True)
    system, out = scratch / "system", scratch / "out"
    for folder in (system, out, scratch / "upper", scratch / "work"):
        folder.mkdir()
    layers = f"lowerdir=/,upperdir={scratch / 'upper'},workdir={scratch / 'work'}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(system)], check=True)
    install(system, words)
    try:
        return boot(system, out, Path(venv), words)
    finally:
        subprocess.run(["umount", "--lazy", str(system), str(scratch)], check=True)
        scratch.rmdir()


def install(system: Path, words: list[str]) -> None:
    """Do what the documentation tells an administrator, and set up the trial around it."""
    units, own = system / "etc/systemd/system", system / "etc/monitor"
    drop_ins = units / "monitor@.service.d"
    for folder in (drop_ins, own / "secrets", system / "opt/monitor"):
        folder.mkdir(parents=True, exist_ok=True)
    (own / "secrets").chmod(0o700)
    shutil.copy(DEPLOY / "monitor@.service", units)
    subprocess.run(
        ["systemd-sysusers", f"--root={system}", str(DEPLOY / "monitor.sysusers")], capture_output=True, check=True
    )
    (system / "etc/machine-id").unlink(missing_ok=True)
    if Path("config.yaml").exists():
        shutil.copyfile("config.yaml", own / "config.yaml")  # readable, whatever the mode of ours
    for name, value in os.environ.items():
        if name.startswith("MONITOR_"):
            secret = own / "secrets" / name
            secret.write_text(value)
            secret.chmod(0o600)
    replaced = (
        "" if is_part(words) else f"ExecStartPre=\nExecStart=\nExecStart=/opt/monitor/bin/monitor {quote(words)}\n"
    )
    (drop_ins / "trial.conf").write_text(_DROP_IN + replaced)


def is_part(words: list[str]) -> bool:
    return len(words) == 1 and words[0].partition("-")[0] in PARTS


def quote(words: list[str]) -> str:
    return " ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") + '"' for word in words)


def boot(system: Path, out: Path, venv: Path, words: list[str]) -> int:
    part = words[0] if is_part(words) else "command"
    command = ["systemd-nspawn", "--quiet", f"--directory={system}", f"--uuid={uuid.uuid4().hex}"]
    command += [
        "--register=no",
        "--keep-unit",
        "--kill-signal=SIGRTMIN+3",
        "--console=pipe",
        f"--machine=monitor-{os.getpid()}",
    ]
    command += [f"--bind={Path.cwd()}:/var/lib/monitor", f"--bind={out}:/out", f"--bind-ro={venv}:/opt/monitor"]
    command += ["/lib/systemd/systemd", f"--unit=monitor@{part}.service", "--show-status=no"]
    outputs = [((out / "stdout").open("xb+", 0), 1), ((out / "stderr").open("xb+", 0), 2)]
    status = out / "status"
    with (out / "console").open("xb") as console:
        booted = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
    signal.signal(signal.SIGTERM, lambda *_: booted.terminate())
    while booted.poll() is None and not status.exists():
        pass_on(outputs)
        time.sleep(0.05)
    booted.kill()
    booted.wait()
    pass_on(outputs)
    if not status.exists():
        sys.stderr.write((out / "console").read_text(errors="replace"))
        return _EXIT_WITHOUT_STATUS
    text = status.read_text().strip()
    return int(text) if text.isdigit() else _EXIT_WITHOUT_STATUS


def pass_on(outputs: list[tuple[io.FileIO, int]]) -> None:
    for source, number in outputs:
        while piece := source.read(65536):
            os.write(number, piece)


if __name__ == "__main__":
    sys.exit(main())
