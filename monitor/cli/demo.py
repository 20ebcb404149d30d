"""`monitor demo`: the whole way on two sample sites on this machine, from their home pages to one ranked briefing."""

import asyncio
import shutil
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from monitor.cli.progress import print_run, show_progress
from monitor.cli.terminal import JsonOption, Terminal, get_terminal, write_file
from monitor.vocabulary import RunStatus

if TYPE_CHECKING:
    from monitor.briefing.compose import Briefing
    from monitor.services.runs import RunReport


_SITES = ("ministry", "bureau")
_MAX_ITEMS = 30


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where briefing.html goes.")] = Path("out"),
    as_json: JsonOption = False,
) -> None:
    from monitor.briefing.layout import build_document
    from monitor.briefing.render import render_briefing
    from monitor.exports.plain import render_plain_text

    terminal = get_terminal()
    with tempfile.TemporaryDirectory(prefix="monitor-demo-") as folder:
        reports, briefing = asyncio.run(_run_demo(terminal, Path(folder), is_quiet=as_json))
    path = out / "briefing.html"
    write_file(path, render_briefing(briefing, "html"))
    if as_json:
        terminal.write_json({"runs": reports, "briefing": briefing, "page": path})
    else:
        terminal.write_line(render_plain_text(build_document(briefing)))
        terminal.print("demo.page", path=path)
    failed = [report for report in reports if report.status is RunStatus.FAILED]
    for report in failed:
        error = terminal.to_text(report.error) or terminal.translate("the run failed")
        terminal.complain(f"{report.source}: {error}")
    if failed:
        raise typer.Exit(1)
    if as_json:
        return
    terminal.write_line()
    script = _find_activation_script()
    if script is None:
        terminal.print("demo.next_steps")
    else:
        terminal.print("demo.next_steps_activate", script=script)
    terminal.print("demo.commands")


async def _run_demo(terminal: Terminal, folder: Path, *, is_quiet: bool) -> "tuple[list[RunReport], Briefing]":
    from monitor.bootstrap import open_app
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
        app = await stack.enter_async_context(open_app(build_sample_settings(Settings(), *urls, folder=folder)))
        for site, url in zip(sites, urls, strict=True):
            focus = [area["name"] for area in site.focus_areas]
            values = {"name": site.title, "url": f"{url}/", "focus_areas": focus, "schedule": None}
            source = await app.sources.add(values, by=COMMAND_LINE)
            if not is_quiet:
                terminal.notify("demo.served", title=site.title, url=f"{url}/")
            with show_progress(terminal, is_quiet=is_quiet) as on_progress:
                report = await app.sweeps.sweep(source, by=COMMAND_LINE, on_progress=on_progress)
            if not is_quiet:
                print_run(terminal, report, top=0)
            reports.append(report)
        return reports, await app.briefings.compose(BriefingQuery(top=_MAX_ITEMS))


def _find_activation_script() -> Path | None:
    """Return the script by which this shell comes to know the command, where it does not yet."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("monitor") or not script.exists():
        return None
    return script.relative_to(Path.cwd()) if script.is_relative_to(Path.cwd()) else script
