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
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.page import Page, PageError, PageErrorCode
from monitor.urls import clean_url

_MAX_TEXT_CHARS = 600


def page(
    context: typer.Context,
    file_or_url: Annotated[str | None, typer.Argument(metavar="FILE_OR_URL", help="A saved page, or a url.")] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="BASE", help="The url that a saved page had.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="Read JSON lines {id?, path, url, fetched_at?}.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what the service sees in one page: title, date, candidates, next page, attachments, text."""
    terminal = get_terminal(context)
    if batch:
        if file_or_url is not None or url is not None:
            raise UsageError("With --batch the pages are named on stdin: give neither FILE_OR_URL nor --url.")
        process_batch(terminal.load_settings().pages.max_bytes)
        return
    if file_or_url is None:
        raise UsageError("Name a saved page or a url: `monitor page https://www.example.gov/`.")
    seen = (
        _read_saved_page(terminal, file_or_url, url)
        if _is_file(file_or_url)
        else _load_from_url(terminal, file_or_url, url)
    )
    if as_json:
        terminal.write_json(seen.model_dump(mode="json"))
    elif seen.error is None:
        _print_page(terminal, seen)
    if seen.error is not None:
        terminal.write_status(f"monitor: {seen.url}: {render(seen.error.reason, 'en')}")
        raise typer.Exit(1)


def _is_file(text: str) -> bool:
    """What has a scheme is a url; anything else is a file, which may be missing."""
    return "://" not in text


def _read_saved_page(terminal: Terminal, name: str, base: str | None) -> "Page":

    path = Path(name)
    if not path.is_file():
        raise UsageError(f"There is no file {name}; a url is written in full, as https://www.example.gov/.")
    if base is None:
        terminal.write_status("Without --url BASE the page's relative links lead nowhere and are left out.")
    at = dt.datetime.now(dt.UTC)
    return load_saved_page(path, url=base, fetched_at=at, max_bytes=terminal.load_settings().pages.max_bytes)


def _load_from_url(terminal: Terminal, url: str, base: str | None) -> "Page":
    if base is not None:
        raise UsageError("--url BASE belongs to a saved page; a url that is loaded is its own base.")
    return asyncio.run(_fetch_page(terminal, url))


async def _fetch_page(terminal: Terminal, url: str) -> "Page":
    from monitor.clock import SystemClock
    from monitor.pages.loader import Loader

    settings = terminal.load_settings()
    async with Loader.from_settings(pages=settings.pages, network=settings.network, clock=SystemClock()) as loader:
        return await loader.load(url)


def _print_page(terminal: Terminal, seen: "Page") -> None:
    dated = Counter(str(candidate.date_source) for candidate in seen.candidates)
    terminal.write_line(seen.title or "(no title)")
    facts = [
        ("url", seen.final_url),
        ("published", f"{seen.published_on} ({seen.date_source})" if seen.published_on else None),
        ("issuer", seen.issuer),
        ("number", seen.document_number),
        ("language", seen.language),
        ("loaded", f"{'drawn' if seen.rendered else 'without a browser'}, {seen.encoding or 'no text'}"),
        ("next page", seen.next_page),
        ("candidates", f"{len(seen.candidates)} ({', '.join(f'{n} {word}' for word, n in dated.items()) or 'none'})"),
    ]
    for name, value in facts:
        if value:
            terminal.write_line(f"  {name:<11} {value}")
    if seen.candidates:
        terminal.write_line()
        rows = [(one.date, one.date_source, one.title, one.url) for one in seen.candidates]
        terminal.write_table(("date", "from", "title", "url"), rows)
    for attachment in seen.attachments:
        terminal.write_line(f"  attachment: [{attachment.type}] {attachment.title} {attachment.url}")
    if seen.text:
        cut = f" … ({len(seen.text)} characters)" if len(seen.text) > _MAX_TEXT_CHARS else ""
        terminal.write_line(f"\n{seen.text[:_MAX_TEXT_CHARS]}{cut}")


def load_saved_page(path: Path, *, url: str | None, fetched_at: dt.datetime, max_bytes: int) -> Page:
    """The Page that a file holds, as if it had come from `url` at `fetched_at`; what is wrong is its `error`.

    Without a url (None or empty) it keeps the file's own, so that relative links lead nowhere and are left out.
    """
    address = clean_url(url) if url else path.absolute().as_uri()
    if address is None:
        return build_error_page(url or "", PageErrorCode.INVALID_URL, f"“{(url or '')[:200]}” is no url.", fetched_at)
    try:
        size = path.stat().st_size
        if size > max_bytes:
            message = f"The file has {size / 2**20:.3g} MB, the limit pages.max_bytes is {max_bytes / 2**20:.3g} MB."
            return build_error_page(address, PageErrorCode.TOO_LARGE, message, fetched_at)
        body = path.read_bytes()
    except (OSError, ValueError) as error:
        # ValueError: a name with a NUL in it is none that a file can have.
        reason = getattr(error, "strerror", None) or str(error)
        return build_error_page(
            address, PageErrorCode.NOT_FOUND, f"The file {path} cannot be read: {reason}.", fetched_at
        )
    return parse_page(body, url=address, final_url=address, status=None, content_type=None, fetched_at=fetched_at)


def build_error_page(url: str, code: PageErrorCode, message: str, fetched_at: dt.datetime) -> Page:
    """A page that could not be seen, and why."""
    return Page(
        url=url, final_url=url, fetched_at=fetched_at, error=PageError(code=code, message=Message.other(message))
    )


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
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return _build_response(
            build_error_page("", PageErrorCode.PARSE, f"Line {number} is no JSON.", now), {"id": None}
        )
    if not isinstance(asked, dict):
        return _build_response(
            build_error_page("", PageErrorCode.PARSE, f"Line {number} is no JSON object.", now), {"id": None}
        )
    identity = {"id": asked["id"]} if "id" in asked else {}
    return _build_response(_load_page(asked, number, now, max_bytes), identity)


def _load_page(request: dict[str, Any], number: int, now: dt.datetime, max_bytes: int) -> Page:
    path, url, fetched_at = request.get("path"), request.get("url"), request.get("fetched_at")
    if not (isinstance(path, str) and path and isinstance(url, str)):
        named = url if isinstance(url, str) else ""
        return build_error_page(
            named, PageErrorCode.INVALID_URL, f"Line {number} must name `path` and `url` as text.", now
        )
    try:
        at = now if fetched_at is None else _parse_instant(fetched_at)
    except (TypeError, ValueError):
        message = f"Line {number} has no instant in `fetched_at`; write it as 2026-02-03T08:00:00Z."
        return build_error_page(url, PageErrorCode.PARSE, message, now)
    try:
        url.encode()
        return load_saved_page(Path(path), url=url, fetched_at=at, max_bytes=max_bytes)
    except UnicodeError:
        return build_error_page(
            "", PageErrorCode.INVALID_URL, f"Line {number} holds half a character in `path` or `url`.", now
        )


def _parse_instant(text: Any) -> dt.datetime:
    instant = dt.datetime.fromisoformat(text)
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)


def _build_response(page: Page, identity: dict[str, Any]) -> dict[str, Any]:
    return {**identity, **page.model_dump(mode="json")}
