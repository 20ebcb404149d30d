"""What a tree of processes holds in memory, as Linux tells it."""

import os
import re
from pathlib import Path

_PROC = Path("/proc")
_PROPORTIONAL_KB = re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)


def memory_of_tree(*, without: int | None = None) -> int | None:
    """Bytes that this process and its descendants hold, what several of them share counted once; None if untold.

    `without` is a child that is left out together with its own.
    """
    if _held_by(os.getpid()) == 0:
        return None
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (parent := _parent_of(folder)) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process != without:
            total += _held_by(process)
            waiting += children.get(process, [])
    return total


def _parent_of(folder: Path) -> int | None:
    try:
        # The name in parentheses may hold anything, parentheses too: what follows the last one is numbers.
        return int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None  # it has ended meanwhile


def _held_by(process: int) -> int:
    """The process's proportional share of memory; 0 where it has ended meanwhile or may not be looked at."""
    try:
        found = _PROPORTIONAL_KB.search((_PROC / str(process) / "smaps_rollup").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0
