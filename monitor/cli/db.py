"""`monitor db`: migrate, back up, restore, prune and copy the database."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from monitor.bootstrap import App

app = build_group()
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Lose what the database holds.")]


@app.command()
def upgrade(context: typer.Context) -> None:
    """Create the database or bring it to the schema of this version."""
    from monitor.bootstrap import upgrade_database

    terminal = get_terminal(context)
    terminal.print_message(upgrade_database(terminal.load_settings()))


@app.command()
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
    as_json: JsonOption = False,
) -> None:
    """Write all that the database holds into one file, while the service works."""
    from monitor.bootstrap import back_up_database

    terminal = get_terminal(context)
    size = asyncio.run(back_up_database(terminal.load_settings(), file))
    if as_json:
        terminal.write_json({"file": str(file), "bytes": size})
    else:
        terminal.print("db.backed_up", path=file, megabytes=f"{size / 1e6:.1f}")


@app.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `db backup` wrote.")],
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put a backup into the database, which must be empty and at rest."""
    from monitor.bootstrap import restore_database

    terminal = get_terminal(context)
    rows = asyncio.run(restore_database(terminal.load_settings(), file, is_replacing=replace))
    _print_rows(terminal, rows, "db.restored", as_json=as_json)


@app.command()
def prune(
    context: typer.Context,
    days: Annotated[
        int | None, typer.Option("--days", min=1, metavar="N", help="Keep so many; default: work.retention_days.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Forget old texts, runs with their evidence, and model calls; items, and all urls ever seen, stay."""
    terminal = get_terminal(context)

    async def prune(app: "App") -> dict[str, int]:
        from monitor.services.audit import COMMAND_LINE

        return (await app.retention.prune(days, by=COMMAND_LINE)).model_dump()

    pruned = terminal.run(prune)
    if as_json:
        terminal.write_json(pruned)
    else:
        counts = [Message.of(f"pruned.{name}", number=count) for name, count in pruned.items()]
        terminal.print("db.pruned", counts=counts)


@app.command()
def copy(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="postgresql://user:password@host/name, or a SQLite file.")],
    replace: ReplaceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Copy everything into another database, which must be empty and at rest."""
    from monitor.bootstrap import copy_database

    terminal = get_terminal(context)
    rows = asyncio.run(copy_database(terminal.load_settings(), url, is_replacing=replace))
    _print_rows(terminal, rows, "db.copied", as_json=as_json)


def _print_rows(terminal: Terminal, rows: dict[str, int], code: str, *, as_json: bool) -> None:
    if as_json:
        terminal.write_json({"tables": rows})
        return
    terminal.write_table(("table", "rows"), sorted(rows.items()))
    terminal.print(code, rows=sum(rows.values()))
