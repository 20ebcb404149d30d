"""The terminal of a command: results on stdout, everything else on stderr, words in the reader's language."""

import asyncio
import datetime as dt
import inspect
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from zoneinfo import ZoneInfo

import typer
from typer._click.globals import get_current_context

from monitor.errors import UsageError
from monitor.i18n.catalogue import get_system_language, get_word, has_message, render, translate
from monitor.i18n.message import Message
from monitor.vocabulary import ItemType

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.config.model import Settings
    from monitor.db.tables.collection import Source
    from monitor.services.audit import Actor


T = TypeVar("T")
EXIT_INTERRUPTED = 130

# Titles and messages come from web pages: a terminal would act on a control character in them.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """The two streams of one command, and the language and time zone of the person who reads them.

    `config` and `is_debug` are the options before the command; `has_written_json` says that a JSON document was
    printed, so that nothing else may follow it. `user_umask` is the one that the command was started with: it holds for
    the files that were asked for by their path.
    """

    def __init__(self, language: str | None = None, *, user_umask: int | None = None) -> None:
        self.language = language or get_system_language()
        self.user_umask = user_umask
        self.config: Path | None = None
        self.is_debug = False
        self.has_written_json = False
        self.timezone = "UTC"  # until the settings say another one

    def load_settings(self) -> "Settings":
        """Return the settings in force; `SettingsError` where they cannot be used."""
        from monitor.config.loading import load_settings
        from monitor.i18n.model import reader_language

        reader_language.set(self.language)
        settings = load_settings(self.config)
        self.timezone = settings.timezone
        return settings

    def run(self, work: "Callable[[App], Awaitable[T]]") -> T:
        async def run() -> T:
            from monitor.bootstrap import open_app

            async with open_app(self.load_settings()) as app:
                self.timezone = app.timezone
                return await work(app)

        return asyncio.run(run())

    def act(self, work: "Callable[[App, Actor], Awaitable[T]]") -> T:
        """Open the program for work that is recorded as done by the command line."""
        from monitor.services.audit import COMMAND_LINE

        return self.run(lambda app: work(app, COMMAND_LINE))

    def render(self, message: Message) -> str:
        return render(message, self.language)

    def word(self, kind: str, value: object) -> str:
        """Return a value of a vocabulary in the reader's language; English readers see it as JSON has it."""
        return str(value) if self.language == "en" else get_word(self.language, kind, value)

    def describe_schedule(self, source: "Source") -> Message:
        """Return when a source runs, in words."""
        from monitor.services.schedules import describe_schedule

        return describe_schedule(source.schedule, source.timezone)

    def translate(self, english: str) -> str:
        return translate(self.language, english)

    def to_text(self, value: "Message | str | None") -> str:
        return self.render(value) if isinstance(value, Message) else value or ""

    def print_message(self, message: Message) -> None:
        self.write_line(self.render(message))

    def print(self, code: str, /, **args: Any) -> None:
        """Write a message of the catalogue to stdout: a result."""
        self.print_message(Message(code, args))

    def notify(self, code: str, /, **args: Any) -> None:
        """Write a message of the catalogue to stderr: about the work, not of its result."""
        self.write_status(self.render(Message(code, args)))

    def complain(self, message: "Message | str") -> None:
        """Write to stderr what is wrong with a result."""
        self.write_status(f"monitor: {self.to_text(message)}")

    def write_line(self, text: str = "") -> None:
        sys.stdout.write(f"{replace_control_characters(text)}\n")

    def write_status(self, text: str) -> None:
        sys.stderr.write(f"{replace_control_characters(text)}\n")
        sys.stderr.flush()

    def write_json(self, value: Any) -> None:
        """Write a document; models in it are dumped."""
        from pydantic_core import to_jsonable_python

        self.has_written_json = True
        document = to_jsonable_python(value, by_alias=False)
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")

    def report(self, code: str, /, *, as_json: bool, document: Any = None, **args: Any) -> None:
        """Write what was done: as a message or as a document, by default the message's args."""
        if as_json:
            self.write_json(args if document is None else document)
        else:
            self.print(code, **args)

    def write_list(
        self,
        name: str,
        entries: Sequence[T],
        describe: Callable[[T], Mapping[str, object]],
        *,
        as_json: bool,
        none: str,
    ) -> None:
        """Write what a `list` command found: `{name: entries}`, a table, or to stderr the message `none`."""
        if as_json:
            self.write_json({name: entries})
        elif entries:
            self.write_records(entries, describe)
        else:
            self.notify(none)

    def write_records(self, entries: Sequence[T], describe: Callable[[T], Mapping[str, object]]) -> None:
        """Write a table of the entries, each described by columns and cells; nothing where there are none."""
        rows = [describe(entry) for entry in entries]
        if rows:
            self.write_table(list(rows[0]), [list(row.values()) for row in rows])

    def write_table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Write a table under the words `column.<name>` of the catalogue."""
        self.write_rows([[Message(f"column.{name}") for name in columns], *rows])

    def write_rows(self, rows: Sequence[Sequence[object]]) -> None:
        """Write rows in columns that fit the terminal; into a file or a pipe, each row on a line."""
        from monitor.cli.layout import lay_out_table

        for line in lay_out_table([[self._format_cell(value) for value in row] for row in rows], get_width()):
            self.write_line(line)

    def write_fields(self, fields: Mapping[str, object]) -> None:
        """Write the fields that have a value, each under its word `column.<name>` or, where it has none, its name."""
        from rich.cells import cell_len

        from monitor.cli.layout import wrap_text

        shown = {self._name_field(name): value for name, value in fields.items() if value not in (None, "", [], {})}
        width = max(map(cell_len, shown), default=0) + 2
        for name, value in shown.items():
            text = ", ".join(map(str, value)) if isinstance(value, list) else self._format_cell(value)
            begin = name + " " * (width - cell_len(name))
            for line in wrap_text(text, get_width() or sys.maxsize, first=begin, rest=" " * width):
                self.write_line(line)

    def _name_field(self, name: str) -> str:
        code = f"column.{name}"
        return self.render(Message(code)) if self.language != "en" and has_message(self.language, code) else name

    def _format_cell(self, value: object) -> str:
        if value is None or value == "":
            return "-"
        if isinstance(value, Message):
            value = self.render(value)
        if isinstance(value, dt.datetime):
            return self.format_instant(value)
        return " ".join(replace_control_characters(str(value)).split())

    def format_instant(self, instant: dt.datetime, *, seconds: bool = False) -> str:
        """Return the instant as the clocks of the configured time zone show it."""
        local = instant.astimezone(ZoneInfo(self.timezone))
        return f"{local:%Y-%m-%d %H:%M:%S}" if seconds else f"{local:%Y-%m-%d %H:%M}"


def get_width() -> int | None:
    """Return how wide a line of stdout may be: as the terminal or COLUMNS says; None for a file or a pipe."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None


def get_terminal() -> Terminal:
    return get_current_context().find_object(Terminal) or Terminal()


def replace_control_characters(text: str) -> str:
    return _CONTROL_CHARACTERS.sub(" ", text)


def parse_day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text.strip())
    except ValueError:
        raise UsageError("usage.no_date", text=text) from None


def write_file(path: Path, content: bytes, *, is_private: bool = False) -> None:
    """Write a result to a file and make its folder; `UsageError` where that is not possible.

    Others may read it as the user's umask says, unless `is_private`.
    """
    umask = None if is_private else get_terminal().user_umask
    try:
        with nullcontext() if umask is None else _use_umask(umask):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    except OSError as error:
        raise UsageError("file.not_written", path=path, reason=error.strerror or str(error)) from None


@contextmanager
def _use_umask(umask: int) -> Iterator[None]:
    previous = os.umask(umask)
    try:
        yield
    finally:
        os.umask(previous)


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
SinceOption = Annotated[
    dt.date | None, typer.Option("--since", parser=parse_day, metavar="DATE", help="The first day, as 2026-02-03.")
]
UntilOption = Annotated[dt.date | None, typer.Option("--until", parser=parse_day, metavar="DATE", help="The last day.")]
ORIGIN_OPTIONS: dict[str, Any] = {
    "sources": Annotated[
        list[str] | None, typer.Option("--source", metavar="NAME", help="Only of this source; may be repeated.")
    ],
    "tags": Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only of sources with this tag; may be repeated.")
    ],
    "types": Annotated[
        list[ItemType] | None,
        typer.Option("--type", metavar="|".join(ItemType), help="Only of this type; may be repeated."),
    ],
}
"""Which items are meant, by the fields of the queries for items and for briefings."""

_BOM = "\ufeff"


def choose_format(form: str, allowed: Collection[str], out: Path | None, *, default: str, as_json: bool) -> str:
    """Return the format of the output: JSON where --json asks for it and no file takes the content.

    `UsageError`, before the work is done, where the format is not allowed, or is no text and stdout is a terminal.
    """
    from monitor.exports.registry import get_format

    if as_json and out is None:
        if form not in (default, "json"):
            raise UsageError("usage.json_or_format", format=form)
        return "json"
    chosen = get_format(form, allowed)
    if chosen.is_binary and out is None and sys.stdout.isatty():
        raise UsageError("file.not_for_terminal", format=form)
    return chosen.name


def write_output(terminal: Terminal, content: bytes, form: str, out: Path | None, count: int, *, as_json: bool) -> None:
    """Write the content to the file, or to stdout: there without the byte order mark that only spreadsheets need."""
    from monitor.exports.registry import get_format

    file_format = get_format(form)
    if out is not None:
        write_file(out, content)
        if as_json:
            terminal.write_json({"path": out, "format": form, "count": count})
        else:
            terminal.notify("items.written", count=count, path=out)
    elif file_format.is_binary:
        sys.stdout.buffer.write(content)
    else:
        text = content.decode().removeprefix(_BOM)
        sys.stdout.write(replace_control_characters(text) if file_format.shape == "document" else text)


@contextmanager
def handle_interrupts(terminal: Terminal, request_stop: Callable[[], None]) -> Iterator[None]:
    """Call `request_stop` at the first Ctrl-C, and cancel the current task at the second."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    is_asked = False

    def interrupted() -> None:
        nonlocal is_asked
        if is_asked and task is not None:
            task.cancel()
            return
        is_asked = True
        request_stop()
        terminal.notify("cli.stopping")

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


OptionValue = Any
"""Text, a number, a value of a vocabulary, a list of texts, or None where the option was not given."""

Command = TypeVar("Command", bound=Callable[..., None])


def add_options(options: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command these options, annotations by the names of their fields, in place of its `**fields`."""

    def add(command: Command) -> Command:
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

    return add


def collect_given(fields: Mapping[str, OptionValue]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value != []}
