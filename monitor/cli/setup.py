"""`monitor init`."""

import asyncio

import typer

from monitor.cli.terminal import JsonOption, get_terminal, write_file


def init(context: typer.Context) -> None:
    """Write a commented config.yaml where none is, and create or migrate the database."""
    from monitor.bootstrap import upgrade_database
    from monitor.config.loading import get_settings_path, render_config

    terminal = get_terminal(context)
    path = get_settings_path(terminal.config)
    if path.exists():
        terminal.write_line(f"{path} is there already and stays as it is.")
    else:
        write_file(path, render_config().encode())
        terminal.write_line(f"{path} was written: every setting with its default.")
    settings = terminal.load_settings()
    terminal.write_line(upgrade_database(settings))
    terminal.write_line(
        "Next: `monitor doctor`, then `monitor sources add URL --name NAME --focus TOPIC` and `monitor sweep`."
    )


def doctor(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check configuration, database, browser, model, search, disk and clock; exit code 1 if any fails."""
    from monitor.bootstrap import build_doctor
    from monitor.i18n.catalogue import render

    terminal = get_terminal(context)
    findings = asyncio.run(build_doctor(terminal.config).run_checks())
    is_well = not any(finding.level == "fail" for finding in findings)
    if as_json:
        terminal.write_json({"ok": is_well, "checks": [finding.model_dump(mode="json") for finding in findings]})
    else:
        for finding in findings:
            terminal.write_line(f"{finding.level:<4}  {finding.check:<13}  {render(finding.message, 'en')}")
    if not is_well:
        raise typer.Exit(1)
