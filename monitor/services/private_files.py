"""Which of the program's files others on this machine may read, and closing them to others.

Whatever the program creates is its own alone: `monitor.cli.main` sets the umask. This is for what is there already, as
from version 0.1.0, or from a copy that somebody made.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from monitor.config.model import Settings
from monitor.db.engines import DatabaseAddress
from monitor.db.integrity import BackupLog
from monitor.evidence.records import EVIDENCE_FOLDER
from monitor.services.settings import KEY_FILE

_OTHERS_MODE = 0o077
_SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal", ".lock")
_DATA_NAMES = (EVIDENCE_FOLDER, "bundles", "cache", "debug", "executors")


@dataclass(frozen=True)
class OpenPath:
    """A file or folder of ours that others may read or enter."""

    path: Path
    mode: int

    def __str__(self) -> str:
        return f"{self.path} ({self.mode:o})"


def list_open_paths(settings: Settings) -> list[OpenPath]:
    """Return what others may read of database, data and backups; not what lies in a folder that is closed to them."""
    database = DatabaseAddress.parse(settings.database_url).file
    backups = [backup.file for backup in BackupLog(settings.data_dir).list_existing(database)]
    found = [_examine(path) for path in dict.fromkeys([*_list_roots(settings), *backups])]
    return [entry for entry in found if entry is not None and entry.path.parent.stat().st_mode & _OTHERS_MODE]


def close_open_paths(settings: Settings) -> list[OpenPath]:
    """Close database and data to others, as far as they belong to this user; return what was open.

    Of a folder that was open all that it holds is closed too, once. Backups stay as they are: somebody may have opened
    them on purpose. So does the key file, which is not used while others can read it, and says so.
    """
    closed = []
    for root in _list_roots(settings):
        found = _examine(root)
        if found is None or not _close(root):
            continue
        closed.append(found)
        # Top-down: nobody else can swap a file for a link once the folder above is closed.
        for folder, folders, files in os.walk(root, followlinks=False):
            for name in (*folders, *files):
                if name != KEY_FILE:
                    _close(Path(folder) / name)
    return closed


def _list_roots(settings: Settings) -> Iterator[Path]:
    """The data folder, or its parts where it holds other people's things too; the database; the folder of evidence."""
    data = settings.data_dir.resolve()
    if _is_shared(data):
        yield from (data / name for name in _DATA_NAMES)
    else:
        yield data
    database = DatabaseAddress.parse(settings.database_url).file
    if database is not None:
        real = database.resolve()
        yield from (real.with_name(f"{real.name}{suffix}") for suffix in _SQLITE_SUFFIXES)
    storage = urlsplit(settings.storage_url or "")
    if storage.scheme in ("file", "local"):
        yield Path(url2pathname(storage.path)) / EVIDENCE_FOLDER


def _is_shared(folder: Path) -> bool:
    """Whether a folder holds more than data: where the program was started, a home, what several people write to."""
    if folder == Path.cwd() or Path.home().is_relative_to(folder):
        return True
    try:
        found = folder.stat()
        return bool(found.st_mode & stat.S_ISVTX) or any(
            entry.lstat().st_uid != found.st_uid for entry in folder.iterdir()
        )
    except OSError:
        return False


def _examine(path: Path) -> OpenPath | None:
    """Return the path with its mode where others may do anything with it; None for what is closed, or not there."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode) or not mode & _OTHERS_MODE:
        return None
    return OpenPath(path, stat.S_IMODE(mode))


def _close(path: Path) -> bool:
    """Take from others what they may do with a file or folder of this user; False where it is not theirs, or gone."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid():
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_MODE)
    except OSError:
        return False
    return True
