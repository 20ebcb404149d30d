"""Reads the bundles of a task result by result, so that a crash at any moment loses none.

Queries are read in natural order (`q2` before `q10`), the results of each by score, each source once. A bundle that
arrives after the reader passed its place is read last. A damaged one is reported and skipped, and read once it was
replaced.
"""

import datetime as dt
import fcntl
import json
import os
import sys
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from monitor.durable_files import flush_folder, make_folder
from monitor.errors import WorkFailed
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.search.bundles.bundle import (
    BUNDLE_SCHEMA,
    BundleDamaged,
    BundleFolder,
    Count,
    FileSignature,
    Instant,
    ItemStatus,
    SearchResultBundle,
    SearchResultItem,
    build_file_name,
    build_natural_key,
    parse_document,
    serialize_document,
    write_atomically,
)

CURSOR_SCHEMA = "urn:monitor:search-read-cursor:1"


class SearchReadCursor(BaseModel):
    """The position of a reader: the last result that it consumed, and how many in total."""

    task_id: str = Field(min_length=1)
    last_query_id: str = Field(min_length=1)
    last_source_id: str = Field(min_length=1)
    consumed_count: Count
    updated_at: Instant


def read_cursor(path: Path) -> SearchReadCursor | None:
    """Return the cursor in a file, or None without a file; raise `WorkFailed` where it is damaged."""
    try:
        return SearchReadCursor.model_validate(parse_document(path.read_bytes(), CURSOR_SCHEMA))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkFailed("search.cursor_unreadable", path=str(path), reason=error.strerror or str(error)) from error
    except ValidationError:
        raise WorkFailed("search.cursor_invalid", path=str(path)) from None
    except ValueError as error:
        raise WorkFailed("search.cursor_damaged", path=str(path), reason=str(error)) from None


class ConsumptionJournal:
    """The sources that a reader consumed, each with its query: one JSON array a line, in the order of reading.

    A cursor has the position, but not what was missing before it; so the journal is authoritative when a reader starts
    again. Only one process at a time can open it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queries: dict[str, str] = {}
        try:
            make_folder(path.parent)
            self._file = path.open("a+b", buffering=0)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._length = self._load()
                self._file.truncate(self._length)
                flush_folder(path.parent)
            except BaseException:
                self._file.close()
                raise
        except BlockingIOError:
            raise WorkFailed("search.cursor_in_use", name=path.stem) from None
        except OSError as error:
            raise WorkFailed("search.journal_unusable", path=str(path), reason=error.strerror or str(error)) from error

    def __contains__(self, source_id: str) -> bool:
        return source_id in self._queries

    def __len__(self) -> int:
        return len(self._queries)

    @property
    def last_consumed(self) -> tuple[str, str] | None:
        return next(((query_id, source_id) for source_id, query_id in reversed(self._queries.items())), None)

    @property
    def query_ids(self) -> Collection[str]:
        return set(self._queries.values())

    @property
    def written_at(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(os.fstat(self._file.fileno()).st_mtime, dt.UTC)

    def add(self, *consumed: tuple[str, str]) -> None:
        """Append the queries and sources of consumed results durably; raise `WorkFailed` where none was written."""
        lines = "".join(f"{json.dumps(pair)}\n" for pair in consumed).encode()
        try:
            rest = lines
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # A partial line would damage the next one.
            self._file.truncate(self._length)
            raise WorkFailed(
                "search.journal_not_written", path=str(self._path), reason=error.strerror or str(error)
            ) from error
        self._length += len(lines)
        for query_id, source_id in consumed:
            self._queries.setdefault(source_id, query_id)

    def close(self) -> None:
        self._file.close()

    def _load(self) -> int:
        """Read the file and return its length without an incomplete last line."""
        content = self._path.read_bytes()
        length = content.rfind(b"\n") + 1
        for line in content[:length].splitlines():
            with suppress(ValueError, TypeError):  # a damaged line: its source is read once more
                query_id, source_id = json.loads(line)
                self._queries.setdefault(str(source_id), str(query_id))
        return length


_log = get_logger("retrieval")


@dataclass(frozen=True, slots=True)
class BundleResult:
    query_id: str
    item: SearchResultItem


class ReaderWarningKind(StrEnum):
    LATE = "late"
    DAMAGED = "damaged"
    CURSOR = "cursor"


@dataclass(frozen=True, slots=True)
class ReaderWarning:
    """A problem that stopped nothing; `query_id` is empty where it concerns no bundle."""

    kind: ReaderWarningKind
    query_id: str
    reason: Message


class BundleReader:
    """Returns the results of a task's bundles under a cursor of its own.

    `peek` returns the first result that is not marked as consumed, so that a reader killed in between repeats that one
    and no other. When it returns None, nothing is left *now*: `missing_query_ids` names the queries without a bundle,
    and a later call continues with what has arrived. Only results of status `ok` are returned; failed ones are logged.

    `query_ids` limits the reader to some queries of the task.
    """

    def __init__(
        self, folder: BundleFolder, *, task_id: str, cursor: str, query_ids: Collection[str] | None = None
    ) -> None:
        self.warnings: list[ReaderWarning] = []
        self._folder = folder
        self._task_id = task_id
        self._query_ids = None if query_ids is None else frozenset(query_ids)
        self._cursor_path = folder.get_cursor_folder(task_id) / build_file_name(cursor)
        self._journal = ConsumptionJournal(self._cursor_path.with_suffix(".journal"))
        self._signatures: dict[str, FileSignature] = {}
        self._read_query_ids: set[str] = set()
        self._pending: deque[BundleResult] = deque()
        try:
            self._reconcile()
        except BaseException:
            self.close()
            raise

    def peek(self) -> BundleResult | None:
        """Return the next result, the same until it is marked; None where none is left now."""
        while True:
            while self._pending and self._pending[0].item.source_id in self._journal:
                self._pending.popleft()
            if self._pending:
                return self._pending[0]
            if not self._load_next_bundle():
                return None

    def mark_consumed(self, result: BundleResult, *, at: dt.datetime) -> None:
        """Mark a result as consumed, durably; raise `WorkFailed` where that cannot be written.

        The cursor is written first: after a crash before the journal followed, it is one ahead.
        """
        source_id = result.item.source_id
        if source_id not in self._journal:
            self._write_cursor(result.query_id, source_id, count=len(self._journal) + 1, at=at)
            self._journal.add((result.query_id, source_id))

    def list_remaining(self) -> list[BundleResult]:
        while self._load_next_bundle():
            pass
        left: dict[str, BundleResult] = {}
        for result in self._pending:
            if result.item.source_id not in self._journal:
                left.setdefault(result.item.source_id, result)
        return list(left.values())

    def mark_all_consumed(self, results: Sequence[BundleResult], *, at: dt.datetime) -> None:
        """Mark results as consumed together, durably; raise `WorkFailed` where that cannot be written.

        The journal is written first: a cursor that is behind it is corrected when a reader starts.
        """
        left = [result for result in results if result.item.source_id not in self._journal]
        if new := [(result.query_id, result.item.source_id) for result in left]:
            self._journal.add(*new)
            self._write_cursor(*new[-1], count=len(self._journal), at=at)

    @property
    def missing_query_ids(self) -> list[str]:
        return sorted((self._query_ids or frozenset()) - self._read_query_ids, key=build_natural_key)

    def close(self) -> None:
        self._journal.close()

    def _load_next_bundle(self) -> bool:
        present = self._list_own_bundles()
        unread = [query_id for query_id in present if self._signatures.get(query_id) != present[query_id]]
        place = max(map(build_natural_key, self._journal.query_ids), default=())
        passed = [query_id for query_id in unread if build_natural_key(query_id) < place]
        for query_id in [*unread[len(passed) :], *passed]:
            self._signatures[query_id] = present[query_id]
            left = self._load_unread(query_id)
            self._pending.extend(left)
            if left:
                if query_id in passed:
                    self._add_warning(ReaderWarningKind.LATE, query_id, Message.of("search.bundle_late"))
                return True
        return False

    def _load_unread(self, query_id: str) -> list[BundleResult]:
        """Return the unread results of a query and log its failed ones; nothing where its bundle is damaged."""
        try:
            bundle = self._folder.read(self._task_id, query_id)
        except BundleDamaged as damage:
            self._add_warning(ReaderWarningKind.DAMAGED, query_id, damage.message)
            return []
        self._read_query_ids.add(query_id)
        for item in bundle.results:
            if item.status is ItemStatus.FAILED:
                _log.warning("result failed", task=self._task_id, query=query_id, url=item.url, error=item.error_code)
        return [
            BundleResult(query_id, item)
            for item in bundle.list_by_score()
            if item.status is ItemStatus.OK and item.source_id not in self._journal
        ]

    def _reconcile(self) -> None:
        """Bring cursor and journal to the same position, whichever is behind, lost or damaged."""
        try:
            cursor = read_cursor(self._cursor_path)
        except WorkFailed as damage:
            self._add_warning(ReaderWarningKind.CURSOR, "", damage.message)
            cursor = None
        if cursor and cursor.last_source_id not in self._journal:
            if cursor.consumed_count == len(self._journal) + 1:
                self._journal.add((cursor.last_query_id, cursor.last_source_id))
            else:
                self._rebuild_journal(cursor)
        last = self._journal.last_consumed
        if last and (cursor is None or (cursor.last_query_id, cursor.last_source_id) != last):
            self._write_cursor(*last, count=len(self._journal), at=self._journal.written_at)

    def _rebuild_journal(self, cursor: SearchReadCursor) -> None:
        """Rebuild a lost journal: everything up to the position of the cursor counts as consumed."""
        self._add_warning(ReaderWarningKind.CURSOR, "", Message.of("search.journal_lost"))
        place = build_natural_key(cursor.last_query_id)
        for query_id in [query_id for query_id in self._list_own_bundles() if build_natural_key(query_id) <= place]:
            sources = [result.item.source_id for result in self._load_unread(query_id)]
            if query_id == cursor.last_query_id:
                sources = (
                    sources[: sources.index(cursor.last_source_id) + 1] if cursor.last_source_id in sources else []
                )
            self._journal.add(*((query_id, source_id) for source_id in sources))

    def _list_own_bundles(self) -> dict[str, FileSignature]:
        present = self._folder.list_bundles(self._task_id)
        return {
            query_id: signature
            for query_id, signature in present.items()
            if self._query_ids is None or query_id in self._query_ids
        }

    def _write_cursor(self, query_id: str, source_id: str, *, count: int, at: dt.datetime) -> None:
        cursor = SearchReadCursor(
            task_id=self._task_id, last_query_id=query_id, last_source_id=source_id, consumed_count=count, updated_at=at
        )
        write_atomically(self._cursor_path, serialize_document(cursor, CURSOR_SCHEMA))

    def _add_warning(self, kind: ReaderWarningKind, query_id: str, reason: Message) -> None:
        self.warnings.append(ReaderWarning(kind, query_id, reason))
        _log.warning("bundle problem", task=self._task_id, kind=kind, query=query_id, reason=str(reason))


SCHEMAS: dict[str, tuple[type[BaseModel], str]] = {
    "bundle": (SearchResultBundle, BUNDLE_SCHEMA),
    "cursor": (SearchReadCursor, CURSOR_SCHEMA),
}
"""The published documents, each with the name that its files have under `$schema`."""


def render_schema(name: str) -> str:
    document, urn = SCHEMAS[name]
    schema = document.model_json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": urn}
    return json.dumps({**head, **schema}, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render_schema(sys.argv[1]))
