"""`monitor db`."""

import typer

from monitor.cli.terminal import terminal_of

app = typer.Typer(help="The database.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """The database."""


@app.command()
def upgrade(context: typer.Context) -> None:
    """Create the database or bring it to the schema of this version."""
    from monitor.bootstrap import upgrade_database

    terminal = terminal_of(context)
    terminal.say(upgrade_database(terminal.settings()))
