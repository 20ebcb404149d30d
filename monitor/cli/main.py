"""The console script: options before the command, the commands, and how an error is told."""

import gc
import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import cli as bench
from monitor import __version__
from monitor.cli import (
    brief,
    db,
    deliver,
    demo,
    health,
    items,
    page,
    research,
    runs,
    search,
    serve,
    sources,
    sweep,
    users,
)
from monitor.cli import health as costs
from monitor.cli import runs as replay
from monitor.cli import serve as mcp
from monitor.cli import setup as doctor
from monitor.cli import setup as init
from monitor.cli.terminal import Terminal, get_terminal
from monitor.errors import MonitorError

EXIT_INTERRUPTED = 130

_EXIT_CRASHED = 1

_GC_THRESHOLD = 50_000  # new objects; at 700 of them, as Python has it, a start takes a tenth longer


def build_cli() -> typer.Typer:
    """All commands, as they are offered."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_apply_global_options)
    for name, command in (
        ("init", init.init),
        ("doctor", doctor.doctor),
        ("page", page.page),
        ("sweep", sweep.sweep),
        ("brief", brief.brief),
        ("search", search.search),
        ("research", research.research),
        ("replay", replay.replay),
        ("demo", demo.demo),
        ("health", health.health),
        ("costs", costs.costs),
        ("mcp", mcp.mcp),
        ("serve", serve.serve),
        ("worker", serve.worker),
        ("scheduler", serve.scheduler),
        ("web", serve.web),
    ):
        app.command(name)(command)
    for name, group in (
        ("sources", sources.app),
        ("items", items.app),
        ("runs", runs.app),
        ("deliver", deliver.app),
        ("db", db.app),
        ("users", users.app),
        ("bench", bench.app),
    ):
        app.add_typer(group, name=name)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that was typed and leave with its exit code: 0 done, 1 the work failed, 2 wrong usage."""
    gc.set_threshold(_GC_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Whatever the locale says: what is printed here is Chinese more often than not.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(given, Terminal())
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read along has left. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run(arguments: Sequence[str], terminal: Terminal) -> int:
    command = typer.main.get_command(build_cli())
    try:
        code = command.main(args=list(arguments), prog_name="monitor", standalone_mode=False, obj=terminal)
    except MonitorError as error:
        return _report_error(str(error), error.exit_code, error, arguments, terminal)
    except typer.TyperException as error:
        return _report_error(_format_usage_error(error), error.exit_code, error, arguments, terminal)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        return _EXIT_CRASHED
    except Exception as error:  # noqa: BLE001 -- the last stop: told in one line, and whole with --debug
        text = f"Unexpected {type(error).__name__}: {_join_lines(str(error))} (`monitor --debug …` shows where)"
        return _report_error(text, _EXIT_CRASHED, error, arguments, terminal)
    if code == EXIT_INTERRUPTED:
        return _report_error(
            "interrupted; what was kept so far stays kept.", code, KeyboardInterrupt(), arguments, terminal
        )
    return code if isinstance(code, int) else 0


def _report_error(text: str, code: int, error: BaseException, arguments: Sequence[str], terminal: Terminal) -> int:
    """Tell an error: one line on stderr and, where JSON was asked for and none printed yet, a document on stdout."""
    text = _join_lines(text)
    if terminal.is_debug:
        traceback.print_exception(error)
    terminal.write_status(f"monitor: {text}")
    if "--json" in arguments and not terminal.has_written_json:
        terminal.write_json({"error": {"type": type(error).__name__, "message": text, "exit_code": code}})
    return code


def _format_usage_error(error: typer.TyperException) -> str:
    """What is wrong with what was typed, and where its right form stands."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", None) or "monitor"
    return f"{_join_lines(error.format_message()).rstrip('.')}; see `{path} --help`."


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _apply_global_options(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file.", metavar="FILE")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Watches official sites and briefs the analysts who need to know."""
    terminal = get_terminal(context)
    terminal.config, terminal.is_debug = config, debug
    if debug:
        from monitor.logs import configure_logging

        configure_logging(level=logging.DEBUG, is_readable=True)
    if version:
        terminal.write_line(f"monitor {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        terminal.write_line(context.get_help())
        raise typer.Exit
