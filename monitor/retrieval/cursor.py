"""How far a reader is: the protocol's cursor, and beneath it the journal of what was consumed."""

import datetime as dt
import fcntl
import json
import os
from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from monitor.errors import WorkFailed
from monitor.retrieval.bundle import Count, Instant
from monitor.retrieval.folder import as_json, flush_folder, make_folder, parsed, write_atomically

CURSOR_SCHEMA = "urn:monitor:search-read-cursor:1"
"""The name of a cursor's schema; the number at its end is its version."""


class SearchReadCursor(BaseModel):
    """The place that a reader has reached: the result that it consumed last, and how many it consumed in all."""

    task_id: str = Field(min_length=1)
    last_query_id: str = Field(min_length=1)
    last_source_id: str = Field(min_length=1)
    consumed_count: Count
    updated_at: Instant


def read_cursor(path: Path) -> SearchReadCursor | None:
    """The cursor in a file, or None where there is no file; `WorkFailed` where it is damaged."""
    try:
        return SearchReadCursor.model_validate(parsed(path.read_bytes(), CURSOR_SCHEMA))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkFailed(f"The cursor {path} cannot be read: {error.strerror or error}.") from error
    except ValidationError:
        raise WorkFailed(f"The cursor {path} is not as its schema says.") from None
    except ValueError as error:
        raise WorkFailed(f"The cursor {path} is damaged: {error}.") from None


def write_cursor(path: Path, cursor: SearchReadCursor) -> None:
    """Keep a cursor, whole whatever happens; `WorkFailed` where it could not be written."""
    write_atomically(path, as_json(cursor, CURSOR_SCHEMA))


class Journal:
    """The sources that one reader consumed, each with its query: a JSON array a line, in the order of reading.

    A cursor says where its reader is, not what was missing on the way there. The journal does: it is what a reader
    believes when it begins again. One process at a time has it open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queries: dict[str, str] = {}
        try:
            make_folder(path.parent)
            self._file = path.open("a+b", buffering=0)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._length = self._recalled()
                self._file.truncate(self._length)
                flush_folder(path.parent)
            except BaseException:
                self._file.close()
                raise
        except BlockingIOError:
            raise WorkFailed(f"Another process is reading under the cursor {path.stem}.") from None
        except OSError as error:
            raise WorkFailed(f"The journal {path} cannot be used: {error.strerror or error}.") from error

    def __contains__(self, source_id: str) -> bool:
        return source_id in self._queries

    def __len__(self) -> int:
        return len(self._queries)

    @property
    def last(self) -> tuple[str, str] | None:
        """Query and source of what was consumed last, if anything was."""
        return next(((query_id, source_id) for source_id, query_id in reversed(self._queries.items())), None)

    @property
    def query_ids(self) -> Collection[str]:
        """The queries that something was consumed of."""
        return set(self._queries.values())

    @property
    def written_at(self) -> dt.datetime:
        """When the last line was written, as far as the disk knows."""
        return dt.datetime.fromtimestamp(os.fstat(self._file.fileno()).st_mtime, dt.UTC)

    def add(self, *consumed: tuple[str, str]) -> None:
        """Take down the query and the source of what was consumed; it lasts when this returns.

        `WorkFailed` where it cannot be written: then none of it is taken down.
        """
        lines = "".join(f"{json.dumps(pair)}\n" for pair in consumed).encode()
        try:
            rest = lines
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # Half a line would spoil the next one.
            self._file.truncate(self._length)
            raise WorkFailed(f"The journal {self._path} cannot be written: {error.strerror or error}.") from error
        self._length += len(lines)
        for query_id, source_id in consumed:
            self._queries.setdefault(source_id, query_id)

    def close(self) -> None:
        self._file.close()

    def _recalled(self) -> int:
        """Reads what is there, and gives its length without a last line that was cut off by its writer's end."""
        content = self._path.read_bytes()
        length = content.rfind(b"\n") + 1
        for line in content[:length].splitlines():
            try:
                query_id, source_id = json.loads(line)
            except (ValueError, TypeError):
                continue  # a line that the disk lost: its source is handed on once more
            self._queries.setdefault(str(source_id), str(query_id))
        return length
