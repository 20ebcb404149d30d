"""The page of first steps, typed as it stands: a person who follows it in a checkout sees what it shows."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monitor.cli.main import main

HOME = Path(__file__).parents[2]
USERS = HOME / "docs" / "users"
PORT = "8399"
LOCALES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PASSING = re.compile(r"\d{4}-\d\d-\d\d|\bs\d+-[\w-]+|\b\d+ minutes? ago")
"""What differs from one day and run to the next."""


def read_steps(page: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The commands of each block of the page, with the lines that are shown below it."""
    commands: list[str] = []
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
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
def serve_sample(command: str) -> Iterator[None]:
    words = [sys.executable, *shlex.split(command.rstrip("& "))[1:]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline(), "the sample site did not start"
        try:
            yield
        finally:
            server.terminate()


def find_free_port() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def can_be_typed(command: str) -> bool:
    """Whether it is a command of the program for the sample; other sites need a network."""
    return command.startswith("monitor ") and "www." not in command and not command.startswith("monitor serve")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_commands_of_first_steps_show_what_the_page_says(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = USERS / ("first-steps.md" if language == "en" else "first-steps.zh.md")
    port = find_free_port()
    shutil.copy(HOME / "config.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LC_ALL", LOCALES[language])
    monkeypatch.setenv("COLUMNS", "80")

    def type_here(command: str) -> str:
        with pytest.raises(SystemExit) as left:
            main(shlex.split(command, comments=True)[1:])
        out, err = capsys.readouterr()
        assert not left.value.code, f"{command}\n{out}{err}"
        return out + err

    steps = [
        ([command.replace(PORT, port) for command in commands], [line.replace(PORT, port) for line in shown])
        for commands, shown in read_steps(page)
    ]
    (server,) = [command for commands, _ in steps for command in commands if command.endswith("&")]
    missing = []
    with serve_sample(server):
        for commands, shown in steps:
            for command in commands:
                if command.startswith("export "):
                    name, _, value = shlex.split(command)[1].partition("=")
                    monkeypatch.setenv(name, value)
            said = "".join(type_here(command) for command in commands if can_be_typed(command))
            seen = [normalise(line) for line in said.splitlines()]
            for line in shown if said else ():
                wanted = normalise(line.removesuffix("…"))
                if not any(wanted in candidate for candidate in seen):
                    missing.append(f"{commands[-1]}: {line}\n{said}")
    assert not missing, f"{page.name} shows what was not seen:\n" + "\n".join(missing)
    assert (tmp_path / "briefing.html").exists()
