"""What a person typed before the command, and what is said to them: results on stdout, everything else on stderr."""

import datetime as dt
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from monitor.settings import Settings

# Titles and messages come from web pages: a control character in them would be obeyed by the terminal.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """The two streams of one command.

    `config` and `is_debug` are the options before the command; `has_document` says that a JSON document was printed,
    so that nothing else may follow it.
    """

    def __init__(self) -> None:
        self.config: Path | None = None
        self.is_debug = False
        self.has_document = False

    def settings(self) -> "Settings":
        """The settings in force; `SettingsError` where they cannot be used."""
        from monitor.settings import load_settings

        return load_settings(self.config)

    def say(self, text: str = "") -> None:
        sys.stdout.write(f"{plain(text)}\n")

    def note(self, text: str) -> None:
        """A line about the work, not of its result."""
        sys.stderr.write(f"{plain(text)}\n")
        sys.stderr.flush()

    def document(self, value: Any) -> None:
        """The result as one JSON document."""
        self.has_document = True
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Columns as wide as their cells on a terminal show, Chinese ones included; the last is never padded."""
        from rich.cells import cell_len

        texts = [list(head), *([_cell(value) for value in row] for row in rows)]
        widths = [max(cell_len(row[column]) for row in texts) for column in range(len(head))]
        for row in texts:
            cells = [text + " " * (width - cell_len(text)) for text, width in zip(row[:-1], widths, strict=False)]
            self.say("  ".join([*cells, row[-1]]).rstrip())


def terminal_of(context: typer.Context) -> Terminal:
    """The terminal of the running command."""
    terminal = context.find_object(Terminal)
    return terminal if terminal is not None else Terminal()


def plain(text: str) -> str:
    """Text that a terminal only shows."""
    return _CONTROLS.sub(" ", text)


def day(text: str) -> dt.date:
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


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, dt.datetime):
        return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%MZ}"
    return " ".join(plain(str(value)).split())


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
