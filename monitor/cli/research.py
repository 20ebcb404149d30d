"""`monitor research`: a question in, a report out."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.stopping import stopping
from monitor.cli.terminal import JsonOption, Terminal, plain, terminal_of, write_file
from monitor.domain.research import ResearchStatus
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.app.research import ResearchDesk
    from monitor.app.research_view import ResearchView
    from monitor.bootstrap import App
    from monitor.domain.research import ResearchEvent

_INTERRUPTED = 130
_FORMATS = ("md", "html", "docx", "pdf", "json")


def research(
    context: typer.Context,
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="The question.")] = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="TASK_ID", help="Go on with one that failed or was cancelled."),
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="Print what it tells while it goes, a JSON object a line.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the report there; its ending says as what: md html docx pdf json."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question with a report whose every quote stands in a kept page."""
    terminal = terminal_of(context)
    if (query is None) == (resume is None):
        raise UsageError("Give a question, or --resume with the id of a research: one of the two.")
    if events and as_json:
        raise UsageError("Give --json for the result or --events for the way there, not both.")
    form = out.suffix.removeprefix(".").lower() if out is not None else ""
    if out is not None and form not in _FORMATS:
        raise UsageError(f"{out} says no format that a report is written in: end it in .{', .'.join(_FORMATS)}.")
    wish = _Wish(query=query, resume=resume, out=out, form=form)
    work = _Work(terminal, wish, prints_events=events, is_quiet=events or as_json)
    try:
        view = asyncio.run(work.done())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    _tell(terminal, view, out, as_json=as_json, is_told=events)
    if work.is_interrupted:
        raise typer.Exit(_INTERRUPTED)
    if view.status in (ResearchStatus.FAILED, ResearchStatus.CANCELLED):
        raise typer.Exit(1)


def _tell(terminal: Terminal, view: "ResearchView", out: Path | None, *, as_json: bool, is_told: bool) -> None:
    if as_json:
        terminal.document(view.wire())
    elif out is not None and view.report is not None:
        terminal.note(f"The report was written to {out}.")
    elif view.report is not None and not is_told:
        sys.stdout.write(plain(view.report.markdown) + "\n")
    for warning in view.warnings:
        terminal.note(f"monitor: {warning}")
    if view.report is None:
        why = view.error or f"it is {view.status}"
        terminal.note(f"monitor: The research {view.task_id} gave no report: {why}")


@dataclass(frozen=True)
class _Wish:
    query: str | None
    resume: str | None
    out: Path | None
    form: str


class _Work:
    """One research, followed to its end."""

    def __init__(self, terminal: Terminal, wish: _Wish, *, prints_events: bool, is_quiet: bool) -> None:
        self.is_interrupted = False
        self._terminal = terminal
        self._wish = wish
        self._prints_events = prints_events
        self._is_quiet = is_quiet
        self._cancel_event = asyncio.Event()

    async def done(self) -> "ResearchView":
        """The research as it is at its end, its report written to the file."""
        from monitor.bootstrap import open_app

        async with open_app(self._terminal.settings()) as app:
            with stopping(self._terminal, self._stop), self._watched() as on_event:
                task_id = await self._carried_out(app.research, on_event)
            view = await app.research.get(task_id)
            if self._wish.out is not None and view.report is not None:
                write_file(self._wish.out, await self._written(app, view))
            return view

    async def _carried_out(self, desk: "ResearchDesk", on_event: "Callable[[ResearchEvent], None]") -> str:
        """Hand it to the service where one is at work, else do it here; answers its id."""
        from monitor.app.audit import BY_COMMAND
        from monitor.research.shapes import ResearchOptions, SearchConfig

        stop, resumed = self._cancel_event, self._wish.resume
        if resumed is not None:
            if await desk.is_served():
                after = await desk.resume(resumed)
                await desk.wait_for(resumed, on_event=on_event, cancel_event=stop, after=after)
            else:
                await desk.resume_here(resumed, on_event=on_event, cancel_event=stop)
            return resumed
        query, config, options = self._wish.query or "", SearchConfig(), ResearchOptions()
        if await desk.is_served():
            task_id = await desk.ask(query, config=config, options=options, by=BY_COMMAND)
            await desk.wait_for(task_id, on_event=on_event, cancel_event=stop)
            return task_id
        return await desk.run_here(
            query, config=config, options=options, by=BY_COMMAND, on_event=on_event, cancel_event=stop
        )

    async def _written(self, app: "App", view: "ResearchView") -> bytes:
        if self._wish.form == "json":
            return (json.dumps(view.wire(), ensure_ascii=False, indent=2) + "\n").encode()
        return await app.writing.document(await app.research.document(view.task_id), self._wish.form)

    def _stop(self) -> None:
        self.is_interrupted = True
        self._cancel_event.set()

    @contextmanager
    def _watched(self) -> "Iterator[Callable[[ResearchEvent], None]]":
        """What takes the messages: they are printed, or show on stderr how far it is."""
        if self._prints_events:
            yield _print
        elif sys.stderr.isatty():
            with _bar() as show:
                yield show
        else:
            yield _Lines(self._terminal, is_quiet=self._is_quiet)


class _Lines:
    """A line for each step that begins."""

    def __init__(self, terminal: Terminal, *, is_quiet: bool) -> None:
        self._terminal = terminal
        self._is_quiet = is_quiet

    def __call__(self, event: "ResearchEvent") -> None:
        if event.data["status"] == "start" and not self._is_quiet:
            self._terminal.note(f"{event.data['label']} …")


def _print(event: "ResearchEvent") -> None:
    sys.stdout.write(json.dumps(event.data, ensure_ascii=False) + "\n")
    sys.stdout.flush()


@contextmanager
def _bar() -> "Iterator[Callable[[ResearchEvent], None]]":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=1.0)

        def show(event: "ResearchEvent") -> None:
            about: dict[str, Any] = event.data["payload"].get("metadata") or {}
            said = " ".join(str(about[name]) for name in ("title", "query") if about.get(name))
            bars.update(
                task, completed=event.data["progress"], description=plain(f"{event.data['label']}  {said}")[:60]
            )

        yield show
