"""`monitor research`: a question in, a report out."""

import asyncio
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.progress import open_bars
from monitor.cli.terminal import (
    EXIT_INTERRUPTED,
    JsonOption,
    Terminal,
    get_terminal,
    handle_interrupts,
    replace_control_characters,
    write_file,
)
from monitor.db.tables.research import ResearchStatus
from monitor.errors import UsageError
from monitor.exports.registry import list_formats
from monitor.i18n.message import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monitor.bootstrap import App
    from monitor.db.tables.research import ResearchEvent
    from monitor.exports.registry import Content
    from monitor.services.audit import Actor
    from monitor.services.research.documents import UploadedFile
    from monitor.services.research.editions import EditionsView
    from monitor.services.research.service import ResearchService
    from monitor.services.research.views import ResearchView


DocumentOption = Annotated[
    list[Path] | None,
    typer.Option("--document", metavar="FILE", help="A PDF, DOCX or XLSX file as a source; may be repeated."),
]
_FORMATS = list_formats({"document", "data"})


def research(
    query: Annotated[str | None, typer.Argument(metavar="QUERY", help="The question.")] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="TASK_ID", help="Go on with one that failed or was cancelled.")
    ] = None,
    about: Annotated[
        str | None, typer.Option("--about", metavar="TASK_ID", help="Ask this about the report of a research.")
    ] = None,
    document: DocumentOption = None,
    events: Annotated[
        bool, typer.Option("--events", help="Print what it tells while it goes, a JSON object a line.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the report there; its ending names the format.")
    ] = None,
    repeat: Annotated[
        str | None, typer.Option("--repeat", metavar="TASK_ID", help="Have this one done again by the schedule.")
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option("--schedule", metavar="WHEN", help="For --repeat: `monday 08:00`, `daily 06:30`, cron, or `off`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    terminal = get_terminal()
    if repeat is not None or schedule is not None:
        if repeat is None or schedule is None or any((query, resume, about, document, events, out)):
            raise UsageError("research.repeat_alone")
        _repeat(terminal, repeat, schedule, as_json=as_json)
        return
    if (query is None) == (resume is None):
        raise UsageError("research.query_or_resume")
    if about is not None and resume is not None:
        raise UsageError("research.about_or_resume")
    if document and (about is not None or resume is not None):
        raise UsageError("research.documents_of_another")
    if events and as_json:
        raise UsageError("research.json_or_events")
    if out is not None and _get_format(out) not in _FORMATS:
        raise UsageError("research.no_format", path=out, formats=[f".{name}" for name in _FORMATS])
    command = _ResearchCommand(
        terminal=terminal,
        query=query,
        about=about,
        resume=resume,
        documents=document or [],
        out=out,
        prints_events=events,
        is_quiet=events or as_json,
    )
    try:
        view = terminal.act(command.run)
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    _print_result(terminal, view, out, as_json=as_json, has_printed_events=events)
    if command.is_interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    if view.status in (ResearchStatus.FAILED, ResearchStatus.CANCELLED):
        raise typer.Exit(1)


def _repeat(terminal: Terminal, task_id: str, schedule: str, *, as_json: bool) -> None:
    async def act(app: "App", by: "Actor") -> "EditionsView":
        await app.research.schedule(task_id, schedule, by=by)
        return await app.research.list_editions(task_id, by=by)

    series = terminal.act(act)
    if as_json:
        terminal.write_json(series.to_json())
    elif series.next_at is None:
        terminal.notify("research.not_repeated", research=series.first)
    else:
        next_at = f"{series.next_at:%Y-%m-%d %H:%M} UTC"
        terminal.notify("research.repeated", research=series.first, schedule=series.schedule_text, next_at=next_at)


def _print_result(
    terminal: Terminal, view: "ResearchView", out: Path | None, *, as_json: bool, has_printed_events: bool
) -> None:
    if as_json:
        terminal.write_json(view.to_json())
    elif out is not None and view.report is not None:
        terminal.notify("research.report_written", path=out)
    elif view.report is not None and not has_printed_events:
        sys.stdout.write(replace_control_characters(view.report.markdown) + "\n")
    for warning in view.warnings:
        terminal.complain(warning)
    if view.report is None:
        reason = view.error or Message.of(f"word.research_status.{view.status}")
        terminal.complain(Message.of("research.ended_without_report", task=view.task_id, reason=reason))


@dataclass(kw_only=True)
class _ResearchCommand:
    terminal: Terminal
    query: str | None
    about: str | None
    resume: str | None
    documents: list[Path]
    out: Path | None
    prints_events: bool
    is_quiet: bool
    is_interrupted: bool = False
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, app: "App", by: "Actor") -> "ResearchView":
        """Return the research as it is at its end, its report written to the file."""
        with handle_interrupts(self.terminal, self._request_stop), self._show_progress() as on_event:
            task_id = await self._execute(app.research, by, on_event)
        view = await app.research.get(task_id, by=by)
        if self.out is not None and view.report is not None:
            write_file(self.out, await _render_report(app, view, _get_format(self.out), by))
        return view

    async def _execute(
        self, service: "ResearchService", by: "Actor", on_event: "Callable[[ResearchEvent], None]"
    ) -> str:
        """Hand the research to the service where one is at work, else do it here; return its id."""
        from monitor.research.shapes import ResearchOptions, SearchConfig

        following: dict[str, Any] = {"by": by, "on_event": on_event, "cancel_event": self.cancel_event}
        if self.resume is not None:
            if await service.has_worker():
                after = await service.resume(self.resume, by=by)
                await service.wait_for(self.resume, after=after, **following)
            else:
                await service.resume_in_process(self.resume, **following)
            return self.resume
        if self.about is not None:
            return await self._ask(service, self.about, following)
        query, config, options = self.query or "", SearchConfig(), ResearchOptions()
        limit = service.dependency_factory.settings.research.max_document_bytes
        files = [_read_file(path, limit) for path in self.documents]
        if await service.has_worker():
            task_id = await service.enqueue(query, config=config, options=options, by=by, files=files)
            await service.wait_for(task_id, **following)
            return task_id
        return await service.run_in_process(query, config=config, options=options, files=files, **following)

    async def _ask(self, service: "ResearchService", about: str, following: dict[str, Any]) -> str:
        if not await service.has_worker():
            return await service.ask_in_process(about, self.query or "", **following)
        task_id = await service.ask(about, self.query or "", by=following["by"])
        await service.wait_for(task_id, **following)
        return task_id

    def _request_stop(self) -> None:
        self.is_interrupted = True
        self.cancel_event.set()

    @contextmanager
    def _show_progress(self) -> "Iterator[Callable[[ResearchEvent], None]]":
        """Give what takes the events: they are printed, or show on stderr how far the research is."""
        if self.prints_events:
            yield partial(_print_event, language=self.terminal.language)
        elif sys.stderr.isatty():
            with _show_bar() as show:
                yield show
        else:
            yield self._write_step

    def _write_step(self, event: "ResearchEvent") -> None:
        if event.data["status"] == "start" and not self.is_quiet:
            self.terminal.write_status(f"{event.data['label']} …")


def _read_file(path: Path, max_bytes: int) -> "UploadedFile":
    """Return a file, read one byte further than it may be long."""
    from monitor.services.research.documents import UploadedFile

    try:
        with path.open("rb") as file:
            return UploadedFile(path.name, file.read(max_bytes + 1))
    except OSError as error:
        raise UsageError("cause.document_missing", name=path.name) from error


async def _render_report(app: "App", view: "ResearchView", form: str, by: "Actor") -> bytes:
    document = await app.research.build_document(view.task_id, by=by)
    asked = [entry.to_json() for entry in await app.research.list_follow_ups(view.task_id, by=by)]
    content: Content = {"document": lambda: document, "data": lambda: view.to_json() | {"questions": asked}}
    return await app.exports.export(content, form)


def _get_format(out: Path) -> str:
    return out.suffix.removeprefix(".").lower()


def _print_event(event: "ResearchEvent", *, language: str) -> None:
    from monitor.research.shapes import render_messages

    sys.stdout.write(json.dumps(render_messages(event.data, language), ensure_ascii=False) + "\n")
    sys.stdout.flush()


@contextmanager
def _show_bar() -> "Iterator[Callable[[ResearchEvent], None]]":
    from rich.progress import BarColumn, TaskProgressColumn

    with open_bars(BarColumn(bar_width=20), TaskProgressColumn()) as bars:
        task = bars.add_task("", total=1.0)

        def show(event: "ResearchEvent") -> None:
            metadata: dict[str, Any] = event.data["payload"].get("metadata") or {}
            topic = " ".join(str(metadata[name]) for name in ("title", "query") if metadata.get(name))
            bars.update(
                task,
                completed=event.data["progress"],
                description=replace_control_characters(f"{event.data['label']}  {topic}")[:60],
            )

        yield show
