"""Evidence records: fetched pages kept in WARC files before they are parsed, and loaded again as proof.

A page is appended to the file of its run and host. A capture says where a body lies; a body that lies somewhere already
is not written again.
"""

import asyncio
import datetime as dt
import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial

from monitor.db.captures import CaptureTable
from monitor.db.database import Store
from monitor.db.sessions import sanitize_text, sanitize_value
from monitor.db.tables.evidence import EvidenceFile, EvidenceIncident, EvidenceRecord, IncidentKind, MendedBy
from monitor.errors import RecordLost, WorkFailed
from monitor.evidence.chain import hash_row
from monitor.evidence.storage import FILE_END, FileStorage
from monitor.evidence.warc import build_head, build_member, extract_body, filter_headers
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.page import PageError
from monitor.urls import get_host
from monitor.vocabulary import FetchMode

_log = get_logger("evidence")

EVIDENCE_FOLDER = "evidence"
_NO_LOCATION_CHARS = re.compile(r"[^a-z0-9]+")
_HOST_HASH_CHARS = 16
_MAX_KNOWN_CAPTURES = 10_000  # some 5 MB
_MAX_CACHED_RESULTS = 4
_MAX_CACHED_BYTES = 1_000_000
_MIN_NEEDED = 0.5  # of the bytes of an old file; where less of it is needed, that is moved into a file of its own


@dataclass(kw_only=True, eq=False)
class _Entry:
    """A result to be kept, and what came of it.

    `ends` says where each file of its recorder ends. `damaged` are the captures of its body that were found damaged.
    """

    result: FetchResult
    record: EvidenceRecord
    location: str
    ends: dict[str, int]
    damaged: dict[tuple[str, int], tuple[EvidenceFile, IncidentKind]] = field(default_factory=dict)
    held: EvidenceFile | None = None
    is_stored: bool = False


@dataclass(kw_only=True)
class EvidenceArchive:
    """The records of a database and the files behind them."""

    store: Store
    storage: FileStorage

    def __post_init__(self) -> None:
        self._known: OrderedDict[str, EvidenceFile] = OrderedDict()
        self._waiting: list[_Entry] = []
        self._writing = asyncio.Lock()

    def create_recorder(
        self, run_id: str | None = None, *, attempt: int, research_id: str | None = None
    ) -> "RunRecorder":
        return RunRecorder({"run_id": run_id, "research_id": research_id}, attempt=attempt, archive=self)

    async def load_by_id(self, record_id: str) -> FetchResult | None:
        """Load the record of that id; None where there is none, `RecordLost` where it proves nothing any more."""
        record = await self.store.evidence.get_record(record_id)
        return None if record is None else await self.load(record)

    async def load(self, record: EvidenceRecord) -> FetchResult:
        """Return what was fetched; `RecordLost` where its body is nowhere to be found as it was recorded."""
        return build_result(record, await self._load_body(record))

    async def find_location(self, record: EvidenceRecord) -> str | None:
        """Return the file in which the body of a record lies now; None where it has no body."""
        if record.stored_at is None or record.sha256 is None:
            return None
        places = [capture.location for capture in await self.store.captures.find(record.sha256)]
        return record.stored_at if record.stored_at in places or not places else places[0]

    def get_display_path(self, location: str) -> str:
        return self.storage.get_display_path(location)

    async def examine(self, capture: EvidenceFile, *, is_quick: bool = False) -> EvidenceFile | IncidentKind:
        """Return a capture as it is now, or what happened to it.

        One that was never hashed, as those of 0.1.0, is taken as it is where the body in it is right. `is_quick` trusts
        the noted hash and does not unpack the body.
        """
        return await asyncio.to_thread(_examine, self.storage, capture, is_quick=is_quick)

    async def report_damage(
        self, capture: EvidenceFile, kind: IncidentKind, *, url: str, way: FetchMode, at: dt.datetime
    ) -> None:
        incident = EvidenceIncident(
            kind=kind, url=url, way=way, location=capture.location, offset=capture.offset, found_at=at, next_try_at=at
        )
        await self.store.evidence_files.add_incident(incident)

    async def replace_capture(
        self, damaged: EvidenceFile, result: FetchResult, *, at: dt.datetime, by: MendedBy
    ) -> None:
        """Write the body of a damaged capture anew, into a file of its own."""
        location = _build_location(at, f"repair-{secrets.token_hex(8)}", result.url)
        member = await asyncio.to_thread(build_member, result, sha256=damaged.sha256)
        location, (offset,) = await asyncio.to_thread(
            self.storage.append, location, [member], head=build_head(at), floor=0
        )
        capture = _build_capture(location, offset, member, damaged.sha256, at)
        await self.store.captures.add([capture], [], instead_of=[damaged])
        await self.store.evidence_files.mend(damaged.location, damaged.offset, at=at, by=by)

    async def keep(self, entry: _Entry) -> None:
        """Store a record with its body; those that wait at the same time are synced and committed together.

        A body that is held is not written again, unless it is damaged. Its record waits for the next transaction that
        writes: nothing is lost with it that a run which goes on after a kill would not fetch again.
        """
        self._waiting.append(entry)
        try:
            async with self._writing:
                while not (entry.is_stored or entry.held):
                    batch, self._waiting = (self._waiting, []) if entry in self._waiting else ([entry], self._waiting)
                    try:
                        await self.store.captures.call(partial(self._store_batch, batch))
                    except WorkFailed:
                        if len(batch) == 1:
                            raise
                        # Each of them tries alone: the run of one may be gone.
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
            await self._note_damage(entry)
        if entry.held is not None:
            self.store.sessions.add_with_next(entry.held)  # there already, unless nothing needed it for a while
            self.store.sessions.add_with_next(entry.record)

    def _store_batch(self, batch: Sequence[_Entry], table: CaptureTable) -> None:
        """Store the entries, those whose body is held but for their record; blocks, one batch at a time."""
        by_file: dict[str, list[_Entry]] = {}
        new: dict[str, EvidenceFile | None] = {}
        for entry in batch:
            sha256 = entry.record.sha256
            if sha256 is None or sha256 in new:
                continue
            held = self._find_held(entry, sha256, table)
            if held is None:
                new[sha256] = None
                by_file.setdefault(entry.location, []).append(entry)
            else:
                _place_record(entry.record, held)
                entry.held = held
        for entries in by_file.values():
            new |= {capture.sha256: capture for capture in self._append(entries, table)}
        stored = [entry for entry in batch if entry.held is None]
        for entry in stored:
            _place_record(entry.record, new.get(entry.record.sha256 or ""))
        if stored:
            captures = [capture for capture in new.values() if capture is not None]
            damaged = [capture for entry in stored for capture, _ in entry.damaged.values()]
            table.add(captures, [entry.record for entry in stored], instead_of=damaged)
            for capture in captures:
                self._remember(capture)
        for entry in stored:
            entry.is_stored = True

    def _find_held(self, entry: _Entry, sha256: str, table: CaptureTable) -> EvidenceFile | None:
        """Return a capture of a body that is whole."""
        known = self._known.get(sha256)
        if known is not None and isinstance(_examine(self.storage, known, is_quick=True), EvidenceFile):
            return known
        for capture in table.find(sha256):
            found = _examine(self.storage, capture, is_quick=True)
            if isinstance(found, EvidenceFile):
                self._remember(found)
                return found
            entry.damaged[capture.location, capture.offset] = capture, found
        return None

    def _remember(self, capture: EvidenceFile) -> None:
        self._known[capture.sha256] = capture
        self._known.move_to_end(capture.sha256)
        if len(self._known) > _MAX_KNOWN_CAPTURES:
            self._known.popitem(last=False)

    def _append(self, entries: Sequence[_Entry], table: CaptureTable) -> list[EvidenceFile]:
        """Append what belongs into one file."""
        wanted, ends, at = entries[0].location, entries[0].ends, entries[0].record.fetched_at
        floor = ends[wanted] if wanted in ends else table.find_end(wanted)
        members = [build_member(entry.result, sha256=entry.record.sha256 or "") for entry in entries]
        head = b"" if floor else build_head(at)
        location, offsets = self.storage.append(wanted, members, head=head, floor=floor)
        if location == wanted:
            ends[wanted] = offsets[-1] + len(members[-1])
        return [
            _build_capture(location, offset, member, entry.record.sha256 or "", entry.record.fetched_at)
            for entry, member, offset in zip(entries, members, offsets, strict=True)
        ]

    async def _note_damage(self, entry: _Entry) -> None:
        result = entry.result
        for capture, kind in entry.damaged.values():
            await self.report_damage(capture, kind, url=result.url, way=result.mode, at=result.at)
            if entry.is_stored:
                place = (capture.location, capture.offset)
                await self.store.evidence_files.mend(*place, at=result.at, by=MendedBy.SAME_BYTES)
                _log.info("evidence repaired", location=capture.location, url=result.url)

    async def remove_unused(self, before: dt.date) -> int:
        """Remove the files of days before `before` in which nothing is needed; return how many.

        Of a file of which little is needed, that is moved into a file of its own.
        """
        limit = f"{EVIDENCE_FOLDER}/{before:%Y/%m/%d}"
        files = self.store.evidence_files
        await files.delete_unneeded(limit)
        for location, captures in (await files.list_before(limit)).items():
            await self._shrink(location, captures)
        used = await files.list_before(limit)
        places = await asyncio.to_thread(self.storage.list_locations, EVIDENCE_FOLDER)
        unused = sorted(place for place in places if place < limit and place not in used)
        for place in unused:
            await asyncio.to_thread(self.storage.remove, place)
        return len(unused)

    async def _shrink(self, location: str, captures: Sequence[EvidenceFile]) -> None:
        """Move the captures of a file into a new one where they are the smaller part of it, and whole."""
        needed = sum(capture.length for capture in captures)
        if captures[0].offset == 0 or not await asyncio.to_thread(self.storage.exists, location):
            return
        if needed >= _MIN_NEEDED * await asyncio.to_thread(self.storage.measure, location):
            return
        for capture in captures:
            if isinstance(await self.examine(capture, is_quick=True), IncidentKind):
                return
        members = [
            await asyncio.to_thread(self.storage.read, location, capture.offset, capture.length) for capture in captures
        ]
        place = f"{location.rpartition('/')[0]}/needed-{secrets.token_hex(8)}{FILE_END}"
        head = build_head(captures[0].checked_at)
        place, offsets = await asyncio.to_thread(self.storage.append, place, members, head=head, floor=0)
        moved = [
            capture.model_copy(update={"location": place, "offset": offset})
            for capture, offset in zip(captures, offsets, strict=True)
        ]
        await self.store.captures.add(moved, [], instead_of=captures)

    async def _load_body(self, record: EvidenceRecord) -> bytes | None:
        """Return the body of a record, from where it was written, else from where it was moved to."""
        if record.sha256 is None or record.stored_at is None:
            return None
        about = {"record": record.id, "url": record.url}
        reason: Message | None = None
        try:
            body = await asyncio.to_thread(
                _read_body, self.storage, record.stored_at, record.offset or 0, record.length, record.sha256
            )
        except WorkFailed as error:
            body, reason = None, error.message
        if body is None:
            for capture in await self.store.captures.find(record.sha256):
                with suppress(WorkFailed):
                    body = body or await asyncio.to_thread(
                        _read_body, self.storage, capture.location, capture.offset, capture.length, capture.sha256
                    )
        if body is None and reason is not None:
            raise RecordLost("record.not_readable", **about, reason=reason)
        if body is None:
            raise RecordLost("record.altered", **about, file=record.stored_at, sha256=record.sha256)
        return body


def _read_body(storage: FileStorage, location: str, offset: int, length: int | None, sha256: str) -> bytes | None:
    """Return the body at a place; None where other bytes are there."""
    # A file of 0.1 begins with another record, and holds nothing but this body.
    body = extract_body(storage.read(location, offset, length if offset else None))
    return body if body is not None and hashlib.sha256(body).hexdigest() == sha256 else None


def _examine(storage: FileStorage, capture: EvidenceFile, *, is_quick: bool) -> EvidenceFile | IncidentKind:
    if not storage.exists(capture.location):
        return IncidentKind.MISSING
    content = storage.read(capture.location, capture.offset, capture.length if capture.offset else None)
    digest = hashlib.sha256(content).hexdigest()
    if is_quick and capture.member_sha256 == digest:
        return capture
    body = extract_body(content)
    is_as_written = capture.member_sha256 in ("", digest)
    if is_as_written and body is not None and hashlib.sha256(body).hexdigest() == capture.sha256:
        return capture.model_copy(update={"member_sha256": digest, "length": len(content)})
    return IncidentKind.TRUNCATED if len(content) < capture.length else IncidentKind.ALTERED


def build_result(record: EvidenceRecord, body: bytes | None) -> FetchResult:
    """Return what was fetched, from its record and its body."""
    return FetchResult(
        url=record.url,
        mode=record.way,
        at=record.fetched_at,
        final_url=record.final_url,
        status=record.status,
        headers=record.headers,
        body=body,
        hops=tuple(record.hops),
        is_cut_short=record.is_cut_short,
        notes={url: Message.from_json(note) for url, note in record.notes.items()},
        record=record.id,
        error=None if record.error is None else PageError.model_validate(record.error),
    )


def _build_location(at: dt.datetime, name: str, url: str) -> str:
    """Return a place made of the day, a name and the host's hash, and of nothing that a page says."""
    host = hashlib.sha256(get_host(url).encode(errors="replace")).hexdigest()[:_HOST_HASH_CHARS]
    name = _NO_LOCATION_CHARS.sub("-", name.lower()).strip("-")
    return f"{EVIDENCE_FOLDER}/{at:%Y/%m/%d}/{name}-{host}{FILE_END}"


def _build_capture(location: str, offset: int, member: bytes, sha256: str, at: dt.datetime) -> EvidenceFile:
    return EvidenceFile(
        location=location,
        offset=offset,
        length=len(member),
        sha256=sha256,
        member_sha256=hashlib.sha256(member).hexdigest(),
        checked_at=at,
    )


def _place_record(record: EvidenceRecord, capture: EvidenceFile | None) -> None:
    """Say where the body of a record lies, and fix its content by its hash."""
    if capture is not None:
        record.stored_at = capture.location
        record.offset, record.length = (capture.offset, capture.length) if capture.offset else (None, None)
    record.hash = hash_row(record)


@dataclass
class RunRecorder:
    """Records what one run or one research fetches; `owner` names it."""

    owner: dict[str, str | None]
    _: KW_ONLY
    attempt: int
    archive: EvidenceArchive

    def __post_init__(self) -> None:
        self._count = 0
        self._latest: OrderedDict[str, FetchResult] = OrderedDict()
        self._ends: dict[str, int] = {}

    async def keep(self, result: FetchResult) -> str:
        """Record a result and return the record's id; `WorkFailed` where it cannot be stored."""
        record = self._build_record(result)
        owner = record.run_id or record.research_id or ""
        location = _build_location(result.at, owner, result.url)
        try:
            await self.archive.keep(_Entry(result=result, record=record, location=location, ends=self._ends))
        except WorkFailed:
            await self._note_gap(result)
            raise
        if record.size <= _MAX_CACHED_BYTES:
            self._latest[record.id] = replace(result, record=record.id)
            if len(self._latest) > _MAX_CACHED_RESULTS:
                self._latest.popitem(last=False)
        return record.id

    async def load_by_id(self, record_id: str) -> FetchResult | None:
        """Return what a record holds; the latest ones come from memory."""
        return self._latest.get(record_id) or await self.archive.load_by_id(record_id)

    def _build_record(self, result: FetchResult) -> EvidenceRecord:
        self._count += 1
        return EvidenceRecord(
            id=secrets.token_hex(8),
            run_id=self.owner["run_id"],
            research_id=self.owner["research_id"],
            attempt=self.attempt,
            number=self._count,
            url=sanitize_text(result.url),
            way=result.mode,
            final_url=sanitize_text(result.final_url),
            status=result.status,
            headers=sanitize_value(filter_headers(result.headers)),
            hops=sanitize_value(list(result.hops)),
            is_cut_short=result.is_cut_short,
            error=None if result.error is None else sanitize_value(result.error.model_dump(mode="json")),
            notes=sanitize_value({url: note.to_json() for url, note in result.notes.items()}),
            fetched_at=result.at,
            sha256=None if result.body is None else hashlib.sha256(result.body).hexdigest(),
            size=len(result.body or b""),
        )

    async def _note_gap(self, result: FetchResult) -> None:
        """Remember a page that could not be kept, to be captured later; an error page is no loss."""
        if result.error is None:
            gap = EvidenceIncident(
                kind=IncidentKind.GAP,
                url=result.url,
                way=result.mode,
                run_id=self.owner["run_id"],
                research_id=self.owner["research_id"],
                found_at=result.at,
                next_try_at=result.at,
            )
            await self.archive.store.evidence_files.add_incident(gap)
