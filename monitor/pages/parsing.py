"""Parses a response in a worker: the page, and what its markup says of how it should be fetched."""

import asyncio
import datetime as dt
import hashlib
import json
import pickle
import re
import sqlite3
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import monitor
from monitor.fetch.result import DecompressionError, DecompressionLimitError, FetchResult, decompress
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool, load_value
from monitor.page import NO_HINTS, Page, PageError, PageErrorCode, PageHints
from monitor.urls import clean_url
from monitor.vocabulary import FetchMode

_MAX_SITEMAP_BYTES = 52_428_800  # what the sitemap protocol allows
_MAY_REDIRECT = re.compile(rb"refresh|<i?frame", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """A page and what its markup says beyond it.

    `is_empty_shell`: it has nothing to read though by its structure it should. A sitemap index has sitemaps as
    candidates.
    """

    page: Page
    needs_browser: bool = False
    is_empty_shell: bool = False
    redirect_url: str | None = None
    frame_url: str | None = None
    is_sitemap_index: bool = False


PageTask = Callable[[Page, FetchResult], object]
"""What else is to be read from a page while a worker has it; it is pickled, and so is the value that it returns."""


async def parse_result(
    result: FetchResult,
    workers: WorkerPool,
    *,
    task: PageTask | None = None,
    hints: PageHints = NO_HINTS,
    parsed: "ParsedPages | None" = None,
) -> ParsedResponse:
    """Parse the page in a worker, or take it from `parsed`; one that a worker cannot get through has an error.

    The page's `reading` is what the `task` returned; None where there is an error, or the task did not end in time.
    """
    error = result.error
    if error is None and result.body is not None:
        if parsed is not None and task is None and (known := await parsed.find(result, hints)) is not None:
            return known
        result = replace(result, notes={})
        try:
            found = await _parse_in_worker(result, workers, task, hints)
        except IsolatedWorkFailed as failure:
            error = PageError(code=PageErrorCode.PARSE, message=failure.message)
        else:
            if parsed is not None:
                await parsed.store(result, hints, found)
            return found
    page = Page(
        url=result.url,
        final_url=clean_url(result.final_url) or result.final_url,
        status=result.status,
        content_type=result.content_type,
        rendered=result.mode is FetchMode.RENDERED,
        fetched_at=result.at,
        record=result.record,
        error=error,
    )
    return ParsedResponse(page)


async def _parse_in_worker(
    result: FetchResult, workers: WorkerPool, task: PageTask | None, hints: PageHints
) -> ParsedResponse:
    if task is not None:
        with suppress(IsolatedWorkFailed):  # perhaps for the task's sake
            return await workers.run(parse_body, result, task, hints)
    return await workers.run(parse_body, result, None, hints)


def parse_body(result: FetchResult, task: PageTask | None = None, hints: PageHints = NO_HINTS) -> ParsedResponse:
    """Return the page of a result with a body, and what its markup says beyond it."""
    # Only workers read pages: the program itself needs none of this.
    from monitor.extract.encoding import decode
    from monitor.extract.feeds import is_sitemap_index
    from monitor.extract.parse import parse_page
    from monitor.extract.redirects import find_main_frame, find_redirect
    from monitor.markup import parse_html
    from monitor.pages.shells import is_empty_shell, needs_browser

    body, content_type = unpack_body(result)
    page = parse_page(
        body,
        url=result.url,
        final_url=clean_url(result.final_url) or result.final_url,
        status=result.status,
        content_type=content_type,
        fetched_at=result.at,
        rendered=result.mode is FetchMode.RENDERED,
        hints=hints,
    )
    page.is_cut_short = page.is_cut_short or result.is_cut_short
    page.record = result.record
    for candidate in page.candidates:
        candidate.record = result.record
    if task is not None and page.error is None:
        page.reading = task(page, result)
    if page.error is None and is_sitemap_index(body[:3000].decode("ascii", "replace")):
        return ParsedResponse(page, is_sitemap_index=True)
    has_list = any(candidate.date is not None for candidate in page.candidates)
    if page.error or (has_list and not _MAY_REDIRECT.search(body)):
        return ParsedResponse(page)
    html = decode(body, content_type)[0]
    frame = None
    if not has_list and "frame" in html.lower():
        frame = find_main_frame(parse_html(html), page.final_url)
    return ParsedResponse(
        page,
        needs_browser=needs_browser(page, html),
        is_empty_shell=is_empty_shell(page, html),
        redirect_url=find_redirect(html, page.final_url),
        frame_url=frame,
    )


def unpack_body(result: FetchResult) -> tuple[bytes, str | None]:
    """Return body and content type, those of the content for a gzipped sitemap file."""
    body = result.body or b""
    if not body.startswith(b"\x1f\x8b") or not result.final_url.split("?")[0].endswith(".xml.gz"):
        return body, result.content_type
    try:
        return decompress(body, "gzip", max_bytes=_MAX_SITEMAP_BYTES), "application/xml"
    except (DecompressionLimitError, DecompressionError):
        return body, result.content_type


_RULE_FOLDERS = ("dates", "extract", "pages")
_MAX_PARSED_BYTES = 67_108_864
_PARSED_LOCK_TIMEOUT_S = 0.5


class ParsedPages:
    """List pages as they were parsed, for a day: the same bytes at the same address are the same page on that day.

    Pages are read by rules that know which day it is, so each day has a file of its own, and those of earlier days go.
    Another version of the rules reads a page again. Articles are not kept, for they are read once. A file that is full
    or broken holds nothing; that only costs time. Several processes may share the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._day: dt.date | None = None
        self._connection: sqlite3.Connection | None = None

    async def find(self, result: FetchResult, hints: PageHints) -> ParsedResponse | None:
        """Return the page of a result as it was parsed before, with what belongs to this fetch; None if it was not."""
        if result.mode is not FetchMode.HTTP:
            return None
        parsed = await asyncio.to_thread(self._find, result, hints)
        if parsed is None:
            return None
        page = parsed.page
        page.url, page.status, page.fetched_at, page.record = result.url, result.status, result.at, result.record
        for candidate in page.candidates:
            candidate.record = result.record
        return parsed

    async def store(self, result: FetchResult, hints: PageHints, parsed: ParsedResponse) -> None:
        page = parsed.page
        if result.mode is FetchMode.HTTP and page.error is None and page.reading is None and page.candidates:
            pickled = pickle.dumps(parsed, pickle.HIGHEST_PROTOCOL)
            await asyncio.to_thread(self._store, result, hints, pickled)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _find(self, result: FetchResult, hints: PageHints) -> ParsedResponse | None:
        with self._lock, suppress(sqlite3.Error, OSError):
            query = "SELECT value FROM parsed WHERE key = ?"
            found = self._open(result.at.date()).execute(query, (_build_key(result, hints),)).fetchone()
            return None if found is None else _unpack_parsed(found[0])
        return None

    def _store(self, result: FetchResult, hints: PageHints, pickled: bytes) -> None:
        entry = (_build_key(result, hints), zlib.compress(pickled, 1))
        with self._lock, suppress(sqlite3.Error, OSError):
            self._open(result.at.date()).execute("INSERT OR REPLACE INTO parsed VALUES (?, ?)", entry)

    def _open(self, day: dt.date) -> sqlite3.Connection:
        if self._connection is None or self._day != day:
            self._close_file()
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"parsed-{day.isoformat()}.db"
            for file in self._folder.glob("parsed-*.db*"):
                if file.name < name:
                    file.unlink(missing_ok=True)
            file = self._folder / name
            connection = sqlite3.connect(
                file, timeout=_PARSED_LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            self._connection, self._day = connection, day
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            page_bytes = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {_MAX_PARSED_BYTES // page_bytes}")
            connection.execute("CREATE TABLE IF NOT EXISTS parsed (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
        return self._connection

    def _close(self) -> None:
        with self._lock:
            self._close_file()

    def _close_file(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _unpack_parsed(packed: bytes) -> ParsedResponse | None:
    try:
        parsed = load_value(zlib.decompress(packed))
    except (zlib.error, pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError):
        return None
    return parsed if isinstance(parsed, ParsedResponse) else None


def _build_key(result: FetchResult, hints: PageHints) -> str:
    body = hashlib.sha256(result.body or b"").hexdigest()
    facts = [body, result.final_url, result.content_type, result.is_cut_short, hints.model_dump(mode="json")]
    return hashlib.sha256(json.dumps([*facts, _identify_rules()]).encode()).hexdigest()


@cache
def _identify_rules() -> str:
    """Return what changes when the rules do: the version, and in a checkout the newest change of their files."""
    package = Path(monitor.__file__).parent
    files = [*package.glob("*.py"), *(file for name in _RULE_FOLDERS for file in (package / name).rglob("*.py"))]
    return f"{monitor.__version__} {max(file.stat().st_mtime_ns for file in files)}"
