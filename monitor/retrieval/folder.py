"""Bundles as files: `<task_id>/<query_id>.json`, each whole or not there."""

import datetime as dt
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import from_json

from monitor.errors import WorkFailed
from monitor.retrieval.bundle import SearchResultBundle

SCHEMA_KEY = "$schema"
BUNDLE_SCHEMA = "urn:monitor:search-result-bundle:1"
"""The name of a bundle's schema; the number at its end is its version."""

_ENDING = ".json"
_MOST_NAME_BYTES = 200
_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])

Signature = tuple[int, int, int]
"""What changes when a file is replaced: its number on the disk, its size, its time."""


class BundleDamaged(WorkFailed):
    """A bundle is there and cannot be read."""


class BundleFolder:
    """The bundles of all tasks, below one folder. Every call waits for the disk."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, bundle: SearchResultBundle) -> Path:
        """Keep a bundle, in place of one that its query had before; `WorkFailed` where that is not possible."""
        path = self._path(bundle.task_id, bundle.query_id)
        write_atomically(path, as_json(bundle, BUNDLE_SCHEMA))
        return path

    def read(self, task_id: str, query_id: str) -> SearchResultBundle:
        """The bundle of a query; `BundleDamaged` where there is none that can be read, with the reason."""
        path = self._path(task_id, query_id)
        try:
            bundle = SearchResultBundle.model_validate(parsed(path.read_bytes(), BUNDLE_SCHEMA))
        except OSError as error:
            raise BundleDamaged(f"The bundle {path} cannot be read: {error.strerror or error}.") from error
        except ValidationError as error:
            raise BundleDamaged(f"The bundle {path} is not as its schema says: {_first_of(error)}.") from error
        except ValueError as error:
            raise BundleDamaged(f"The bundle {path} is damaged: {error}.") from error
        if (bundle.task_id, bundle.query_id) != (task_id, query_id):
            raise BundleDamaged(f"The bundle {path} belongs to another query: {bundle.task_id}/{bundle.query_id}.")
        return bundle

    def present(self, task_id: str) -> dict[str, Signature]:
        """The queries of a task whose bundles are there, in natural order, each with its file's signature."""
        found: dict[str, Signature] = {}
        try:
            with os.scandir(self._root / _name_of(task_id)) as entries:
                for entry in entries:
                    query_id = unquote(entry.name.removesuffix(_ENDING))
                    if _is_of(query_id, entry.name) and entry.is_file():
                        about = entry.stat()
                        found[query_id] = (about.st_ino, about.st_size, about.st_mtime_ns)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise WorkFailed(f"The bundles of {task_id} cannot be listed: {error.strerror or error}.") from error
        return {query_id: found[query_id] for query_id in sorted(found, key=natural_key)}

    def remove_before(self, instant: dt.datetime) -> int:
        """Let go of the tasks of which nothing was written since an instant; answers how many files that were.

        `WorkFailed` where one cannot be removed.
        """
        removed = 0
        try:
            for folder in list(self._root.iterdir()) if self._root.is_dir() else []:
                files = [path for path in folder.rglob("*") if path.is_file()]
                if all(path.stat().st_mtime < instant.timestamp() for path in files):
                    shutil.rmtree(folder)
                    removed += len(files)
        except OSError as error:
            raise WorkFailed(f"Old bundles could not be removed: {error.strerror or error}.") from error
        return removed

    def cursors(self, task_id: str) -> Path:
        """The folder in which the readers of a task keep how far they are."""
        return self._root / _name_of(task_id) / "cursors"

    def _path(self, task_id: str, query_id: str) -> Path:
        return self._root / _name_of(task_id) / file_name(query_id)


def natural_key(text: str) -> tuple[object, ...]:
    """The key by which `q2` stands before `q10`: numbers by their value, what is between them by its characters.

    Texts that are equal in this way (`q2`, `q02`) stand in the order of their characters.
    """
    parts = [
        (1, 0, words) if words else (0, len(digits.lstrip("0")), digits.lstrip("0"))
        for digits, words in re.findall(r"([0-9]+)|([^0-9]+)", text)
    ]
    return (*parts, (-1, 0, text))


def file_name(name: str) -> str:
    """The file of a name that anybody may have chosen; `WorkFailed` where it can be none."""
    return _name_of(name) + _ENDING


def as_json(document: BaseModel, schema: str) -> bytes:
    """A document with the name of its schema in front."""
    body = document.model_dump_json(indent=1)
    return f'{{\n "{SCHEMA_KEY}": "{schema}",{body.removeprefix("{")}\n'.encode()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there after any kill or loss of power: `WorkFailed` where it cannot be.

    Written and flushed under another name, renamed, and the folder flushed, which makes the new name last.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        make_folder(path.parent)
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        flush_folder(path.parent)
    except OSError as error:
        raise WorkFailed(f"The file {path} could not be written: {error.strerror or error}.") from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they last."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parsed(content: bytes, schema: str) -> dict[str, Any]:
    """The object in a file; `ValueError` where it holds none, or one of a later version of the schema."""
    values = _OBJECT.validate_python(from_json(content))
    named = values.get(SCHEMA_KEY, schema)
    if named != schema:
        raise ValueError(f"its schema is {str(named)[:100]}, this version reads {schema}")
    return values


def _name_of(name: str) -> str:
    """A name as one part of a path: all but letters, digits, `-`, `_` and `.` percent-encoded, and a leading dot too.

    So no name leads out of its folder, hides, or is two names at once, and the name can be read back.
    """
    try:
        safe = quote(name, safe="").replace("~", "%7E")
    except UnicodeEncodeError:
        safe = ""
    if safe.startswith("."):
        safe = f"%2E{safe[1:]}"
    if not 0 < len(safe) <= _MOST_NAME_BYTES:
        raise WorkFailed(f"{name[:40]!a} cannot name a bundle: it is empty, too long or no text.")
    return safe


def _is_of(query_id: str, name: str) -> bool:
    """Whether a file's name is the one that a query's bundle has."""
    try:
        return file_name(query_id) == name
    except WorkFailed:
        return False


def _first_of(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg'].rstrip('.')}"
