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

from monitor.cli.progress import show_progress
from monitor.cli.terminal import Terminal, get_terminal, write_file
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.briefing.compose import Briefing
    from monitor.services.run_report import RunReport

if TYPE_CHECKING:
    from monitor.demo.site import SampleSite


_SITES = ("ministry", "bureau")

_MAX_ITEMS = 30

_NEXT_STEPS = """\
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

    terminal = get_terminal(context)
    with tempfile.TemporaryDirectory(prefix="monitor-demo-") as folder:
        reports, briefing = asyncio.run(_run_demo(terminal, Path(folder)))
    terminal.write_line(_strip_markdown(render_briefing(briefing, "md").decode()))
    path = out / "briefing.html"
    write_file(path, render_briefing(briefing, "html"))
    terminal.write_line(f"The same as a page: {path}")
    failed = [report for report in reports if report.status is RunStatus.FAILED]
    for report in failed:
        terminal.write_status(f"monitor: {report.source}: {report.error or 'the run failed'}")
    if failed:
        raise typer.Exit(1)
    terminal.write_line("\n" + _NEXT_STEPS.format(activate=_format_activation_hint()))


async def _run_demo(terminal: Terminal, folder: Path) -> "tuple[list[RunReport], Briefing]":
    from monitor.bootstrap import open_app
    from monitor.cli.progress import print_run
    from monitor.clock import SystemClock
    from monitor.config.model import Settings
    from monitor.demo.site import TIMEZONE, SampleSite, build_sample_settings
    from monitor.services.audit import COMMAND_LINE
    from monitor.services.briefings import BriefingQuery

    today = SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date()
    sites = [SampleSite(name, today=today) for name in _SITES]
    reports = []
    async with AsyncExitStack() as stack:
        urls = [await stack.enter_async_context(site.serve()) for site in sites]
        parts = await stack.enter_async_context(open_app(build_sample_settings(Settings(), *urls, folder=folder)))
        for site, url in zip(sites, urls, strict=True):
            source = await parts.sources.add(_build_source(site, url), by=COMMAND_LINE)
            terminal.write_status(f"{site.title} is served at {url}/ for as long as this takes.")
            with show_progress(terminal, is_quiet=False) as on_progress:
                report = await parts.sweeps.sweep(source, by=COMMAND_LINE, on_progress=on_progress)
            print_run(terminal, report, top=0)
            reports.append(report)
        return reports, await parts.briefings.compose(BriefingQuery(top=_MAX_ITEMS))


def _build_source(site: "SampleSite", base_url: str) -> dict[str, object]:
    focus = [area["name"] for area in site.focus_areas]
    return {"name": site.title, "url": f"{base_url}/", "focus_areas": focus}


def _format_activation_hint() -> str:
    """How this shell comes to know the command, where it does not yet."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("monitor") or not script.exists():
        return ""
    shown = script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
    return f" (type `. {shown}` first, so that the shell finds the command)"


def _strip_markdown(markdown: str) -> str:
    """Markdown as a terminal's reader wants it: links with their urls beside them, no marks and no escapes.

    A number in brackets stays one: its entry, with the url, is on the same page.
    """
    text = re.sub(r"\[\\\[(\d+)\\\]\]\(<[^>]*>\)", r"[\1]", markdown)
    text = re.sub(r"\[((?:[^\]\\]|\\.)*)\]\(<([^>]*)>\)", r"\1  \2", text)
    text = re.sub(r"(?<!\\)\*+", "", text)
    text = re.sub(r"[ ]+$|\\(?=[^\w\s]|_)", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text)
