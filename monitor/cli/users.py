"""`monitor users`: people and programs that may sign in."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, get_terminal

if TYPE_CHECKING:
    from monitor.bootstrap import App

app = build_group()
RoleOption = Annotated[str, typer.Option("--role", help="admin, editor or reader.")]


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.")],
    role: RoleOption = "reader",
) -> None:
    """Add a person and print the password for the first sign-in, this once."""

    async def add(app: "App") -> str:
        from monitor.services.audit import COMMAND_LINE

        return await app.people.add(name, role, by=COMMAND_LINE)

    terminal = get_terminal(context)
    terminal.write_line(terminal.run(add))


@app.command()
def passwd(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose password it is.")],
    from_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input, its first line.")
    ] = False,
) -> None:
    """Set a person's password, asked for without showing it; all their sessions end."""
    terminal = get_terminal(context)
    if from_stdin:
        password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
    else:
        asked, again = terminal.translate("Password"), terminal.translate("Once more")
        password = typer.prompt(asked, hide_input=True, confirmation_prompt=again, err=True)

    async def set_password(app: "App") -> None:
        from monitor.services.audit import COMMAND_LINE

        await app.people.set_password(name, password, by=COMMAND_LINE)

    terminal.run(set_password)
    terminal.notify("user.password_set", name=name)


@app.command()
def token(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")],
    role: RoleOption = "reader",
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, write, run or admin: all that it may do; may be given several times."),
    ] = None,
    days: Annotated[int | None, typer.Option("--days", help="How many days it is valid; without it, for ever.")] = None,
) -> None:
    """Make a token for a program and print it, this once; one of the same name stops being valid."""

    async def create(app: "App") -> str:
        from monitor.services.audit import COMMAND_LINE

        return await app.tokens.create(name, role, scopes=scope or [], days=days, by=COMMAND_LINE)

    terminal = get_terminal(context)
    terminal.write_line(terminal.run(create))


@app.command("list")
def list_users(context: typer.Context, as_json: JsonOption = False) -> None:
    """List who may sign in: people, and programs by their tokens."""
    terminal = get_terminal(context)
    users = terminal.run(_load_users)
    if as_json:
        from pydantic_core import to_jsonable_python

        terminal.write_json({"users": to_jsonable_python(users)})
        return
    if not users:
        terminal.notify("user.none")
        return
    rows = [
        (
            user["name"],
            terminal.translate(user["kind"]),
            terminal.word("role", user["role"]),
            terminal.translate(user["state"]),
            user["last_seen_at"],
            user["created_at"],
        )
        for user in users
    ]
    terminal.write_table(("name", "kind", "role", "state", "last_seen_at", "created_at"), rows)


async def _load_users(app: "App") -> list[dict[str, Any]]:
    now = app.clock.now()
    people = [
        {
            "name": person.name,
            "kind": "person",
            "role": person.role,
            "created_at": person.created_at,
            "last_seen_at": person.last_seen_at,
            "state": "shut out" if person.is_shut_out else "one-time password" if person.is_one_time else "",
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
            "created_by": token.created_by,
            "expires_at": token.expires_at,
            "state": "expired" if token.expires_at is not None and token.expires_at <= now else "",
        }
        for token in await app.tokens.list_tokens()
    ]
    return sorted([*people, *tokens], key=lambda user: user["created_at"], reverse=True)
