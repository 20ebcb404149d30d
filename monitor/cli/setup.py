"""`monitor init` and `monitor doctor`: setting the program up, and seeing whether it can work."""

import typer

from monitor.cli.terminal import JsonOption, get_terminal, write_file


def init(context: typer.Context) -> None:
    from monitor.bootstrap import upgrade_database
    from monitor.config.loading import get_settings_path, render_config

    terminal = get_terminal(context)
    path = get_settings_path(terminal.config)
    if path.exists():
        terminal.print("setup.config_kept", path=path)
    else:
        write_file(path, render_config().encode())
        terminal.print("setup.config_written", path=path)
    terminal.print_message(upgrade_database(terminal.load_settings()))
    terminal.print("setup.next")


def doctor(context: typer.Context, as_json: JsonOption = False) -> None:
    import asyncio

    from monitor.bootstrap import build_doctor

    terminal = get_terminal(context)
    findings = asyncio.run(build_doctor(terminal.config).run_checks())
    is_well = not any(finding.level == "fail" for finding in findings)
    if as_json:
        terminal.write_json({"ok": is_well, "checks": [finding.model_dump(mode="json") for finding in findings]})
    else:
        for finding in findings:
            terminal.write_line(f"{finding.level:<4}  {finding.check:<13}  {terminal.to_text(finding.message)}")
    if not is_well:
        raise typer.Exit(1)
