"""`monitor demo`: the whole way on two sample sites on this machine, from their home pages to one ranked briefing."""

import asyncio
import re
import shutil
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from monitor.cli.progress import watching
from monitor.cli.terminal import Terminal, terminal_of, write_file
from monitor.domain.words import RunStatus

if TYPE_CHECKING:
    from monitor.app.report import RunReport
    from monitor.briefing.compose import Briefing
    from monitor.demo.site import SampleSite

_SITES = ("ministry", "bureau")
_TOP = 30
_NEXT = """\
Now with real sources{activate}:
  monitor init                          writes config.yaml and the database
  monitor doctor                        says what is missing on this machine
  monitor sources add URL --name NAME --focus TOPIC
  monitor sources try NAME              shows what a sweep would bring, and writes nothing
  monitor sweep NAME                    runs it
  monitor brief --format html --out briefing.html
  monitor serve                         all of it on web pages, and sources on their schedules
A model is optional: set llm.base_url, or the key in OPENAI_API_KEY."""


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where briefing.html goes.")] = Path("out"),
) -> None:
    """Sweep a sample ministry and a bureau that are served on this machine, and print their ranked briefing."""
    from monitor.briefing.render import render_briefing

    terminal = terminal_of(context)
    with tempfile.TemporaryDirectory(prefix="monitor-demo-") as folder:
        reports, briefing = asyncio.run(_swept(terminal, Path(folder)))
    terminal.say(_readable(render_briefing(briefing, "md").decode()))
    path = out / "briefing.html"
    write_file(path, render_briefing(briefing, "html"))
    terminal.say(f"The same as a page: {path}")
    failed = [report for report in reports if report.status is RunStatus.FAILED]
    for report in failed:
        terminal.note(f"monitor: {report.source}: {report.error or 'the run failed'}")
    if failed:
        raise typer.Exit(1)
    terminal.say("\n" + _NEXT.format(activate=_activate()))


async def _swept(terminal: Terminal, folder: Path) -> "tuple[list[RunReport], Briefing]":
    from monitor.app.briefings import BriefingQuery
    from monitor.bootstrap import SystemClock, open_app
    from monitor.cli.account import tell
    from monitor.demo.sample_settings import TIMEZONE, sample_settings
    from monitor.demo.site import SampleSite
    from monitor.settings import Settings

    today = SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date()
    sites = [SampleSite(name, today=today) for name in _SITES]
    reports = []
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(site.serve()) for site in sites]
        parts = await stack.enter_async_context(open_app(sample_settings(Settings(), *urls, folder=folder)))
        for site, url in zip(sites, urls, strict=True):
            source = await parts.sources.add(_source_of(site, url))
            terminal.note(f"{site.title} is served at {url}/ for as long as this takes.")
            with watching(terminal, is_quiet=False) as on_progress:
                report = await parts.sweeps.sweep(source, on_progress=on_progress)
            tell(terminal, report, top=0)
            reports.append(report)
        return reports, await parts.briefings.write(BriefingQuery(top=_TOP))


def _source_of(site: "SampleSite", base_url: str) -> dict[str, object]:
    focus = [area["name"] for area in site.focus_areas]
    return {"name": site.title, "url": f"{base_url}/", "focus_areas": focus}


def _activate() -> str:
    """How this shell comes to know the command, where it does not yet."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("monitor") or not script.exists():
        return ""
    shown = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
    return f" (type `. {shown}` first, so that the shell finds the command)"


def _readable(markdown: str) -> str:
    """Markdown as a terminal's reader wants it: links with their urls beside them, no marks and no escapes.

    A number in brackets stays one: its entry, with the url, is on the same page.
    """
    text = re.sub(r"\[\\\[(\d+)\\\]\]\(<[^>]*>\)", r"[\1]", markdown)
    text = re.sub(r"\[((?:[^\]\\]|\\.)*)\]\(<([^>]*)>\)", r"\1  \2", text)
    text = re.sub(r"(?<!\\)\*+", "", text)
    text = re.sub(r"[ ]+$|\\(?=[^\w\s]|_)", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text)
