"""`monitor sources`: list, add, edit and try the monitored sources."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.catalogue import search_catalogue
from monitor.cli.parser import build_group
from monitor.cli.progress import show_progress
from monitor.cli.source_lists import TIME_FIELDS, TeamOption, build_source_json, export, import_file
from monitor.cli.terminal import Command, JsonOption, OptionValue, Terminal, add_options, collect_given, get_terminal
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.vocabulary import Render, SourceKind

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.db.tables.collection import Source
    from monitor.page import Candidate
    from monitor.services.audit import Actor
    from monitor.services.sources.discovery import Discovery
    from monitor.services.sources.teaching import SectionLook, TaughtList
    from monitor.services.sweeps import TrialResult


_OPTIONS: dict[str, Any] = {
    "name": Annotated[str | None, typer.Option("--name", help="Its unique name.")],
    "url": Annotated[str | None, typer.Option("--url", help="The home page, the feed, or the query.")],
    "kind": Annotated[SourceKind | None, typer.Option("--kind", help="site, feed or query.")],
    "focus_areas": Annotated[
        list[str] | None, typer.Option("--focus", metavar="TOPIC", help="A topic that matters; may be repeated.")
    ],
    "rules": Annotated[str | None, typer.Option("--rules", help="Instructions for the model.")],
    "sections": Annotated[
        list[str] | None, typer.Option("--section", metavar="NAME=URL", help="A pinned section; may be repeated.")
    ],
    "steps": Annotated[
        list[str] | None, typer.Option("--step", metavar="LINE", help="A step of its log-in; repeated, in their order.")
    ],
    "schedule": Annotated[str | None, typer.Option("--schedule", metavar="WHEN", help='"daily 06:30", cron, or off.')],
    "timezone": Annotated[str | None, typer.Option("--timezone", metavar="ZONE", help="As Europe/Berlin.")],
    "window_days": Annotated[int | None, typer.Option("--window-days", metavar="N", help="Days looked at.")],
    "max_items": Annotated[int | None, typer.Option("--max-items", metavar="N", help="Items of one section and run.")],
    "render": Annotated[Render | None, typer.Option("--render", help="When pages are drawn in the browser.")],
    "keywords_include": Annotated[
        list[str] | None, typer.Option("--include", metavar="WORD", help="Keep only titles with such a word.")
    ],
    "keywords_exclude": Annotated[
        list[str] | None, typer.Option("--exclude", metavar="WORD", help="Leave out titles with such a word.")
    ],
    "allow_other_hosts": Annotated[
        bool | None, typer.Option("--other-hosts/--no-other-hosts", help="Take links to other hosts, as reposts.")
    ],
    "tags": Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be repeated.")],
    "language": Annotated[str | None, typer.Option("--language", help="The language of the site, as zh or en.")],
    "summary_language": Annotated[str | None, typer.Option("--summary-language", help="As zh or en.")],
    "enabled": Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether it runs.")],
}


def add_source_options(*, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Give a command the fields of a source as options, in place of its `**fields`."""
    return add_options({name: annotation for name, annotation in _OPTIONS.items() if name not in without})


def collect_fields(fields: Mapping[str, OptionValue]) -> dict[str, Any]:
    """Return the options that were given, as a source is written down."""
    written = collect_given(fields)
    if "sections" in written:
        written["sections"] = [_parse_section(text) for text in written["sections"]]
    return written


def get_default_values(names: Collection[str]) -> dict[str, Any]:
    """Return the defaults of these fields; `UsageError` for a field that has none."""
    from monitor.services.sources.form import SourceForm

    clearable = [name for name in SourceForm.model_fields if name not in ("name", "url")]
    for name in names:
        if name not in clearable:
            raise UsageError("source.field_not_clearable", field=name, fields=clearable)
    return {name: SourceForm.model_fields[name].get_default(call_default_factory=True) for name in names}


def _parse_section(text: str) -> dict[str, str]:
    name, equals, url = text.partition("=")
    if not (name.strip() and equals and url.strip()):
        raise UsageError("source.section_form", text=text)
    return {"name": name.strip(), "url": url.strip()}


app = build_group()

_BARE_ADDRESS = re.compile(r"[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/\S*)?|(?:localhost|[\d.]+):\d+(?:/\S*)?", re.IGNORECASE)
_MAX_SHOWN_ROWS = 5

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the source.")]


@app.command("list")
def list_sources(
    tag: Annotated[str | None, typer.Option("--tag", help="Only sources with this tag.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the sources with their health, newest first."""
    terminal = get_terminal()
    sources = terminal.run(lambda app: app.sources.list_sources(tag=tag))
    if as_json:
        terminal.write_json({"sources": [build_source_json(source) for source in sources]})
    elif sources:
        terminal.write_records(
            sources,
            lambda source: {
                "name": source.name,
                "kind": terminal.word("kind", source.kind),
                "enabled": terminal.translate("yes" if source.enabled else "no"),
                "schedule": terminal.describe_schedule(source),
                "last_run": source.last_run_at,
                "last_success": source.last_success_at,
                "failures": source.consecutive_failures,
                "url": source.url,
                "last_error": source.last_error,
            },
        )
    else:
        terminal.notify("sources.none")


@app.command()
def show(name: Name, as_json: JsonOption = False) -> None:
    """Show all fields of one source."""
    from monitor.services.sources.tables import format_steps

    terminal = get_terminal()
    source = terminal.run(lambda app: app.sources.get(name))
    if as_json:
        terminal.write_json(build_source_json(source))
        return
    pinned = [f"{section['name']}={section['url']}" for section in source.sections]
    taught = [recipe["url"] for recipe in source.recipes]
    shown = {**build_source_json(source), "sections": pinned, "recipes": taught, "steps": format_steps(source.steps)}
    shown["schedule"] = terminal.describe_schedule(source)
    terminal.write_fields(shown | {name: getattr(source, name) for name in TIME_FIELDS})


@app.command()
@add_source_options(without=("url",))
def add(
    url: Annotated[str, typer.Argument(help="The home page, the feed, or what to search for.")],
    team: TeamOption = None,
    as_json: JsonOption = False,
    **fields: OptionValue,
) -> None:
    """Begin to watch a site, a feed, or what a search finds; without --kind and --section the address decides."""
    terminal = get_terminal()
    values = {"name": _get_host(url), **collect_fields(fields), "url": url}

    async def add(app: "App", by: "Actor") -> "tuple[Source, Discovery | None]":
        from monitor.services.sources.discovery import is_discoverable

        team_id = await app.teams.resolve(team, by)
        if not is_discoverable(values):
            return await app.sources.add(values, by=by, team_id=team_id), None
        found = await app.discovery.add(values, by=by, team_id=team_id)
        return found.source, found.discovery

    added, discovery = terminal.act(add)
    if as_json:
        terminal.write_json(build_source_json(added) | ({"discovery": discovery} if discovery else {}))
        return
    if discovery is not None:
        _print_discovery(terminal, discovery)
    if discovery is not None and discovery.problem is not None:
        terminal.print("source.added_unread", source=added.name, quoted=quote(added.name))
        if discovery.problem.code == "discovery.log_in" and not added.steps:
            terminal.print("source.add_steps", quoted=quote(added.name))
    else:
        _print_stored_source(terminal, added, "source.added", as_json=False)


@app.command()
@add_source_options()
def edit(
    source: Name,
    clear: Annotated[
        list[str] | None, typer.Option("--clear", metavar="FIELD", help="Put a field back to its default.")
    ] = None,
    as_json: JsonOption = False,
    **fields: OptionValue,
) -> None:
    """Change a source; what is given replaces what was there."""
    terminal = get_terminal()
    changes = {**get_default_values(clear or ()), **collect_fields(fields)}
    if not changes:
        raise UsageError("source.nothing_to_change")
    _print_stored_source(terminal, _edit_source(terminal, source, changes), "source.changed", as_json=as_json)


@app.command()
def remove(name: Name, as_json: JsonOption = False) -> None:
    """Stop watching a source; its items and runs stay in the archive."""
    terminal = get_terminal()

    async def remove(app: "App", by: "Actor") -> None:
        source = await app.sources.get(name)
        await app.sources.remove(source.id or 0, by=by)

    terminal.act(remove)
    terminal.report("source.removed", source=name, as_json=as_json)


@app.command()
def enable(name: Name, as_json: JsonOption = False) -> None:
    """Enable a source: the schedule runs it again."""
    _set_enabled(get_terminal(), name, is_on=True, as_json=as_json)


@app.command()
def disable(name: Name, as_json: JsonOption = False) -> None:
    """Disable a source: the schedule skips it."""
    _set_enabled(get_terminal(), name, is_on=False, as_json=as_json)


@app.command()
def discover(
    url_or_name: Annotated[str, typer.Argument(metavar="URL_OR_NAME", help="An address, or a source.")],
    save: Annotated[bool, typer.Option("--save", help="Read the source in the way that is found.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Find out how a site can be read; a source that is watched already is looked at after its log-in."""
    terminal = get_terminal()

    async def find(app: "App", by: "Actor") -> "tuple[Discovery, Source | None]":
        is_stored = any(source.name == url_or_name for source in await app.sources.list_sources())
        if not is_stored and _is_address(url_or_name) and not save:
            return await app.discovery.discover(url_or_name), None
        source = await app.sources.get(url_or_name)
        found = await app.discovery.rediscover(source.id or 0, by=by, save=save)
        return found.discovery, found.source

    discovery, source = terminal.act(find)
    if as_json:
        terminal.write_json(discovery)
        return
    _print_discovery(terminal, discovery)
    if discovery.problem is not None:
        raise typer.Exit(1)
    if source is None:
        terminal.print("source.may_be_added", url=quote(discovery.url))
    elif save:
        _print_stored_source(terminal, source, "source.changed", as_json=False)
    else:
        terminal.print("source.may_be_saved", quoted=quote(source.name))


def _is_address(text: str) -> bool:
    return "://" in text or _BARE_ADDRESS.fullmatch(text) is not None


@app.command("try")
@add_source_options(without=("url", "name", "schedule", "tags", "enabled"))
def try_source(
    url_or_name: Annotated[
        str, typer.Argument(metavar="URL_OR_NAME", help="A source, or the url or query of a new one.")
    ],
    as_json: JsonOption = False,
    **fields: OptionValue,
) -> None:
    """Dry run: the sections found, their candidates with dates, what would be saved; writes nothing."""
    terminal = get_terminal()
    values = {"name": _get_host(url_or_name), **collect_fields(fields), "url": url_or_name}

    async def run_trial(app: "App") -> "TrialResult":
        from monitor.services.sources.discovery import is_discoverable, list_addresses

        is_stored = any(source.name == url_or_name for source in await app.sources.list_sources())
        discover_at = None
        # What is no source, no address and not said to be a query is a mistyped name.
        if is_stored or (not _is_address(url_or_name) and values.get("kind") != SourceKind.QUERY):
            source = await app.sources.get(url_or_name)
        elif is_discoverable(values):
            discover_at = url_or_name
            source = app.sources.build_draft({**values, "url": list_addresses(url_or_name)[0]})
        else:
            source = app.sources.build_draft(values)
        with show_progress(terminal, is_quiet=as_json) as on_progress:
            return await app.sweeps.run_trial(source, on_progress=on_progress, discover_at=discover_at)

    trial = terminal.run(run_trial)
    if as_json:
        terminal.write_json(trial)
    else:
        _print_trial(terminal, trial)
    if trial.status == "failed":
        error = terminal.to_text(trial.error) or terminal.translate("no section could be read")
        terminal.complain(f"{trial.source}: {error}")
        raise typer.Exit(1)


@app.command()
def teach(
    name: Name,
    section_url: Annotated[str, typer.Argument(metavar="SECTION_URL", help="The page of the section.")],
    examples: Annotated[
        list[str] | None, typer.Argument(metavar="EXAMPLE", help="The urls of one or two entries of its list.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be read, and keep nothing.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Let the program choose the list by itself again.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show which list of a page is a section's; without examples, see the lists and links of the page."""
    terminal = get_terminal()
    if forget and (examples or dry_run):
        raise UsageError("teaching.forget_alone")

    async def call(app: "App", by: "Actor") -> "SectionLook | TaughtList | None":
        source_id = (await app.sources.get(name)).id or 0
        if forget:
            await app.teaching.forget(source_id, section_url, by=by)
            return None
        if not examples:
            return await app.teaching.look(source_id, section_url, by=by)
        return await app.teaching.teach(source_id, section_url, examples, by=by, save=not dry_run)

    shown = terminal.act(call)
    if shown is None:
        terminal.report("teaching.forgotten", url=section_url, as_json=as_json)
    elif as_json:
        terminal.write_json(shown)
    else:
        _print_taught(terminal, shown)


def _print_taught(terminal: Terminal, shown: "SectionLook | TaughtList") -> None:
    from monitor.services.sources.teaching import TaughtList

    if isinstance(shown, TaughtList):
        code = "teaching.kept" if shown.is_saved else "teaching.would_be_read"
        terminal.print(code, number=len(shown.rows), next=shown.next_page or "-")
        _print_rows(terminal, shown.rows)
    else:
        for number, found in enumerate(shown.lists, start=1):
            code = "teaching.list_read_now" if found.is_current else "teaching.list"
            terminal.print(code, number=number, count=len(found.rows))
            _print_rows(terminal, found.rows[:_MAX_SHOWN_ROWS])
            terminal.write_line()
        terminal.print("teaching.links")
        terminal.write_records(shown.links, lambda link: {"text": link.text, "url": link.url})
    if not shown.is_pinned:
        terminal.notify("teaching.not_pinned")


def _print_rows(terminal: Terminal, rows: "Sequence[Candidate]") -> None:
    terminal.write_records(rows, lambda row: {"date": row.date, "title": row.title, "url": row.url})


app.command("import")(import_file)
app.command("export")(export)
app.command("catalogue")(search_catalogue)


def _set_enabled(terminal: Terminal, name: str, *, is_on: bool, as_json: bool) -> None:
    source, code = _edit_source(terminal, name, {"enabled": is_on}), "source.enabled" if is_on else "source.disabled"
    _print_stored_source(terminal, source, code, as_json=as_json)


def _edit_source(terminal: Terminal, name: str, changes: dict[str, Any]) -> "Source":
    async def edit(app: "App", by: "Actor") -> "Source":
        source = await app.sources.get(name)
        return await app.sources.edit(source.id or 0, changes, by=by)

    return terminal.act(edit)


def _print_stored_source(terminal: Terminal, source: "Source", code: str, *, as_json: bool) -> None:
    if as_json:
        terminal.write_json(build_source_json(source))
    else:
        terminal.print(code, source=source.name, quoted=quote(source.name))


def _get_host(url: str) -> str:
    from monitor.urls import get_host

    return get_host(url).removeprefix("www.") or url


def _print_discovery(terminal: Terminal, discovery: "Discovery") -> None:
    if discovery.problem is not None:
        terminal.complain(discovery.problem)
    terminal.write_records(
        discovery.options,
        lambda option: {
            "method": terminal.word("discovery_method", option.method),
            "chosen": terminal.translate("yes" if option.is_chosen else "no"),
            "entries": option.entries,
            "newest": option.newest,
            "url": option.url,
            "reason": option.reason,
        },
    )


def _print_trial(terminal: Terminal, trial: "TrialResult") -> None:
    if trial.discovery is not None:
        _print_discovery(terminal, trial.discovery)
    status = terminal.word("status", trial.status)
    terminal.print("trial.heading", source=trial.source, status=status, number=trial.would_save)
    for section in trial.sections:
        counts = Counter(_describe_disposition(terminal, entry.disposition, None) for entry in section.candidates)
        terminal.write_line(f"\n{section.name}  {section.url}")
        terminal.print(
            "trial.section",
            ended=terminal.word("ended", section.ended) if section.ended else "-",
            counts=[f"{count} {disposition}" for disposition, count in counts.items()]
            or [Message("trial.no_candidates")],
        )
        terminal.write_records(
            section.candidates,
            lambda entry: {
                "becomes": _describe_disposition(terminal, entry.disposition, entry.reason),
                "date": entry.candidate.date,
                "from": terminal.word("date_source", entry.candidate.date_source),
                "title": entry.candidate.title,
                "url": entry.candidate.url,
            },
        )
    for fallback in trial.fallbacks:
        phase = terminal.word("phase", fallback.phase)
        terminal.print("run.fallback", phase=phase, where=fallback.where, reason=fallback.reason)


def _describe_disposition(terminal: Terminal, disposition: str, reason: Message | None) -> str:
    if disposition == "saved":
        return terminal.translate("would be saved")
    return f"{terminal.word('disposition', disposition)} {terminal.to_text(reason)}".strip()
