"""`monitor users`: people and programs that may sign in; `monitor audit`: what they did."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from monitor.cli.parser import build_group
from monitor.cli.teams import app as teams_app
from monitor.cli.terminal import JsonOption, SinceOption, UntilOption, get_terminal
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor

app = build_group()
audit_app = build_group()
app.add_typer(teams_app, name="teams", help="Manage teams: who is in one, and what belongs to one.")
RoleOption = Annotated[str, typer.Option("--role", help="admin, editor or reader.")]


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.")],
    role: RoleOption = "reader",
    as_json: JsonOption = False,
) -> None:
    """Add a person and print the password for the first sign-in, this once."""
    terminal = get_terminal()
    password = terminal.act(lambda app, by: app.people.add(name, role, by=by))
    if as_json:
        terminal.write_json({"name": name, "role": role, "password": password})
    else:
        terminal.write_line(password)


@app.command()
def passwd(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose password it is.")],
    from_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input, its first line.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Set a person's password, asked for without showing it; all their sessions end."""
    terminal = get_terminal()
    if from_stdin:
        password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    else:
        asked, again = terminal.translate("Password"), terminal.translate("Once more")
        password = typer.prompt(asked, hide_input=True, confirmation_prompt=again, err=True)
    terminal.act(lambda app, by: app.people.set_password(name, password, by=by))
    terminal.report("user.password_set", name=name, as_json=as_json)


@app.command("resetcode")
def reset_second_factor(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose authenticator app is not asked for any more.")],
    as_json: JsonOption = False,
) -> None:
    """Let a person who lost phone and recovery codes sign in with the password alone."""
    terminal = get_terminal()
    terminal.act(lambda app, by: app.second_factor.reset(name, by=by))
    terminal.report("user.second_factor_reset", name=name, as_json=as_json)


@app.command()
def token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")],
    role: RoleOption = "reader",
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, write, run or admin: all that it may do; may be given several times."),
    ] = None,
    days: Annotated[int | None, typer.Option("--days", help="How many days it is valid; without it, for ever.")] = None,
    network: Annotated[
        list[str] | None,
        typer.Option("--network", help="An address or network that it may be used from; may be given several times."),
    ] = None,
    team: Annotated[
        list[str] | None, typer.Option("--team", help="A team whose subjects it sees; may be given several times.")
    ] = None,
    daily_limit: Annotated[
        int | None, typer.Option("--daily-limit", help="How many requests a day it may make that can cost money.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token for a program and print it, this once; one of the same name stops being valid."""
    from monitor.services.tokens import TokenLimits

    terminal = get_terminal()
    limits = TokenLimits(network or [], team or [], daily_limit)
    made = terminal.act(
        lambda app, by: app.tokens.create(name, role, scopes=scope or [], days=days, limits=limits, by=by)
    )
    if as_json:
        terminal.write_json({"name": name, "role": role, "token": made})
    else:
        terminal.write_line(made)


@app.command()
def erase(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who is to be erased.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Erase a person for good: the audit and what they shared go on under a number."""
    terminal = get_terminal()
    if not yes:
        question = terminal.translate("Erase {name} for good?").format(name=name)
        typer.confirm(question, abort=True, err=True)
    alias = terminal.act(lambda app, by: app.erasure.erase(name, by=by))
    terminal.report("user.erased", name=name, alias=alias, as_json=as_json)


@app.command("list")
def list_users(as_json: JsonOption = False) -> None:
    """List who may sign in: people, and programs by their tokens."""
    terminal = get_terminal()
    terminal.write_list(
        "users",
        terminal.run(_load_users),
        lambda user: {
            "name": user["name"],
            "kind": terminal.translate(user["kind"]),
            "role": terminal.word("role", user["role"]),
            "state": terminal.translate(user["state"]),
            "last_seen_at": user["last_seen_at"],
            "created_at": user["created_at"],
        },
        as_json=as_json,
        none="user.none",
    )


async def _load_users(app: "App") -> list[dict[str, Any]]:
    now = app.clock.now()
    people = [
        {
            "name": person.name,
            "kind": "person",
            "role": person.role,
            "created_at": person.created_at,
            "last_seen_at": person.last_seen_at,
            "state": "access suspended" if person.is_shut_out else "one-time password" if person.is_one_time else "",
        }
        for person in await app.people.list_people()
    ]
    tokens = [
        {
            "name": token.name,
            "kind": "token",
            "role": token.role,
            "created_at": token.created_at,
            "last_seen_at": token.last_used_at,
            "scopes": token.scopes,
            "networks": token.networks,
            "teams": token.teams,
            "daily_limit": token.daily_limit,
            "created_by": token.created_by,
            "expires_at": token.expires_at,
            "state": "expired" if token.expires_at is not None and token.expires_at <= now else "",
        }
        for token in await app.tokens.list_tokens()
    ]
    return sorted([*people, *tokens], key=lambda user: user["created_at"], reverse=True)


@audit_app.callback()
def audit() -> None:
    """Keep `export` a command of its own: typer takes a group of one for that one."""


@audit_app.command()
def export(
    since: SinceOption = None,
    until: UntilOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the audit as JSON lines, oldest first: who did what, when and from where."""
    terminal = get_terminal()
    entries: list[Any] = []
    with _open_output(out) as target:

        async def write(app: "App", by: "Actor") -> int:
            count = 0
            async for batch in await app.audit.export(since=since, until=until, by=by):
                if as_json and out is None:
                    entries.extend(json.loads(entry.to_json()) for entry in batch)
                else:
                    target.writelines(f"{entry.to_json()}\n" for entry in batch)
                count += len(batch)
            return count

        count = terminal.act(write)
    if as_json:
        terminal.write_json({"entries": entries} if out is None else {"path": out, "count": count})
    elif out is not None:
        terminal.notify("audit.written", count=count, path=out)


@contextmanager
def _open_output(out: Path | None) -> Iterator[TextIO]:
    """Give stdout, or a file that only its owner may read; `UsageError` where it cannot be written."""
    if out is None:
        yield sys.stdout
        return
    try:
        handle = os.open(out, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    except OSError as error:
        raise UsageError("file.not_written", path=out, reason=error.strerror or str(error)) from None
    with os.fdopen(handle, "w", encoding="utf-8") as target:
        yield target
