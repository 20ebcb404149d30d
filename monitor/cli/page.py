"""`monitor page`: what the service sees in one page, or in a batch of saved ones."""

import asyncio
import datetime as dt
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import JsonOption, Terminal, terminal_of
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.domain.page import Page

_TEXT_CHARS = 600


def page(
    context: typer.Context,
    file_or_url: Annotated[str | None, typer.Argument(metavar="FILE_OR_URL", help="A saved page, or a url.")] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="BASE", help="The url that a saved page had.")] = None,
    batch: Annotated[bool, typer.Option("--batch", help="Read JSON lines {id?, path, url, fetched_at?}.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what the service sees in one page: title, date, candidates, next page, attachments, text."""
    terminal = terminal_of(context)
    if batch:
        from monitor.cli.batch import answer_lines

        if file_or_url is not None or url is not None:
            raise UsageError("With --batch the pages are named on stdin: give neither FILE_OR_URL nor --url.")
        answer_lines(terminal.settings().pages.max_bytes)
        return
    if file_or_url is None:
        raise UsageError("Name a saved page or a url: `monitor page https://www.example.gov/`.")
    seen = _saved(terminal, file_or_url, url) if _is_file(file_or_url) else _loaded(terminal, file_or_url, url)
    if as_json:
        terminal.document(seen.model_dump(mode="json"))
    elif seen.error is None:
        _show(terminal, seen)
    if seen.error is not None:
        code = f"{seen.error.code}/{seen.error.detail_code}" if seen.error.detail_code else seen.error.code
        terminal.note(f"monitor: {seen.url}: {code}: {seen.error.message}")
        raise typer.Exit(1)


def _is_file(text: str) -> bool:
    """What has a scheme is a url; anything else is a file, which may be missing."""
    return "://" not in text


def _saved(terminal: Terminal, name: str, base: str | None) -> "Page":
    from monitor.pages.saved import read_saved

    path = Path(name)
    if not path.is_file():
        raise UsageError(f"There is no file {name}; a url is written in full, as https://www.example.gov/.")
    if base is None:
        terminal.note("Without --url BASE the page's relative links lead nowhere and are left out.")
    at = dt.datetime.now(dt.UTC)
    return read_saved(path, url=base, fetched_at=at, max_bytes=terminal.settings().pages.max_bytes)


def _loaded(terminal: Terminal, url: str, base: str | None) -> "Page":
    if base is not None:
        raise UsageError("--url BASE belongs to a saved page; a url that is loaded is its own base.")
    return asyncio.run(_load(terminal, url))


async def _load(terminal: Terminal, url: str) -> "Page":
    from monitor.bootstrap import SystemClock
    from monitor.pages.loader import Loader

    settings = terminal.settings()
    async with Loader.from_settings(pages=settings.pages, network=settings.network, clock=SystemClock()) as loader:
        return await loader.load(url)


def _show(terminal: Terminal, seen: "Page") -> None:
    dated = Counter(str(candidate.date_source) for candidate in seen.candidates)
    terminal.say(seen.title or "(no title)")
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
            terminal.say(f"  {name:<11} {value}")
    if seen.candidates:
        terminal.say()
        rows = [(one.date, one.date_source, one.title, one.url) for one in seen.candidates]
        terminal.table(("date", "from", "title", "url"), rows)
    for attachment in seen.attachments:
        terminal.say(f"  attachment: [{attachment.type}] {attachment.title} {attachment.url}")
    if seen.text:
        cut = f" … ({len(seen.text)} characters)" if len(seen.text) > _TEXT_CHARS else ""
        terminal.say(f"\n{seen.text[:_TEXT_CHARS]}{cut}")
