"""Evidence records: fetched pages kept as WARC files before they are parsed, and loaded again as proof."""

import asyncio
import datetime as dt
import gzip
import hashlib
import io
import os
import re
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from monitor.db.database import Store
from monitor.db.sessions import sanitize_text, sanitize_value
from monitor.db.tables.evidence import EvidenceFile, EvidenceIncident, EvidenceRecord, IncidentKind, MendedBy
from monitor.errors import RecordLost, SettingsError, WorkFailed
from monitor.evidence.chain import hash_row
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.page import PageError
from monitor.vocabulary import FetchMode

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


_log = get_logger("evidence")
_LOCATION = re.compile(r"[a-z0-9]+(?:[/.-][a-z0-9]+)*")


@dataclass
class FileStorage:
    """Files in a folder or bucket, each complete or absent; in a folder they survive a power loss. Calls block."""

    url: str

    def write(self, location: str, content: bytes) -> None:
        """Write a file, replacing an earlier one; `WorkFailed` where that fails."""
        with self._access("write", location) as (files, path):
            if _is_local(files):
                _write_durably(Path(path), content)
                return
            files.pipe_file(path, content)
            if files.cat_file(path) != content:
                raise WorkFailed("storage.content_differs", path=str(files.unstrip_protocol(path)))

    def read(self, location: str) -> bytes:
        """Return the content of a file; `WorkFailed` where it is missing or cannot be read."""
        with self._access("read", location) as (files, path):
            return bytes(files.cat_file(path))

    def exists(self, location: str) -> bool:
        with self._access("look", location) as (files, path):
            return bool(files.exists(path))

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


def _write_durably(path: Path, content: bytes) -> None:
    """Write, sync, read back, rename, and sync the folder: a file under its name is whole, also after a power loss."""
    _make_folders(path.parent)
    part = path.with_name(f"{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if part.read_bytes() != content:
            raise OSError(f"{part} holds other bytes than those written")
        part.replace(path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _make_folders(folder: Path) -> None:
    """Create a folder and those above it, so that they survive a power loss."""
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_local(files: "AbstractFileSystem") -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(files, LocalFileSystem)


# The body is kept unpacked, so these no longer describe it.
_TRANSFER_HEADERS = ("content-encoding", "transfer-encoding", "content-length")

# Session cookies are not for later readers of the archive.
_COOKIE_HEADERS = ("set-cookie", "set-cookie2")
_SAFE_URI_CHARS = "%/:?#[]@!$&'()*+,;=~"
_GZIP_LEVEL = 4
_RESPONSE_RECORD, _CONVERSION_RECORD = "response", "conversion"


def filter_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in _COOKIE_HEADERS}


def build_warc(result: FetchResult, *, sha256: str) -> bytes:
    """Build a gzipped WARC file of a fetched response: a `warcinfo` and the record.

    The body is unpacked, as the parsers saw it; the headers that describe how it was packed are kept as `x-original-…`.
    A page that a browser rendered is a `conversion`: no server ever sent it so.
    """
    from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
    from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

    written = io.BytesIO()
    writer = WARCWriter(written, gzip=False, warc_version="1.1")
    body = result.body or b""
    warc_headers = {"WARC-Date": f"{result.at:%Y-%m-%dT%H:%M:%S.%fZ}", "WARC-Payload-Digest": f"sha256:{sha256}"}
    record_type, content_type = _RESPONSE_RECORD, "application/http; msgtype=response"
    http_headers = None
    if result.mode is FetchMode.RENDERED:
        record_type = _CONVERSION_RECORD
        content_type = _join_header_lines(result.content_type or "").strip() or "text/html; charset=utf-8"
    else:
        status = _format_status_line(result.status)
        http_headers = StatusAndHeaders(status, _build_http_headers(result, len(body)), "HTTP/1.1")
    record = writer.create_warc_record(
        quote(result.final_url, safe=_SAFE_URI_CHARS, errors="replace"),
        record_type,
        payload=io.BytesIO(body),
        length=len(body),
        http_headers=http_headers,
        warc_headers_dict=warc_headers,
        warc_content_type=content_type,
    )
    about = {"software": "Monitor", "format": "WARC File Format 1.1"}
    members = []
    for warc_record in (writer.create_warcinfo_record("", about), record):
        written.seek(0)
        written.truncate()
        writer.write_record(warc_record)
        members.append(gzip.compress(written.getvalue(), _GZIP_LEVEL, mtime=0))
    return b"".join(members)


def extract_body(content: bytes) -> bytes | None:
    """Return the body in a WARC file; None where there is none."""
    from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]
    from warcio.exceptions import ArchiveLoadFailed  # type: ignore[import-untyped]

    try:
        for record in ArchiveIterator(io.BytesIO(content)):
            if record.rec_type in (_RESPONSE_RECORD, _CONVERSION_RECORD):
                return bytes(record.raw_stream.read())
    except (ArchiveLoadFailed, OSError, EOFError, ValueError, AttributeError, LookupError, TypeError, zlib.error):
        return None  # in a damaged file warcio meets whatever there is
    return None


def _format_status_line(status: int | None) -> str:
    code = status or 200
    phrase = HTTPStatus(code).phrase if code in set(HTTPStatus) else ""
    return f"{code} {phrase}".strip()


def _build_http_headers(result: FetchResult, length: int) -> list[tuple[str, str]]:
    kept = [
        (f"x-original-{name}" if name in _TRANSFER_HEADERS else name, _join_header_lines(value))
        for name, value in filter_headers(result.headers).items()
    ]
    return [*kept, ("content-length", str(length))]


def _join_header_lines(value: str) -> str:
    # A browser joins headers of one name by line ends, which would end ours.
    return re.sub(r"[\r\n]+", " ", value)


EVIDENCE_FOLDER = "evidence"
_MAX_CACHED_RESULTS = 4
_MAX_CACHED_BYTES = 1_000_000


@dataclass(kw_only=True)
class EvidenceArchive:
    """The records of a database and the files behind them."""

    store: Store
    storage: FileStorage

    def create_recorder(
        self, run_id: str | None = None, *, attempt: int, research_id: str | None = None
    ) -> "RunRecorder":
        return RunRecorder({"run_id": run_id, "research_id": research_id}, attempt=attempt, archive=self)

    async def load_by_id(self, record_id: str) -> FetchResult | None:
        """Load the record of that id; None where there is none, `RecordLost` where it proves nothing any more."""
        record = await self.store.evidence.get_record(record_id)
        return None if record is None else await self.load(record)

    async def load(self, record: EvidenceRecord) -> FetchResult:
        """Return what was fetched; `RecordLost` where the file is missing or its bytes are not those recorded."""
        return FetchResult(
            url=record.url,
            mode=record.way,
            at=record.fetched_at,
            final_url=record.final_url,
            status=record.status,
            headers=record.headers,
            body=await self._load_body(record),
            hops=tuple(record.hops),
            is_cut_short=record.is_cut_short,
            notes={url: Message.from_json(note) for url, note in record.notes.items()},
            record=record.id,
            error=None if record.error is None else PageError.model_validate(record.error),
        )

    def get_display_path(self, record: EvidenceRecord) -> str | None:
        """The file of a record, for people; None where it has no body."""
        return self.storage.get_display_path(record.stored_at) if record.stored_at else None

    async def remove_unused(self, before: dt.date) -> int:
        """Remove the files of days before `before` that no record refers to; return how many."""
        places = await asyncio.to_thread(self.storage.list_locations, EVIDENCE_FOLDER)
        old = [place for place in places if (day := _parse_location_day(place)) is not None and day < before]
        unused = sorted(set(old) - await self.store.evidence.list_used_locations(old))
        for place in unused:
            if not await self.store.evidence.list_used_locations([place]):
                await asyncio.to_thread(self.storage.remove, place)
        await self.store.evidence_files.delete(unused)
        return len(unused)

    async def check_file(
        self, record: EvidenceRecord, *, at: dt.datetime, notes_time: bool = False, is_quick: bool = False
    ) -> IncidentKind | None:
        """Say what is wrong with the file of a record that has one; None where it is as it was written.

        A file of 0.1.0, of which no hash was kept, is taken as it is where the body in it is right. `notes_time` notes
        that the file was checked; `is_quick` trusts the noted hash and does not unpack the body.
        """
        if record.stored_at is None or record.sha256 is None:
            return None
        files = self.store.evidence_files
        known = await files.get(record.stored_at)
        found = await asyncio.to_thread(
            _examine_file, self.storage, record.stored_at, record.sha256, known, is_quick=is_quick
        )
        file = known or EvidenceFile(location=record.stored_at, sha256=record.sha256, file_sha256="", size=0)
        if isinstance(found, IncidentKind):
            incident = EvidenceIncident(
                kind=found, url=record.url, way=record.way, location=record.stored_at, found_at=at, next_try_at=at
            )
            await files.add_incident(incident)
            await files.save(file.model_copy(update={"checked_at": at}))
            return found
        if notes_time or not file.file_sha256:
            file_sha256, size = found
            await files.save(file.model_copy(update={"file_sha256": file_sha256, "size": size, "checked_at": at}))
        return None

    async def repair_file(self, record: EvidenceRecord, *, at: dt.datetime) -> bool:
        """Write the file of a record anew from the body in it; False where that is damaged too."""
        try:
            result = await self.load(record)
        except RecordLost:
            return False
        if record.stored_at is None or record.sha256 is None:
            return False
        await self.write_body(result, record.stored_at, record.sha256)
        await self.store.evidence_files.mend(record.stored_at, at=at, by=MendedBy.OWN_BODY)
        return True

    async def write_body(self, result: FetchResult, location: str, sha256: str) -> None:
        """Write the WARC file of a result, and note what was written."""
        content = await asyncio.to_thread(build_warc, result, sha256=sha256)
        await asyncio.to_thread(self.storage.write, location, content)
        noted = None
        while noted != content:  # another process may write a file of the same body at the same time
            noted = content
            await self.store.evidence_files.save(
                EvidenceFile(
                    location=location,
                    sha256=sha256,
                    file_sha256=hashlib.sha256(content).hexdigest(),
                    size=len(content),
                    checked_at=result.at,
                )
            )
            content = await asyncio.to_thread(self.storage.read, location)

    async def _load_body(self, record: EvidenceRecord) -> bytes | None:
        if record.sha256 is None or record.stored_at is None:
            return None
        try:
            content = await asyncio.to_thread(self.storage.read, record.stored_at)
        except WorkFailed as error:
            raise RecordLost("record.not_readable", record=record.id, url=record.url, reason=error.message) from error
        body = await asyncio.to_thread(extract_body, content)
        if body is None or hashlib.sha256(body).hexdigest() != record.sha256:
            raise RecordLost(
                "record.altered", record=record.id, url=record.url, file=record.stored_at, sha256=record.sha256
            )
        return body


def _examine_file(
    storage: FileStorage, location: str, sha256: str, known: EvidenceFile | None, *, is_quick: bool
) -> IncidentKind | tuple[str, int]:
    """Return hash and size of a file that is as it was written, else what happened to it."""
    if not storage.exists(location):
        return IncidentKind.MISSING
    content = storage.read(location)
    digest = hashlib.sha256(content).hexdigest()
    if is_quick and known is not None and (known.file_sha256, known.sha256) == (digest, sha256):
        return digest, len(content)
    body = extract_body(content)
    is_as_written = known is None or known.file_sha256 in ("", digest)
    if is_as_written and body is not None and hashlib.sha256(body).hexdigest() == sha256:
        return digest, len(content)
    return IncidentKind.TRUNCATED if known is not None and len(content) < known.size else IncidentKind.ALTERED


@dataclass
class RunRecorder:
    """Records what one run or one research fetches; `owner` names it.

    A body that is stored already is not written again; its path is made of the day and its hash, never of anything
    that a page says.
    """

    owner: dict[str, str | None]
    _: KW_ONLY
    attempt: int
    archive: EvidenceArchive

    def __post_init__(self) -> None:
        self._count = 0
        self._latest: OrderedDict[str, FetchResult] = OrderedDict()

    async def keep(self, result: FetchResult) -> str:
        """Record a result and return the record's id; `WorkFailed` where it cannot be stored."""
        self._count += 1
        number, body = self._count, result.body
        sha256 = None if body is None else hashlib.sha256(body).hexdigest()
        stored_at = None if sha256 is None else await self._store_body(result, sha256)
        record = self._build_record(result, number, sha256, stored_at)
        await self.archive.store.evidence.add_record(record)
        if len(body or b"") <= _MAX_CACHED_BYTES:
            self._latest[record.id] = replace(result, record=record.id)
            if len(self._latest) > _MAX_CACHED_RESULTS:
                self._latest.popitem(last=False)
        return record.id

    async def load_by_id(self, record_id: str) -> FetchResult | None:
        """Return what a record holds; the latest ones come from memory."""
        return self._latest.get(record_id) or await self.archive.load_by_id(record_id)

    def _build_record(
        self, result: FetchResult, number: int, sha256: str | None, stored_at: str | None
    ) -> EvidenceRecord:
        record = EvidenceRecord(
            id=secrets.token_hex(8),
            **self.owner,
            attempt=self.attempt,
            number=number,
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
            sha256=sha256,
            size=len(result.body or b""),
            stored_at=stored_at,
        )
        record.hash = hash_row(record)
        return record

    async def _store_body(self, result: FetchResult, sha256: str) -> str:
        """Return the location of the body; a file of it that is damaged or gone is written anew."""
        archive = self.archive
        held = await archive.store.evidence.find_stored_body(sha256)
        place = f"{EVIDENCE_FOLDER}/{result.at:%Y/%m/%d}/{sha256}.warc.gz"
        try:
            if held is not None and held.stored_at is not None:
                place = held.stored_at
                if await archive.check_file(held, at=result.at, is_quick=True) is None:
                    return place
            await archive.write_body(result, place, sha256)
        except WorkFailed:
            await self._note_gap(result)
            raise
        if held is not None:
            await archive.store.evidence_files.mend(place, at=result.at, by=MendedBy.SAME_BYTES)
            _log.info("evidence repaired", location=place, url=result.url)
        return place

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


def _parse_location_day(location: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(location.removeprefix(f"{EVIDENCE_FOLDER}/")[:10].replace("/", "-"))
    except ValueError:
        return None
