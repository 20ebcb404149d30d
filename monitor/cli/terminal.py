"""What a person typed before the command, and what is said to them: results on stdout, everything else on stderr."""

import asyncio
import datetime as dt
import inspect
import json
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from monitor.config.model import Settings


# Titles and messages come from web pages: a control character in them would be obeyed by the terminal.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """The two streams of one command.

    `config` and `is_debug` are the options before the command; `has_document` says that a JSON document was printed,
    so that nothing else may follow it.
    """

    def __init__(self) -> None:
        self.config: Path | None = None
        self.is_debug = False
        self.has_written_json = False

    def load_settings(self) -> "Settings":
        """The settings in force; `SettingsError` where they cannot be used."""
        from monitor.config.loading import load_settings

        return load_settings(self.config)

    def write_line(self, text: str = "") -> None:
        sys.stdout.write(f"{replace_control_characters(text)}\n")

    def write_status(self, text: str) -> None:
        """A line about the work, not of its result."""
        sys.stderr.write(f"{replace_control_characters(text)}\n")
        sys.stderr.flush()

    def write_json(self, value: Any) -> None:
        """The result as one JSON document."""
        self.has_written_json = True
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def write_table(self, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Columns as wide as their cells on a terminal show, Chinese ones included; the last is never padded."""
        from rich.cells import cell_len

        texts = [list(headers), *([_format_cell(value) for value in row] for row in rows)]
        widths = [max(cell_len(row[column]) for row in texts) for column in range(len(headers))]
        for row in texts:
            cells = [text + " " * (width - cell_len(text)) for text, width in zip(row[:-1], widths, strict=False)]
            self.write_line("  ".join([*cells, row[-1]]).rstrip())


def get_terminal(context: typer.Context) -> Terminal:
    """The terminal of the running command."""
    terminal = context.find_object(Terminal)
    return terminal if terminal is not None else Terminal()


def replace_control_characters(text: str) -> str:
    """Text that a terminal only shows."""
    return _CONTROL_CHARACTERS.sub(" ", text)


def parse_day(text: str) -> dt.date:
    """A date as it is typed."""
    try:
        return dt.date.fromisoformat(text.strip())
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no date; write it as 2026-02-03") from None


def write_file(path: Path, content: bytes) -> None:
    """Keep a result in a file; `UsageError` where that is not possible."""
    from monitor.errors import UsageError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None


def _format_cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, Message):
        value = render(value, "en")
    if isinstance(value, dt.datetime):
        return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%MZ}"
    return " ".join(replace_control_characters(str(value)).split())


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]

_BOM = "\ufeff"


def check_output(form: str, out: Path | None) -> None:
    """`UsageError` where the format is no text and stdout is a terminal: asked before the work is done."""
    from monitor.exports.registry import get_format

    if get_format(form).is_binary and out is None and sys.stdout.isatty():
        raise UsageError(f"A {form} is nothing that a terminal can show: name a file with --out FILE.")


def write_output(terminal: Terminal, content: bytes, form: str, out: Path | None, count: int) -> None:
    """The content into the file, or to stdout: there without what only a spreadsheet's file needs."""
    from monitor.exports.registry import get_format

    written = get_format(form)
    if out is not None:
        write_file(out, content)
        terminal.write_status(f"{count} items were written to {out}.")
    elif written.is_binary:
        sys.stdout.buffer.write(content)
    else:
        text = content.decode().removeprefix(_BOM)
        sys.stdout.write(replace_control_characters(text) if written.shape == "document" else text)


@contextmanager
def handle_interrupts(terminal: Terminal, request_stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C, and cancel the task that this is called in at the second."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    is_asked = False

    def interrupted() -> None:
        nonlocal is_asked
        if is_asked and task is not None:
            task.cancel()
            return
        is_asked = True
        request_stop()
        terminal.write_status("Stopping after the step in hand; Ctrl-C again stops at once.")

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


OptionValue = Any
"""What an option may bring: text, a number, a word of a vocabulary, a list of texts, or None where it was not given."""

Command = TypeVar("Command", bound=Callable[..., None])


def add_options(options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command these options, each an annotation by the name of its field, in place of its `**fields`."""

    def added(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        command.__dict__["__signature__"] = signature.replace(parameters=[*own, *more])
        return command

    return added


def collect_given(fields: Mapping[str, OptionValue]) -> dict[str, Any]:
    """The fields whose options were given."""
    return {name: value for name, value in fields.items() if value is not None and value != []}
