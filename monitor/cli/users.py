"""`monitor users`: who may sign in."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of

if TYPE_CHECKING:
    from monitor.domain.people import Token

app = typer.Typer(help="Who may sign in.", rich_markup_mode=None)


@app.command()
def token(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")],
    role: Annotated[str, typer.Option("--role", help="admin, editor or reader.")] = "reader",
) -> None:
    """Make a token and print it, this once; one of the same name stops being valid."""
    terminal = terminal_of(context)
    terminal.say(asyncio.run(_made(terminal, name, role)))


@app.command("list")
def list_users(context: typer.Context, as_json: JsonOption = False) -> None:
    """List who has a token."""
    terminal = terminal_of(context)
    tokens = asyncio.run(_listed(terminal))
    if as_json:
        terminal.document({"users": [one.model_dump(mode="json", exclude={"hash"}) for one in tokens]})
    elif tokens:
        terminal.table(("name", "role", "since"), [(one.name, one.role, one.created_at) for one in tokens])
    else:
        terminal.note("Nobody has a token.")


async def _made(terminal: Terminal, name: str, role: str) -> str:
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.tokens.make(name, role)


async def _listed(terminal: Terminal) -> "list[Token]":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.tokens.all()
