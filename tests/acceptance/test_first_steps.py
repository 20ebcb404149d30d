"""The page of first steps, typed as it stands: a person who follows it sees what it shows."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path(__file__).parents[2]
PAGE = HOME / "docs" / "users" / "first-steps.md"
PORT = "8399"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PASSING = re.compile(r"\d{4}-\d\d-\d\d|\bs\d+-[\w-]+|\b\d+ minutes? ago")
"""What differs from one day and run to the next."""


def read_steps() -> Iterator[tuple[list[str], list[str]]]:
    """The commands of each block of the page, with the lines that are shown below it."""
    commands: list[str] = []
    for kind, text in BLOCK.findall(PAGE.read_text("utf-8")):
        if kind == "sh":
            if commands:
                yield commands, []
            commands = text.splitlines()
        else:
            yield commands, text.splitlines()
            commands = []
    if commands:
        yield commands, []


def normalise(line: str) -> str:
    return " ".join(PASSING.sub("…", line).split())


@contextmanager
def serve_sample(command: str, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    words = [sys.executable, *shlex.split(command.rstrip("& "))[1:]]
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline(), "the sample site did not start"
        try:
            yield
        finally:
            server.send_signal(signal.SIGINT)


def find_free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def can_be_typed(command: str) -> bool:
    """Whether it is a command of the program for the sample; other sites need a network."""
    return command.startswith("monitor ") and "www." not in command and not command.startswith("monitor serve")


def test_the_commands_of_first_steps_show_what_the_page_says(tmp_path: Path) -> None:
    port = find_free_port()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
    steps = [
        ([command.replace(PORT, port) for command in commands], [line.replace(PORT, port) for line in shown])
        for commands, shown in read_steps()
    ]
    (server,) = [command for commands, _ in steps for command in commands if command.endswith("&")]
    missing = []
    with serve_sample(server, tmp_path, environment):
        for commands, shown in steps:
            for command in commands:
                if command.startswith("export "):
                    name, _, value = shlex.split(command)[1].partition("=")
                    environment[name] = value
            typed = [command for command in commands if can_be_typed(command)]
            said = "".join(type_command(command, tmp_path, environment) for command in typed)
            seen = [normalise(line) for line in said.splitlines()]
            for line in shown if said else ():
                wanted = normalise(line.removesuffix("…"))
                if not any(wanted in candidate for candidate in seen):
                    missing.append(f"{commands[-1]}: {line}\n{said}")
    assert not missing, "docs/users/first-steps.md shows what was not seen:\n" + "\n".join(missing)
    assert (tmp_path / "briefing.html").exists()


def type_command(command: str, folder: Path, environment: dict[str, str]) -> str:
    words = shlex.split(command, comments=True)
    result = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout + result.stderr
