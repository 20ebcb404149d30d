"""Files in a folder or in a bucket, which survive a power loss: written whole, or grown by what is appended."""

import fcntl
import os
import re
import secrets
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from monitor.durable_files import flush_folder, make_folder
from monitor.errors import SettingsError, WorkFailed
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_LOCATION = re.compile(r"[a-z0-9]+(?:[/.-][a-z0-9]+)*")
FILE_END = ".warc.gz"
_PIECE_BYTES = 65_536


@dataclass
class FileStorage:
    """Files in a folder or bucket, which in a folder survive a power loss. Calls block."""

    url: str

    def write(self, location: str, content: bytes) -> None:
        """Write a file, replacing an earlier one: it is complete or absent; `WorkFailed` where that fails."""
        with self._access("write", location) as (files, path):
            if _is_local(files):
                _write_durably(Path(path), content)
                return
            files.pipe_file(path, content)
            if files.cat_file(path) != content:
                raise WorkFailed("storage.content_differs", path=str(files.unstrip_protocol(path)))

    def append(self, location: str, members: Sequence[bytes], *, head: bytes, floor: int) -> tuple[str, list[int]]:
        """Append gzip members to a file, with `head` where it is new; return its location and where each begins.

        What lies before `floor` is somebody's; of what lies behind it, the part of a member that a kill left is cut
        off. A bucket cannot append: there the members become a file of their own, whose location is a new one.
        """
        with self._access("write", location) as (files, path):
            if _is_local(files):
                return location, _append_durably(Path(path), members, head=head, floor=floor)
        location = f"{location.removesuffix(FILE_END)}-{secrets.token_hex(4)}{FILE_END}"
        self.write(location, head + b"".join(members))
        return location, _compute_offsets(members, len(head))

    def read(self, location: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return a file or a part of it; `WorkFailed` where it is missing or cannot be read."""
        with self._access("read", location) as (files, path):
            if not _is_local(files):
                return bytes(files.cat_file(path, offset, None if length is None else offset + length))
            with Path(path).open("rb", buffering=0) as opened:
                opened.seek(offset)
                return opened.read(-1 if length is None else length) or b""

    def exists(self, location: str) -> bool:
        with self._access("look", location) as (files, path):
            return bool(files.exists(path))

    def measure(self, location: str) -> int:
        """Return how many bytes a file has."""
        with self._access("look", location) as (files, path):
            return int(files.size(path))

    def remove(self, location: str) -> None:
        with self._access("remove", location) as (files, path):
            if files.exists(path):
                files.rm_file(path)

    def list_locations(self, folder: str) -> list[str]:
        with self._access("list", folder) as (files, path):
            root = path.removesuffix(folder)
            found = files.find(path) if files.exists(path) else []
            return [place for file in found if _LOCATION.fullmatch(place := str(file).removeprefix(root))]

    def check(self) -> Message:
        """Write, read and remove a test file, and say where; `WorkFailed` or `SettingsError` where that fails."""
        place = f"check-{secrets.token_hex(8)}"
        self.write(place, b"kept")
        try:
            if self.read(place) != b"kept":
                raise WorkFailed("storage.content_differs", path=self.get_display_path(place))
        finally:
            self.remove(place)
        return Message.of("storage.works", path=self.get_display_path(place).removesuffix(place))

    def get_display_path(self, location: str) -> str:
        with self._access("find", location) as (files, path):
            return str(path) if _is_local(files) else str(files.unstrip_protocol(path))

    def _resolve(self, location: str) -> "tuple[AbstractFileSystem, str]":
        if not _LOCATION.fullmatch(location):
            raise ValueError(f"{location!r} is no place in the storage")
        files, root = self._root
        return files, f"{root.rstrip('/')}/{location}"

    @cached_property
    def _root(self) -> "tuple[AbstractFileSystem, str]":
        from fsspec.core import url_to_fs

        # Other processes write and remove files too, so listings are not cached.
        root: tuple[AbstractFileSystem, str] = url_to_fs(self.url, use_listings_cache=False)
        return root

    @contextmanager
    def _access(self, operation: str, location: str) -> "Iterator[tuple[AbstractFileSystem, str]]":
        """Give the storage and the file's path in it; turn the errors of any kind of storage into ours."""
        action = Message.of(f"storage.{operation}", location=location)
        try:
            yield self._resolve(location)
        except ImportError as error:
            raise SettingsError("storage.package_missing", error=str(error)) from error
        except FileNotFoundError as error:
            raise WorkFailed("storage.no_such_file", action=action) from error
        except WorkFailed:
            raise
        except Exception as error:
            raise WorkFailed("storage.failed", action=action, error=str(error) or type(error).__name__) from error


def _append_durably(path: Path, members: Sequence[bytes], *, head: bytes, floor: int) -> list[int]:
    """Append and sync, alone in the file; where that fails, the file is as long again as it was."""
    make_folder(path.parent, mode=0o700)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+b") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        end = _find_end(opened, floor)
        try:
            opened.truncate(end)
            opened.seek(end)
            opened.write(b"".join((b"" if end else head, *members)))
            opened.flush()
            os.fdatasync(opened.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(opened.fileno(), end)
            raise
        if floor == 0:
            flush_folder(path.parent)
    return _compute_offsets(members, end or len(head))


def _find_end(opened: BinaryIO, floor: int) -> int:
    """Return where the last whole member ends, at `floor` or behind it."""
    end = place = opened.seek(floor)
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    with suppress(zlib.error):
        while piece := opened.read(_PIECE_BYTES):
            place += len(piece)
            while piece:
                member.decompress(piece)
                if not member.eof:
                    break
                piece = member.unused_data
                end = place - len(piece)
                member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    return end


def _compute_offsets(members: Sequence[bytes], start: int) -> list[int]:
    return list(accumulate((len(member) for member in members[:-1]), initial=start))


def _write_durably(path: Path, content: bytes) -> None:
    """Write, sync, read back, rename, and sync the folder: a file under its name is whole, also after a power loss."""
    make_folder(path.parent, mode=0o700)
    part = path.with_name(f"{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if part.read_bytes() != content:
            raise OSError(f"{part} holds other bytes than those written")
        part.replace(path)
        flush_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _is_local(files: "AbstractFileSystem") -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(files, LocalFileSystem)
