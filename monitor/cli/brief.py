"""`monitor brief`."""

import asyncio
import datetime as dt
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.terminal import Terminal, day, plain, terminal_of, write_file

if TYPE_CHECKING:
    from monitor.briefing.compose import Briefing


def brief(
    context: typer.Context,
    date: Annotated[
        dt.date | None, typer.Option("--date", parser=day, metavar="D", help="The last day; default today.")
    ] = None,
    days: Annotated[
        int, typer.Option("--days", min=1, max=3660, metavar="N", help="So many days, up to that day.")
    ] = 1,
    top: Annotated[int | None, typer.Option("--top", min=1, metavar="N", help="Show so many items in full.")] = None,
    source: Annotated[list[str] | None, typer.Option("--source", help="Only of this source; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only sources with this tag; may be repeated.")] = None,
    lang: Annotated[
        str, typer.Option("--lang", metavar="zh|en", help="The language of the briefing's own words.")
    ] = "zh",
    form: Annotated[str, typer.Option("--format", metavar="FMT", help="md, html or json.")] = "md",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
) -> None:
    """Write a ranked briefing of what was first seen in a period, and of what could not be seen."""
    from monitor.briefing.render import render_briefing
    from monitor.formats.render import check_format

    terminal = terminal_of(context)
    check_format(form)
    briefing = asyncio.run(_briefing(terminal, date, days, top, source or (), tag or (), lang))
    content = render_briefing(briefing, form)
    if out is not None:
        write_file(out, content)
        terminal.note(f"{len(briefing.items)} items were written to {out}.")
    else:
        sys.stdout.write(plain(content.decode()) if form == "md" else content.decode())


async def _briefing(
    terminal: Terminal,
    date: dt.date | None,
    days: int,
    top: int | None,
    sources: Sequence[str],
    tags: Sequence[str],
    language: str,
) -> "Briefing":
    from monitor.bootstrap import open_app

    async with open_app(terminal.settings()) as parts:
        return await parts.archive.briefing(
            day=date, days=days, top=top, sources=sources, tags=tags, language=language
        )  # fmt: skip
