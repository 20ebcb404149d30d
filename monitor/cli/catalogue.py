"""`monitor sources catalogue`: search the public bodies that the package knows, and add some of them."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from monitor.cli.source_lists import TeamOption
from monitor.cli.terminal import JsonOption, Terminal, get_terminal
from monitor.i18n.message import Message
from monitor.i18n.model import reader_language
from monitor.vocabulary import BodyState

if TYPE_CHECKING:
    from monitor.bootstrap import App
    from monitor.services.audit import Actor
    from monitor.services.sources.catalogue import AdditionReport, BodyAddition


def search_catalogue(
    query: Annotated[str, typer.Argument(help="A name, an abbreviation, a host; Chinese or English.")] = "",
    country: Annotated[str, typer.Option("--country", help="Only of this country, as CN or a name.")] = "",
    topic: Annotated[str, typer.Option("--topic", help="Only about this topic, as energy or a label.")] = "",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=2000, help="So many at most.")] = 20,
    body_ids: Annotated[
        list[str] | None, typer.Option("--add", metavar="ID", help="Watch this body; may be repeated.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option("--schedule", metavar="WHEN", help='When added bodies run, as "weekdays 07:00".')
    ] = None,
    team: TeamOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the catalogue of public bodies, or add bodies of it with those sections that work."""
    terminal = get_terminal()
    if body_ids:
        _add_bodies(terminal, body_ids, schedule, team, as_json=as_json)
        return
    found = terminal.run(lambda app: app.catalogue.search(query, country=country, topic=topic, limit=limit))
    if as_json:
        terminal.write_json(found)
        return
    terminal.write_records(
        found.bodies,
        lambda body: {
            "id": body.id,
            "name": body.name,
            "country": body.country,
            "sections": len(body.sections),
            "url": body.url,
            "watched": terminal.translate("yes") if body.source_id else None,
        },
    )
    if found.total > len(found.bodies):
        terminal.notify("catalogue.more_found", shown=len(found.bodies), total=found.total)
    elif not found.bodies:
        terminal.notify("catalogue.none_found")


def _add_bodies(
    terminal: Terminal, body_ids: list[str], schedule: str | None, team: str | None, *, as_json: bool
) -> None:
    reader_language.set(terminal.language)

    async def add(app: "App", by: "Actor") -> "AdditionReport":
        on_done = None if as_json else partial(_print_addition, terminal)
        team_id = await app.teams.resolve(team, by)
        begun = app.catalogue.start_adding(body_ids, by=by, schedule=schedule, team_id=team_id, on_done=on_done)
        return await app.catalogue.wait(begun.id)

    report = terminal.act(add)
    if as_json:
        terminal.write_json(report)
    failed = report.count(BodyState.FAILED)
    if failed:
        terminal.complain(Message("catalogue.some_not_added", {"count": failed, "total": len(report.bodies)}))
        raise typer.Exit(1)


def _print_addition(terminal: Terminal, addition: "BodyAddition") -> None:
    reason = terminal.to_text(addition.error)
    state = terminal.word("body_state", addition.state)
    terminal.write_line(f"{addition.name}: {state}" + (f" ({reason})" if reason else ""))
    for section in addition.sections:
        if section.reason is None:
            terminal.print("catalogue.section_works", name=section.name, count=section.entries)
        else:
            terminal.print("catalogue.section_fails", name=section.name, reason=section.reason, url=section.url)
