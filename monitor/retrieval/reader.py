"""Reading the bundles of a task, one result after another, so that a kill at any moment loses none.

The order: queries in natural order (`q2` before `q10`), within each the best score first, each source once. A bundle
that arrives when the reader is past its place is read after all that is in order. What is damaged is reported and
passed over, and read as well once it was replaced.
"""

import datetime as dt
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.errors import WorkFailed
from monitor.logs import logger_of
from monitor.retrieval.bundle import ItemStatus, SearchResultBundle, SearchResultItem
from monitor.retrieval.cursor import Journal, SearchReadCursor, read_cursor, write_cursor
from monitor.retrieval.folder import BundleDamaged, BundleFolder, Signature, file_name, natural_key

_log = logger_of("retrieval")


@dataclass(frozen=True, slots=True)
class Reading:
    """A result that is handed on, and the query that found it."""

    query_id: str
    item: SearchResultItem


class TroubleKind(StrEnum):
    """What a reader met: a bundle that came when its place was passed, one that cannot be read, a broken cursor."""

    LATE = "late"
    DAMAGED = "damaged"
    CURSOR = "cursor"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What did not go as it should and stopped nothing; `query_id` is empty where it is about no bundle."""

    kind: TroubleKind
    query_id: str
    reason: str


class BundleReader:
    """Hands on the results of a task's bundles under a cursor of its own.

        while (reading := reader.next()) is not None:
            ...                                   # use reading.item
            reader.consumed(reading, at=now)

    `next` gives the first result that is not yet marked as consumed, so that a reader that was killed in between
    gives the one in hand once more and no other. When it gives None, nothing is left *now*: `missing` names the
    queries whose bundles are not there yet, and asked again it goes on with what has arrived: the final pass. Only
    results of status `ok` are handed on; failed ones are logged.

    `query_ids` are the queries that this reader is about; None stands for all of the task.
    """

    def __init__(
        self, folder: BundleFolder, *, task_id: str, cursor: str, query_ids: Collection[str] | None = None
    ) -> None:
        self.troubles: list[Trouble] = []
        self._folder = folder
        self._task_id = task_id
        self._query_ids = None if query_ids is None else frozenset(query_ids)
        self._cursor_path = folder.cursors(task_id) / file_name(cursor)
        self._journal = Journal(self._cursor_path.with_suffix(".journal"))
        self._signatures: dict[str, Signature] = {}
        self._read: set[str] = set()
        self._in_hand: deque[Reading] = deque()
        try:
            self._settle()
        except BaseException:
            self.close()
            raise

    def next(self) -> Reading | None:
        """The next result to consume, the same until it is marked; None where none is left now."""
        while True:
            while self._in_hand and self._in_hand[0].item.source_id in self._journal:
                self._in_hand.popleft()
            if self._in_hand:
                return self._in_hand[0]
            if not self._open_next():
                return None

    def consumed(self, reading: Reading, *, at: dt.datetime) -> None:
        """Mark a result as consumed; it lasts when this returns. `WorkFailed` where that cannot be written.

        The cursor is written first: a reader that was killed before the journal followed finds it one ahead.
        """
        source_id = reading.item.source_id
        if source_id not in self._journal:
            self._write_cursor(reading.query_id, source_id, count=len(self._journal) + 1, at=at)
            self._journal.add((reading.query_id, source_id))

    def left(self) -> list[Reading]:
        """All that is left to consume now, in the order of `next`, for those who mark it together."""
        while self._open_next():
            pass
        left: dict[str, Reading] = {}
        for reading in self._in_hand:
            if reading.item.source_id not in self._journal:
                left.setdefault(reading.item.source_id, reading)
        return list(left.values())

    def all_consumed(self, readings: Sequence[Reading], *, at: dt.datetime) -> None:
        """Mark results as consumed in one go; it lasts when this returns. `WorkFailed` where that cannot be written.

        The journal is written first: a cursor that is behind it by any number is brought up when a reader begins.
        """
        new = [
            (reading.query_id, reading.item.source_id)
            for reading in readings
            if reading.item.source_id not in self._journal
        ]
        if new:
            self._journal.add(*new)
            self._write_cursor(*new[-1], count=len(self._journal), at=at)

    @property
    def missing(self) -> list[str]:
        """The queries of this reader of which no bundle could be read yet, in natural order."""
        return sorted((self._query_ids or frozenset()) - self._read, key=natural_key)

    def close(self) -> None:
        """Let another process read under this cursor."""
        self._journal.close()

    def _open_next(self) -> bool:
        """Takes the next bundle in hand that has something left to consume; False where there is none."""
        present = self._present()
        unread = [query_id for query_id in present if self._signatures.get(query_id) != present[query_id]]
        place = max(map(natural_key, self._journal.query_ids), default=())
        passed = [query_id for query_id in unread if natural_key(query_id) < place]
        for query_id in [*unread[len(passed) :], *passed]:
            self._signatures[query_id] = present[query_id]
            left = self._left_of(query_id)
            self._in_hand.extend(left)
            if left:
                if query_id in passed:
                    self._report(TroubleKind.LATE, query_id, "the bundle arrived after its place was passed")
                return True
        return False

    def _left_of(self, query_id: str) -> list[Reading]:
        """What is left to consume of a query, its failed results logged; nothing where its bundle is damaged."""
        try:
            bundle = self._folder.read(self._task_id, query_id)
        except BundleDamaged as damage:
            self._report(TroubleKind.DAMAGED, query_id, str(damage))
            return []
        self._read.add(query_id)
        for item in bundle.results:
            if item.status is ItemStatus.FAILED:
                _log.warning("result failed", task=self._task_id, query=query_id, url=item.url, error=item.error_code)
        return [reading for reading in _readings(bundle) if reading.item.source_id not in self._journal]

    def _settle(self) -> None:
        """Bring cursor and journal to the same place, whichever of the two is behind, lost or damaged.

        A cursor that is one ahead was written by a reader that was killed before it came to the journal.
        """
        try:
            cursor = read_cursor(self._cursor_path)
        except WorkFailed as damage:
            self._report(TroubleKind.CURSOR, "", str(damage))
            cursor = None
        if cursor and cursor.last_source_id not in self._journal:
            if cursor.consumed_count == len(self._journal) + 1:
                self._journal.add((cursor.last_query_id, cursor.last_source_id))
            else:
                self._take_over(cursor)
        last = self._journal.last
        if last and (cursor is None or (cursor.last_query_id, cursor.last_source_id) != last):
            self._write_cursor(*last, count=len(self._journal), at=self._journal.written_at)

    def _take_over(self, cursor: SearchReadCursor) -> None:
        """A cursor without its journal: all that stands before its place, and the place itself, was consumed."""
        self._report(
            TroubleKind.CURSOR, "", "the journal is lost: what stands before the cursor's place is passed over"
        )
        place = natural_key(cursor.last_query_id)
        for query_id in [query_id for query_id in self._present() if natural_key(query_id) <= place]:
            readings = self._left_of(query_id)
            if query_id == cursor.last_query_id:
                sources = [reading.item.source_id for reading in readings]
                end = sources.index(cursor.last_source_id) + 1 if cursor.last_source_id in sources else 0
                readings = readings[:end]
            self._journal.add(*((query_id, reading.item.source_id) for reading in readings))

    def _present(self) -> dict[str, Signature]:
        """The queries of this reader whose bundles are there, in natural order."""
        present = self._folder.present(self._task_id)
        mine = present.keys() if self._query_ids is None else self._query_ids
        return {query_id: signature for query_id, signature in present.items() if query_id in mine}

    def _write_cursor(self, query_id: str, source_id: str, *, count: int, at: dt.datetime) -> None:
        cursor = SearchReadCursor(
            task_id=self._task_id, last_query_id=query_id, last_source_id=source_id, consumed_count=count, updated_at=at
        )
        write_cursor(self._cursor_path, cursor)

    def _report(self, kind: TroubleKind, query_id: str, reason: str) -> None:
        self.troubles.append(Trouble(kind, query_id, reason))
        _log.warning("bundles not as they should be", task=self._task_id, kind=kind, query=query_id, reason=reason)


def _readings(bundle: SearchResultBundle) -> list[Reading]:
    """The results of a bundle that are handed on, in their order."""
    return [Reading(bundle.query_id, item) for item in bundle.in_order() if item.status is ItemStatus.OK]
