"""`monitor db`: the database."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal

if TYPE_CHECKING:
    from monitor.db.queries.retention import PruneResult

app = typer.Typer(help="The database.", rich_markup_mode=None)

ReplaceOption = Annotated[bool, typer.Option("--replace", help="Lose what the database holds.")]


@app.callback()
def _group() -> None:
    """Migrate, back up, prune and copy the database."""


@app.command()
def upgrade(context: typer.Context) -> None:
    """Create the database or bring it to the schema of this version."""
    from monitor.bootstrap import upgrade_database

    terminal = get_terminal(context)
    terminal.write_line(upgrade_database(terminal.load_settings()))


@app.command()
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
    as_json: JsonOption = False,
) -> None:
    """Write all that the database holds into one file, while the service works."""
    from monitor.bootstrap import back_up_database

    terminal = get_terminal(context)
    size = back_up_database(terminal.load_settings(), file)
    if as_json:
        terminal.write_json({"file": str(file), "bytes": size})
    else:
        terminal.write_line(f"{file}: {size / 1e6:.1f} MB, checked.")


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
    _print_rows(terminal, rows, "restored", as_json=as_json)


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
    pruned = asyncio.run(_prune(terminal, days))
    if as_json:
        terminal.write_json(pruned.model_dump())
    else:
        told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in pruned.model_dump().items())
        terminal.write_line(f"Forgotten: {told}.")


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
    _print_rows(terminal, rows, "copied", as_json=as_json)


def _print_rows(terminal: Terminal, rows: dict[str, int], done: str, *, as_json: bool) -> None:
    if as_json:
        terminal.write_json({"tables": rows})
        return
    terminal.write_table(("table", "rows"), sorted(rows.items()))
    terminal.write_line(f"{sum(rows.values())} rows {done}, every table counted again.")


async def _prune(terminal: Terminal, days: int | None) -> "PruneResult":
    from monitor.bootstrap import open_app
    from monitor.services.audit import COMMAND_LINE

    async with open_app(terminal.load_settings()) as parts:
        pruned = await parts.retention.prune(days, by=COMMAND_LINE)
        return pruned
