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

from monitor import __version__
from monitor.cli.parser import CommandGroup, LazyCommand, build_group, describe_usage_error, localize
from monitor.cli.terminal import EXIT_INTERRUPTED, Terminal, get_terminal
from monitor.config.secrets import load_secret_files
from monitor.errors import MonitorError
from monitor.i18n.catalogue import has_message
from monitor.i18n.message import Message

_EXIT_CRASHED = 1
_PRIVATE_UMASK = 0o077
"""What the program creates is for its own user alone, whoever creates it: SQLite, a library, a child process."""

_GC_THRESHOLD = 50_000  # new objects; at 700 of them, as Python has it, a start takes a tenth longer

COMMANDS = {
    "init": LazyCommand("db:init", "Write a commented config.yaml where none is, and create or migrate the database."),
    "doctor": LazyCommand("health:doctor", "Check configuration, database, browser, model, search, disk and clock."),
    "page": LazyCommand(
        "page:page", "Show what the service sees in one page: title, date, candidates, attachments, text."
    ),
    "sweep": LazyCommand("runs:sweep", "Run sources now, one after another, and wait for them."),
    "brief": LazyCommand("brief:brief", "Write a ranked briefing of what was first seen in a period."),
    "search": LazyCommand(
        "search:search", "Search the web, or the archive, with the backends that search.backend names."
    ),
    "fetch": LazyCommand("search:fetch", "Fetch one page as the web.fetch tool does."),
    "research": LazyCommand(
        "research:research", "Answer a question with a report whose every quote stands in a kept page."
    ),
    "ask": LazyCommand("ask:ask", "Ask the archive a question; every sentence of the answer rests on stored passages."),
    "find": LazyCommand("ask:find", "Find items, policies, topics, briefings, notes, sources and researches by words."),
    "verify": LazyCommand(
        "verify:verify", "Judge sentences against pages, both as JSON lines on stdin: is it on the page?"
    ),
    "facts": LazyCommand(
        "facts:facts", "Read facts of documents, JSON lines on stdin: stage, number, issuers, days, relations."
    ),
    "rank": LazyCommand("rank:rank", "Put titles and documents, JSON lines on stdin, in their order of importance."),
    "replay": LazyCommand(
        "runs:replay", "Do a run again from its records, without network and model, and show what differs."
    ),
    "eval": LazyCommand(
        "eval:evaluate", "Compare models on recorded runs: what each finds, saves, writes, checks, ranks, costs."
    ),
    "demo": LazyCommand(
        "demo:demo", "Sweep a sample ministry and a sample bureau on this machine, and print their briefing."
    ),
    "health": LazyCommand(
        "health:health", "Show alarms, deliveries in trouble, and how every source and section fares."
    ),
    "costs": LazyCommand("health:costs", "Show tokens, searches and money by day."),
    "mcp": LazyCommand("serve:mcp", "Serve the Model Context Protocol on stdin and stdout."),
    "serve": LazyCommand("serve:serve", "Run the service in one process: web, scheduler and worker."),
    "worker": LazyCommand("serve:worker", "Run a worker alone; any number of them on PostgreSQL."),
    "scheduler": LazyCommand("serve:scheduler", "Run a scheduler alone; further ones stand by."),
    "web": LazyCommand("serve:web", "Run the web pages and the HTTP API alone."),
    "sources": LazyCommand("sources:app", "Manage the monitored sources."),
    "secrets": LazyCommand("secrets:app", "Store passwords and keys, encrypted and for their hosts alone."),
    "items": LazyCommand("items:app", "Read the archive of what was gathered."),
    "policies": LazyCommand("policies:app", "Read the policies that documents belong to; join and separate documents."),
    "deadlines": LazyCommand("deadlines:app", "List what begins or ends when; as a calendar too."),
    "topics": LazyCommand("topics:app", "Keep what clients care about, and see what fits it."),
    "runs": LazyCommand("runs:app", "Read the run history; cancel and retry runs."),
    "deliver": LazyCommand("brief:app", "Show, send and retry deliveries of briefings."),
    "webhooks": LazyCommand("webhooks:app", "Tell programs of events; see what they were sent, and send it again."),
    "export": LazyCommand("exports:app", "Export the archive to a folder or bucket, on a schedule or by hand."),
    "evidence": LazyCommand("evidence:app", "Check the kept evidence; export an item's with its proof."),
    "db": LazyCommand("db:app", "Migrate, back up, prune and copy the database."),
    "users": LazyCommand("users:app", "Manage people and tokens."),
    "audit": LazyCommand("users:audit_app", "Export the audit: who did what, when and from where."),
}


class _TopLevel(CommandGroup):
    lazy_commands = COMMANDS


def build_cli(language: str = "en") -> typer._click.core.Command:
    app = build_group(add_completion=True)
    app.callback(cls=_TopLevel, invoke_without_command=True)(_apply_global_options)
    command = typer.main.get_command(app)
    localize(command, language)
    return command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that was typed and leave with its exit code: 0 done, 1 the work failed, 2 wrong usage."""
    gc.set_threshold(_GC_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Whatever the locale says: what is printed here is Chinese more often than not.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(given, Terminal(user_umask=os.umask(_PRIVATE_UMASK)))
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read along has left. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run(arguments: Sequence[str], terminal: Terminal) -> int:
    command = build_cli(terminal.language)
    try:
        code = command.main(args=list(arguments), prog_name="monitor", standalone_mode=False, obj=terminal)
    except MonitorError as error:
        return _report_error(error.message, error.exit_code, error, arguments, terminal)
    except typer.TyperException as error:
        return _report_error(describe_usage_error(error), error.exit_code, error, arguments, terminal)
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        return _EXIT_CRASHED
    except Exception as error:  # noqa: BLE001 -- the last stop: one line, and the traceback with --debug
        message = Message.of("cli.crashed", type=type(error).__name__, text=str(error))
        return _report_error(message, _EXIT_CRASHED, error, arguments, terminal)
    if code == EXIT_INTERRUPTED:
        return _report_error(Message.of("cli.interrupted"), code, KeyboardInterrupt(), arguments, terminal)
    return code if isinstance(code, int) else 0


def _report_error(
    message: Message, code: int, error: BaseException, arguments: Sequence[str], terminal: Terminal
) -> int:
    """Write one line to stderr and, where JSON was asked for and none printed yet, a document to stdout."""
    text = " ".join(_render_with_hint(message, terminal).split())
    if terminal.is_debug:
        traceback.print_exception(error)
    terminal.write_status(f"monitor: {text}")
    if "--json" in arguments and not terminal.has_written_json:
        detail = {"type": type(error).__name__, "message": text, "exit_code": code}
        terminal.write_json({"error": detail | message.to_json()})
    return code


def _render_with_hint(message: Message, terminal: Terminal) -> str:
    """Return the sentence, and which command helps where `hint.<code>` says one: other faces have no commands."""
    hint = f"hint.{message.code}"
    sentence = terminal.render(message)
    return f"{sentence} {terminal.render(Message(hint))}" if has_message(terminal.language, hint) else sentence


def _apply_global_options(
    context: typer.Context,
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file.", metavar="FILE")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Watch official sites and brief the analysts who need to know."""
    terminal = get_terminal()
    terminal.config, terminal.is_debug = config, debug
    load_secret_files(os.environ)
    if debug:
        from monitor.logs import configure_logging

        configure_logging(level=logging.DEBUG, is_readable=True)
    if version:
        terminal.write_line(f"monitor {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        terminal.write_line(context.get_help())
        raise typer.Exit
