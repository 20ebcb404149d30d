"""`monitor demo`: the whole way on a sample ministry on this machine, from its home page to a ranked briefing."""

import asyncio
import re
import shutil
import sys
import tempfile
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

_TOP = 30
_NEXT = """\
Now with real sources{activate}:
  monitor init                          writes config.yaml and the database
  monitor doctor                        says what is missing on this machine
  monitor sources add URL --name NAME --focus TOPIC
  monitor sources try NAME              shows what a sweep would bring, and writes nothing
  monitor sweep NAME                    runs it
  monitor brief --format html --out briefing.html
A model is optional: set llm.base_url, or the key in OPENAI_API_KEY."""


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where briefing.html goes.")] = Path("out"),
) -> None:
    """Sweep a sample ministry that is served on this machine, and print the ranked briefing."""
    from monitor.briefing.render import render_briefing

    terminal = terminal_of(context)
    with tempfile.TemporaryDirectory(prefix="monitor-demo-") as folder:
        report, briefing = asyncio.run(_swept(terminal, Path(folder)))
    terminal.say(_readable(render_briefing(briefing, "md").decode()))
    path = out / "briefing.html"
    write_file(path, render_briefing(briefing, "html"))
    terminal.say(f"The same as a page: {path}")
    if report.status is RunStatus.FAILED:
        terminal.note(f"monitor: {report.source}: {report.error or 'the run failed'}")
        raise typer.Exit(1)
    terminal.say("\n" + _NEXT.format(activate=_activate()))


async def _swept(terminal: Terminal, folder: Path) -> "tuple[RunReport, Briefing]":
    from monitor.bootstrap import SystemClock, open_app
    from monitor.cli.account import tell
    from monitor.demo.sample_settings import TIMEZONE, sample_settings
    from monitor.demo.site import SampleSite
    from monitor.settings import Settings

    today = SystemClock().now().astimezone(ZoneInfo(TIMEZONE)).date()
    site = SampleSite("ministry", today=today)
    async with (
        site.serve() as base_url,
        open_app(sample_settings(Settings(), base_url=base_url, folder=folder)) as parts,
    ):
        source = await parts.sources.add(_source_of(site, base_url))
        terminal.note(f"{site.title} is served at {base_url}/ for as long as this takes.")
        with watching(terminal, is_quiet=False) as on_progress:
            report = await parts.sweeps.sweep(source, on_progress=on_progress)
        tell(terminal, report, top=0)
        return report, await parts.archive.briefing(top=_TOP)


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
    """Markdown as a terminal's reader wants it: links with their urls beside them, no marks and no escapes."""
    text = re.sub(r"\[((?:[^\]\\]|\\.)*)\]\(<([^>]*)>\)", r"\1  \2", markdown)
    text = re.sub(r"(?<!\\)\*+", "", text)
    text = re.sub(r"[ ]+$|\\(?=[^\w\s]|_)", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text)
