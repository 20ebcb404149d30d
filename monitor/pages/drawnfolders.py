"""Which folders of which hosts were found to need the browser, so that the next page there is drawn at once."""

import datetime as dt
import re
from pathlib import Path
from urllib.parse import urlsplit

from monitor.domain.urls import host_of

FILE_NAME = "drawn-folders.tsv"
# A site that was rebuilt is tried without a browser again after this time.
_HOLDS_DAYS = 30
_MOST_FOLDERS = 5_000
_LINE = re.compile(r"^(\d{4}-\d\d-\d\d)\t(\S+)$")


class DrawnFolders:
    """The findings, each with its day; kept in a file of `folder` where there is one.

    A finding is worth a second, no more: a file that cannot be read or written is done without. Each finding is a
    line of its own, added at the end, so that several processes can share the file.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = folder / FILE_NAME if folder else None
        self._found = _read(self._file) if self._file else {}

    def holds(self, url: str, today: dt.date) -> bool:
        """Whether pages beside this one were found to need the browser, not too long ago."""
        found = self._found.get(_folder_of(url))
        return found is not None and (today - found).days <= _HOLDS_DAYS

    def add(self, url: str, today: dt.date) -> None:
        """Takes down that the page at `url` needs the browser."""
        folder = _folder_of(url)
        if len(self._found) < _MOST_FOLDERS or folder in self._found:
            self._found[folder] = today
            if self._file:
                _append(self._file, f"{today.isoformat()}\t{folder}\n")


def _folder_of(url: str) -> str:
    """Where pages of one make stand together: one section drawn by scripts does not make its whole site slow."""
    return host_of(url) + urlsplit(url).path.rpartition("/")[0]


def _read(file: Path) -> dict[str, dt.date]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines[-_MOST_FOLDERS:]:
        if match := _LINE.match(line):
            try:
                found[match[2]] = dt.date.fromisoformat(match[1])
            except ValueError:
                continue
    return found


def _append(file: Path, line: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as opened:
            opened.write(line)
    except OSError:
        return
