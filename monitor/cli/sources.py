"""`monitor sources`: what is watched."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from monitor.cli.options import Fields
from monitor.cli.source_options import cleared, given_fields, with_source_options
from monitor.cli.terminal import JsonOption, Terminal, terminal_of, write_file
from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.domain.tables import Source

T = TypeVar("T")

app = typer.Typer(help="What is watched.", rich_markup_mode=None)

_HEALTH = (
    "created_at",
    "last_run_at",
    "last_success_at",
    "last_new_item_at",
    "consecutive_failures",
    "last_error",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the source.")]


@app.command("list")
def list_sources(
    context: typer.Context,
    tag: Annotated[str | None, typer.Option("--tag", help="Only sources with this tag.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the sources with their health, newest first."""
    terminal = terminal_of(context)
    sources = _with_app(terminal, lambda parts: parts.sources.all(tag=tag))
    if as_json:
        terminal.document({"sources": [_wire(source) for source in sources]})
    elif sources:
        head = ("name", "kind", "enabled", "schedule", "last run", "last success", "failures", "url", "last error")
        rows = [
            (
                one.name,
                one.kind,
                "yes" if one.enabled else "no",
                one.schedule,
                one.last_run_at,
                one.last_success_at,
                one.consecutive_failures,
                one.url,
                one.last_error,
            )
            for one in sources
        ]
        terminal.table(head, rows)
    else:
        terminal.note("No sources yet: add one with `monitor sources add URL --name NAME`.")


@app.command()
def show(context: typer.Context, name: Name, as_json: JsonOption = False) -> None:
    """Show all fields of one source."""
    terminal = terminal_of(context)
    source = _with_app(terminal, lambda parts: parts.sources.get(name))
    if as_json:
        terminal.document(_wire(source))
        return
    pinned = [f"{section['name']}={section['url']}" for section in source.sections]
    for field, value in {**_wire(source), "sections": pinned}.items():
        if value not in (None, "", []):
            terminal.say(f"{field:<22} {', '.join(value) if isinstance(value, list) else value}")


@app.command()
@with_source_options(without=("url",))
def add(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="The home page, the feed, or what to search for.")],
    as_json: JsonOption = False,
    **fields: Fields,
) -> None:
    """Begin to watch a site, a feed, or what a search finds."""
    terminal = terminal_of(context)
    values = {"name": _host(url), **given_fields(fields), "url": url}

    async def added(parts: "App") -> "Source":
        from monitor.app.source_form import form_values

        source = await parts.sources.add(values)
        await _note(parts, "source.add", source, after=form_values(source))
        return source

    _stored(terminal, _with_app(terminal, added), "was added", as_json=as_json)


@app.command()
@with_source_options()
def edit(
    context: typer.Context,
    source: Name,
    clear: Annotated[
        list[str] | None, typer.Option("--clear", metavar="FIELD", help="Put a field back to its default.")
    ] = None,
    as_json: JsonOption = False,
    **fields: Fields,
) -> None:
    """Change a source; what is given replaces what was there."""
    terminal = terminal_of(context)
    changes = {**cleared(clear or ()), **given_fields(fields)}
    if not changes:
        raise UsageError("Nothing to change was given; `monitor sources edit --help` names the options.")
    changed = _with_app(terminal, lambda parts: _edited(parts, source, changes))
    _stored(terminal, changed, "was changed", as_json=as_json)


@app.command()
def remove(context: typer.Context, name: Name) -> None:
    """Stop watching a source; its items and runs stay in the archive."""
    terminal = terminal_of(context)

    async def removed(parts: "App") -> None:
        from monitor.app.source_form import form_values

        source = await parts.sources.get(name)
        await parts.sources.remove(name)
        await _note(parts, "source.remove", source, before=form_values(source))

    _with_app(terminal, removed)
    terminal.say(f"The source {name!r} was removed; its items and runs stay.")


@app.command()
def enable(context: typer.Context, name: Name) -> None:
    """Enable a source: the schedule runs it again."""
    _switch(terminal_of(context), name, is_on=True)


@app.command()
def disable(context: typer.Context, name: Name) -> None:
    """Disable a source: the schedule skips it."""
    _switch(terminal_of(context), name, is_on=False)


@app.command("import")
def import_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="YAML as in config.yaml, OPML, or CSV.")],
) -> None:
    """Add the sources of a file: all of them, or none where one is wrong."""
    terminal = terminal_of(context)

    async def brought_in(parts: "App") -> "list[Source]":
        from monitor.app.source_form import form_values

        sources = await parts.sources.read_file(file)
        for source in sources:
            await _note(parts, "source.import", source, after=form_values(source))
        return sources

    sources = _with_app(terminal, brought_in)
    terminal.say(f"{len(sources)} sources were added: {', '.join(source.name for source in sources) or 'none'}.")


@app.command()
def export(
    context: typer.Context,
    form: Annotated[str, typer.Option("--format", metavar="yaml|opml|csv", help="yaml, opml or csv.")] = "yaml",
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")] = None,
) -> None:
    """Write all sources as YAML, OPML or CSV."""
    terminal = terminal_of(context)
    text = _with_app(terminal, lambda parts: parts.sources.written(form))
    if out is None:
        sys.stdout.write(text)
    else:
        write_file(out, text.encode("utf-8-sig" if form == "csv" else "utf-8"))  # spreadsheets ask for the mark
        terminal.note(f"The sources were written to {out}.")


@app.command("try")
@with_source_options(without=("url", "name", "schedule", "tags", "enabled"))
def try_source(
    context: typer.Context,
    url_or_name: Annotated[
        str, typer.Argument(metavar="URL_OR_NAME", help="A source, or the url or query of a new one.")
    ],
    as_json: JsonOption = False,
    **fields: Fields,
) -> None:
    """Dry run: the sections found, their candidates with dates, what would be saved; writes nothing."""
    from monitor.cli.trial import try_out

    terminal = terminal_of(context)
    values = {"name": _host(url_or_name), **given_fields(fields), "url": url_or_name}
    try_out(terminal, url_or_name, values, as_json=as_json)


def _with_app(terminal: Terminal, ask: "Callable[[App], Awaitable[T]]") -> T:
    from monitor.bootstrap import open_app

    async def answer() -> T:
        async with open_app(terminal.settings()) as parts:
            return await ask(parts)

    return asyncio.run(answer())


def _switch(terminal: Terminal, name: str, *, is_on: bool) -> None:
    _with_app(terminal, lambda parts: _edited(parts, name, {"enabled": is_on}))
    terminal.say(f"The source {name!r} is {'enabled' if is_on else 'disabled'}.")


async def _edited(parts: "App", name: str, changes: dict[str, Any]) -> "Source":
    from monitor.app.source_form import differences

    before = await parts.sources.get(name)
    after = await parts.sources.edit(name, changes)
    was, now = differences(before, after)
    if now:
        await _note(parts, "source.edit", after, before=was, after=now)
    return after


async def _note(parts: "App", action: str, source: "Source", **detail: Any) -> None:
    from monitor.app.audit import BY_COMMAND

    await parts.audit.record(BY_COMMAND, action, source.name, **detail)


def _wire(source: "Source") -> dict[str, Any]:
    """The source as JSON: what a person set, then its health."""
    from monitor.app.source_form import SourceForm

    values = source.model_dump(mode="json")
    return {name: values[name] for name in dict.fromkeys(("id", *SourceForm.model_fields, *_HEALTH))}


def _stored(terminal: Terminal, source: "Source", done: str, *, as_json: bool) -> None:
    if as_json:
        terminal.document(_wire(source))
    else:
        terminal.say(
            f"The source {source.name!r} {done}. See what it would bring: `monitor sources try {quote(source.name)}`."
        )


def _host(url: str) -> str:
    from monitor.domain.urls import host_of

    return host_of(url).removeprefix("www.") or url
