"""`monitor page`: what the service sees in one page, or in a batch of saved ones."""

import asyncio
import datetime as dt
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.errors import UsageError
from monitor.extract.parse import parse_page
from monitor.i18n.message import Message
from monitor.page import Page, PageError, PageErrorCode
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
        process_batch(terminal.load_settings().pages.max_bytes)
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
    at = dt.datetime.now(dt.UTC)
    return load_saved_page(path, url=base, fetched_at=at, max_bytes=terminal.load_settings().pages.max_bytes)


def _load_from_url(terminal: Terminal, url: str, base: str | None) -> Page:
    if base is not None:
        raise UsageError("page.base_of_url")
    return asyncio.run(_fetch_page(terminal, url))


async def _fetch_page(terminal: Terminal, url: str) -> Page:
    from monitor.clock import SystemClock
    from monitor.pages.loader import Loader

    settings = terminal.load_settings()
    async with Loader.from_settings(pages=settings.pages, network=settings.network, clock=SystemClock()) as loader:
        return await loader.load(url)


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
        "loaded": Message.of("page.drawn" if seen.rendered else "page.not_drawn", encoding=seen.encoding or "-"),
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


def load_saved_page(path: Path, *, url: str | None, fetched_at: dt.datetime, max_bytes: int) -> Page:
    """Return the Page that a file holds, as if it had come from `url` at `fetched_at`; what is wrong is its `error`.

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
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a name with a NUL in it is none that a file can have.
        reason = getattr(error, "strerror", None) or str(error)
        details = {"path": str(path), "reason": reason}
        return _build_error_page(address, PageErrorCode.NOT_FOUND, fetched_at, "file.not_read_page", **details)
    return parse_page(body, url=address, final_url=address, status=None, content_type=None, fetched_at=fetched_at)


def _build_error_page(url: str, code: PageErrorCode, fetched_at: dt.datetime, reason: str, /, **args: Any) -> Page:
    error = PageError(code=code, message=Message(reason, args))
    return Page(url=url, final_url=url, fetched_at=fetched_at, error=error)


def process_batch(max_bytes: int) -> None:
    """Answer each line of stdin with the page that it names; one that fails says so in `error`, and none stops."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            answer = _process_line(line, number, max_bytes)
            sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
            sys.stdout.flush()


def _process_line(line: bytes, number: int, max_bytes: int) -> dict[str, Any]:
    now = dt.datetime.now(dt.UTC)
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return _dump(_build_error_page("", PageErrorCode.PARSE, now, "page.line_no_json", line=number), {"id": None})
    if not isinstance(request, dict):
        page = _build_error_page("", PageErrorCode.PARSE, now, "page.line_no_object", line=number)
        return _dump(page, {"id": None})
    identity = {"id": request["id"]} if "id" in request else {}
    return _dump(_load_page(request, number, now, max_bytes), identity)


def _load_page(request: dict[str, Any], number: int, now: dt.datetime, max_bytes: int) -> Page:
    path, url, fetched_at = request.get("path"), request.get("url"), request.get("fetched_at")
    if not (isinstance(path, str) and path and isinstance(url, str)):
        named = url if isinstance(url, str) else ""
        return _build_error_page(named, PageErrorCode.INVALID_URL, now, "page.line_no_path", line=number)
    try:
        at = now if fetched_at is None else _parse_instant(fetched_at)
    except (TypeError, ValueError):
        return _build_error_page(url, PageErrorCode.PARSE, now, "page.line_no_instant", line=number)
    try:
        url.encode()
        return load_saved_page(Path(path), url=url, fetched_at=at, max_bytes=max_bytes)
    except UnicodeError:
        return _build_error_page("", PageErrorCode.INVALID_URL, now, "page.line_bad_text", line=number)


def _parse_instant(text: Any) -> dt.datetime:
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def _dump(page: Page, identity: dict[str, Any]) -> dict[str, Any]:
    return {**identity, **page.model_dump(mode="json")}
