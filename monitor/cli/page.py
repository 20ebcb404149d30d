"""`monitor page`: what the service sees in one page, or in a batch of saved ones."""

import asyncio
import datetime as dt
import json
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from monitor.cli.lines import AnswerWriter
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.config.model import Settings
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.page import Page, PageError, PageErrorCode
from monitor.pages.saved import dump_page, dump_saved_page, parse_saved_page
from monitor.urls import clean_url

_MAX_TEXT_CHARS = 600


def page(
    file_or_url: Annotated[str | None, typer.Argument(metavar="FILE_OR_URL", help="A saved page, or a url.")] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="BASE", help="The url that a saved page had.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="Read JSON lines {id?, path, url, fetched_at?}.")] = False,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal()
    if batch:
        if file_or_url is not None or url is not None:
            raise UsageError("page.batch_takes_no_page")
        answers = AnswerWriter(terminal, "pages", as_json=as_json)
        asyncio.run(_process_batch(terminal.load_settings().pages.max_bytes, answers))
        answers.close()
        return
    if file_or_url is None:
        raise UsageError("page.not_named")
    load = _load_from_url if "://" in file_or_url else _read_saved_page
    seen = load(terminal, file_or_url, url)
    if as_json:
        terminal.write_json(seen)
    elif seen.error is None:
        _print_page(terminal, seen)
    if seen.error is not None:
        terminal.complain(f"{seen.url}: {terminal.render(seen.error.reason)}")
        raise typer.Exit(1)


def _read_saved_page(terminal: Terminal, name: str, base: str | None) -> Page:
    path = Path(name)
    if not path.is_file():
        raise UsageError("page.no_file", path=name)
    if base is None:
        terminal.notify("page.no_base")
    now = dt.datetime.now(dt.UTC)
    found = _load_file(path, url=base, fetched_at=now, max_bytes=terminal.load_settings().pages.max_bytes)
    return found if isinstance(found, Page) else asyncio.run(_parse(*found, now))


async def _parse(address: str, body: bytes, fetched_at: dt.datetime) -> Page:
    async with _open_workers() as workers:
        return await parse_saved_page(body, url=address, fetched_at=fetched_at, workers=workers)


def _load_from_url(terminal: Terminal, url: str, base: str | None) -> Page:
    if base is not None:
        raise UsageError("page.base_of_url")
    return asyncio.run(_fetch_page(terminal.load_settings(), url))


async def _fetch_page(settings: Settings, url: str) -> Page:
    from monitor.clock import SystemClock
    from monitor.pages.loader import Loader

    async with (
        _open_workers() as workers,
        Loader.from_settings(
            pages=settings.pages, network=settings.network, clock=SystemClock(), workers=workers
        ) as loader,
    ):
        return await loader.load(url)


@asynccontextmanager
async def _open_workers() -> AsyncIterator[WorkerPool]:
    workers = WorkerPool(preload=["monitor.extract.parse", "monitor.pages.saved"])
    workers.start()
    try:
        yield workers
    finally:
        await workers.close()


def _print_page(terminal: Terminal, seen: Page) -> None:
    sources = Counter(terminal.word("date_source", candidate.date_source) for candidate in seen.candidates)
    counts = [f"{count} {source}" for source, count in sources.items()]
    published = f"{seen.published_on} ({terminal.word('date_source', seen.date_source)})" if seen.published_on else None
    terminal.write_line(seen.title or terminal.translate("(no title)"))
    facts = {
        "url": seen.final_url,
        "published": published,
        "issuer": seen.issuer,
        "number": seen.document_number,
        "language": seen.language,
        "loaded": Message.of("page.drawn" if seen.rendered else "page.fetched", encoding=seen.encoding or "-"),
        "next_page": seen.next_page,
        "candidates": Message.of("page.candidates", number=len(seen.candidates), sources=counts or ["-"]),
    }
    for name, value in facts.items():
        if value:
            terminal.write_line(f"  {terminal.render(Message(f'column.{name}')):<11} {terminal.to_text(value)}")
    if seen.candidates:
        terminal.write_line()
    terminal.write_records(
        seen.candidates,
        lambda candidate: {
            "date": candidate.date,
            "from": terminal.word("date_source", candidate.date_source),
            "title": candidate.title,
            "url": candidate.url,
        },
    )
    for attachment in seen.attachments:
        terminal.print("page.attachment", type=attachment.type, title=attachment.title, url=attachment.url)
    if seen.text:
        terminal.write_line(f"\n{seen.text[:_MAX_TEXT_CHARS]}")
        if len(seen.text) > _MAX_TEXT_CHARS:
            terminal.print("page.text_cut", chars=len(seen.text))


def _load_file(path: Path, *, url: str | None, fetched_at: dt.datetime, max_bytes: int) -> tuple[str, bytes] | Page:
    """Return url and bytes of a saved page, or the page with the error that keeps it from being read.

    Without a url (None or empty) it has the file's own, so that relative links lead nowhere and are left out.
    """
    address = clean_url(url) if url else path.absolute().as_uri()
    if address is None:
        return _build_error_page(url or "", PageErrorCode.INVALID_URL, fetched_at, "page.no_url", url=(url or "")[:200])
    try:
        size = path.stat().st_size
        if size > max_bytes:
            limits = {"size": f"{size / 2**20:.3g}", "limit": f"{max_bytes / 2**20:.3g}"}
            return _build_error_page(address, PageErrorCode.TOO_LARGE, fetched_at, "page.file_too_large", **limits)
        return address, path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a name with a NUL in it is none that a file can have.
        reason = getattr(error, "strerror", None) or str(error)
        details = {"path": str(path), "reason": reason}
        return _build_error_page(address, PageErrorCode.NOT_FOUND, fetched_at, "file.not_read_page", **details)


def _build_error_page(url: str, code: PageErrorCode, fetched_at: dt.datetime, reason: str, /, **args: Any) -> Page:
    error = PageError(code=code, message=Message(reason, args))
    return Page(url=url, final_url=url, fetched_at=fetched_at, error=error)


async def _process_batch(max_bytes: int, answers: AnswerWriter) -> None:
    """Answer each line of stdin with the page that it names; one that fails says so in `error`, and none stops.

    Several are parsed at once, and answered in the order of their lines.
    """
    async with _open_workers() as workers:
        tasks: asyncio.Queue[asyncio.Task[str] | None] = asyncio.Queue(2 * workers.size)

        async def take_lines() -> None:
            try:
                async for number, line in _read_lines():
                    if line.strip():
                        await tasks.put(asyncio.create_task(_process_line(line, number, max_bytes, workers)))
            finally:
                await tasks.put(None)

        reader = asyncio.create_task(take_lines())
        while (task := await tasks.get()) is not None:
            answers.write_line(await task)
        await reader


async def _read_lines() -> AsyncIterator[tuple[int, bytes]]:
    """Yield the numbered lines of stdin as they come: in a thread, which an interruption need not wait for."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue(1)

    def read() -> None:
        with suppress(RuntimeError, CancelledError):  # the loop has ended
            while line := sys.stdin.buffer.readline():
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(lines.put(b""), loop).result()

    threading.Thread(target=read, name="stdin", daemon=True).start()
    number = 0
    while line := await lines.get():
        number += 1
        yield number, line


async def _process_line(line: bytes, number: int, max_bytes: int, workers: WorkerPool) -> str:
    now = dt.datetime.now(dt.UTC)
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        page = _build_error_page("", PageErrorCode.PARSE, now, "page.line_no_json", line=number)
        return dump_page(page, {"id": None})
    if not isinstance(request, dict):
        page = _build_error_page("", PageErrorCode.PARSE, now, "page.line_no_object", line=number)
        return dump_page(page, {"id": None})
    identity = {"id": request["id"]} if "id" in request else {}
    at, found = _load_named_file(request, number, now, max_bytes)
    if isinstance(found, Page):
        return dump_page(found, identity)
    return await dump_saved_page(found[1], identity, url=found[0], fetched_at=at, workers=workers)


def _load_named_file(
    request: dict[str, Any], number: int, now: dt.datetime, max_bytes: int
) -> tuple[dt.datetime, tuple[str, bytes] | Page]:
    """Return when the page was fetched, and its url and bytes or the page with its error."""
    path, url, fetched_at = request.get("path"), request.get("url"), request.get("fetched_at")
    if not (isinstance(path, str) and path and isinstance(url, str)):
        named = url if isinstance(url, str) else ""
        return now, _build_error_page(named, PageErrorCode.INVALID_URL, now, "page.line_no_path", line=number)
    try:
        at = now if fetched_at is None else _parse_instant(fetched_at)
    except (TypeError, ValueError):
        return now, _build_error_page(url, PageErrorCode.PARSE, now, "page.line_no_instant", line=number)
    try:
        url.encode()
        return at, _load_file(Path(path), url=url, fetched_at=at, max_bytes=max_bytes)
    except UnicodeError:
        return at, _build_error_page("", PageErrorCode.INVALID_URL, now, "page.line_bad_text", line=number)


def _parse_instant(text: Any) -> dt.datetime:
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
