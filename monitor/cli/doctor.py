"""`monitor doctor`."""

import asyncio

import typer

from monitor.cli.terminal import JsonOption, terminal_of


def doctor(context: typer.Context, as_json: JsonOption = False) -> None:
    """Check configuration, database, browser, model, search, disk and clock; exit code 1 if any fails."""
    from monitor.bootstrap import new_doctor

    terminal = terminal_of(context)
    findings = asyncio.run(new_doctor(terminal.config).examine())
    is_well = not any(finding.level == "fail" for finding in findings)
    if as_json:
        terminal.document({"ok": is_well, "checks": [finding.model_dump(mode="json") for finding in findings]})
    else:
        for finding in findings:
            terminal.say(f"{finding.level:<4}  {finding.check:<13}  {finding.message}")
    if not is_well:
        raise typer.Exit(1)
