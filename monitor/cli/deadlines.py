"""`monitor deadlines`: list them, show one with its history, write a calendar."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from monitor.cli.parser import build_group
from monitor.cli.terminal import (
    JsonOption,
    OptionValue,
    SinceOption,
    UntilOption,
    add_options,
    collect_given,
    get_terminal,
    write_file,
)
from monitor.errors import UsageError
from monitor.vocabulary import DeadlineKind

if TYPE_CHECKING:
    from monitor.services.deadlines import DeadlineQuery

app = build_group(invoke_without_command=True)
_OutOption = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to stdout.")]
_FILTERS: dict[str, Any] = {
    "since": SinceOption,
    "until": UntilOption,
    "kinds": Annotated[
        list[DeadlineKind] | None,
        typer.Option("--kind", metavar="|".join(DeadlineKind), help="Only of this kind; may be repeated."),
    ],
    "topic": Annotated[str | None, typer.Option("--topic", metavar="NAME", help="Only of items that fit this topic.")],
    "policy": Annotated[int | None, typer.Option("--policy", metavar="ID", help="Only of this policy.")],
    "sources": Annotated[
        list[str] | None, typer.Option("--source", metavar="NAME", help="Only of this source; may be repeated.")
    ],
}
"""By the fields of a query for deadlines."""


@app.callback()
def deadlines(
    context: typer.Context,
    as_calendar: Annotated[bool, typer.Option("--ics", help="Write all deadlines as a calendar.")] = False,
    out: _OutOption = None,
) -> None:
    if context.invoked_subcommand is not None:
        return
    if not as_calendar:
        raise UsageError("deadline.no_command")
    _write_calendar({}, out)


@app.command("list")
@add_options(_FILTERS)
def list_deadlines(
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    as_calendar: Annotated[bool, typer.Option("--ics", help="Write them as a calendar.")] = False,
    out: _OutOption = None,
    as_json: JsonOption = False,
    **filters: OptionValue,
) -> None:
    """List the deadlines that are still to come, or those of a period, the nearest first."""
    if as_calendar:
        if as_json:
            raise UsageError("deadline.json_or_calendar")
        _write_calendar(filters, out)
        return
    terminal, query = get_terminal(), _build_query(filters)
    terminal.write_list(
        "deadlines",
        terminal.run(lambda app: app.deadlines.list(query))[:limit],
        lambda entry: {
            "id": entry.id,
            "day": entry.day,
            "kind": terminal.word("deadline", entry.kind),
            "moved_from": entry.moved_from,
            "subject": entry.subject,
            "source": entry.source,
            "title": entry.title,
            "url": entry.url,
        },
        as_json=as_json,
        none="deadline.none",
    )


@app.command()
def show(
    deadline_id: Annotated[int, typer.Argument(metavar="ID", help="The number that `deadlines list` shows.")],
    as_json: JsonOption = False,
) -> None:
    """Show one deadline: the words that state it, and every move that was seen."""
    terminal = get_terminal()
    deadline = terminal.run(lambda app: app.deadlines.get(deadline_id))
    if as_json:
        terminal.write_json(deadline.model_dump(mode="json"))
        return
    fields = deadline.model_dump(exclude={"history", "items"})
    terminal.write_fields({name: value for name, value in fields.items() if value is not False})
    for move in deadline.history:
        days = f"{move.before or '-'} → {move.after or '-'}"
        terminal.write_fields({"move": f"{terminal.format_instant(move.seen_at)} {days}"})


def _write_calendar(filters: dict[str, OptionValue], out: Path | None) -> None:
    terminal, query = get_terminal(), _build_query(filters)
    content = terminal.run(lambda app: app.deadlines.build_calendar(query, language=terminal.language))
    if out is not None:
        write_file(out, content)
    else:
        sys.stdout.buffer.write(content)  # as it is: its lines end as RFC 5545 has it


def _build_query(filters: dict[str, OptionValue]) -> "DeadlineQuery":
    from monitor.services.deadlines import DeadlineQuery

    return DeadlineQuery(**collect_given(filters))
