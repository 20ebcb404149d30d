"""A disk whose power goes: what was written and not synced is lost."""

import os
import random
from pathlib import Path
from typing import Any

import pytest


class PowerLossError(BaseException):
    """The machine is off: nothing of the program goes on."""


class Disk:
    """What of a folder would be left if the power went now: content that was synced, under names that were synced.

    Stands between the program and the system's calls. A file's content is what it was at its last fsync, empty before,
    and of what was written since a part that the system wrote by itself, the end of it torn; a name that was made,
    changed or removed is on the disk once its folder was synced. After so many of these calls the power goes.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, draw: random.Random) -> None:
        self.root = str(root)
        self.draw = draw
        self.contents: dict[int, bytes] = {}  # by inode, as synced
        self.names: dict[str, int] = {self.root: 0}  # as synced; folders have inode 0
        self.left: int | None = None
        self._fsync, self._replace, self._mkdir = os.fsync, os.replace, os.mkdir
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(os, "fdatasync", self.fsync)
        monkeypatch.setattr(os, "replace", self.replace)
        monkeypatch.setattr(os, "mkdir", self.mkdir)

    def fsync(self, handle: int) -> None:
        path = str(Path(f"/proc/self/fd/{handle}").readlink())
        self._fsync(handle)
        if path.startswith(self.root):
            if not Path(path).is_dir():
                self._write_some(os.fstat(handle).st_ino, Path(path).read_bytes())
            self._spend()
            if Path(path).is_dir():
                self._sync_names(path)
            else:
                self.contents[os.fstat(handle).st_ino] = Path(path).read_bytes()
            self._spend()

    def replace(self, source: Any, target: Any) -> None:
        self._spend()
        self._replace(source, target)
        self._spend()

    def mkdir(self, path: Any, *more: Any, **options: Any) -> None:
        self._mkdir(path, *more, **options)
        self._spend()

    def restore(self, folder: Path) -> None:
        """Switch the power on again, and write what is left into another folder."""
        self.left = None
        for name, inode in sorted(self.names.items()):
            path = folder / os.path.relpath(name, self.root)
            if not all(
                str(parent) in self.names for parent in Path(name).parents if len(str(parent)) >= len(self.root)
            ):
                continue  # the folder that it is in never got to the disk
            if inode == 0:
                path.mkdir(exist_ok=True)
            else:
                path.write_bytes(self.contents.get(inode, b""))

    def _write_some(self, inode: int, content: bytes) -> None:
        synced = len(self.contents.get(inode, b""))
        self.contents[inode] = content[: synced + self.draw.randint(0, max(len(content) - synced - 1, 0))]

    def _sync_names(self, folder: str) -> None:
        for name in [name for name in self.names if os.path.dirname(name) == folder]:  # noqa: PTH120
            del self.names[name]
        for entry in os.scandir(folder):
            self.names[entry.path] = 0 if entry.is_dir() else entry.inode()

    def _spend(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise PowerLossError
