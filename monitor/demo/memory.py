"""Resident memory of a tree of processes, as Linux tells it."""

import os
from pathlib import Path

_PROC = Path("/proc")


def rss_of_tree(*, without: int | None = None) -> int | None:
    """Bytes that this process and its descendants hold; None where the system has no /proc.

    `without` is a child that is left out together with its own.
    """
    if not _PROC.is_dir():
        return None
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (parent := _parent_of(folder)) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process != without:
            total += _rss_of(process)
            waiting += children.get(process, [])
    return total


def _parent_of(folder: Path) -> int | None:
    try:
        # The name in parentheses may hold anything, parentheses too: what follows the last one is numbers.
        return int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None  # it has ended meanwhile


def _rss_of(process: int) -> int:
    try:
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
