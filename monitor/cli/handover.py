"""Handing over what was written: to a file, to a pipe, or to a terminal that can show it."""

import sys
from pathlib import Path

from monitor.cli.terminal import Terminal, plain, write_file
from monitor.errors import UsageError

_BOM = "\ufeff"


def check_outlet(form: str, out: Path | None) -> None:
    """`UsageError` where the format is no text and stdout is a terminal: asked before the work is done."""
    from monitor.formats.render import BINARY_FORMATS

    if form in BINARY_FORMATS and out is None and sys.stdout.isatty():
        raise UsageError(f"A {form} is nothing that a terminal can show: name a file with --out FILE.")


def hand_over(terminal: Terminal, content: bytes, form: str, out: Path | None, count: int) -> None:
    """The content into the file, or to stdout: there without what only a spreadsheet's file needs."""
    from monitor.formats.render import BINARY_FORMATS

    if out is not None:
        write_file(out, content)
        terminal.note(f"{count} items were written to {out}.")
    elif form in BINARY_FORMATS:
        sys.stdout.buffer.write(content)
    else:
        text = content.decode().removeprefix(_BOM)
        sys.stdout.write(plain(text) if form == "md" else text)
