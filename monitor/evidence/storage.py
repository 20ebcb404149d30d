"""Where files of evidence are kept: a folder, or whatever an fsspec url names, a bucket for one."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.errors import SettingsError, WorkFailed

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

_PLACE = re.compile(r"[a-z0-9]+(?:[/.-][a-z0-9]+)*")


class Storage:
    """Files by their place, a relative path of small letters, digits and `/`. Every call waits for its disk or network.

    A file is whole or not there: in a folder it is written under another name first, in a bucket put at once.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._opened: tuple[AbstractFileSystem, str] | None = None

    def write(self, place: str, content: bytes) -> None:
        """Keep a file; one that is there already is replaced. `WorkFailed` where that is not possible."""
        with self._told(f"write {place}"):
            files, path = self._at(place)
            if not _is_local(files):
                files.pipe_file(path, content)
                return
            whole = Path(path)
            part = whole.with_name(f"{secrets.token_hex(8)}.part")
            whole.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                part.replace(whole)
            finally:
                part.unlink(missing_ok=True)

    def read(self, place: str) -> bytes:
        """The file at a place; `WorkFailed` where there is none, or it cannot be read."""
        with self._told(f"read {place}"):
            files, path = self._at(place)
            return bytes(files.cat_file(path))

    def holds(self, place: str) -> bool:
        """Whether there is a file at a place."""
        with self._told(f"look for {place}"):
            files, path = self._at(place)
            return bool(files.exists(path))

    def remove(self, place: str) -> None:
        """Let go of a file; nothing happens where there is none."""
        with self._told(f"remove {place}"):
            files, path = self._at(place)
            if files.exists(path):
                files.rm_file(path)

    def places(self, folder: str) -> list[str]:
        """The places of all files below a folder."""
        with self._told(f"list {folder}"):
            files, path = self._at(folder)
            root = path.removesuffix(folder)
            found = files.find(path) if files.exists(path) else []
            return [place for one in found if _PLACE.fullmatch(place := str(one).removeprefix(root))]

    def check(self) -> str:
        """See that a file can be kept, read and removed, and say where; `WorkFailed` or `SettingsError` where not."""
        place = f"check-{secrets.token_hex(8)}"
        self.write(place, b"kept")
        try:
            if self.read(place) != b"kept":
                raise WorkFailed(f"The storage {self.whereabouts(place)} does not give back what it was given.")
        finally:
            self.remove(place)
        return f"{self.whereabouts(place).removesuffix(place)} keeps and gives back"

    def whereabouts(self, place: str) -> str:
        """The full name of a file, for people."""
        with self._told(f"find {place}"):
            files, path = self._at(place)
            return str(path) if _is_local(files) else str(files.unstrip_protocol(path))

    def _at(self, place: str) -> "tuple[AbstractFileSystem, str]":
        if not _PLACE.fullmatch(place):
            raise ValueError(f"{place!r} is no place in the storage")
        if self._opened is None:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped] # takes a while to import

            # Other processes write and remove too: what a listing said a while ago is not believed.
            self._opened = url_to_fs(self._url, use_listings_cache=False)
        files, root = self._opened
        return files, f"{root.rstrip('/')}/{place}"

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Every kind of storage has errors of its own: each is told in the same way."""
        try:
            yield
        except ImportError as error:
            raise SettingsError(f"storage_url is of a kind that needs another package: {error}.") from error
        except FileNotFoundError as error:
            raise WorkFailed(f"The storage could not {what}: there is no such file.") from error
        except Exception as error:
            raise WorkFailed(f"The storage could not {what}: {str(error) or type(error).__name__}.") from error


def _is_local(files: "AbstractFileSystem") -> bool:
    from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

    return isinstance(files, LocalFileSystem)
