"""`monitor users`: who may sign in."""

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from monitor.bootstrap import App

app = typer.Typer(help="Who may sign in.", rich_markup_mode=None)

RoleOption = Annotated[str, typer.Option("--role", help="admin, editor or reader.")]


@app.command()
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to sign in with.")],
    role: RoleOption = "reader",
) -> None:
    """Add a person and print the password for the first sign-in, this once."""
    terminal = get_terminal(context)
    terminal.write_line(asyncio.run(_add_person(terminal, name, role)))


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
        password = typer.prompt("Password", hide_input=True, confirmation_prompt="Once more", err=True)
    asyncio.run(_set_password(terminal, name, password))
    terminal.write_status(f"{name} signs in with the new password from now on.")


@app.command()
def token(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is called.")],
    role: RoleOption = "reader",
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, write, run or admin: all that it may do; may be given several times."),
    ] = None,
    days: Annotated[int | None, typer.Option("--days", help="How long it is good; for ever if left out.")] = None,
) -> None:
    """Make a token for a program and print it, this once; one of the same name stops being valid."""
    terminal = get_terminal(context)
    terminal.write_line(asyncio.run(_make_token(terminal, name, role, scope or [], days)))


@app.command("list")
def list_users(context: typer.Context, as_json: JsonOption = False) -> None:
    """List who may sign in: people, and programs by their tokens."""
    terminal = get_terminal(context)
    users = asyncio.run(_list_users(terminal))
    if as_json:
        from pydantic_core import to_jsonable_python

        terminal.write_json({"users": to_jsonable_python(users)})
    elif users:
        columns = ("name", "kind", "role", "state", "last_seen_at", "created_at")
        terminal.write_table(columns, [[user[column] for column in columns] for user in users])
    else:
        terminal.write_status("Nobody may sign in yet: the first start of `monitor serve` makes an administrator.")


@asynccontextmanager
async def _open_app(terminal: Terminal) -> "AsyncIterator[App]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.load_settings()) as parts:
        yield parts


async def _add_person(terminal: Terminal, name: str, role: str) -> str:
    from monitor.services.audit import COMMAND_LINE

    async with _open_app(terminal) as parts:
        return await parts.people.add(name, role, by=COMMAND_LINE)


async def _set_password(terminal: Terminal, name: str, password: str) -> None:
    from monitor.services.audit import COMMAND_LINE

    async with _open_app(terminal) as parts:
        await parts.people.set_password(name, password, by=COMMAND_LINE)


async def _make_token(terminal: Terminal, name: str, role: str, scopes: list[str], days: int | None) -> str:
    from monitor.services.audit import COMMAND_LINE

    async with _open_app(terminal) as parts:
        return await parts.tokens.create(name, role, scopes=scopes, days=days, by=COMMAND_LINE)


async def _list_users(terminal: Terminal) -> list[dict[str, Any]]:
    async with _open_app(terminal) as parts:
        now = parts.clock.now()
        people = [
            {
                "name": person.name,
                "kind": "person",
                "role": person.role,
                "created_at": person.created_at,
                "last_seen_at": person.last_seen_at,
                "state": "shut out" if person.is_shut_out else "one-time password" if person.is_one_time else "",
            }
            for person in await parts.people.list_people()
        ]
        tokens = [
            {
                "name": one.name,
                "kind": "token",
                "role": one.role,
                "created_at": one.created_at,
                "last_seen_at": one.last_used_at,
                "scopes": one.scopes,
                "created_by": one.created_by,
                "expires_at": one.expires_at,
                "state": "expired" if one.expires_at is not None and one.expires_at <= now else "",
            }
            for one in await parts.tokens.list_tokens()
        ]
    return sorted([*people, *tokens], key=lambda one: one["created_at"], reverse=True)
