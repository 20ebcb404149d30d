"""`monitor init`."""

import typer

from monitor.cli.terminal import terminal_of, write_file


def init(context: typer.Context) -> None:
    """Write a commented config.yaml where none is, and create or migrate the database."""
    from monitor.bootstrap import upgrade_database
    from monitor.settings import settings_path
    from monitor.settings.template import config_text

    terminal = terminal_of(context)
    path = settings_path(terminal.config)
    if path.exists():
        terminal.say(f"{path} is there already and stays as it is.")
    else:
        write_file(path, config_text().encode())
        terminal.say(f"{path} was written: every setting with its default.")
    settings = terminal.settings()
    terminal.say(upgrade_database(settings))
    terminal.say(
        "Next: `monitor doctor`, then `monitor sources add URL --name NAME --focus TOPIC` and `monitor sweep`."
    )
