"""`monitor users`: people and tokens by command."""

import asyncio
import io
import json
import os
import pty
import select
import sqlite3
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

GOOD = "床前明月光疑是地上霜举头望明月"


def test_people_are_added_given_a_password_and_listed_with_the_tokens(
    typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_time = typed(["users", "add", "李雷", "--role", "admin"]).out.strip()
    assert len(one_time) == 23
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GOOD}\nand no more\n"))
    changed = typed(["users", "passwd", "李雷", "--password-stdin"])
    assert (changed.code, changed.err) == (0, "")
    limits = ["--network", "10.0.0.0/8", "--network", "192.0.2.7", "--daily-limit", "5"]
    token = typed(
        ["users", "token", "grafana", "--scope", "read", "--scope", "run", "--days", "30", *limits]
    ).out.strip()
    assert len(token) == 43
    listed = {user["name"]: user for user in typed(["users", "list", "--json"]).document["users"]}
    assert [(entry["kind"], entry["role"]) for entry in listed.values()] == [("token", "reader"), ("person", "admin")]
    assert listed["grafana"]["scopes"] == ["read", "run"]
    assert (listed["grafana"]["networks"], listed["grafana"]["daily_limit"]) == (["10.0.0.0/8", "192.0.2.7/32"], 5)
    assert "has not set up an authenticator app" in typed(["users", "resetcode", "李雷"]).err
    assert "no team" in typed(["users", "token", "narrow", "--team", "nobody's"]).err
    assert listed["李雷"]["state"] == ""
    shown = typed(["users", "list"]).out
    assert "grafana" in shown
    with sqlite3.connect(tmp_path / "data" / "monitor.db") as connection:
        audit = connection.execute("SELECT person, action, subject FROM audit_entry ORDER BY id").fetchall()
        dump = "\n".join(connection.iterdump())
    actions = [("person.add", "李雷"), ("person.password", "李雷"), ("token.add", "grafana")]
    assert audit == [("cli", action, subject) for action, subject in actions]
    for secret in (one_time, GOOD, token):
        assert secret not in dump + shown


def test_pruning_by_command_is_in_the_audit(typed: Any, tmp_path: Path) -> None:
    assert typed(["db", "prune", "--days", "30"]).code == 0
    with sqlite3.connect(tmp_path / "data" / "monitor.db") as connection:
        assert connection.execute("SELECT person, action FROM audit_entry").fetchall() == [("cli", "storage.prune")]


def test_the_audit_is_exported_to_a_file_of_its_owner(typed: Any, tmp_path: Path) -> None:
    assert typed(["users", "add", "anna"]).code == 0
    file = tmp_path / "audit.jsonl"
    written = typed(["audit", "export", "--out", str(file)])
    assert (written.code, written.out) == (0, "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(entry["person"], entry["action"], entry["subject"]) for entry in entries] == [
        ("cli", "person.add", "anna"),
        ("cli", "audit.export", "audit"),
    ]
    printed = typed(["audit", "export", "--until", "2020-01-01"])
    assert (printed.code, printed.out) == (0, "")
    assert "cannot be written" in typed(["audit", "export", "--out", str(tmp_path)]).complaint


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["add", "a b"], "cannot be a name for signing in"),
        (["add", "a", "--role", "king"], "There is no role 'king'"),
        (["token", "a", "--scope", "fly"], "There is no scope 'fly'"),
        (["token", "a", "--days", "0"], "1 to 3650 days"),
        (["passwd", "nobody", "--password-stdin"], "There is nobody named 'nobody'"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    typed: Any, words: list[str], output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GOOD}\n"))
    said = typed(["users", *words])
    assert said.code == 2
    assert output in said.complaint


async def test_a_password_is_asked_for_without_showing_it(monitor: Any, here: Any) -> None:
    assert (await here("users", "add", "anna")).code == 0
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "monitor",
        "users",
        "passwd",
        "anna",
        cwd=monitor.folder,
        env=monitor.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    try:
        os.close(theirs)
        shown = await asyncio.to_thread(read_until, ours, ": ")
        os.write(ours, f"{GOOD}\n".encode())
        shown += await asyncio.to_thread(read_until, ours, ": ")
        os.write(ours, f"{GOOD}\n".encode())
        shown += await asyncio.to_thread(read_until, ours, "from now on.\r\n")
        assert await asyncio.wait_for(process.wait(), 60) == 0
    finally:
        os.close(ours)
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert "anna signs in with the new password" in shown
    assert GOOD not in shown


def read_until(terminal: int, end: str) -> str:
    """What the program shows, up to a text; the terminal shows nothing more of what is typed then."""
    shown = b""
    while not shown.endswith(end.encode()):
        assert select.select([terminal], [], [], 60)[0], f"nothing came after {shown!r}"
        shown += os.read(terminal, 1000)
    return shown.decode()
