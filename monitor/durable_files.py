"""Folders that survive a loss of power: a file that was flushed is lost with the name that its folder did not keep."""

import os
from contextlib import suppress
from pathlib import Path


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path, *, mode: int = 0o777) -> None:
    """Create a folder and those above it, so that they survive a loss of power."""
    if folder.is_dir():
        return
    make_folder(folder.parent, mode=mode)
    with suppress(FileExistsError):
        folder.mkdir(mode)
    flush_folder(folder.parent)
